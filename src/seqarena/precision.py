"""The arithmetic of a run. `auto` is bf16 where the device is fast at it and fp32 elsewhere; the record says which.

A processor without bf16 instructions emulates them, and its products are far slower than in fp32 (callbacks/peak.py).
"""

import os
from typing import Any

import torch

AUTO = "auto"
HALF = ("16-mixed", "16-true")
PRECISIONS = (AUTO, "32-true", "bf16-mixed", *HALF, "bf16-true", "64-true")


def settled(precision: str, accelerator: str) -> Any:
    """The word for Lightning: `precision` itself, or what `auto` means on this machine's `accelerator`."""
    if precision != AUTO:
        return precision
    on_gpu = accelerator != "cpu" and torch.cuda.is_available()
    fast = torch.cuda.is_bf16_supported(including_emulation=False) if on_gpu else cpu_is_fast()
    return "bf16-mixed" if fast else "32-true"


def cpu_is_fast() -> bool:
    """Whether an x86 processor has bf16 instructions, which oneDNN may use (ONEDNN_MAX_CPU_ISA)."""
    has = torch.cpu.get_capabilities()
    told = os.environ.get("ONEDNN_MAX_CPU_ISA", "ALL").upper()
    allowed = told in ("ALL", "DEFAULT") or any(name in told for name in ("BF16", "FP16", "AMX", "AVX10"))
    return allowed and any(has.get(name, False) for name in ("avx512_bf16", "amx_bf16"))
