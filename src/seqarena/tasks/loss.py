"""The output layer and its cross-entropy in one, a slice of tokens at a time.

The logits of a translation batch are by far its largest tensor (4,096 tokens times 8,000 words: 131 MB), and writing,
reading and freeing several of that size is what the plain loss costs on a CPU. Here each slice's logits stay in the
cache: they become probabilities and then gradients in place, and are forgotten. On a GPU slices are larger: there they
save memory alone, and each costs launches. Loss and gradients equal those of
`torch.nn.functional.cross_entropy(y @ W.T, ..., label_smoothing)` (tested).
"""

from typing import Any

import torch
from torch import Tensor

SLICES = {"cpu": 2**22}
SLICE = 2**26
"""Logits held at a time, by kind of device and on any other."""


class _SlicedCrossEntropy(torch.autograd.Function):
    """Computes the gradients on the way forward, while each slice's probabilities are at hand."""

    @staticmethod
    def forward(ctx: Any, y_ND: Tensor, weight_VD: Tensor, wanted_N: Tensor, smoothing: float) -> Tensor:
        vocabulary = len(weight_VD)
        total = torch.zeros((), dtype=torch.float32, device=y_ND.device)
        dy_ND, dweight_VD = torch.empty_like(y_ND), torch.zeros_like(weight_VD)
        rows = max(1, SLICES.get(y_ND.device.type, SLICE) // vocabulary)
        for first in range(0, len(y_ND), rows):
            y_nD, wanted_n1 = y_ND[first : first + rows], wanted_N[first : first + rows, None]
            logs_nV = (y_nD @ weight_VD.T).float().log_softmax(-1)
            wanted_logs_n1 = logs_nV.gather(1, wanted_n1)
            total -= (1 - smoothing) * wanted_logs_n1.sum() + smoothing / vocabulary * logs_nV.sum()
            gradient_nV = logs_nV.exp_().sub_(smoothing / vocabulary)
            gradient_nV.scatter_add_(1, wanted_n1, torch.full_like(wanted_logs_n1, smoothing - 1))
            dy_ND[first : first + rows] = gradient_nV.to(y_nD.dtype) @ weight_VD
            dweight_VD += gradient_nV.T.to(y_nD.dtype) @ y_nD
        ctx.save_for_backward(dy_ND, dweight_VD)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        dy_ND, dweight_VD = ctx.saved_tensors
        return dy_ND * gradient, dweight_VD * gradient, None, None


@torch.compiler.disable  # the number of slices changes with every batch
def cross_entropy_sum(y_ND: Tensor, weight_VD: Tensor, wanted_N: Tensor, smoothing: float) -> Tensor:
    """Sum over N tokens of the cross-entropy of `y_ND @ weight_VD.T` against `wanted_N`.

    Smoothing gives every word an equal share of `smoothing` (Szegedy et al. 2016, section 7).
    """
    return _SlicedCrossEntropy.apply(y_ND, weight_VD, wanted_N, smoothing)
