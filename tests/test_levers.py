"""What makes training fast computes the same, is where the device has it, and stands in the record."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from composing import composed
from conftest import AGREEMENT, SMALL, Verb
from torch.utils._python_dispatch import TorchDispatchMode

from seqarena import compilation, device
from seqarena.compilation import compile_loss
from seqarena.data.loading import BatchOptions, loader
from seqarena.device import fuse
from seqarena.runs import build_data, build_task

GPU, CPU = torch.device("cuda"), torch.device("cpu")
TINY = (
    *("data=agreement", "data.reader.train=60", "data.reader.val=8", "data.reader.test=8", "data.batch_examples=6"),
    *("model=transformer", "model.dim=8", "model.layers=1", "model.dropout=0"),
)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD])
def test_a_fused_optimizer_takes_the_same_steps(kind: type[torch.optim.Optimizer]) -> None:
    found = []
    for place in (CPU, GPU):
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(5, 3))
        optimizer = kind([weight], lr=1e-2)  # type: ignore[call-arg]
        fuse(optimizer, place)
        for _ in range(3):
            (weight**2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        assert bool(optimizer.param_groups[0]["fused"]) == (place is GPU)
        found.append(weight.detach())
    torch.testing.assert_close(*found)


def test_an_optimizer_that_cannot_fuse_or_was_told_not_to_is_left_alone() -> None:
    weight = torch.nn.Parameter(torch.zeros(1))
    for optimizer in (torch.optim.Adamax([weight]), torch.optim.AdamW([weight], fused=False)):
        fuse(optimizer, GPU)
        assert not optimizer.param_groups[0].get("fused")


@pytest.mark.slow
def test_a_compiled_loss_is_the_loss_for_batches_of_all_lengths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch._dynamo.reset()
    config = composed(*TINY)
    config.cache = str(tmp_path)
    data = build_data(config)
    data.prepare_data()
    data.setup()
    task = build_task(config, data.vocabulary).train()
    batches = list(data.train_dataloader())
    assert len({batch.source_BS.shape for batch in batches}) > 3
    names, plain = list(task.state_dict()), task.loss
    wanted = [(plain(batch), torch.autograd.grad(plain(batch), task.head.weight)) for batch in batches]
    torch._dynamo.utils.counters.clear()
    compile_loss(task, "eager")
    for batch, (loss, gradient) in zip(batches, wanted, strict=True):
        torch.testing.assert_close(task.loss(batch), loss)
        torch.testing.assert_close(torch.autograd.grad(task.loss(batch), task.head.weight), gradient)
    assert list(task.state_dict()) == names
    assert 0 < torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 3, "a graph for all lengths"
    assert torch._dynamo.config.recompile_limit == compilation.MOST


def test_without_a_compiler_nothing_is_compiled(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    code, _, err = verb("train", *SMALL, *AGREEMENT, "trainer.compile=true")
    assert code == 2 and "there is no no-such-compiler" in err and "trainer.compile=false" in err


def test_batches_are_pinned_where_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = composed(*TINY)
    config.cache = str(tmp_path)
    data = build_data(config)
    data.prepare_data()
    data.setup()
    for pinned in (True, False):
        assert loader(data._splits["train"], BatchOptions(64, None, 0, 1), 1, 0, 1, pinned).pin_memory is pinned
    data.trainer = type("Trainer", (), {"global_rank": 0, "world_size": 1})()
    for place in (GPU, CPU):
        data.trainer.strategy = type("Strategy", (), {"root_device": place})()
        for made in (data.train_dataloader, data.val_dataloader, data.test_dataloader):
            assert made().pin_memory is (place is GPU)


class Casts(TorchDispatchMode):
    """Counts the times that something is turned into bfloat16."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen += func.overloadpacket.__name__ == "_to_copy" and (kwargs or {}).get("dtype") is torch.bfloat16
        return func(*args, **(kwargs or {}))


def test_a_weight_is_cast_once_a_search_and_at_every_use_in_training() -> None:
    weight, x = torch.randn(4, 4, requires_grad=True), torch.randn(2, 4)

    def three_products() -> torch.Tensor:
        return x @ weight + x @ weight + x @ weight

    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):  # as Lightning has it
        with Casts() as plain:
            wanted = three_products()
        with Casts() as once, device.casting_once("cpu"):
            torch.testing.assert_close(three_products(), wanted, atol=0, rtol=0)
        assert (plain.seen, once.seen) == (6, 4), "x needs no gradient, and is kept by nobody"
    with device.casting_once("cpu"):
        assert three_products().dtype is torch.float32


@pytest.mark.parametrize(("error", "setting"), [(1e-6, "medium"), (3e-3, "highest")])
def test_fast_products_are_taken_where_they_are_exact(
    monkeypatch: pytest.MonkeyPatch, error: float, setting: str
) -> None:
    monkeypatch.setattr(device, "rounding", lambda: error)
    device.hasten_products()
    assert torch.get_float32_matmul_precision() == setting


def test_rounding_tells_bf16_from_fp32() -> None:
    assert device.rounding() < device.EXACT
    with torch.autocast("cpu", torch.bfloat16):
        assert device.rounding() > 100 * device.EXACT


def test_the_record_says_which_were_on(verb: Verb) -> None:
    code, _, err = verb("train", *SMALL, *AGREEMENT, "model=transformer", "hydra.run.dir=run")
    assert code == 0, err
    told = json.loads(Path("run/record.json").read_text())["machine"]["levers"]
    assert told["attention"] == "explicit" and told["dropout bits"] == "bytes" and told["loss"] == "as written"
    assert told["optimizer"] == "torch's default" and told["batches"] == "ordinary memory" and "allocator" in told
