"""What makes training fast without changing what it computes: which of it a run had is in its record.

Each lever has a place of its own: attention's path and dropout's bits with the models, the allocator and the optimizer
in device.py, batches in memory that a GPU reads by itself in data/loading.py, torch.compile in compilation.py. The
sliced cross-entropy (tasks/loss.py) and batches of similar lengths (data/batching.py) are always on, the latter unless
data.bucketing=false.
"""

from collections.abc import Sequence

import torch
from torch.optim import Optimizer

from seqarena.device import keeps_memory
from seqarena.models.attention import kernel
from seqarena.models.dropout import bits


def levers(device: torch.device, optimizers: Sequence[Optimizer], compiled: bool) -> dict[str, str]:
    """By name, for the record."""
    on_cpu = device.type == "cpu"
    return {
        "attention": kernel(device),
        "dropout bits": "torch, where compiled" if compiled else bits(device),
        "allocator": "keeps freed memory" if not on_cpu or keeps_memory() else "the system's",
        "optimizer": "fused" if all(one.param_groups[0].get("fused") for one in optimizers) else "torch's default",
        "batches": "ordinary memory" if device.type != "cuda" else "pinned, copied while the GPU works",
        "loss": "compiled" if compiled else "as written",
    }
