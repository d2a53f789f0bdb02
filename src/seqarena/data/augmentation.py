"""Noise on the source tokens of training examples: other tokens each epoch, the same ones whoever reads them."""

from dataclasses import dataclass

import numpy as np

from seqarena.data.batch import UNKNOWN, Batch
from seqarena.data.batching import Drawn
from seqarena.data.examples import Examples

STREAM = 1
"""Keeps these random numbers apart from those that order the epoch's batches."""


@dataclass(frozen=True)
class Noise:
    """Shares of the source tokens, from 0 to 1: those that become <unk>, and those that change places with a neighbour.

    Neighbours are exchanged first. No token moves further than one place (after Lample et al. 2018, "Unsupervised
    Machine Translation Using Monolingual Corpora Only", where words are dropped altogether and move up to three).
    """

    dropout: float = 0.0
    swap: float = 0.0

    def __bool__(self) -> bool:
        return self.dropout > 0 or self.swap > 0

    def on(self, row_S: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A changed copy of token ids."""
        return dropped(swapped(row_S, self.swap, rng), self.dropout, rng)


def swapped(row_S: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Cut into pairs from the first or the second token on, of which this share is exchanged."""
    begin = int(rng.integers(2))
    first_P = np.arange(begin, len(row_S) - 1, 2)
    first_P = first_P[rng.random(len(first_P)) < share]
    row_S = row_S.copy()
    row_S[first_P], row_S[first_P + 1] = row_S[first_P + 1], row_S[first_P]
    return row_S


def dropped(row_S: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Each token unknown with this chance."""
    return np.where(rng.random(len(row_S)) < share, UNKNOWN, row_S)


class Reading:
    """What a loader's worker reads: batches of `examples`, with noise that depends on (seed, epoch, number) alone.

    The epoch arrives with the indices, as a worker that lives on from epoch to epoch could not know it otherwise.
    """

    def __init__(self, examples: Examples, noise: Noise, seed: int) -> None:
        self._examples, self._noise, self._seed = examples, noise, seed

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, drawn: Drawn) -> Batch:
        if not self._noise:
            return self._examples[drawn.indices]
        sources = self._examples.sources(drawn.indices)
        seeds = ([self._seed, drawn.epoch, number, STREAM] for number in self._examples.numbers_N[drawn.indices])
        noisy = [self._noise.on(row, np.random.default_rng(seed)) for row, seed in zip(sources, seeds, strict=True)]
        return self._examples.batch(drawn.indices, noisy)
