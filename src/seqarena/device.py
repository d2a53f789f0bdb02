"""The settings of the machine that a run uses, in one place: threads and the allocator."""

import ctypes
import os
import platform

import torch
from torch.optim import Optimizer

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4


def prepare_cpu(allocator: bool = True) -> None:
    """Use the cores that this process may use, and keep freed memory.

    glibc hands large blocks back to the system as soon as they are freed and maps them afresh, page fault by page
    fault, for the next temporary of the same size. Without mapping and trimming a training step is
    a quarter shorter. Without `allocator` it is left as it is.
    """
    torch.set_num_threads(available_cores())
    if allocator and keeps_memory():
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_MAX, 0)
        libc.mallopt(_M_TRIM_THRESHOLD, -1)
        libc.mallopt(_M_TOP_PAD, 512 * 2**20)


def keeps_memory() -> bool:
    """Whether `prepare_cpu` can tell the allocator to."""
    return platform.libc_ver()[0] == "glibc"


def fuse(optimizer: Optimizer, device: torch.device) -> None:
    """On a CUDA GPU let an optimizer that can, before its first step, update all weights in one kernel.

    Not on a CPU, where that gains nothing.
    """
    for group in optimizer.param_groups:
        if device.type == "cuda" and "fused" in group and group["fused"] is None:
            group["fused"], group["foreach"] = True, False


def available_cores() -> int:
    """Cores that affinity leaves to this process (not those of the host), or OMP_NUM_THREADS where that is set."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdigit() and int(told) else len(os.sched_getaffinity(0))
