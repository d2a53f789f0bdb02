"""Recurrence in a Transformer's block: an LSTM, GRU or plain RNN takes the place of self-attention, and nothing else.

LayerNorm, residual sums, dropout, feed-forward and, in the decoder, attention to the source are those of Vaswani et al.
2017. On ListOps an LSTM as it is reaches 27.5 % and one in such a block 49.5 %: much of the gap between recurrence and
attention is what surrounds them (Chen et al. 2018, "The Best of Both Worlds", say so for translation). There are no
positions, since a recurrence counts for itself; the summary is the mean over real positions.
"""

from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor, nn

from seqarena.models.contract import Decoder, Encoded, Encoder, State, masked_mean
from seqarena.models.recurrent import Hidden, Reading, Recurrence, reversal
from seqarena.models.transformer import Build, FeedForward, Wrapping, last_norm

Memory: TypeAlias = tuple[Hidden, tuple[Tensor, Tensor]]
"""A decoder layer's: that of its recurrence, and keys and values (B, H, S, d) of the source."""


class RecurrentEncoderBlock(nn.Module):
    """A recurrence in one or two directions, then feed-forward."""

    def __init__(
        self, cell: str, bidirectional: bool, dim: int, feedforward: int, norm: str, residual: bool, dropout: float
    ) -> None:
        super().__init__()
        self.reading = Reading(cell, dim, bidirectional)
        self.feedforward = FeedForward(dim, feedforward)
        self.around_reading = Wrapping(dim, norm, residual, dropout)
        self.around_feedforward = Wrapping(dim, norm, residual, dropout)

    def forward(self, x_BSD: Tensor, reversal_BS: Tensor) -> Tensor:
        """One layer further; `reversal_BS` turns each text around within its length."""
        x_BSD = self.around_reading(x_BSD, partial(self.reading, reversal_BS=reversal_BS))
        return self.around_feedforward(x_BSD, self.feedforward)


class RecurrentBlockEncoder(Encoder):
    """N layers of recurrence and feed-forward. With `bidirectional` an odd `dim` is a ValueError."""

    def __init__(
        self,
        cell: str,
        dim: int,
        layers: int,
        bidirectional: bool,
        feedforward: int,
        dropout: float,
        norm: str,
        residual: bool,
    ) -> None:
        super().__init__()
        if bidirectional and dim % 2:
            raise ValueError(f"two directions share an even width, not {dim}: write model.dim={dim + 1}")
        self.dim = dim
        self.layers = nn.ModuleList(
            RecurrentEncoderBlock(cell, bidirectional, dim, feedforward, norm, residual, dropout) for _ in range(layers)
        )
        self.norm = last_norm(dim, norm)

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        """Read a batch of texts; the summary is the mean over real positions."""
        reversal_BS = reversal(mask_BS.sum(1), x_BSD.shape[1])
        for layer in self.layers:
            x_BSD = layer(x_BSD, reversal_BS)
        states_BSD = self.norm(x_BSD).masked_fill(~mask_BS[..., None], 0.0)
        return Encoded(states_BSD, masked_mean(states_BSD, mask_BS), mask_BS, states_BSD)


class RecurrentDecoderBlock(nn.Module):
    """A recurrence, attention to the source, feed-forward."""

    def __init__(self, cell: str, build: Build) -> None:
        super().__init__()
        self.recurrence, self.around_recurrence = Recurrence(cell, build.dim, build.dim), build.wrapping()
        self.cross, self.around_cross = build.attention(), build.wrapping()
        self.feedforward = FeedForward(build.dim, build.feedforward)
        self.around_feedforward = build.wrapping()

    def start(self, encoded: Encoded) -> Memory:
        """A memory of zeros, and the source's keys and values, which are computed once."""
        zeros_BD = torch.zeros_like(encoded.summary_BD)
        return (zeros_BD,) * self.recurrence.cell.tensors, self.cross.read(encoded.states_BSD)

    def forward(self, x_BTD: Tensor, encoded: Encoded, memory: Memory) -> tuple[Tensor, Memory]:
        """One layer further, and the memory after it."""
        hidden, source = memory
        y_BTD, hidden = self.recurrence(self.around_recurrence.before(x_BTD), hidden)
        x_BTD = self.around_recurrence.leave(x_BTD, y_BTD)
        x_BTD = self.around_cross(x_BTD, partial(self.cross.look, source=source, mask_BS=encoded.mask_BS))
        return self.around_feedforward(x_BTD, self.feedforward), (hidden, source)


class RecurrentBlockDecoder(Decoder):
    """N layers of recurrence, attention to the source and feed-forward; the state is a memory per layer."""

    def __init__(
        self,
        cell: str,
        dim: int,
        layers: int,
        heads: int,
        feedforward: int,
        dropout: float,
        attention_dropout: float,
        norm: str,
        residual: bool,
    ) -> None:
        super().__init__()
        self.dim = dim
        build = Build(dim, heads, feedforward, dropout, attention_dropout, norm, residual, scaled=True)
        self.layers = nn.ModuleList(RecurrentDecoderBlock(cell, build) for _ in range(layers))
        self.norm = last_norm(dim, norm)

    def start(self, encoded: Encoded) -> State:
        """A memory per layer."""
        return tuple(layer.start(encoded) for layer in self.layers)  # type: ignore[operator]

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        """Write on from `state`; see `Decoder`."""
        memories = []
        for layer, memory in zip(self.layers, state, strict=True):
            x_BTD, memory = layer(x_BTD, encoded, memory)
            memories.append(memory)
        return self.norm(x_BTD), tuple(memories)
