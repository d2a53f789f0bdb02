"""A model under examination: small copies of its encoder and decoder, and inputs for them."""

from dataclasses import dataclass

import torch
from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from seqarena.building import build
from seqarena.models.contract import Decoder, Encoded, Encoder

DIM = 24
"""Small, even, and a multiple of three widths and of four heads."""
LENGTHS = (9, 4, 1, 0, 2)
"""Real lengths of the batch: the longest, some shorter than the widest kernel, one empty."""


@dataclass(frozen=True)
class Subject:
    """The `model` part of a config, made small; windows and segments are made shorter than the texts."""

    model: DictConfig

    @classmethod
    def of(cls, model: DictConfig) -> "Subject":
        """A model as its YAML has it, with the options that were given."""
        small = model.copy()
        small.dim = DIM
        small.update({option: 2 for option in ("window", "segment") if option in small})
        return cls(small)

    @property
    def writes(self) -> bool:
        """Whether it has a decoder."""
        return "decoder" in self.model

    def encoder(self, seed: int = 0, **options: float) -> Encoder:
        """A fresh encoder in evaluation mode, the same for the same seed."""
        torch.manual_seed(seed)
        made: Encoder = build(self._config(options).model.encoder)
        return made.eval()

    def decoder(self, seed: int = 0, **options: float) -> Decoder:
        """A fresh decoder in evaluation mode."""
        torch.manual_seed(seed)
        made: Decoder = build(self._config(options).model.decoder)
        return made.eval()

    def _config(self, options: dict[str, float]) -> DictConfig:
        config = OmegaConf.create({"model": OmegaConf.merge(self.model, options)})
        return config

    def embedded(self, *shape: int, seed: int = 1) -> Tensor:
        """Vectors as the task's embedding would give them at the start, (*shape, D)."""
        how, dim = self.model.embedding, self.model.dim
        spread = (dim**-0.5 if how.std is None else how.std) * (dim**0.5 if how.scale else 1.0)
        return torch.randn(*shape, dim, generator=torch.Generator().manual_seed(seed)) * spread

    def batch(self, lengths: tuple[int, ...] = LENGTHS, padded: int | None = None) -> tuple[Tensor, Tensor]:
        """Texts and mask; padding holds ordinary vectors, so that a model which reads it is found out."""
        longest = padded or max(lengths)
        x_BSD = torch.stack([self.embedded(longest, seed=10 + row) for row in range(len(lengths))])
        return x_BSD, torch.arange(longest) < torch.tensor(lengths)[:, None]


def write(decoder: Decoder, y_BTD: Tensor, encoded: Encoded, pieces: list[int]) -> Tensor:
    """The decoder's outputs when the target arrives in pieces of these lengths."""
    state, outputs = decoder.start(encoded), []
    for piece_BTD in y_BTD.split(pieces, 1):
        out_BTD, state = decoder(piece_BTD, encoded, state)
        outputs.append(out_BTD)
    return torch.cat(outputs, 1)
