"""Attention: the product of queries and keys, masked, normalised, summed over values.

Vaswani et al. 2017, "Attention Is All You Need", section 3.2. One function, `attend`, serves every family; it picks the
explicit path (matrix products and softmax) on a CPU and torch's fused kernel elsewhere. Both give the same numbers.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from seqarena.models.dropout import dropout

_listeners: list[list[Tensor]] = []
"""Who wants the weights; the last one gets them. A plain list, which torch.compile can see."""


@contextmanager
def listening() -> Iterator[list[Tensor]]:
    """Within, each call of `attend` adds its weights (B, H, T, S) to the list, in order, before dropout.

    Elsewhere none are kept, nor computed where the kernel does without them.
    """
    heard: list[Tensor] = []
    _listeners.append(heard)
    try:
        yield heard
    finally:
        _listeners.pop()


def attend(
    query_BHTd: Tensor,
    key_BHSd: Tensor,
    value_BHSd: Tensor,
    mask: Tensor | None,
    scale: float,
    drop: float = 0.0,
    bias: Tensor | None = None,
) -> Tensor:
    """Weighted sums of the values, (B, H, T, d).

    `mask` is boolean, broadcastable to (B, H, T, S), True where attention is allowed; a query that may look nowhere
    gets zeros, in the backward pass too. `bias` is added to the scaled scores. `drop` is the rate of dropout on the
    weights (pass 0 outside training). The weights are kept for who is `listening`.
    """
    if _listeners:
        _listeners[-1].append(attention_weights(query_BHTd, key_BHSd, mask, scale, bias).detach())
    if kernel(query_BHTd.device) == "explicit":
        return _attend_explicitly(query_BHTd, key_BHSd, value_BHSd, mask, scale, drop, bias)
    return _attend_fused(query_BHTd, key_BHSd, value_BHSd, mask, scale, drop, bias)


def kernel(device: torch.device) -> str:
    """`explicit` or `fused`: which path `attend` takes on a device.

    On a CPU the fused kernel goes back through slow small products: a training step of short sequences takes 1.03 (AMD
    Zen 3) to 1.5 times (Zen 5) as long with it (benchmarks/levers.py).
    """
    return "explicit" if device.type == "cpu" else "fused"


def attention_weights(
    query_BHTd: Tensor, key_BHSd: Tensor, mask: Tensor | None, scale: float, bias: Tensor | None = None
) -> Tensor:
    """The weights (B, H, T, S) that `attend` uses: each row sums to one, or to zero where nothing is allowed."""
    scores_BHTS = (query_BHTd * scale) @ key_BHSd.transpose(-1, -2)
    if bias is not None:
        scores_BHTS = scores_BHTS + bias
    if mask is None:
        return scores_BHTS.softmax(-1)
    # A row without any allowed place would be 0/0: let it look everywhere, then weigh what it sees with zero.
    some = mask.any(-1, keepdim=True)
    weights_BHTS = scores_BHTS.masked_fill(~(mask | ~some), float("-inf")).softmax(-1)
    return weights_BHTS * some


def _attend_explicitly(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float, drop: float, bias: Tensor | None
) -> Tensor:
    weights = attention_weights(query, key, mask, scale, bias)
    return dropout(weights, drop, drop > 0.0).to(value.dtype) @ value


def _attend_fused(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float, drop: float, bias: Tensor | None
) -> Tensor:
    some = None if mask is None else mask.any(-1, keepdim=True)
    allowed = mask
    if mask is not None and some is not None:
        allowed = mask | ~some
        if bias is not None:
            allowed = bias.masked_fill(~allowed, float("-inf"))
    elif bias is not None:
        allowed = bias
    if allowed is not None and allowed.is_floating_point():
        allowed = allowed.to(query.dtype)
    context = nn.functional.scaled_dot_product_attention(query, key, value, allowed, drop, scale=scale)
    return context if some is None else context * some


def causal_mask(length: int, past: int, device: torch.device) -> Tensor:
    """(T, past + T), True where the i-th of T new positions may look: at everything up to itself."""
    rows = torch.arange(past, past + length, device=device)[:, None]
    return torch.arange(past + length, device=device)[None, :] <= rows
