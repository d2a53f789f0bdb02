"""The Transformer: Vaswani et al. 2017, "Attention Is All You Need", with every disputed part switchable.

Departures, all switchable or stated: normalisation comes first by default (pre-norm, Xiong et al. 2020) with one more
LayerNorm at the end; the encoder's summary is the mean over real positions, which the paper, having no classifier, does
not define. Weights start Xavier-uniform with zero biases, as in the authors' implementation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor, nn

from seqarena.models.attention import causal_mask
from seqarena.models.contract import Decoder, Encoded, Encoder, State, masked_mean
from seqarena.models.dropout import Dropout
from seqarena.models.multihead import Full, MultiHeadAttention, Pattern
from seqarena.models.positions import Relations, positions, relations

NORMS = ("pre", "post", "none")

Cache: TypeAlias = tuple[tuple[Tensor, Tensor], tuple[Tensor, ...]]
"""A decoder layer's memory: keys and values (B, H, T, d) of the targets so far, and those of the source."""


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between them, at every position (section 3.3)."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        for part in (self.inner, self.outer):
            nn.init.xavier_uniform_(part.weight)
            nn.init.zeros_(part.bias)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Position by position."""
        return self.outer(self.inner(x_BTD).relu())


class Wrapping(nn.Module):
    """What surrounds a sublayer: LayerNorm before it (pre), after the sum (post) or none; dropout; the residual sum."""

    def __init__(self, dim: int, norm: str, residual: bool, dropout: float) -> None:
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f"model.norm={norm} is not known: choose one of {', '.join(NORMS)}")
        self.before = nn.LayerNorm(dim) if norm == "pre" else nn.Identity()
        self.after = nn.LayerNorm(dim) if norm == "post" else nn.Identity()
        self.residual, self.dropout = residual, Dropout(dropout)

    def forward(self, x_BTD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """`x_BTD` through the sublayer and what surrounds it."""
        return self.leave(x_BTD, sublayer(self.before(x_BTD)))

    def leave(self, x_BTD: Tensor, y_BTD: Tensor) -> Tensor:
        """Join a sublayer's output `y_BTD` with what went in."""
        y_BTD = self.dropout(y_BTD)
        return self.after(x_BTD + y_BTD if self.residual else y_BTD)


def last_norm(dim: int, norm: str) -> nn.Module:
    """Pre-norm leaves the sum of all layers unnormalised: one more LayerNorm ends the stack."""
    return nn.LayerNorm(dim) if norm == "pre" else nn.Identity()


@dataclass(frozen=True)
class Build:
    """What every layer of a stack is made of."""

    dim: int
    heads: int
    feedforward: int
    dropout: float
    attention_dropout: float
    norm: str
    residual: bool
    scaled: bool

    def attention(self) -> MultiHeadAttention:
        """One attention."""
        return MultiHeadAttention(self.dim, self.heads, self.attention_dropout, self.scaled)

    def wrapping(self) -> Wrapping:
        """What surrounds one sublayer."""
        return Wrapping(self.dim, self.norm, self.residual, self.dropout)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, build: Build) -> None:
        super().__init__()
        self.attention = build.attention()
        self.feedforward = FeedForward(build.dim, build.feedforward)
        self.around_attention, self.around_feedforward = build.wrapping(), build.wrapping()

    def forward(self, x_BSD: Tensor, pattern: Pattern, relations: Relations) -> Tensor:
        """One layer further."""
        seen_BSD = self.around_attention.before(x_BSD)
        key, value = self.attention.read(seen_BSD)
        query, key = relations.rotate(self.attention.ask(seen_BSD), 0), relations.rotate(key, 0)
        x_BSD = self.around_attention.leave(x_BSD, pattern(self.attention, query, key, value))
        return self.around_feedforward(x_BSD, self.feedforward)


