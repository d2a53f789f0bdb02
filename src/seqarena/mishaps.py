"""What a machine does to a run, said in one message: no memory, no room on the disk, a killed worker or rank.

Errors that are none of these pass through as they are.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from omegaconf import DictConfig

from seqarena.errors import MachineError
from seqarena.record import relative

MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory|CUBLAS_STATUS_ALLOC_FAILED", re.IGNORECASE)
WORKER = re.compile(r"DataLoader worker \(pid\(?s?\)?[^)]*\).*(exited|killed)", re.IGNORECASE | re.DOTALL)
PEER = re.compile(
    r"connection (reset|closed) by peer|connection (was likely )?closed|remote (worker|process)|NCCL", re.IGNORECASE
)
FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota is used up",
    errno.EFBIG: "a file may not grow so large",
}
READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


@contextmanager
def explained(config: DictConfig, folder: Path) -> Iterator[None]:
    """Turn such an error into a MachineError that says what to do. `folder` is where the run writes."""
    try:
        yield
    except (RuntimeError, MemoryError, OSError) as error:
        told = _told(error, config, folder)
        if told is None:
            raise
        raise MachineError(told) from error


@contextmanager
def short_of_memory(longest: int, size: int) -> Iterator[None]:
    """The same where texts are answered, `size` at a time, the longest of so many characters."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not _of_memory(error):
            raise
        raise MachineError(
            f"out of memory: the longest of these texts has {longest:,} characters: write batch=1 (now {size}), or cut "
            "it up"
        ) from error


def _of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or bool(MEMORY.search(str(error)))


def _told(error: Exception, config: DictConfig, folder: Path) -> str | None:
    if isinstance(error, OSError):
        return _unwritten(error, folder)
    if _of_memory(error):
        return _memory(config)
    if WORKER.search(str(error)):
        return (
            f"a data worker died, probably for want of memory: write data.workers=0 (now {config.data.workers}), "
            "or free some; the same command goes on from the last checkpoint"
        )
    if PEER.search(str(error)):
        return (
            f"another process of this run has ended, or cannot be reached ({str(error).splitlines()[0][:200]}): its "
            "message stands above, or in the log of its machine; the same command goes on from the last checkpoint"
        )
    return None


def _unwritten(error: OSError, folder: Path) -> str | None:
    place = Path(error.filename or folder)
    if error.errno in FULL:
        return (
            f"{relative(place)} could not be written: {FULL[error.errno]}. What was written before is whole; "
            "make room, and the same command goes on from the last checkpoint"
        )
    if error.errno in READ_ONLY and place.absolute().is_relative_to(folder.absolute()):
        return f"{relative(place)} cannot be written ({error.strerror}): choose another hydra.run.dir"
    return None


def _memory(config: DictConfig) -> str:
    data, model = config.data, config.model
    ways = [f"data.batch_tokens (now {data.batch_tokens}) with a larger trainer.accumulate"]
    if data.batch_examples is not None:
        ways.append(f"data.batch_examples (now {data.batch_examples})")
    ways += [f"data.max_length (now {data.max_length})", f"model.dim (now {model.dim})"]
    told = f"out of memory: lower {', '.join(ways)}"
    if not config.trainer.gradient_checkpointing:
        told += "; or write trainer.gradient_checkpointing=true, which takes a third more time"
    return told + "; the record and the last checkpoint are whole"
