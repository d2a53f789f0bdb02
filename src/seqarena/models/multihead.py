"""Attention of many heads, and the pattern in which positions meet there.

Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2. A `Pattern` is handed the queries, keys and values and
has the attention gather: all of them at once (`Full`), or part by part where less is to be computed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor, nn

from seqarena.models.attention import attend


class MultiHeadAttention(nn.Module):
    """Attention of `heads` heads, each over its own dim/heads features (section 3.2.2)."""

    def __init__(self, dim: int, heads: int, dropout: float, scaled: bool) -> None:
        super().__init__()
        if dim % heads:
            near = dim + heads - dim % heads
            raise ValueError(
                f"model.dim={dim} does not divide into model.heads={heads} heads; write for example model.dim={near}"
            )
        self.heads, self.dropout = heads, dropout
        self.scale = (dim // heads) ** -0.5 if scaled else 1.0
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.output = nn.Linear(dim, dim)
        for part in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(part.weight)
            nn.init.zeros_(part.bias)

    def _split(self, x_BTD: Tensor) -> Tensor:
        return x_BTD.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def read(self, x_BSD: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values (B, H, S, d) of what is attended to."""
        return self._split(self.key(x_BSD)), self._split(self.value(x_BSD))

    def ask(self, x_BTD: Tensor) -> Tensor:
        """Queries (B, H, T, d)."""
        return self._split(self.query(x_BTD))

    def forward(
        self, query_BHTd: Tensor, key_BHSd: Tensor, value_BHSd: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """What the queries gather, (B, T, D)."""
        drop = self.dropout if self.training else 0.0
        context_BHTd = attend(query_BHTd, key_BHSd, value_BHSd, mask, self.scale, drop, bias)
        return self.output(context_BHTd.transpose(1, 2).flatten(2))

    def look(self, x_BTD: Tensor, source: tuple[Tensor, ...], mask_BS: Tensor) -> Tensor:
        """What `x_BTD` gathers (B, T, D) from keys and values that were read before, where `mask_BS` is True."""
        return self(self.ask(x_BTD), *source, mask_BS[:, None, None, :], None)


Pattern: TypeAlias = Callable[[MultiHeadAttention, Tensor, Tensor, Tensor], Tensor]
"""Which positions meet: from an attention, its queries, keys and values (B, H, ., d) to what is gathered (B, T, D)."""


@dataclass(frozen=True)
class Full:
    """Every query meets every key that the mask allows."""

    mask: Tensor | None
    bias: Tensor | None

    def __call__(
        self, attention: MultiHeadAttention, query_BHTd: Tensor, key_BHSd: Tensor, value_BHSd: Tensor
    ) -> Tensor:
        """All at once."""
        return attention(query_BHTd, key_BHSd, value_BHSd, self.mask, self.bias)
