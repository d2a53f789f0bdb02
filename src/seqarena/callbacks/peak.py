"""How many operations a second a device does at its best, measured: the whole of which training uses a share (MFU).

Model FLOPs utilisation as Chowdhery et al. 2022 (PaLM, section 4.1) have it, but against a product of large matrices on
this very device with this process's threads, not against a data sheet.
"""

import time

import torch

REPEATS = 6
SIZES = {"cuda": 8192}
"""Rows and columns of the matrices; large enough to keep the device busy, and over in a moment."""
SIZE = 512


def dtype(precision: str) -> torch.dtype:
    """What matrix products are computed in under one of Lightning's precisions."""
    if precision.startswith("bf16"):
        return torch.bfloat16
    return {"16": torch.float16, "64": torch.float64}.get(precision.split("-")[0], torch.float32)


@torch.no_grad()
def matmul_flops(device: torch.device, dtype: torch.dtype) -> float:
    """Operations a second of the fastest of a few products, two a multiply-add; torch draws no number for it."""
    size = SIZES.get(device.type, SIZE)
    draws = torch.Generator(device).manual_seed(0)
    left, right = (torch.rand(size, size, generator=draws, device=device).to(dtype) for _ in range(2))
    taken = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        product = left @ right
        product[0, 0].item()  # which waits for the device
        taken.append(time.perf_counter() - began)
    return 2 * size**3 / min(taken[1:])
