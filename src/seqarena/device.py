"""The settings of the machine that a run uses, in one place: threads and the allocator."""

import ctypes
import os
import platform

import torch
from joblib import cpu_count
from torch.optim import Optimizer

EXACT = 1e-5
"""Rounding of fp32; that of bf16 is above 1e-3."""
_TRIED = 256
"""Rows and columns of the product that tells; oneDNN takes none that is much smaller."""
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4


def prepare_cpu() -> None:
    """Use the cores that this process may use, and keep freed memory.

    glibc hands large blocks back to the system as soon as they are freed and maps them afresh, page fault by page
    fault, for the next temporary of the same size. Without mapping and trimming a training step is shorter, by 7 to
    25 % (benchmarks/levers.py, on two processors).
    """
    torch.set_num_threads(available_cores())
    hasten_products()
    if keeps_memory():
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_MAX, 0)
        libc.mallopt(_M_TRIM_THRESHOLD, -1)
        libc.mallopt(_M_TOP_PAD, 512 * 2**20)


def hasten_products() -> None:
    """Let torch take oneDNN's matrix products in fp32 where they are as exact as its own.

    On processors with bf16 instructions, and there alone, `medium` means oneDNN's. Without a matrix unit they are true
    fp32, and were seen to train 1.6 to 1.8 times as fast (AMD Zen 5; on one without bf16 nothing changes); with one
    they may be bf16, so they are tried. A GPU is left alone.
    """
    if torch.cuda.is_available():
        return
    torch.set_float32_matmul_precision("medium")
    if rounding() > EXACT:
        torch.set_float32_matmul_precision("highest")


def rounding() -> float:
    """The largest error of a matrix product as a share of its largest number; torch draws no number for it."""
    draws = torch.Generator().manual_seed(0)
    left, right = (torch.randn(_TRIED, _TRIED, generator=draws) for _ in range(2))
    exact = left.double() @ right.double()
    return ((left @ right - exact).abs().max() / exact.abs().max()).item()


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


def casting_once(kind: str) -> torch.autocast:
    """Under autocast on this kind of device, cast each weight once and not at every use; elsewhere nothing changes.

    Lightning forbids it, and a search would cast all weights anew at each token. The copies are forgotten with the
    batch, where the outermost context ends. Not for training: the gradients of all uses would be summed in half
    precision.
    """
    enabled, dtype = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)
    return torch.autocast(kind, dtype, enabled, cache_enabled=True)


def available_cores() -> int:
    """Cores that affinity and a container's quota leave to this process, or OMP_NUM_THREADS where that is set."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdigit() and int(told) else cpu_count()
