"""The Transformer with local attention: Beltagy et al. 2020, "Longformer: The Long-Document Transformer", section 3.1.

In the encoder each position sees `window` positions to each side, and the first `global_tokens` see, and are seen by,
all. In the decoder each sees `window` positions before it, and the whole source. A long text is cut into blocks of
`window`: the queries of a block meet the keys of their own block and of its neighbours, and nothing else is computed,
so time and memory grow with n · window instead of n². The numbers are those of full attention with the same mask.

Departures: global positions use the projections of all others; one window for all layers, without gaps. Shape letters:
N blocks, Q queries of one, K keys around it, G global keys.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seqarena.models.contract import Encoded, State, more_read, none_read
from seqarena.models.multihead import Full, MultiHeadAttention, Pattern
from seqarena.models.positions import Relations
from seqarena.models.transformer import Cache, TransformerDecoder, TransformerEncoder


class Reach(NamedTuple):
    """What a position sees: so many positions before it, so many after it, and the first `everywhere` of the text."""

    before: int
    after: int
    everywhere: int

    @property
    def around(self) -> int:
        """Keys that a block of `before` queries meets."""
        return 2 * self.before + self.after

    def near(self, queries: int, keys: int, first: int, device: torch.device) -> Tensor:
        """(T, S), True where the query at `first`, `first + 1`, ... is near enough to the key at 0, 1, ..."""
        distance_TS = torch.arange(keys, device=device) - torch.arange(first, first + queries, device=device)[:, None]
        return (distance_TS >= -self.before) & (distance_TS <= self.after)

    def mask(self, queries: int, keys: int, first: int, device: torch.device) -> Tensor:
        """(T, S) as full attention would need it: what is near, and the global rows and columns."""
        seen_TS = self.near(queries, keys, first, device)
        seen_TS[:, : self.everywhere] = True
        seen_TS[: max(0, self.everywhere - first)] = True
        return seen_TS


def query_blocks(x_BHTd: Tensor, reach: Reach) -> Tensor:
    """(B·N, H, Q, d): the queries in blocks, the last of which is filled up with zeros."""
    missing = -x_BHTd.shape[2] % reach.before
    return nn.functional.pad(x_BHTd, (0, 0, 0, missing)).unflatten(2, (-1, reach.before)).transpose(1, 2).flatten(0, 1)


def key_blocks(x_BHSd: Tensor, reach: Reach, past: int) -> Tensor:
    """(B·N, H, K, d): what lies before each block of queries, within it and after it; zeros outside the text.

    The queries stand at `past` and after it; `past` is `reach.before` at most.
    """
    missing = -(x_BHSd.shape[2] - past) % reach.before
    filled_BHSd = nn.functional.pad(x_BHSd, (0, 0, reach.before - past, missing + reach.after))
    return filled_BHSd.unfold(2, reach.around, reach.before).permute(0, 2, 1, 4, 3).flatten(0, 1)


def met(x_BHSd: Tensor, reach: Reach, past: int) -> Tensor:
    """(B·N, H, G + K, d): the global keys, then those around each block."""
    near = key_blocks(x_BHSd, reach, past)
    first_BHGd = x_BHSd[:, :, : reach.everywhere]
    return torch.cat((first_BHGd.repeat_interleave(len(near) // len(x_BHSd), 0), near), 2)


def met_mask(mask_BS: Tensor, reach: Reach, past: int) -> Tensor:
    """(B·N, 1, Q, G + K): a global key is met as such, and never a second time because it is near."""
    near_QK = reach.near(reach.before, reach.around, reach.before, mask_BS.device)
    again_S = torch.arange(mask_BS.shape[1], device=mask_BS.device) < reach.everywhere
    near = near_QK & key_blocks((mask_BS & ~again_S)[:, None, :, None], reach, past).transpose(2, 3)
    first_B11G = mask_BS[:, None, None, : reach.everywhere]
    first = first_B11G.repeat_interleave(len(near) // len(mask_BS), 0).expand(-1, -1, reach.before, -1)
    return torch.cat((first, near), -1)


def met_bias(relations: Relations, reach: Reach, batch: int, length: int, device: torch.device) -> Tensor | None:
    """(B·N, H, Q, G + K), or (H, Q, K) without global keys, or nothing: biases depend on distances alone."""
    near_HQK = relations.bias(reach.before, reach.around, reach.before, device)
    if near_HQK is None or not reach.everywhere:
        return near_HQK
    blocks = -(-length // reach.before)
    first_HTG = relations.bias(blocks * reach.before, reach.everywhere, 0, device)
    assert first_HTG is not None
    first_NHQG = first_HTG.unflatten(1, (blocks, -1)).transpose(0, 1)
    return torch.cat((first_NHQG, near_HQK.expand(blocks, -1, -1, -1)), -1).repeat(batch, 1, 1, 1)


@dataclass(frozen=True)
class Blocks:
    """Each block of queries meets the global keys and those around it; the global queries meet all, as `whole` says."""

    reach: Reach
    past: int
    mask: Tensor
    bias: Tensor | None
    whole: Full

    def __call__(
        self, attention: MultiHeadAttention, query_BHTd: Tensor, key_BHSd: Tensor, value_BHSd: Tensor
    ) -> Tensor:
        """All blocks at once, as if each were a text of its own."""
        keys, values = (met(x, self.reach, self.past) for x in (key_BHSd, value_BHSd))
        blocks = attention(query_blocks(query_BHTd, self.reach), keys, values, self.mask, self.bias)
        local_BTD = blocks.unflatten(0, (len(query_BHTd), -1)).flatten(1, 2)[:, : query_BHTd.shape[2]]
        first = self.reach.everywhere
        if not first:
            return local_BTD
        whole_BGD = self.whole(attention, query_BHTd[:, :, :first], key_BHSd, value_BHSd)
        return torch.cat((whole_BGD, local_BTD[:, first:]), 1)


def local_pattern(reach: Reach, mask_BS: Tensor, past: int, relations: Relations) -> Pattern:
    """Which of the keys under `mask_BS` the queries at `past` and after it meet: in blocks where that computes less."""
    batch, keys = mask_BS.shape
    mask_B11S, queries, device = mask_BS[:, None, None], keys - past, mask_BS.device
    if queries <= max(reach.around, reach.everywhere):
        return Full(mask_B11S & reach.mask(queries, keys, past, device), relations.bias(queries, keys, past, device))
    whole = Full(mask_B11S, relations.bias(reach.everywhere, keys, 0, device) if reach.everywhere else None)
    bias = met_bias(relations, reach, batch, queries, device)
    return Blocks(reach, past, met_mask(mask_BS, reach, past), bias, whole)


class LocalEncoder(TransformerEncoder):
    """The Transformer's encoder, its attention within `window` to each side and from and to `global_tokens`."""

    def __init__(
        self,
        dim: int,
        layers: int,
        heads: int,
        feedforward: int,
        window: int,
        global_tokens: int,
        dropout: float,
        attention_dropout: float,
        positions_kind: str,
        max_positions: int,
        norm: str,
        residual: bool,
        scaled: bool,
    ) -> None:
        super().__init__(
            dim, layers, heads, feedforward, dropout, attention_dropout,
            positions_kind, max_positions, norm, residual, scaled,
        )  # fmt: skip
        self.reach = Reach(window, window, global_tokens)

    def pattern(self, mask_BS: Tensor) -> Pattern:
        """Every position sees the real ones within reach."""
        return local_pattern(self.reach, mask_BS, 0, self.relations)


