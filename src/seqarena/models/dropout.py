"""Dropout whose random bits are cheap on a CPU.

Drawing the mask is what dropout costs there (17-28 % of a training step). Eight random bits an element instead of a
full float win most of it back; the rate is then a multiple of 1/256 (0.1 becomes 26/256 = 0.1016) and the scale follows
the rate really used, so expectations are exact. Other devices have a kernel of their own and use it, and so does what
torch.compile writes, into which the drawing is fused.
"""

import torch
from torch import Tensor, nn


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """Zero elements of `x` with probability `rate` (to the nearest 1/256 on a CPU) and scale the others up."""
    if not training or rate == 0.0:
        return x
    if bits(x.device) == "torch" or torch.compiler.is_compiling():
        return nn.functional.dropout(x, rate)
    return x * _keep_mask(x, round(rate * 256))


def bits(device: torch.device) -> str:
    """Where the random bits come from on a device: `bytes`, drawn here, or `torch`."""
    return "bytes" if device.type == "cpu" else "torch"


def _keep_mask(x: Tensor, threshold: int) -> Tensor:
    """0 with probability threshold/256, else 256/(256 - threshold), in the shape and type of `x`."""
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    bytes_ = words.view(torch.uint8)[: x.numel()].view(x.shape)
    return (bytes_ >= threshold).to(x.dtype).mul_(256 / (256 - threshold))


class Dropout(nn.Module):
    """Module form of `dropout`. A rate of 1 or more is refused, as nothing would be left."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0.0 <= rate < 0.99:
            raise ValueError(f"a dropout rate lies between 0 and 0.99, not {rate}")
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Drop elements in training mode."""
        return dropout(x, self.rate, self.training)

    def extra_repr(self) -> str:
        """Show the rate in a printed model."""
        return f"rate={self.rate}"
