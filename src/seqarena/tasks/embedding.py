"""The one embedding (and output layer) that every architecture gets."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seqarena.data.batch import PAD
from seqarena.models.dropout import Dropout


@dataclass(frozen=True)
class EmbeddingOptions:
    """What a model asks of its embedding: the spread of its start (null: dim^-1/2), scaling by dim^1/2, dropout."""

    std: float | None
    scale: bool
    dropout: float


class TokenEmbedding(nn.Module):
    """Token ids (B, T) to vectors (B, T, D); padding is the zero vector."""

    def __init__(self, vocabulary: int, dim: int, options: EmbeddingOptions) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim, padding_idx=PAD)
        self.scale = math.sqrt(dim) if options.scale else 1.0
        self.dropout = Dropout(options.dropout)
        nn.init.normal_(self.table.weight, 0.0, dim**-0.5 if options.std is None else options.std)
        with torch.no_grad():
            self.table.weight[PAD].zero_()

    def forward(self, ids_BT: Tensor) -> Tensor:
        """Look up, scale, drop."""
        return self.dropout(self.table(ids_BT) * self.scale)