class TransformerEncoder(Encoder):
    """N layers of self-attention and feed-forward (section 3.1)."""

    def __init__(
        self,
        dim: int,
        layers: int,
        heads: int,
        feedforward: int,
        dropout: float,
        attention_dropout: float,
        positions_kind: str,
        max_positions: int,
        norm: str,
        residual: bool,
        scaled: bool,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.positions = positions(positions_kind, dim, max_positions)
        self.relations = relations(positions_kind, dim // heads, heads, causal=False)
        self.dropout = Dropout(dropout)
        build = Build(dim, heads, feedforward, dropout, attention_dropout, norm, residual, scaled)
        self.layers = nn.ModuleList(EncoderLayer(build) for _ in range(layers))
        self.norm = last_norm(dim, norm)

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        """Read a batch of texts; the summary is the mean over real positions."""
        x_BSD = self.dropout(self.positions(x_BSD, 0))
        pattern = self.pattern(mask_BS)
        for layer in self.layers:
            x_BSD = layer(x_BSD, pattern, self.relations)
        states_BSD = self.norm(x_BSD) * mask_BS[..., None]
        return Encoded(states_BSD, masked_mean(states_BSD, mask_BS), mask_BS, states_BSD)

    def pattern(self, mask_BS: Tensor) -> Pattern:
        """Every position sees every real one."""
        length = mask_BS.shape[1]
        return Full(mask_BS[:, None, None, :], self.relations.bias(length, length, 0, mask_BS.device))


CROSS = ("full", "mean", "none")
"""What of the source reaches the decoder: each of its states, by attention; their mean; nothing."""


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the source (unless switched off), feed-forward."""

    def __init__(self, build: Build, cross: bool) -> None:
        super().__init__()
        self.attention, self.around_attention = build.attention(), build.wrapping()
        self.cross = build.attention() if cross else None
        self.around_cross = build.wrapping() if cross else None
        self.feedforward = FeedForward(build.dim, build.feedforward)
        self.around_feedforward = build.wrapping()

    def start(self, encoded: Encoded) -> Cache:
        """Keys and values of the past (none yet) and of the source, which are computed and laid out once."""
        past, _ = self.attention.read(encoded.states_BSD[:, :0])
        source = () if self.cross is None else self.cross.read(encoded.states_BSD)
        return (past, past), tuple(part.contiguous() for part in source)

    def forward(
        self, x_BTD: Tensor, encoded: Encoded, state: Cache, first: int, pattern: Pattern, relations: Relations
    ) -> tuple[Tensor, Cache]:
        """One layer further, from position `first` on, and the state with the new keys and values appended."""
        (past_key, past_value), source = state
        seen_BTD = self.around_attention.before(x_BTD)
        key, value = self.attention.read(seen_BTD)
        query, key = relations.rotate(self.attention.ask(seen_BTD), first), relations.rotate(key, first)
        if first:
            key, value = torch.cat((past_key, key), 2), torch.cat((past_value, value), 2)
        x_BTD = self.around_attention.leave(x_BTD, pattern(self.attention, query, key, value))
        if self.cross is not None and self.around_cross is not None:
            x_BTD = self.around_cross(x_BTD, partial(self.cross.look, source=source, mask_BS=encoded.mask_BS))
        return self.around_feedforward(x_BTD, self.feedforward), ((key, value), source)


class TransformerDecoder(Decoder):
    """N layers of causal self-attention, cross-attention and feed-forward (section 3.1).

    `cross` is `full`; or `mean`, where of the source only its summary, the mean of its states, reaches the decoder,
    added to every input; or `none`, and a language model writes. Others are a ValueError.
    """

    def __init__(
        self,
        dim: int,
        layers: int,
        heads: int,
        feedforward: int,
        dropout: float,
        attention_dropout: float,
        positions_kind: str,
        max_positions: int,
        norm: str,
        residual: bool,
        scaled: bool,
        cross: str,
    ) -> None:
        super().__init__()
        if cross not in CROSS:
            raise ValueError(f"cross_attention={cross!r} is unknown: write {', '.join(CROSS)}")
        self.dim, self.cross = dim, cross
        self.positions = positions(positions_kind, dim, max_positions)
        self.relations = relations(positions_kind, dim // heads, heads, causal=True)
        self.dropout = Dropout(dropout)
        build = Build(dim, heads, feedforward, dropout, attention_dropout, norm, residual, scaled)
        self.layers = nn.ModuleList(DecoderLayer(build, cross == "full") for _ in range(layers))
        self.norm = last_norm(dim, norm)

    def start(self, encoded: Encoded) -> State:
        """One pair of key/value caches a layer."""
        return tuple(layer.start(encoded) for layer in self.layers)  # type: ignore[operator]

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        """Continue by T tokens; the past's length is that of the caches."""
        caches: tuple[Cache, ...] = state  # type: ignore[assignment]
        return self.advance(x_BTD, encoded, caches, caches[0][0][0].shape[2])

    def advance(
        self, x_BTD: Tensor, encoded: Encoded, caches: tuple[Cache, ...], first: int
    ) -> tuple[Tensor, tuple[Cache, ...]]:
        """Continue by T tokens from position `first` on."""
        x_BTD = self.positions(x_BTD, first)
        if self.cross == "mean":
            x_BTD = x_BTD + encoded.summary_BD[:, None]
        x_BTD = self.dropout(x_BTD)
        pattern = self.pattern(x_BTD, caches[0][0][0].shape[2])
        after = []
        for layer, past in zip(self.layers, caches, strict=True):
            x_BTD, cache = layer(x_BTD, encoded, past, first, pattern, self.relations)
            after.append(cache)
        return self.norm(x_BTD), tuple(after)

    def pattern(self, x_BTD: Tensor, past: int) -> Pattern:
        """Every new position sees the `past` ones and the new ones up to itself."""
        length = x_BTD.shape[1]
        mask_TS = causal_mask(length, past, x_BTD.device)
        return Full(mask_TS, self.relations.bias(length, past + length, past, x_BTD.device))
