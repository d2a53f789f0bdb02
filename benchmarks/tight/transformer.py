"""A Transformer translator by hand: pre-norm, explicit attention, byte masks for dropout, tied embeddings."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, layer_norm, linear, relu


def drop(x: Tensor, rate: float) -> Tensor:
    """Dropout with a byte of random bits an element."""
    cut = round(rate * 256)
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    keep = words.view(torch.uint8)[: x.numel()].view(x.shape) >= cut
    return x * keep.to(x.dtype).mul_(256 / (256 - cut))


def waves(length: int, dim: int) -> Tensor:
    """Sinusoidal positions (T, D)."""
    angles = torch.arange(length)[:, None] * torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
    return torch.cat((angles.sin(), angles.cos()), -1)


class Attention(nn.Module):
    """All heads at once."""

    def __init__(self, dim: int, heads: int, rate: float) -> None:
        super().__init__()
        self.heads, self.rate = heads, rate
        self.q, self.kv, self.o = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim)

    def forward(self, x: Tensor, memory: Tensor, blocked: Tensor) -> Tensor:
        batch, length, dim = x.shape
        q = (self.q(x) * (dim // self.heads) ** -0.5).view(batch, length, self.heads, -1).transpose(1, 2)
        k, v = self.kv(memory).view(batch, memory.size(1), 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2)).masked_fill(blocked, float("-inf")).softmax(-1)
        return self.o((drop(weights, self.rate) @ v).transpose(1, 2).reshape(batch, length, dim))


class Block(nn.Module):
    """Self-attention, attention to the source if there is one, feed-forward."""

    def __init__(self, dim: int, heads: int, inner: int, rate: float, cross: bool) -> None:
        super().__init__()
        self.rate, self.dim = rate, dim
        self.own = Attention(dim, heads, rate)
        self.other = Attention(dim, heads, rate) if cross else None
        self.up, self.down = nn.Linear(dim, inner), nn.Linear(inner, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(3 if cross else 2))

    def forward(self, x: Tensor, blocked: Tensor, memory: Tensor | None, unread: Tensor | None) -> Tensor:
        y = self.norms[0](x)
        x = x + drop(self.own(y, y, blocked), self.rate)
        if self.other is not None:
            x = x + drop(self.other(self.norms[1](x), memory, unread), self.rate)
        return x + drop(self.down(drop(relu(self.up(self.norms[-1](x))), self.rate)), self.rate)


class Translator(nn.Module):
    """`forward` is the summed loss of a batch."""

    def __init__(self, vocabulary: int, dim: int, layers: int, heads: int, inner: int, rate: float) -> None:
        super().__init__()
        self.dim, self.rate = dim, rate
        self.table = nn.Embedding(vocabulary, dim, padding_idx=0)
        nn.init.normal_(self.table.weight, 0, dim**-0.5)
        self.encoder = nn.ModuleList(Block(dim, heads, inner, rate, False) for _ in range(layers))
        self.decoder = nn.ModuleList(Block(dim, heads, inner, rate, True) for _ in range(layers))
        self.positions = waves(512, dim)

    def embedded(self, ids: Tensor) -> Tensor:
        return drop(self.table(ids) * self.dim**0.5 + self.positions[: ids.size(1)], self.rate)

    def forward(self, source: Tensor, given: Tensor, wanted: Tensor, smoothing: float) -> Tensor:
        unread = (source == 0)[:, None, None]
        future = torch.ones(given.size(1), given.size(1), dtype=torch.bool).triu(1)
        memory = self.embedded(source)
        for block in self.encoder:
            memory = block(memory, unread, None, None)
        memory = layer_norm(memory, (self.dim,))
        x = self.embedded(given)
        for block in self.decoder:
            x = block(x, future, memory, unread)
        real = wanted != 0
        logits = linear(layer_norm(x, (self.dim,))[real], self.table.weight)
        return cross_entropy(logits, wanted[real], reduction="sum", label_smoothing=smoothing)
