"""TextCNN: Kim 2014, "Convolutional Neural Networks for Sentence Classification", and a decoder to go with it.

Encoder, section 2: filters of several widths side by side, ReLU, maximum over time. Dropout on the result, at Kim's
rate of 0.5, and the bound on the classifier's rows are the task's (task.head_dropout, task.max_norm). Departures:
convolutions are padded to the sentence's own length, so that each position has a state and a text shorter than the
widest filter is legal; more layers, `residual` and `norm` (LayerNorm on each layer's input and on the last output)
are on offer.

The decoder is not Kim's, whose network does not write: gated causal convolutions in the manner of Gehring et al. 2017,
without positions, each layer looking at the source.
"""

import torch
from torch import Tensor, nn

from seqarena.models.contract import Decoder, Encoded, Encoder, State
from seqarena.models.convolution import HALF, GatedCausal, SameConvolution, first_window, masked_max
from seqarena.models.dropout import Dropout
from seqarena.models.lookup import look


def rectified(dim: int, maps: int, width: int) -> SameConvolution:
    """A convolution begun for the ReLU behind it (He et al. 2015), with zero biases."""
    convolution = SameConvolution(dim, maps, width)
    nn.init.kaiming_uniform_(convolution.linear.weight, nonlinearity="relu")
    nn.init.zeros_(convolution.linear.bias)
    return convolution


class Filters(nn.Module):
    """One layer: the same number of feature maps for each width, side by side, after ReLU."""

    def __init__(self, dim: int, widths: list[int]) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(rectified(dim, dim // len(widths), width) for width in widths)

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        """Feature maps (B, S, D)."""
        return torch.cat([convolution(x_BSD, mask_BS) for convolution in self.convolutions], -1).relu()


class TextCNNEncoder(Encoder):
    """Layers of filters; the summary is each map's maximum over real positions.

    `dim` is divided among the `widths` (Kim: 300 among 3, 4 and 5); if it does not divide, that is a ValueError.
    """

    def __init__(self, dim: int, layers: int, widths: list[int], dropout: float, residual: bool, norm: bool) -> None:
        super().__init__()
        if dim % len(widths):
            near = dim + len(widths) - dim % len(widths)
            raise ValueError(f"{dim} maps do not divide among {len(widths)} widths: write for example model.dim={near}")
        self.dim, self.residual = dim, residual
        self.layers = nn.ModuleList(Filters(dim, list(widths)) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) if norm else nn.Identity() for _ in range(layers + 1))
        self.dropout = Dropout(dropout)

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        """Read the texts; see `Encoder`."""
        for depth, layer in enumerate(self.layers):
            inner_BSD = self.norms[depth](x_BSD)
            y_BSD = layer(self.dropout(inner_BSD) if depth else inner_BSD, mask_BS)
            x_BSD = x_BSD + y_BSD if self.residual else y_BSD
        states_BSD = self.norms[-1](x_BSD).masked_fill(~mask_BS[..., None], 0.0)
        summary_BD = masked_max(states_BSD, mask_BS)
        return Encoded(states_BSD, summary_BD, mask_BS, states_BSD)


class TextCNNLayer(nn.Module):
    """A gated causal convolution, whose outputs then look at the source: (h + context) · sqrt(.5)."""

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.gated = GatedCausal(dim, width)
        self.query = nn.Linear(dim, dim)

    def forward(self, x_BTD: Tensor, encoded: Encoded, window_BWD: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (B, T, D) and the window after them."""
        h_BTD, window_BWD = self.gated(x_BTD, window_BWD)
        context_BTD = look(self.query(h_BTD), encoded, h_BTD.size(-1) ** -0.5)
        return (h_BTD + context_BTD) * HALF, window_BWD


class TextCNNDecoder(Decoder):
    """Layers of gated causal convolutions of `width`; with `residual`, (input + output) · sqrt(.5) around each.

    A position reaches back layers · (width - 1) tokens. Dropout: between layers and on the output.
    The state is a window (B, width - 1, D) per layer.
    """

    def __init__(self, dim: int, layers: int, width: int, dropout: float, residual: bool, norm: bool) -> None:
        super().__init__()
        self.dim, self.width, self.residual = dim, width, residual
        self.layers = nn.ModuleList(TextCNNLayer(dim, width) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) if norm else nn.Identity() for _ in range(layers + 1))
        self.dropout = Dropout(dropout)

    def start(self, encoded: Encoded) -> State:
        """Windows of zeros."""
        return tuple(first_window(encoded, self.width) for _ in self.layers)

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        """Write on from `state`; see `Decoder`."""
        windows = []
        for depth, layer in enumerate(self.layers):
            inner_BTD = self.norms[depth](x_BTD)
            y_BTD, window = layer(self.dropout(inner_BTD) if depth else inner_BTD, encoded, state[depth])
            x_BTD = (x_BTD + y_BTD) * HALF if self.residual else y_BTD
            windows.append(window)
        return self.dropout(self.norms[-1](x_BTD)), tuple(windows)
