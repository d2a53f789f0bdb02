"""Runs that stop anywhere and are started again by the same command end as if they had never stopped."""

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from conftest import NUMBERS, Verb
from filelock import FileLock
from rank import started

from seqarena.callbacks.preemption import requeue
from seqarena.callbacks.resuming import BEFORE, LAST
from seqarena.record import Record

SMALL = ("logger=none", "cache=cache", "trainer.max_epochs=3", "trainer.log_every=2", "data.batch_examples=10")
AGREEMENT = (
    "data.reader.train=120", "data.reader.val=24", "data.reader.test=24", "data.reader.distances=[4]", "model.dim=24",
)  # fmt: skip


class Crash(Exception):
    """The power fails."""


@pytest.fixture
def crash_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """`crash_at(7)`: the next run ends right after its seventh optimizer step; `crash_at(0)`: none does."""
    step = L.LightningModule.optimizer_step
    left = [0]

    def counted(self: Any, *arguments: Any, **named: Any) -> None:
        step(self, *arguments, **named)
        left[0] -= 1
        if left[0] == 0:
            raise Crash

    monkeypatch.setattr(L.LightningModule, "optimizer_step", counted)
    return lambda count: left.__setitem__(0, count)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for SLURM: its variables, and a `scontrol` that writes down what it is asked for."""
    asked = tmp_path / "asked"
    command = tmp_path / "bin" / "scontrol"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\necho $@ >> {asked}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    for name, value in {"JOB_ID": "71", "NTASKS": "1", "JOB_NAME": "x", "PROCID": "0", "LOCALID": "0"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.setenv("SLURM_NODEID", "0")
    return asked


@pytest.fixture
def ctrl_c_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """`ctrl_c_at(7)`: somebody presses Ctrl+C right after the next run's seventh optimizer step."""
    step, handler = L.LightningModule.optimizer_step, signal.getsignal(signal.SIGINT)
    left = [0]

    def counted(self: Any, *arguments: Any, **named: Any) -> None:
        step(self, *arguments, **named)
        left[0] -= 1
        if left[0] == 0:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(L.LightningModule, "optimizer_step", counted)

    def pressed(count: int) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # Lightning turns it off after the first
        left[0] = count

    yield pressed
    signal.signal(signal.SIGINT, handler)


def weights(run: str, name: str) -> dict[str, torch.Tensor]:
    return torch.load(Path(run, "checkpoints", name), weights_only=True)["state_dict"]


def history(run: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in Path(run, "history.jsonl").read_text().splitlines()]
    timeless = [{k: v for k, v in one.items() if not k.startswith(("speed", "memory", "cost"))} for one in lines]
    return [one for one in timeless if len(one) > 1]


def same(one: str, other: str) -> None:
    for name in ("last.ckpt", "best.ckpt"):
        left, right = weights(one, name), weights(other, name)
        assert all(torch.equal(left[key], right[key]) for key in left), name
    assert history(one) == history(other)
    left_record, right_record = Record.read(Path(one)), Record.read(Path(other))
    assert left_record.metrics == right_record.metrics and right_record.status == "done"
    for key in ("steps", "tokens"):
        assert left_record.cost[key] == right_record.cost[key]


MIDDLE = [
    (("model=lstm",), 20),
    (("model=gru", "data.batch_examples=200"), 2),
    (("model=rnn", "data.workers=2", "trainer.validate_every=4"), 30),
    (("model=textcnn", "trainer.accumulate=3", "schedule=plateau", "data.sampling=oversample",
      "trainer.validate_every=3"), 7),
    (("model=convs2s", "trainer.average=2", "trainer.early_stopping=1"), 27),
    (("model=transformer", "trainer.average=2", "trainer.validate_every=5", "data.word_dropout=0.1"), 22),
    (("model=lstm", "data=numbers", "trainer.validate_every=2", "task.decoding.beam=1"), 5),
    (("model=transformer", "data=numbers", "trainer.accumulate=2", "trainer.validate_every=1",
      "task.decoding.beam=1"), 4),
]  # fmt: skip


