"""Which examples make up each batch: similar lengths together, under a budget of tokens, every example exactly once."""

from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler


def plan(
    lengths_N: np.ndarray, max_tokens: int, max_examples: int | None, ranks: int, order: np.random.Generator | None
) -> list[np.ndarray]:
    """Batches of indices whose padded size, longest length times examples, stays within `max_tokens`.

    Examples are sorted by length, equal lengths shuffled by `order` (or left alone without one), and cut where the
    budget is full; since the cuts depend on the sorted lengths alone, every epoch has the same number of batches. An
    example longer than the budget is a batch by itself. With several ranks the largest batches are halved until their
    number divides evenly, so nothing is repeated and nothing left over.
    """
    shuffled = np.arange(len(lengths_N)) if order is None else order.permutation(len(lengths_N))
    by_length = shuffled[np.argsort(lengths_N[shuffled], kind="stable")]
    limit = max_examples or len(lengths_N)
    batches, begin = [], 0
    for place, index in enumerate(by_length):
        size = place - begin + 1
        if size > 1 and (size > limit or size * max(lengths_N[index], 1) > max_tokens):
            batches.append(by_length[begin:place])
            begin = place
    batches.append(by_length[begin:])
    return _divide([batch for batch in batches if len(batch)], ranks)


def _divide(batches: list[np.ndarray], ranks: int) -> list[np.ndarray]:
    while len(batches) % ranks:
        largest = max(range(len(batches)), key=lambda place: len(batches[place]))
        batch = batches[largest]
        if len(batch) < 2:
            raise ValueError(f"{len(batches)} examples cannot be dealt to {ranks} ranks without repeating one")
        batches[largest : largest + 1] = [batch[: len(batch) // 2], batch[len(batch) // 2 :]]
    return batches


class TokenBatches(Sampler[list[int]]):
    """This rank's batches of each epoch, shuffled by (seed, epoch) in training and in plan order in evaluation."""

    def __init__(
        self,
        lengths_N: np.ndarray,
        max_tokens: int,
        max_examples: int | None,
        seed: int | None,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        self._lengths_N, self._max_tokens, self._max_examples = lengths_N, max_tokens, max_examples
        self._seed, self._rank, self._ranks = seed, rank, ranks
        self._epoch = 0
        self._count = len(plan(lengths_N, max_tokens, max_examples, ranks, None)) // ranks

    def set_epoch(self, epoch: int) -> None:
        """Called before each epoch, on every rank with the same number."""
        self._epoch = epoch

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[list[int]]:
        order = None if self._seed is None else np.random.default_rng([self._seed, self._epoch])
        batches: Sequence[np.ndarray] = plan(self._lengths_N, self._max_tokens, self._max_examples, self._ranks, order)
        places = np.arange(len(batches)) if order is None else order.permutation(len(batches))
        for place in places[self._rank :: self._ranks]:
            yield batches[place].tolist()
