"""Gradient reach: how strongly the output depends on a token, by its distance from the end of the text.

At distance k from the last of n tokens it is the Frobenius norm of the Jacobian of the output y by the token's vector,

    g(k) = || dy / dx[n-1-k] ||,     estimated by   sqrt( mean over v of || v^T dy / dx[n-1-k] ||^2 ),   v ~ N(0, I),

since E ||v^T J||^2 = ||J||^2 (Hutchinson 1990). A recurrent network multiplies one Jacobian a step, so that g falls or
grows geometrically (Bengio et al. 1994; Pascanu et al. 2013, section 2.1); what convolutions see fades towards the rim
of a window and is zero beyond it (Luo et al. 2016, the effective receptive field).
"""

import numpy as np
import torch
from torch import Tensor

from seqarena.probing import sampling
from seqarena.probing.finding import Finding
from seqarena.probing.subject import Subject, Texts, by_distance

VECTORS = 4
"""Random directions that the norm is estimated from."""


def measure(subject: Subject) -> Finding:
    """g by distance, also as a share of the same texts' g(0), from where on that is a half, and what is ignored.

    Ignored is what has a gradient of exactly zero: outside the receptive field, or never the maximum.
    """
    generator = subject.generator()
    parts = [norms(subject, texts, generator) for texts in subject.texts]
    norms_NK = sampling.joined(parts)
    weights_RN = sampling.weights(len(norms_NK), subject.seed)
    zeros_NK = np.where(np.isnan(norms_NK), np.nan, norms_NK == 0)
    numbers = {
        "gradient_half_life": sampling.half_life(norms_NK, weights_RN, range(norms_NK.shape[1])),
        "gradient_zero_share": sampling.mean(sampling.own_means(zeros_NK), weights_RN),
    }
    values, names, places = sampling.bucketed(norms_NK)
    curves = {
        name: ("distance", sampling.points(values, how(values, weights_RN), names, places))
        for name, how in (("gradient", sampling.means), ("gradient_share", sampling.ratios))
    }
    return Finding(numbers, curves)


def norms(subject: Subject, texts: Texts, generator: torch.Generator) -> Tensor:
    """g by distance (B, S) for each text; NaN where it has no token so far away.

    Rows do not depend on each other, so one backward pass serves all of them.
    """
    x_BSD = subject.embed(texts.source_BS).detach().requires_grad_()
    # cuDNN has no backward pass for recurrent networks in evaluation mode.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        y_BD = subject.read(x_BSD, texts.mask_BS)
        squares_BS = torch.stack([_square(y_BD, x_BSD, generator) for _ in range(VECTORS)]).mean(0)
    return by_distance(squares_BS.sqrt(), texts.mask_BS)


def _square(y_BD: Tensor, x_BSD: Tensor, generator: torch.Generator) -> Tensor:
    direction_BD = torch.randn(y_BD.shape, generator=generator).to(y_BD)
    (pulled_BSD,) = torch.autograd.grad(y_BD, x_BSD, direction_BD, retain_graph=True)
    return pulled_BSD.float().square().sum(-1)
