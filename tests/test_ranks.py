"""Several processes train and evaluate like one: the same weights, examples once, one folder; killed, they go on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from conftest import AGREEMENT, NUMBERS, ROOT

from seqarena.callbacks.history import read

COMMON = ("logger=none", "model.dim=24", "model.dropout=0", "schedule=constant", "trainer.max_epochs=1")
# 12 and 9 batches an epoch, which two or three ranks, or steps of two or three batches, divide alike.
CLASSIFY = (
    *COMMON, *AGREEMENT, "data.reader.train=168", "data.reader.val=13", "data.reader.test=17", "data.batch_examples=14",
)  # fmt: skip
TRANSLATE = (
    *COMMON, "data=numbers", "data.source=en", "data.target=de", *NUMBERS, "data.reader.train=45",
    "data.batch_examples=5", "model=transformer", "task.decoding.beam=2",
)  # fmt: skip


def command(folder: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        str(ROOT / "train.py"),
        *options,
        f"cache={folder.parent / 'cache'}",
        f"hydra.run.dir={folder}",
    ]


def ranks(count: int) -> tuple[str, ...]:
    return "trainer=ddp", "trainer.accelerator=cpu", f"trainer.devices={count}"


def weights(folder: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = torch.load(folder / "checkpoints/last.ckpt", weights_only=True)["state_dict"]
    return found


def trained(folder: Path, *options: str) -> Path:
    done = subprocess.run(command(folder, *options), cwd=folder.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "options", "tested"),
    [
        (2, (*CLASSIFY, "model=textcnn"), 17),
        (3, (*CLASSIFY, "model=lstm", "data.reader.test=2"), 2),
        (3, TRANSLATE, 12),
    ],
    ids=["classification-2", "fewer-examples-than-ranks", "translation-3"],
)
def test_ranks_equal_one_process_that_accumulates(
    tmp_path: Path, count: int, options: tuple[str, ...], tested: int
) -> None:
    one = trained(tmp_path / "one", *options, "trainer=cpu", f"trainer.accumulate={count}")
    many = trained(tmp_path / "many", *options, *ranks(count))
    for name, weight in weights(one).items():
        if not name.endswith("key.bias"):  # softmax cancels it: its gradient is rounding alone, which Adam blows up
            torch.testing.assert_close(weights(many)[name], weight, atol=2e-5, rtol=1e-4)
    alone, shared = (pq.read_table(folder / "examples.parquet") for folder in (one, many))
    assert shared["id"].to_pylist() == alone["id"].to_pylist() == list(range(tested))
    assert shared["prediction"].equals(alone["prediction"])
    assert shared["loss"].to_pylist() == pytest.approx(alone["loss"].to_pylist(), rel=1e-6, abs=1e-5)
    first, second = (json.loads((folder / "record.json").read_text()) for folder in (one, many))
    assert first["metrics"] == pytest.approx(second["metrics"], abs=1e-6)
    assert [record["machine"]["ranks"] for record in (first, second)] == [1, count]
    assert first["cost"]["tokens"] == second["cost"]["tokens"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "many", "one"]


@pytest.mark.slow
def test_torchrun_starts_the_ranks_too(tmp_path: Path) -> None:
    options = (*CLASSIFY, "model=textcnn", *ranks(2))
    torchrun = [str(Path(sys.executable).parent / "torchrun"), "--nproc-per-node=2"]
    done = subprocess.run(
        [*torchrun, *command(tmp_path / "run", *options)[1:]], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    assert (record["status"], record["machine"]["ranks"]) == ("done", 2)
    assert pq.read_table(tmp_path / "run" / "examples.parquet")["id"].to_pylist() == list(range(17))


@pytest.mark.slow
def test_two_killed_ranks_go_on_to_the_same_weights(tmp_path: Path) -> None:
    long = (
        *CLASSIFY,
        "model=lstm",
        "model.dropout=0.2",
        "trainer.max_epochs=40",
        "trainer.validate_every=4",
        *ranks(2),
    )
    whole, killed = trained(tmp_path / "whole", *long), tmp_path / "killed"
    running = subprocess.Popen(command(killed, *long), cwd=tmp_path, stdout=-3, stderr=-3, start_new_session=True)
    while not (killed / "checkpoints/resume.ckpt").exists():
        assert running.poll() is None
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert json.loads((killed / "record.json").read_text())["status"] == "running"
    trained(killed, *long)
    assert all(torch.equal(weights(killed)[name], weight) for name, weight in weights(whole).items())
    first, second = ([one for line in read(folder) if len(one := timeless(line)) > 1] for folder in (whole, killed))
    assert first == second and json.loads((killed / "record.json").read_text())["resumed"]


def timeless(line: dict[str, Any]) -> dict[str, Any]:
    """A line without what is measured by the clock, whose warm-up begins anew with each process."""
    return {key: value for key, value in line.items() if not key.startswith(("speed/", "memory/", "cost/"))}
