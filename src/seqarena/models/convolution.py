"""Convolution over time, as every convolutional family here uses it: masked and centred, or causal with a window.

A convolution is written as one linear map of `width` neighbouring vectors laid side by side. On a CPU that is as fast
as the convolution kernel, and one token at a time does the same product as a whole sentence. Gated linear units:
Dauphin et al. 2017, "Language Modeling with Gated Convolutional Networks", section 2.
"""

import torch
from torch import Tensor, nn

from seqarena.models.contract import Encoded

HALF = 0.5**0.5
"""Keeps the variance of a sum of two terms of equal variance (Gehring et al. 2017, section 3.4)."""


def neighbours(x_BTD: Tensor, width: int) -> Tensor:
    """Each run of `width` inputs side by side: (B, T, D) to (B, T - width + 1, width · D)."""
    length = x_BTD.size(1) - width + 1
    return torch.cat([x_BTD[:, i : i + length] for i in range(width)], -1)


class SameConvolution(nn.Module):
    """As many outputs as inputs; an even width sees one input more on the right. What the mask hides counts as zero."""

    def __init__(self, dim: int, maps: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.linear = nn.Linear(width * dim, maps)

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        """The maps (B, S, M); those at padding are not meaningful."""
        x_BSD = x_BSD.masked_fill(~mask_BS[..., None], 0.0)
        padded = nn.functional.pad(x_BSD, (0, 0, (self.width - 1) // 2, self.width // 2))
        return self.linear(neighbours(padded, self.width))


class CausalConvolution(nn.Module):
    """Output t sees inputs t - width + 1 to t. The window holds the last width - 1 inputs, so any T may come next."""

    def __init__(self, dim: int, maps: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.linear = nn.Linear(width * dim, maps)

    def forward(self, x_BTD: Tensor, window_BWD: Tensor) -> tuple[Tensor, Tensor]:
        """The maps (B, T, M) and the window after them."""
        seen = torch.cat((window_BWD.to(x_BTD.dtype), x_BTD), 1)
        return self.linear(neighbours(seen, self.width)), seen[:, x_BTD.size(1) :]


class GatedSame(nn.Module):
    """A centred convolution to twice the width, one half of which gates the other."""

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.convolution = SameConvolution(dim, 2 * dim, width)

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        """Gated maps (B, S, D)."""
        return nn.functional.glu(self.convolution(x_BSD, mask_BS), -1)


class GatedCausal(nn.Module):
    """A causal convolution to twice the width, one half of which gates the other."""

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.convolution = CausalConvolution(dim, 2 * dim, width)

    def forward(self, x_BTD: Tensor, window_BWD: Tensor) -> tuple[Tensor, Tensor]:
        """Gated maps (B, T, D) and the window after them."""
        y_BTM, window_BWD = self.convolution(x_BTD, window_BWD)
        return nn.functional.glu(y_BTM, -1), window_BWD


def first_window(encoded: Encoded, width: int) -> Tensor:
    """The window before the first target: zeros (B, width - 1, D)."""
    batch, dim = encoded.summary_BD.shape
    return encoded.summary_BD.new_zeros(batch, width - 1, dim)


def masked_max(x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
    """Maximum over real positions (B, D); zeros where a row has none."""
    highest_BD = x_BSD.masked_fill(~mask_BS[..., None], float("-inf")).amax(1)
    return highest_BD.masked_fill(~mask_BS.any(1, keepdim=True), 0.0)
