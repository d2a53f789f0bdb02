"""How an architecture learns where a token stands: added to the input, or within attention.

`Positions` adds a vector to each embedded token (sinusoidal, learned, or nothing). `Relations` changes attention by the
distance of query and key (rotary, ALiBi, T5's learned bias, or nothing). Both take the index of the first position, so
one token at a time in decoding means the same as the whole sentence at once.
"""

import math

import torch
from torch import Tensor, nn

from seqarena.models.contract import TooLong

KINDS = ("sinusoidal", "learned", "rotary", "alibi", "t5", "none")


class Positions(nn.Module):
    """Adds nothing to the input; the base of those that do."""

    def forward(self, x_BTD: Tensor, first: int) -> Tensor:
        """`x_BTD` with positions `first`, `first + 1`, ... added."""
        return x_BTD


def numbers(first: int, end: int, device: torch.device) -> Tensor:
    """`first`, `first + 1`, ... below `end`, in float32 at least: in half precision neighbours beyond 256 are one."""
    return torch.arange(first, end, dtype=torch.promote_types(torch.get_default_dtype(), torch.float32), device=device)


class Sinusoidal(Positions):
    """Sines and cosines of geometric wavelengths (Vaswani et al. 2017, section 3.5). Any length."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x_BTD: Tensor, first: int) -> Tensor:
        """Add the table's rows, computed on the spot: cheap, and without a limit."""
        positions_T1 = numbers(first, first + x_BTD.shape[1], x_BTD.device)[:, None]
        pairs = (self.dim + 1) // 2
        rates_P = torch.exp(numbers(0, pairs, x_BTD.device) * (-math.log(10000.0) / max(pairs, 1)))
        angles_TP = positions_T1 * rates_P
        table_TD = torch.stack((angles_TP.sin(), angles_TP.cos()), -1).flatten(1)[:, : self.dim]
        return x_BTD + table_TD.to(x_BTD.dtype)


class Learned(Positions):
    """One trained vector a position, up to `limit` (Gehring et al. 2017; Devlin et al. 2018)."""

    def __init__(self, dim: int, limit: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(limit, dim).normal_(0.0, 0.02))

    def forward(self, x_BTD: Tensor, first: int) -> Tensor:
        """Add rows of the table; a position past its end is refused before any kernel sees it."""
        last = first + x_BTD.shape[1]
        if last > len(self.table):
            raise TooLong(
                f"a text of {last} tokens is longer than the {len(self.table)} learned positions of this model; "
                f"set model.max_positions={last} or more, shorten it with data.max_length, "
                "or choose model.positions=sinusoidal, rotary, alibi or t5, which have no limit"
            )
        return x_BTD + self.table[first:last]


class Relations(nn.Module):
    """Leaves queries, keys and scores as they are; the base of those that do not."""

    def rotate(self, x_BHTd: Tensor, first: int) -> Tensor:
        """Queries or keys that stand at `first`, `first + 1`, ..."""
        return x_BHTd

    def bias(self, queries: int, keys: int, first: int, device: torch.device) -> Tensor | None:
        """Added to the scores (H, T, S) of queries from `first` on and keys from 0 on, or nothing."""
        return None


class Rotary(Relations):
    """Turns pairs of features by an angle that grows with the position (Su et al. 2021, RoFormer, section 3.2)."""

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        if head_dim % 2:
            raise ValueError(f"rotary positions turn pairs of features: a head of {head_dim} features must be even")
        self.head_dim = head_dim

    def rotate(self, x_BHTd: Tensor, first: int) -> Tensor:
        """The same vectors, turned."""
        half = self.head_dim // 2
        rates_P = 10000.0 ** (-numbers(0, half, x_BHTd.device) / half)
        angles_TP = numbers(first, first + x_BHTd.shape[-2], x_BHTd.device)[:, None] * rates_P
        cos_TP, sin_TP = angles_TP.cos().to(x_BHTd.dtype), angles_TP.sin().to(x_BHTd.dtype)
        a, b = x_BHTd[..., :half], x_BHTd[..., half:]
        return torch.cat((a * cos_TP - b * sin_TP, a * sin_TP + b * cos_TP), -1)


class Alibi(Relations):
    """Lowers each score in proportion to the distance, by a slope per head (Press et al. 2022, section 3).

    The paper is about causal attention; in an encoder the distance counts the same to both sides.
    """

    slope_H: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("slope_H", 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads), persistent=False)

    def bias(self, queries: int, keys: int, first: int, device: torch.device) -> Tensor:
        """Minus slope times distance."""
        rows_T = torch.arange(first, first + queries, device=device)
        distance_TS = (rows_T[:, None] - torch.arange(keys, device=device)[None, :]).abs()
        return -self.slope_H[:, None, None] * distance_TS


class Bucketed(Relations):
    """Adds to each score a number learned per head and distance (Raffel et al. 2020, T5, section 2.1).

    32 numbers a head serve all layers. Short distances have one each, longer ones share theirs with ever more others,
    and from 128 on all share the last. Without `causal` each direction has half of them. The paper gives the rest no
    more than a sentence; the buckets are those of the authors' code. That T5 leaves out the factor 1/sqrt(d) is
    model.scaled_attention=false here.
    """

    BUCKETS, FURTHEST = 32, 128
    begin_K: Tensor

    def __init__(self, dim: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.table = nn.Parameter(torch.empty(self.BUCKETS, heads).normal_(0.0, dim**-0.5))
        self.register_buffer("begin_K", torch.tensor(self._begins()), persistent=False)

    def _begins(self) -> list[int]:
        """The shortest distance of each bucket of a direction: one by one for half of them, then geometrically."""
        buckets = self.BUCKETS if self.causal else self.BUCKETS // 2
        single = buckets // 2
        growth = self.FURTHEST / single
        return [*range(single), *(math.ceil(single * growth ** (k / single)) for k in range(single))]

    def bucket(self, distance_R: Tensor) -> Tensor:
        """The row of the table for a key that stands so many places after its query (before it, if negative)."""
        far_R = (-distance_R).clamp(min=0) if self.causal else distance_R.abs()
        bucket_R = torch.bucketize(far_R, self.begin_K, right=True) - 1
        return bucket_R if self.causal else bucket_R + (distance_R > 0) * len(self.begin_K)

    def bias(self, queries: int, keys: int, first: int, device: torch.device) -> Tensor:
        """The learned numbers: one look-up a distance, seen from each query."""
        furthest = first + queries - 1
        bias_HR = self.table[self.bucket(torch.arange(-furthest, keys - first, device=device))].T
        return bias_HR.unfold(1, keys, 1).flip(1)


def positions(kind: str, dim: int, limit: int) -> Positions:
    """The part of `kind` that is added to the input."""
    if kind not in KINDS:
        raise ValueError(f"model.positions={kind} is not known: choose one of {', '.join(KINDS)}")
    made = {"sinusoidal": lambda: Sinusoidal(dim), "learned": lambda: Learned(dim, limit)}
    return made.get(kind, Positions)()


def relations(kind: str, head_dim: int, heads: int, causal: bool) -> Relations:
    """The part of `kind` that works within attention; `causal` where no query looks ahead."""
    made = {
        "rotary": lambda: Rotary(head_dim),
        "alibi": lambda: Alibi(heads),
        "t5": lambda: Bucketed(head_dim * heads, heads, causal),
    }
    return made.get(kind, Relations)()
