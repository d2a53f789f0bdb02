"""Weights shared out over two ranks: every architecture has the gradients and the outputs that it has whole."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from conftest import ROOT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from rank import forked
from test_flops import V, classifier, translator
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule

from seqarena.building import build
from seqarena.data.batch import Batch
from seqarena.data.examples import classification_batch, translation_batch
from seqarena.tasks.sharding import Sharded, load, mine, share_out, whole
from seqarena.tasks.task import SequenceTask

MODELS = {path.stem: [f"model={path.stem}"] for path in sorted((ROOT / "conf/model").glob("*.yaml"))}
VARIANTS = {
    "additive": ["model=gru", "model.attention=additive", "model.input_feeding=false"],
    "t5": ["model=transformer", "model.positions=t5"],
    "local t5": ["model=local_transformer", "model.positions=t5", "model.window=2"],
}
LENGTHS = ((9, 2), (4, 1, 5))
"""Of the texts that each rank reads, so that nothing is alike."""


def made(model: Any, shared: bool = False) -> SequenceTask:
    torch.manual_seed(0)
    config = OmegaConf.create({"model": model})
    writes = "decoder" in model
    encoder = build(config.model.encoder)
    task = translator(encoder, build(config.model.decoder)) if writes else classifier(encoder)
    task.trainer = SimpleNamespace(accumulate_grad_batches=1, world_size=2)  # type: ignore[assignment]
    if shared:
        share_out(task, init_device_mesh("cpu", (2,)))
    return task.eval()


def batch(rank: int, writes: bool) -> Batch:
    rng = np.random.default_rng(rank)
    rows = [rng.integers(4, V, length) for length in LENGTHS[rank]]
    if writes:
        return translation_batch(list(range(len(rows))), rows, [row[::-1] for row in rows])
    return classification_batch(list(range(len(rows))), rows, torch.arange(len(rows)))


def like_one(models: dict[str, Any], rank: int) -> None:
    """Each model of them, alone and as this rank of two."""
    dist.init_process_group("gloo", rank=rank, world_size=2)
    for name, model in models.items():
        print(name, flush=True)
        one, two, writes = made(model), made(model, shared=True), "decoder" in model
        assert any(isinstance(layer, FSDPModule) for layer in two.encoder.modules()) and isinstance(two, FSDPModule)
        for _ in range(2):  # gradients add up
            (one.training_step(batch(0, writes), 0) + one.training_step(batch(1, writes), 0)).backward()
            two.training_step(batch(rank, writes), 0).backward()
        for (key, weight), part in zip(one.named_parameters(), two.parameters(), strict=True):
            assert (weight.grad is None) == (part.grad is None), key
            if weight.grad is not None:
                assert torch.allclose(2 * part.grad.full_tensor(), weight.grad, rtol=1e-4, atol=1e-7), key
        alike_in_evaluation(one, two, rank, writes)
        exchanged(one, two)
    dist.destroy_process_group()


def alike_in_evaluation(one: SequenceTask, two: SequenceTask, rank: int, writes: bool) -> None:
    """Ranks need not look equally often; what one of them measures after the test waits for nobody."""
    strategy, read = Sharded(2), batch(rank, writes)
    strategy.model = two
    with torch.no_grad():
        strategy.on_test_start()
        wanted = one.answer(read.source_BS, read.mask_BS)
        for _ in range(1 + rank):
            for own, other in zip(wanted, two.answer(read.source_BS, read.mask_BS), strict=True):
                assert own.text == other.text and own.probabilities == pytest.approx(other.probabilities)
        strategy.on_test_end()
    assert sum(mine(weight).numel() for weight in two.parameters()) < sum(w.numel() for w in one.parameters())


def exchanged(one: SequenceTask, two: SequenceTask) -> None:
    """Whole weights come out of both alike, and go into both."""
    for task in (one, two):
        load(task, {key: value + 1 for key, value in whole(task).items()})
    first, second = whole(one), whole(two)
    assert list(first) == list(second) and all(torch.equal(second[key], value) for key, value in first.items())


@pytest.mark.slow
def test_every_architecture_is_the_same_shared_out(tmp_path: Path) -> None:
    small = ["data=numbers", "model.dim=12", "model.dropout=0"]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        composed = {name: compose("train", [*told, *small]).model for name, told in (MODELS | VARIANTS).items()}
    models = {name: OmegaConf.to_container(model, resolve=True) for name, model in composed.items()}
    forked(tmp_path / "models", 2, partial(like_one, models)).succeed()