def latest(cache: Cache, window: int) -> Cache:
    """A layer's memory without the keys and values that no later position sees."""
    (key, value), source = cache
    return (key[:, :, -window:], value[:, :, -window:]), source


class LocalDecoder(TransformerDecoder):
    """The Transformer's decoder, its self-attention within `window` positions back.

    The state is (how many tokens were read, a cache per layer), and a cache holds the last `window` positions.
    """

    def __init__(
        self,
        dim: int,
        layers: int,
        heads: int,
        feedforward: int,
        window: int,
        dropout: float,
        attention_dropout: float,
        positions_kind: str,
        max_positions: int,
        norm: str,
        residual: bool,
        scaled: bool,
        cross: str,
    ) -> None:
        super().__init__(
            dim, layers, heads, feedforward, dropout, attention_dropout,
            positions_kind, max_positions, norm, residual, scaled, cross,
        )  # fmt: skip
        self.reach = Reach(window, 0, 0)

    def start(self, encoded: Encoded) -> State:
        """Nothing read, and the Transformer's empty caches."""
        return none_read(encoded), super().start(encoded)

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        """Continue by T tokens; all rows of a batch have read the same number."""
        read_BT0, caches = state
        assert isinstance(read_BT0, Tensor)
        y_BTD, caches = self.advance(x_BTD, encoded, caches, read_BT0.size(1))  # type: ignore[arg-type]
        kept = tuple(latest(cache, self.reach.before) for cache in caches)
        return y_BTD, (more_read(read_BT0, x_BTD.shape[1]), kept)

    def pattern(self, x_BTD: Tensor, past: int) -> Pattern:
        """Every new position sees those within reach, of the `past` ones and of the new ones."""
        mask_BS = torch.ones(len(x_BTD), past + x_BTD.shape[1], dtype=torch.bool, device=x_BTD.device)
        return local_pattern(self.reach, mask_BS, past, self.relations)
