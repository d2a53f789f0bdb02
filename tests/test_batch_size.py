"""Batches as large as the memory allows, and steps of a declared size whatever the batches."""

import re
from pathlib import Path

import pytest
import torch
from composing import composed
from conftest import AGREEMENT, SMALL, Verb
from omegaconf import DictConfig

from seqarena.budget import batch
from seqarena.budget.batch import accumulated, fitted, rounded
from seqarena.callbacks.recorder import Recorder
from seqarena.errors import InputError
from seqarena.record import Record
from seqarena.runs import build_data

GIB = 2**30


def steps(*overrides: str) -> DictConfig:
    return composed("data.batch_tokens=1000", *overrides)


def test_the_line_through_two_sizes_is_followed_to_the_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = composed(
        *AGREEMENT, "model.dim=24", f"cache={tmp_path}", "data.batch_tokens=auto", "trainer.accelerator=cpu"
    )
    data = build_data(config)
    data.prepare_data()
    data.setup()
    read: list[list[int]] = []

    def peaks(task: object, batches: list, kind: torch.dtype) -> list[int]:
        read.append([one.positions for one in batches])
        return [10_000_000 + 2000 * one for one in batch.SIZES]

    monkeypatch.setattr(batch, "free", lambda device: 100_000_000)
    monkeypatch.setattr(batch, "peaks", peaks)
    monkeypatch.setattr(batch, "optimizer_bytes", lambda task: 5_000_000)
    before = torch.get_rng_state()
    settled, account = fitted(config, data)
    assert torch.equal(before, torch.get_rng_state())
    fits = (0.8 * 100_000_000 - 10_000_000 - 5_000_000) / 2000
    assert settled.data.batch_tokens == account["batch_tokens"] == fits // 256 * 256
    assert max(map(abs, (one - size for one, size in zip(read[0], batch.SIZES, strict=True)))) < data.longest("train")
    assert max(one.positions for one in data.train_dataloader()) > batch.SIZES[0] / 4
    assert fitted(settled, data) == (settled, {})


@pytest.mark.parametrize("again", [True, False])
def test_layers_that_are_recomputed_are_so_where_memory_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    config = composed(
        *AGREEMENT, f"cache={tmp_path}", "data.batch_tokens=auto", "trainer.accelerator=cpu",
        f"trainer.gradient_checkpointing={again}",
    )  # fmt: skip
    data = build_data(config)
    data.prepare_data()
    data.setup()
    made: list[torch.nn.Module] = []
    monkeypatch.setattr(batch, "recompute_layers", made.append)
    monkeypatch.setattr(batch, "peaks", lambda task, batches, kind: [1000, 2000])
    fitted(config, data)
    assert len(made) == again


@pytest.mark.parametrize(("fits", "taken"), [(256, 256), (5000.9, 4864), (1e9, batch.MOST)])
def test_sizes_are_round(fits: float, taken: int) -> None:
    assert rounded(fits) == taken


def test_too_little_memory_and_several_processes_are_refused() -> None:
    with pytest.raises(InputError, match="not even 256 tokens"):
        rounded(255)
    with pytest.raises(InputError, match="measured by one process"):
        fitted(composed("data.batch_tokens=auto", "trainer.devices=2"), None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="or auto"):
        composed_and_checked("data.batch_tokens=many")


def composed_and_checked(*overrides: str) -> None:
    from seqarena.limits import check_limits

    check_limits(composed(*overrides))


@pytest.mark.parametrize(
    ("overrides", "batches"),
    [
        (("trainer.effective_tokens=1000",), 1),
        (("trainer.effective_tokens=8200",), 8),
        (("trainer.effective_tokens=8000", "trainer.devices=2"), 4),
        (("trainer.effective_tokens=8000", "trainer.devices=2", "trainer.num_nodes=2"), 2),
    ],
)
def test_a_step_takes_as_many_batches_as_come_nearest(overrides: tuple[str, ...], batches: int) -> None:
    settled, account = accumulated(steps(*overrides))
    assert settled.trainer.accumulate == account["accumulate"] == batches


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (("trainer.effective_tokens=999",), "data.batch_tokens=999"),
        (("trainer.effective_tokens=1500", "trainer.devices=2"), "data.batch_tokens=750"),
        (("trainer.effective_tokens=5000", "trainer.accumulate=2"), "both say how large"),
    ],
)
def test_steps_that_cannot_be(overrides: tuple[str, ...], told: str) -> None:
    with pytest.raises(InputError, match=told):
        accumulated(steps(*overrides))


def test_a_run_measures_once_says_so_and_goes_on_with_the_same(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    options = (*SMALL, *AGREEMENT, "model=textcnn", "trainer.accelerator=cpu")
    auto = (*options, "data.batch_tokens=auto", "trainer.effective_tokens=200000")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(Recorder, "on_test_end", stop)
        assert verb("train", *auto, "hydra.run.dir=auto")[0] != 0
    chosen = Record.read(Path("auto")).budget["batch_tokens"]
    assert chosen % batch.ROUND == 0
    with monkeypatch.context() as less:
        less.setattr(batch, "free", lambda device: 0)
        code, _, err = verb("train", *auto, "hydra.run.dir=auto")
    assert code == 0, err
    record = Record.read(Path("auto"))
    assert record.config["data"]["batch_tokens"] == chosen
    assert record.config["trainer"]["accumulate"] == max(1, round(200000 / chosen))
    again = f"data.batch_tokens={chosen}", f"trainer.accumulate={record.config['trainer']['accumulate']}"
    code, _, err = verb("train", *options, *again, "hydra.run.dir=told")
    assert code == 0, err
    assert record.metrics == Record.read(Path("told")).metrics
    assert re.search(r"batches of [\d,]+ tokens", Path("auto/train.log").read_text())
