"""A training step never waits for the device: nothing in it needs a number, or a size, that only the device knows.

Shown by watching every operator that it runs, forward and backward; on a GPU each of these would halt the program until
all work before it is done.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from test_training import MODELS, configured, opened
from torch.utils._python_dispatch import TorchDispatchMode

from seqarena.models import attention
from seqarena.tasks.task import SequenceTask

WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "bincount", "equal", "is_nonzero")


class Watch(TorchDispatchMode):
    """Notes the operators that wait."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        by_mask = name in ("index", "index_put", "index_put_") and any(
            place is not None and place.dtype == torch.bool for place in args[1]
        )
        if by_mask or any(name.startswith(one) for one in WAITING):
            self.seen.append(name)
        return func(*args, **(kwargs or {}))


def test_the_watch_sees_what_waits() -> None:
    x = torch.ones(3)
    for wait in (
        lambda: x.sum().item(),
        lambda: x[x > 0],
        lambda: bool(x.any()),
        lambda: x.nonzero(),
        lambda: float(x[0]),
    ):
        with Watch() as watch:
            wait()
        assert watch.seen


def step(task: SequenceTask, batch: Any) -> None:
    task.train()
    task.training_step(batch, 0).backward()
    optimizer = torch.optim.AdamW(task.parameters(), lr=1e-3)
    task.on_before_optimizer_step(optimizer)
    torch.nn.utils.clip_grad_norm_(task.parameters(), 1.0)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("data", ["agreement", "numbers", "recall"])
@pytest.mark.parametrize("model", MODELS)
def test_a_step_waits_for_nothing(cache: Path, model: str, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "_attend_explicitly", attention._attend_fused)  # as on a GPU
    few = ["data.reader.train=64", "data.reader.val=16", "data.reader.test=16"]
    if data == "numbers":
        few += ["data.reader.largest=999", "data.reader.dates=0"]
    module, task = opened(configured(cache, data, model, "model.dropout=0.1", "data.batch_examples=4", *few))
    batch = next(iter(module.train_dataloader()))
    task._trainer = type("Trainer", (), {"accumulate_grad_batches": 1, "world_size": 1})()
    with Watch() as watch:
        step(task, batch)
    assert not watch.seen
