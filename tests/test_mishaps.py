"""What a machine does to a run ends in one message, with what was written before whole."""

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from conftest import AGREEMENT, SMALL, Verb
from omegaconf import OmegaConf

from seqarena.data.augmentation import Reading
from seqarena.errors import MachineError
from seqarena.mishaps import explained
from seqarena.record import Record

CONFIG = OmegaConf.create(
    {
        "data": {"batch_tokens": 4096, "batch_examples": 50, "max_length": None, "workers": 2},
        "model": {"dim": 256},
        "trainer": {"gradient_checkpointing": False},
    }
)
FOLDER = Path("outputs/runs/mine")
KILLED = "DataLoader worker (pid 4182) is killed by signal: Killed."
EXITED = "DataLoader worker (pid(s) 3107, 3108) exited unexpectedly"
PEER = "[gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:48263: Connection reset by peer. This is typically ..."
STORE = "recvValue failed on SocketImpl(fd=3): Failed to recv, got 0 bytes. Connection was likely closed. Did the ..."
MEMORY = r"out of memory: lower data.batch_tokens \(now 4096\).*data.batch_examples \(now 50\).*gradient_checkpoint"
CPU = "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), MEMORY),
        (RuntimeError(CPU), MEMORY),
        (MemoryError(), MEMORY),
        (RuntimeError(KILLED), r"a data worker died.*write data.workers=0 \(now 2\)"),
        (RuntimeError(EXITED), "a data worker died"),
        (RuntimeError(STORE), "another process of this run has ended, or cannot be reached .*got 0 bytes"),
        (RuntimeError(PEER), "another process of this run has ended, or cannot be reached .*Read error"),
        (OSError(errno.ENOSPC, "", "/x/last.ckpt"), "last.ckpt could not be written: the disk is full"),
        (OSError(errno.EDQUOT, ""), "outputs/runs/mine could not be written: the quota is used up"),
        (OSError(errno.EROFS, "Read-only", str(FOLDER / "a")), "mine/a cannot be written .Read-only.: choose another"),
    ],
)  # fmt: skip
def test_each_has_its_message(error: Exception, told: str) -> None:
    with pytest.raises(MachineError, match=told), explained(CONFIG, FOLDER):
        raise error


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
        PermissionError(errno.EACCES, "Permission denied", "/data/train.csv"),
        FileNotFoundError(errno.ENOENT, "No such file", "x"),
        KeyError("memory"),
    ],
    ids=str,
)
def test_any_other_error_passes(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, explained(CONFIG, FOLDER):
        raise error
    assert caught.value is error


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Writing more than so many bytes into a file fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_checkpoint_without_room_ends_the_run_and_keeps_its_record(verb: Verb) -> None:
    command = ("train", *SMALL, *AGREEMENT, "model=lstm", "hydra.run.dir=run", "trainer.max_steps=6")
    command += ("trainer.validate_every=2", "model.dim=160")
    with largest_file(300_000):
        code, _, err = verb(*command)
    assert code == 2 and "could not be written: a file may not grow so large" in err and "Traceback" not in err
    record = Record.read(Path("run"))
    assert record.status == "failed" and record.error is not None and record.error["type"] == "MachineError"
    assert "val/accuracy" in record.metrics
    code, _, err = verb(*command)
    assert code == 0, err
    assert Record.read(Path("run")).status == "done" and Record.read(Path("run")).resumed


def test_a_record_without_room_leaves_the_one_before(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Record.write

    def full(self: Record, folder: Path) -> None:
        if self.metrics:
            raise OSError(errno.ENOSPC, "No space left on device", str(folder / "record.json"))
        whole(self, folder)

    monkeypatch.setattr(Record, "write", full)
    code, _, err = verb("train", *SMALL, *AGREEMENT, "model=textcnn", "hydra.run.dir=run")
    assert code == 2 and "record.json could not be written: the disk is full" in err and "Traceback" not in err
    assert Record.read(Path("run")).status == "running" and not list(Path("run").glob(".record.json-*"))


def test_a_killed_data_worker_is_named(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import signal

    def killed(self: Reading, indices: list[int]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(Reading, "__getitem__", killed)
    code, _, err = verb("train", *SMALL, *AGREEMENT, "model=textcnn", "data.workers=1", "hydra.run.dir=run")
    assert code == 2 and "a data worker died" in err and "data.workers=0 (now 1)" in err and "Traceback" not in err
    assert Record.read(Path("run")).status == "failed"
