"""`data.batch_tokens=auto`: the largest batch whose training step fits into the memory there is.

The peak of a step is measured at two sizes, on the longest training texts, and a straight line through both is
followed up to a share of what is free. Attention's square is in its slope: what grows is the number of texts, not their
length. `trainer.effective_tokens` makes up for batches of different sizes by how many of them a step takes.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig
from torch import Tensor

from seqarena.budget.options import with_options
from seqarena.callbacks.peak import dtype
from seqarena.data.batch import Batch
from seqarena.data.loading import AUTO, START
from seqarena.data.module import DataModule
from seqarena.errors import InputError
from seqarena.precision import settled
from seqarena.ranks import number
from seqarena.recomputation import recompute_layers
from seqarena.runs import build_task
from seqarena.tasks.task import SequenceTask

SHARE = 0.8
"""Of the free memory, to be used: the rest is for what the allocator cannot use and for other programs."""
ROUND, MOST = 256, 65536
"""Sizes are multiples of the first and not above the second, where a batch no longer trains any faster."""
SIZES = (START // 4, START)
"""Tokens of the two batches that are measured."""

STATUS, RESET, FREE = Path("/proc/self/status"), Path("/proc/self/clear_refs"), Path("/proc/meminfo")
LIMIT, USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def fitted(config: DictConfig, data: DataModule) -> tuple[DictConfig, dict[str, Any]]:
    """The config with a number for `data.batch_tokens=auto`, and the account of it; `data` makes such batches then.

    Otherwise both as they are. torch's random numbers are left as they were. InputError: several processes would each
    choose for itself; nothing tells how much memory a step takes; hardly anything fits.
    """
    if config.data.batch_tokens != AUTO:
        return config, {}
    if config.trainer.devices != 1 or config.trainer.num_nodes != 1:
        raise InputError(
            "data.batch_tokens=auto is measured by one process: run it once with trainer.devices=1 "
            "trainer.max_steps=1, and write the number that it chose"
        )
    device = torch.device("cuda" if config.trainer.accelerator != "cpu" and torch.cuda.is_available() else "cpu")
    room = free(device)
    with torch.random.fork_rng():
        task = build_task(config, data.vocabulary).to(device).train()
        if config.trainer.gradient_checkpointing:
            recompute_layers(task)
        low, high = peaks(task, [data.longest_batch(size) for size in SIZES], _kind(config))
    slope = max(high - low, 1) / (SIZES[1] - SIZES[0])
    fixed = low - slope * SIZES[0] + optimizer_bytes(task)
    tokens = rounded((SHARE * room - fixed) / slope)
    data.resize(tokens)
    account = {"batch_tokens": tokens, "bytes_per_token": round(slope), "free_bytes": room}
    return with_options(config, {"data.batch_tokens": tokens}), account


def accumulated(config: DictConfig) -> tuple[DictConfig, dict[str, Any]]:
    """The config with as many batches a step as come nearest to `trainer.effective_tokens`, and the account of it.

    InputError: `trainer.accumulate` says something else, or a single batch holds more.
    """
    how, wanted = config.trainer, config.trainer.effective_tokens
    if wanted is None:
        return config, {}
    if how.accumulate != 1:
        raise InputError(
            f"trainer.accumulate={how.accumulate} and trainer.effective_tokens={wanted} both say how large a step is: "
            "write one of them"
        )
    ranks = number(how)
    together = config.data.batch_tokens * ranks
    if wanted < together:
        raise InputError(
            f"trainer.effective_tokens={wanted}, but a batch of {config.data.batch_tokens} tokens on each of {ranks} "
            f"devices is more already: write data.batch_tokens={max(1, wanted // ranks)} or less"
        )
    batches = round(wanted / together)
    account = {"accumulate": batches, "effective_tokens": batches * together}
    return with_options(config, {"trainer.accumulate": batches}), account


def _kind(config: DictConfig) -> torch.dtype:
    return dtype(settled(config.trainer.precision, config.trainer.accelerator))


def rounded(tokens: float) -> int:
    """A multiple of ROUND from ROUND to MOST. InputError: not even that many fit."""
    if tokens < ROUND:
        raise InputError(
            f"data.batch_tokens=auto: not even {ROUND} tokens fit into {SHARE:.0%} of the free memory: write a smaller "
            "model.dim or model.layers, or data.max_length="
        )
    return min(MOST, int(tokens) // ROUND * ROUND)


def optimizer_bytes(task: SequenceTask) -> int:
    """Of Adam's two moments; weights and gradients are in what was measured."""
    return sum(2 * one.numel() * one.element_size() for one in task.parameters())


def peaks(task: SequenceTask, batches: Sequence[Batch], kind: torch.dtype) -> list[int]:
    """Bytes that a forward and backward pass on each batch adds, at its highest, to what is held before all of them.

    Freed memory stays with the process, so it is counted from one beginning.
    """
    device = next(task.parameters()).device
    before, found = reset(device), []
    for batch in batches:
        moved = type(batch)(*(one.to(device) if isinstance(one, Tensor) else one for one in batch))  # type: ignore[arg-type]
        reset(device)
        half = kind not in (torch.float32, torch.float64)
        with torch.autocast(device.type, kind, half, cache_enabled=False):  # as Lightning has it
            total = task.loss(moved)
        total.backward()
        found.append(highest(device) - before)
        task.zero_grad(set_to_none=True)
    return found


def reset(device: torch.device) -> int:
    """Bytes held now, from which the highest is counted anew. InputError: this system does not tell."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    if not RESET.exists():
        raise InputError("data.batch_tokens=auto measures memory on a CUDA GPU or under Linux: write a number")
    RESET.write_text("5")
    return told(STATUS, "VmRSS")


def highest(device: torch.device) -> int:
    """The most bytes held since the last reset."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else told(STATUS, "VmHWM")


def free(device: torch.device) -> int:
    """Bytes that this process may still take: of the card, or of the machine within its control group."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    available = told(FREE, "MemAvailable")
    limit = LIMIT.read_text().strip() if LIMIT.exists() else "max"
    return available if limit == "max" else min(available, int(limit) - int(USED.read_text()))


def told(file: Path, name: str) -> int:
    """Bytes behind a name in one of /proc's tables of kibibytes."""
    found = re.search(rf"^{name}:\s+(\d+) kB", file.read_text(), re.MULTILINE)
    assert found is not None, f"{file} has no {name}"
    return 1024 * int(found[1])