@pytest.mark.parametrize("options,steps", MIDDLE, ids=lambda value: value[0] if isinstance(value, tuple) else None)
def test_an_interrupted_run_ends_as_if_it_had_not_been(
    verb: Verb, crash_at: Callable[[int], None], options: tuple[str, ...], steps: int
) -> None:
    data = (*NUMBERS, "model.dim=24") if "data=numbers" in options else AGREEMENT
    crash_at(0)
    assert verb("train", *SMALL, *data, *options, "hydra.run.dir=whole")[0] == 0
    crash_at(steps)
    assert verb("train", *SMALL, *data, *options, "hydra.run.dir=broken")[0] != 0
    assert Record.read(Path("broken")).status == "failed"
    resumed_from = Path("broken/checkpoints", LAST).exists()
    crash_at(0)
    code, _, err = verb("train", *SMALL, *data, *options, "hydra.run.dir=broken")
    assert code == 0, err
    assert ("going on from" in Path("broken/train.log").read_text()) is resumed_from is True
    same("whole", "broken")
    assert len(Record.read(Path("broken")).resumed) == 1
    assert not list(Path("broken/checkpoints").glob("resume*"))


def test_ctrl_c_says_how_to_go_on_and_promises_nothing_without_a_point(
    verb: Verb, ctrl_c_at: Callable[[int], None]
) -> None:
    options = (*SMALL, *AGREEMENT, "model=textcnn", "hydra.run.dir=run")
    ctrl_c_at(3)
    code, _, err = verb("train", *options)
    assert code == 130 and err.splitlines()[-1].startswith("interrupted at step ")
    assert "no point saved yet" in err and "hydra.run.dir" not in err
    assert Record.read(Path("run")).status == "interrupted"
    ctrl_c_at(15)
    code, out, err = verb("train", *options)
    told = r"interrupted at step 1[45]: go on with the same command and hydra\.run\.dir=run"
    assert code == 130 and re.fullmatch(told, err.splitlines()[-1]) and "going on" not in out
    error = Record.read(Path("run")).error
    assert error is not None and error["type"] == "KeyboardInterrupt"
    ctrl_c_at(0)
    code, out, err = verb("train", *options)
    assert code == 0 and out.index("going on from step 12\n") < out.index("step 24/36"), out + err


STREAM = (
    "data.streaming=true", "data.shuffle_buffer=10", "data.tokenizer_rows=20", "trainer.max_epochs=null",
    "trainer.max_steps=26", "trainer.validate_every=4", "trainer.log_every=2", "logger=none", "cache=cache",
    "model.dim=24",
)  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        ("model=textcnn", "data=csv", "data.baselines=[]", "data.workers=2", "trainer.accumulate=2",
         "data.batch_examples=4", "data.word_dropout=0.1"),
        ("model=gru", "data=parallel_text", "data.source=en", "data.target=de", "data.tokenizer.vocabulary=60",
         "data.max_ratio=2", "task.decoding.beam=1", "data.batch_tokens=60"),
    ],
    ids=["texts", "pairs"],
)  # fmt: skip
def test_an_interrupted_stream_goes_on_in_its_place(
    verb: Verb, crash_at: Callable[[int], None], texts: Path, pairs: Path, options: tuple[str, ...]
) -> None:
    path = f"data.path={texts if 'data=csv' in options else pairs}"
    crash_at(0)
    code, _, err = verb("train", *STREAM, path, *options, "hydra.run.dir=whole")
    assert code == 0, err
    crash_at(23)
    assert verb("train", *STREAM, path, *options, "hydra.run.dir=broken")[0] != 0
    crash_at(0)
    assert verb("train", *STREAM, path, *options, "hydra.run.dir=broken")[0] == 0
    assert "going on from" in Path("broken/train.log").read_text()
    same("whole", "broken")
    read, again = (Record.read(Path(run)).ledger["train"] for run in ("whole", "broken"))
    assert read == again and read["read"] > 48


def test_a_damaged_point_falls_back_to_the_one_before(verb: Verb, crash_at: Callable[[int], None]) -> None:
    options = (*SMALL, *AGREEMENT, "model=textcnn")
    assert verb("train", *options, "hydra.run.dir=whole")[0] == 0
    crash_at(30)
    verb("train", *options, "hydra.run.dir=broken")
    newest = Path("broken/checkpoints", LAST)
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    assert Path("broken/checkpoints", BEFORE).exists()
    crash_at(0)
    code, _, err = verb("train", *options, "hydra.run.dir=broken")
    assert code == 0 and "resume.ckpt is damaged" in Path("broken/train.log").read_text(), err
    same("whole", "broken")


