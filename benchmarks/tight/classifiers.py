"""Three classifiers by hand: TextCNN, an LSTM of two directions, a Transformer."""

import torch
from tight.lstm import Translator as Reader
from tight.transformer import Block, drop, waves
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, layer_norm


class TextCNN(nn.Module):
    """Filters of widths 3, 4 and 5, maximum over time."""

    def __init__(self, vocabulary: int, dim: int, classes: int, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.table = nn.Embedding(vocabulary, dim, padding_idx=0)
        self.filters = nn.ModuleList(nn.Conv1d(dim, dim // 3, width, padding="same") for width in (3, 4, 5))
        self.head = nn.Linear(dim // 3 * 3, classes)

    def forward(self, source: Tensor, label: Tensor) -> Tensor:
        x = drop(self.table(source), self.rate).transpose(1, 2)
        maps = torch.cat([one(x) for one in self.filters], 1).relu()
        pooled = maps.masked_fill((source == 0)[:, None], 0).amax(-1)
        return cross_entropy(self.head(drop(pooled, 0.5)), label, reduction="sum")


class Recurrent(nn.Module):
    """The reader of the LSTM translator, and a line on its last states."""

    def __init__(self, vocabulary: int, dim: int, classes: int, rate: float) -> None:
        super().__init__()
        self.rate, self.reader = rate, Reader(vocabulary, dim, False, rate)
        for unused in ("bridge", "writer", "mix"):
            delattr(self.reader, unused)
        self.head = nn.Linear(dim, classes)

    def forward(self, source: Tensor, label: Tensor) -> Tensor:
        _, summary = self.reader.read(drop(self.reader.table(source), self.rate), source != 0)
        return cross_entropy(self.head(drop(summary, 0.5)), label, reduction="sum")


class Transformer(nn.Module):
    """Two blocks and the mean over real positions."""

    def __init__(self, vocabulary: int, dim: int, classes: int, rate: float) -> None:
        super().__init__()
        self.dim, self.rate = dim, rate
        self.table = nn.Embedding(vocabulary, dim, padding_idx=0)
        self.blocks = nn.ModuleList(Block(dim, 4, 4 * dim, rate, False) for _ in range(2))
        self.positions = waves(512, dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, source: Tensor, label: Tensor) -> Tensor:
        x = drop(self.table(source) * self.dim**0.5 + self.positions[: source.size(1)], self.rate)
        real = source != 0
        for block in self.blocks:
            x = block(x, ~real[:, None, None], None, None)
        x = layer_norm(x, (self.dim,)) * real[..., None]
        return cross_entropy(self.head(drop(x.sum(1) / real.sum(1, keepdim=True), 0.5)), label, reduction="sum")
