"""How a decoder without heads looks at a read source: by products or by a small network.

`look` and `DotAttention`: Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation",
section 3.1 (dot); `AdditiveAttention`: Bahdanau et al. 2015, "Neural Machine Translation by Jointly Learning to
Align and Translate", section 3.1 and appendix A.1.2. All T queries are answered at once.
"""

import torch
from torch import Tensor, nn

from seqarena.models.attention import attend
from seqarena.models.contract import Encoded, State


def look(query_BTD: Tensor, encoded: Encoded, scale: float = 1.0) -> Tensor:
    """Contexts (B, T, D): the source's values weighed by softmax(query · state · scale); zeros for an empty source."""
    mask_B11S = encoded.mask_BS[:, None, None]
    keys, values = encoded.states_BSD[:, None], encoded.values_BSD[:, None]
    return attend(query_BTD[:, None], keys, values, mask_B11S, scale)[:, 0]


class NoAttention(nn.Module):
    """Looks nowhere: the decoder keeps what its first state carried (Sutskever et al. 2014)."""

    def start(self, encoded: Encoded) -> State:
        """Nothing to prepare."""
        return ()

    def forward(self, query_BTD: Tensor, encoded: Encoded, prepared: State) -> Tensor:
        """The queries, unchanged."""
        return query_BTD


class AttentionalVector(nn.Module):
    """Context and query, mixed: h~ = tanh(W [c; h]) (Luong et al. 2015, equation 5)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.mix = nn.Linear(2 * dim, dim, bias=False)

    def forward(self, context_BTD: Tensor, query_BTD: Tensor) -> Tensor:
        """Attentional vectors (B, T, D)."""
        return self.mix(torch.cat((context_BTD, query_BTD), -1)).tanh()


class DotAttention(nn.Module):
    """Scores are plain products h·s; answers are attentional vectors."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.vector = AttentionalVector(dim)

    def start(self, encoded: Encoded) -> State:
        """Nothing to prepare: the states are the keys."""
        return ()

    def forward(self, query_BTD: Tensor, encoded: Encoded, prepared: State) -> Tensor:
        """Attentional vectors (B, T, D)."""
        return self.vector(look(query_BTD, encoded), query_BTD)


class AdditiveAttention(nn.Module):
    """Scores are v · tanh(W h + U s); answers are attentional vectors.

    Departs from Bahdanau et al. as most later systems do: h is the state after reading the current token, not the one
    before, and the context goes to the output through h~ instead of into the recurrence and a maxout layer. Of the size
    (B, T, S, D) exactly one tensor is kept, the tanh, which its own backward pass needs anyway.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.query = nn.Linear(dim, dim, bias=False)
        self.key = nn.Linear(dim, dim)
        self.score = nn.Linear(dim, 1, bias=False)
        self.vector = AttentionalVector(dim)

    def start(self, encoded: Encoded) -> State:
        """The projected keys U s (B, S, D), once a source."""
        return self.key(encoded.states_BSD)

    def forward(self, query_BTD: Tensor, encoded: Encoded, prepared: State) -> Tensor:
        """Attentional vectors (B, T, D)."""
        assert isinstance(prepared, Tensor)
        hidden_BTSD = (self.query(query_BTD)[:, :, None] + prepared[:, None]).tanh_()
        weights_BTS = masked_softmax(self.score(hidden_BTSD)[..., 0], encoded.mask_BS[:, None])
        return self.vector(weights_BTS.to(encoded.values_BSD.dtype) @ encoded.values_BSD, query_BTD)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis where `mask` allows; a row that allows nothing gets zeros, forward and backward."""
    some = mask.any(-1, keepdim=True)
    return scores.masked_fill(~(mask | ~some), float("-inf")).softmax(-1) * some


def attention_of(kind: str, dim: int) -> NoAttention | DotAttention | AdditiveAttention:
    """The attention called `kind`: none, dot or additive. Any other name is a ValueError."""
    if kind == "none":
        return NoAttention()
    if kind == "dot":
        return DotAttention(dim)
    if kind == "additive":
        return AdditiveAttention(dim)
    raise ValueError(f"attention={kind!r} is unknown: write none, dot or additive")