def test_only_the_same_run_on_the_same_data_goes_on(verb: Verb, crash_at: Callable[[int], None], texts: Path) -> None:
    options = (*SMALL, "data=csv", f"data.path={texts}", "model=textcnn", "model.dim=24", "hydra.run.dir=run")
    crash_at(4)
    assert verb("train", *options)[0] != 0
    crash_at(0)
    code, _, err = verb("train", *options, "model.lr=0.5")
    assert code == 2 and "another config" in err and "model.lr" in err
    with FileLock("run/.lock"):
        code, _, err = verb("train", *options)
        assert code == 2 and "in use by another run" in err
    kept = (texts / "train.csv").read_text()
    (texts / "train.csv").write_text(kept.replace("number", "nr"))
    left = Record.read(Path("run"))
    for _ in range(2):  # a refusal leaves the record as it was: what it began with, its costs, and how it ended
        code, _, err = verb("train", *options)
        assert code == 2 and "changed since this run began" in err
        assert Record.read(Path("run")) == left
    (texts / "train.csv").write_text(kept)
    assert verb("train", *options)[0] == 0
    code, _, err = verb("train", *options)
    assert code == 2 and "finished run" in err


def test_a_run_killed_before_its_first_point_begins_again_on_the_same_data_only(
    verb: Verb, crash_at: Callable[[int], None], texts: Path
) -> None:
    options = (*SMALL, "data=csv", f"data.path={texts}", "model=textcnn", "model.dim=24", "hydra.run.dir=run")
    crash_at(1)
    assert verb("train", *options)[0] != 0
    shutil.rmtree("run/checkpoints", ignore_errors=True)
    record = json.loads(Path("run/record.json").read_text())
    Path("run/record.json").write_text(json.dumps(record | {"status": "running", "error": None}))
    kept = (texts / "train.csv").read_text()
    (texts / "train.csv").write_text(kept.replace("number", "nr"))
    crash_at(0)
    for _ in range(2):
        code, _, err = verb("train", *options)
        assert code == 2 and "changed since this run began" in err
    (texts / "train.csv").write_text(kept)
    assert verb("train", *options)[0] == 0


def test_a_job_that_slurm_is_about_to_stop_goes_back_into_the_queue_and_on(
    verb: Verb, slurm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = (*SMALL, *AGREEMENT, "model=gru", "trainer.accumulate=2")
    assert verb("train", *options, "hydra.run.dir=whole")[0] == 0
    step, left = L.LightningModule.optimizer_step, [3]

    def warned(self: Any, *arguments: Any, **named: Any) -> None:
        step(self, *arguments, **named)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGUSR1)

    monkeypatch.setattr(L.LightningModule, "optimizer_step", warned)
    code, _, err = verb("train", *options, "hydra.run.dir=broken")
    assert code != 0 and slurm.read_text() == "requeue 71\n", err
    assert Record.read(Path("broken")).status == "interrupted" and left == [0]
    assert not list(Path("broken").rglob("hpc_ckpt*"))
    code, _, err = verb("train", *options, "hydra.run.dir=broken")
    assert code == 0, err
    same("whole", "broken")


@pytest.mark.parametrize("task", [None, "4"])
def test_what_slurm_is_asked_and_what_if_it_refuses(
    slurm: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, task: str | None
) -> None:
    if task is not None:
        monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "70")
        monkeypatch.setenv("SLURM_ARRAY_TASK_ID", task)
    requeue()
    assert slurm.read_text() == ("requeue 71\n" if task is None else "requeue 70_4\n")
    monkeypatch.setenv("PATH", "/nowhere")
    requeue()
    assert "scontrol requeue" in caplog.text and "goes on from the checkpoint" in caplog.text


def killed(steps: int, rank: int) -> None:
    """This process kills itself after so many optimizer steps; until then it has not imported what it does not use."""
    step, left = L.LightningModule.optimizer_step, [steps]

    def counted(self: Any, *arguments: Any, **named: Any) -> None:
        step(self, *arguments, **named)
        left[0] -= 1
        if not left[0]:
            assert "wandb" not in sys.modules
            os.kill(os.getpid(), signal.SIGKILL)

    L.LightningModule.optimizer_step = counted  # type: ignore[method-assign]


@pytest.mark.slow
def test_a_killed_process_is_followed_by_one_that_finishes_its_run(verb: Verb) -> None:
    options = [*SMALL, *AGREEMENT, "model=transformer", "trainer.validate_every=3"]
    broken = Path("broken").absolute()
    for steps in (16, 11):
        one = started(broken, options, 1, partial(killed, steps))
        assert one.join() == [-signal.SIGKILL], one.said()
        assert Record.read(broken).status == "running"
    for folder in ("broken", "whole"):
        code, _, err = verb("train", *options, f"hydra.run.dir={folder}")
        assert code == 0, err
    same("whole", "broken")
    assert len(Record.read(broken).resumed) == 2
