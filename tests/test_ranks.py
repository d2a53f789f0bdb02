"""Several processes train and evaluate like one: the same weights, examples once, one folder; killed, they go on."""

import os
import signal
from functools import cache, partial
from pathlib import Path
from typing import Any

import lightning as L
import pyarrow.parquet as pq
import pytest
import torch
from conftest import AGREEMENT, NUMBERS, ROOT
from rank import forked, started

from seqarena.callbacks.history import read
from seqarena.data.streaming_module import StreamingDataModule
from seqarena.record import Record

COMMON = ("logger=none", "model.dim=24", "model.dropout=0", "schedule=constant", "trainer.max_epochs=1")
# 12 and 9 batches an epoch, which two or three ranks, or steps of two or three batches, divide alike.
CLASSIFY = (
    *COMMON, *AGREEMENT, "data.reader.train=168", "data.reader.val=13", "data.reader.test=17", "data.batch_examples=14",
)  # fmt: skip
TRANSLATE = (
    *COMMON, "data=numbers", "data.source=en", "data.target=de", *NUMBERS, "data.reader.train=45",
    "data.batch_examples=5", "model=transformer", "task.decoding.beam=2",
)  # fmt: skip
AVERAGED = (*CLASSIFY, "model=textcnn", "task.max_norm=0.3", "trainer.average=2", "trainer.max_epochs=2")
FEW = (*CLASSIFY, "model=lstm", "data.reader.test=2")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all runs are."""
    return tmp_path_factory.mktemp("ranks")


def weights(folder: Path, name: str = "last") -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = torch.load(folder / f"checkpoints/{name}.ckpt", weights_only=True)["state_dict"]
    return found


def trained(folder: Path, *options: str, ranks: int = 1, **before: Any) -> Path:
    started(folder, options, ranks, **before).succeed()
    return folder


@cache
def alone(folder: Path, options: tuple[str, ...], count: int) -> Path:
    """One process that takes as many batches a step."""
    return trained(folder, *options, "trainer=cpu", f"trainer.accumulate={count}")


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
@pytest.mark.parametrize(
    ("name", "count", "options", "tested"),
    [("averaged", 2, AVERAGED, 17), ("few", 3, FEW, 2), ("translation", 3, TRANSLATE, 12)],
    ids=["classification-2", "fewer-examples-than-ranks", "tied-translation-3"],
)
def test_ranks_equal_one_process_that_accumulates(
    home: Path, strategy: str, name: str, count: int, options: tuple[str, ...], tested: int
) -> None:
    one = alone(home / name, options, count)
    many = trained(home / f"{name}-{strategy}", *options, f"trainer={strategy}", ranks=count)
    for kind in ("last", "best"):
        wanted, found = weights(one, kind), weights(many, kind)
        assert list(found) == list(wanted)
        for key, weight in wanted.items():
            if not key.endswith("key.bias"):  # softmax cancels it: its gradient is rounding alone: Adam blows it up
                torch.testing.assert_close(found[key], weight, atol=2e-5, rtol=1e-4)
    whole, shared = (pq.read_table(folder / "examples.parquet") for folder in (one, many))
    assert shared["id"].to_pylist() == whole["id"].to_pylist() == list(range(tested))
    assert shared["prediction"].equals(whole["prediction"])
    assert shared["loss"].to_pylist() == pytest.approx(whole["loss"].to_pylist(), rel=1e-6, abs=1e-5)
    first, second = (Record.read(folder) for folder in (one, many))
    assert first.metrics == pytest.approx(second.metrics, abs=1e-6)
    assert [record.machine["ranks"] for record in (first, second)] == [1, count]
    assert first.cost["tokens"] == second.cost["tokens"]
    left, right = ({path.relative_to(run) for path in run.rglob("*")} for run in (one, many))
    assert left == right
    assert not {path.name for path in home.iterdir() if path.is_file()}


def torchrun(command: list[str], rank: int) -> None:
    """What the command of this name does."""
    from torch.distributed.run import main

    main(command)


def test_torchrun_starts_the_ranks_too(tmp_path: Path) -> None:
    options = (*CLASSIFY, "model=textcnn", "trainer=ddp", "trainer.accelerator=cpu", "trainer.devices=2")
    places = (f"cache={tmp_path / 'cache'}", f"hydra.run.dir={tmp_path / 'run'}")
    command = ["--nproc-per-node=2", str(ROOT / "train.py"), *options, *places]
    forked(tmp_path / "run", 1, partial(torchrun, command)).succeed()
    record = Record.read(tmp_path / "run")
    assert (record.status, record.machine["ranks"]) == ("done", 2)
    assert pq.read_table(tmp_path / "run" / "examples.parquet")["id"].to_pylist() == list(range(17))


def dies(victim: int, steps: int, rank: int) -> None:
    """Rank `victim` is killed after so many optimizer steps."""
    step, left = L.LightningModule.optimizer_step, [steps]

    def counted(self: Any, *arguments: Any, **named: Any) -> None:
        step(self, *arguments, **named)
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    if rank == victim:
        L.LightningModule.optimizer_step = counted  # type: ignore[method-assign]


def notes(folder: Path, rank: int) -> None:
    """Each rank writes down the rows that it trains on."""
    take = StreamingDataModule.on_before_batch_transfer

    def noted(self: Any, batch: Any, index: int) -> Any:
        found = take(self, batch, index)
        if found is not batch:
            with (folder / f"rows-{rank}").open("a") as file:
                file.writelines(f"{row}\n" for row in found.id_B.tolist())
        return found

    StreamingDataModule.on_before_batch_transfer = noted  # type: ignore[method-assign]


LONG = ("model=lstm", "model.dropout=0.2", "trainer.max_epochs=2", "trainer.validate_every=4")
STREAM = (
    "data=csv", "data.streaming=true", "data.shuffle_buffer=5", "data.tokenizer_rows=20", "data.baselines=[]",
    "data.batch_examples=4", "data.workers=2", "model=textcnn", "trainer.max_epochs=null", "trainer.max_steps=12",
    "trainer.validate_every=4",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "victim", "options"),
    [
        ("long-ddp", 1, (*CLASSIFY, *LONG, "trainer=ddp")),
        ("long-fsdp", 0, (*CLASSIFY, *LONG, "trainer=fsdp")),
        ("stream", 1, (*COMMON, *STREAM, "trainer=ddp")),
    ],
)
def test_a_rank_that_dies_ends_all_and_the_run_goes_on_to_the_same_weights(
    home: Path, texts: Path, name: str, victim: int, options: tuple[str, ...]
) -> None:
    if name == "stream":
        options = (*options, f"data.path={texts}")
    whole = trained(home / name, *options, ranks=2, before=partial(notes, texts))
    broken = started(home / f"{name}-broken", options, 2, partial(dies, victim, 6))
    codes = broken.join()
    assert codes[victim] == -signal.SIGKILL and codes[1 - victim] == 2, broken.said(1 - victim)
    assert "error: another process of this run has ended" in broken.said(1 - victim)
    assert "Traceback" not in broken.said(1 - victim)
    assert Record.read(broken.folder).status == ("running" if victim == 0 else "failed")
    trained(broken.folder, *options, ranks=2)
    for kind in ("last", "best"):
        found = weights(broken.folder, kind)
        assert all(torch.equal(found[key], weight) for key, weight in weights(whole, kind).items())
    first, second = ([one for line in read(run) if len(one := timeless(line)) > 1] for run in (whole, broken.folder))
    assert first == second and len(Record.read(broken.folder).resumed) == 1
    if name == "stream":
        read_once(texts)
        assert Record.read(whole).ledger["train"] == Record.read(broken.folder).ledger["train"]


def read_once(folder: Path) -> None:
    """Of 24 rows, each rank reads those of its two workers in every epoch, each row once."""
    for rank in range(2):
        rows = [int(line) for line in (folder / f"rows-{rank}").read_text().splitlines()]
        epochs = [rows[begin : begin + 12] for begin in range(0, len(rows) // 12 * 12, 12)]
        assert len(epochs) == 2
        assert all(sorted(epoch) == [row for row in range(24) if row % 4 // 2 == rank] for epoch in epochs)


def timeless(line: dict[str, Any]) -> dict[str, Any]:
    """A line without what is measured by the clock, whose warm-up begins anew with each process."""
    return {key: value for key, value in line.items() if not key.startswith(("speed/", "memory/", "cost/"))}
