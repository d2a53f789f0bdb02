"""Which examples make up each batch: similar lengths together, under a budget of tokens, every example exactly once.

Only oversampling repeats any: those of the rarer classes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from torch.utils.data import Sampler

from seqarena.errors import InputError


class Drawn(NamedTuple):
    """The examples of one batch, and the epoch that it belongs to."""

    epoch: int
    indices: list[int]


def plan(
    lengths_N: np.ndarray,
    max_tokens: int,
    max_examples: int | None,
    ranks: int,
    order: np.random.Generator | None,
    least: int = 0,
    spare: bool = False,
) -> list[np.ndarray]:
    """Batches of indices whose padded size, longest length times examples, stays within `max_tokens`.

    Examples are sorted by length, equal lengths shuffled by `order` (or left alone without one), and cut where the
    budget is full; since the cuts depend on the sorted lengths alone, every epoch has the same number of batches. An
    example longer than the budget is a batch by itself. The largest batches are halved until there are `least` and
    their number can be dealt to the ranks evenly, so nothing is repeated and nothing left over. Where there are fewer
    examples than ranks, some get an empty batch if `spare`, as an evaluation may; InputError otherwise.
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
    return _divide([batch for batch in batches if len(batch)], ranks, least, spare)


def _divide(batches: list[np.ndarray], ranks: int, least: int, spare: bool) -> list[np.ndarray]:
    while len(batches) < least or len(batches) % ranks:
        largest = max(range(len(batches)), key=lambda place: len(batches[place]))
        batch = batches[largest]
        if len(batch) < 2 and spare:
            batches.append(np.zeros(0, int))
            continue
        if len(batch) < 2:
            raise InputError(f"{len(batches)} training examples are too few for {ranks} ranks: write fewer devices")
        batches[largest : largest + 1] = [batch[: len(batch) // 2], batch[len(batch) // 2 :]]
    return batches


def oversampled(classes_N: np.ndarray, ranking_N: np.ndarray) -> np.ndarray:
    """Indices of examples, so that every class is there as often as the most frequent one.

    All examples of a class come equally often, but for a rest: those that `ranking_N` (a permutation) ranks first come
    once more.
    """
    ranked_N = classes_N[ranking_N]
    present, counts = np.unique(classes_N, return_counts=True)
    members = (ranking_N[ranked_N == one] for one in present)
    return np.concatenate([np.resize(each, counts.max()) for each in members])


class TokenBatches(Sampler[Drawn]):
    """This rank's batches of each epoch, shuffled by (seed, epoch) in training and in plan order in evaluation.

    With `classes_N`, the class of each example, the rarer classes are oversampled, by (seed, epoch) too.

    `state_dict` says how far an epoch has got; loaded into a new sampler of the same arguments, it makes the iterators
    of that epoch begin there. All ranks have taken equally many. A loader with workers takes batches ahead of the
    training: what a checkpoint is to hold in that case is how many were trained on.
    """

    def __init__(
        self,
        lengths_N: np.ndarray,
        max_tokens: int,
        max_examples: int | None,
        seed: int | None,
        rank: int = 0,
        ranks: int = 1,
        classes_N: np.ndarray | None = None,
    ) -> None:
        self._lengths_N, self._max_tokens, self._max_examples = lengths_N, max_tokens, max_examples
        self._seed, self._rank, self._ranks, self._classes_N = seed, rank, ranks, classes_N
        self._epoch = self._begin = self._taken = self._least = 0
        # Which examples are repeated changes the lengths, so one epoch might need fewer batches than another. Each gets
        # as many as if the longest were repeated, the most there can be: sorted, no other lengths are above those.
        self._least = len(self._batches(None))

    def set_epoch(self, epoch: int) -> None:
        """Called before each epoch, on every rank with the same number. Another epoch begins with its first batch."""
        if epoch != self._epoch:
            self._epoch, self._begin, self._taken = epoch, 0, 0

    def state_dict(self) -> dict[str, int]:
        """The epoch, and how many batches of it the last iterator has given out."""
        return {"epoch": self._epoch, "taken": self._taken}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Begin that epoch after the batches already taken; ValueError if it has fewer."""
        if not 0 <= state["taken"] <= len(self):
            raise ValueError(f"{state['taken']} batches of an epoch were taken, which has {len(self)}: other data?")
        self._epoch, self._begin, self._taken = state["epoch"], state["taken"], state["taken"]

    def __len__(self) -> int:
        return self._least // self._ranks

    def __iter__(self) -> Iterator[Drawn]:
        epoch, begin = self._epoch, self._begin
        order = None if self._seed is None else np.random.default_rng([self._seed, epoch])
        batches = self._batches(order)
        places = np.arange(len(batches)) if order is None else order.permutation(len(batches))
        mine = places[self._rank :: self._ranks]
        for taken, place in enumerate(mine[begin:], begin + 1):
            self._taken = taken
            yield Drawn(epoch, batches[place].tolist())

    def _batches(self, order: np.random.Generator | None) -> list[np.ndarray]:
        """All ranks' batches of an epoch. Without an order, the examples that are repeated are the longest."""
        lengths_N, sizes = self._lengths_N, (self._max_tokens, self._max_examples, self._ranks)
        if self._classes_N is None:
            return plan(lengths_N, *sizes, order, self._least, spare=self._seed is None)
        ranking_N = np.argsort(-lengths_N) if order is None else order.permutation(len(lengths_N))
        drawn_M = oversampled(self._classes_N, ranking_N)
        return [drawn_M[batch] for batch in plan(lengths_N[drawn_M], *sizes, order, self._least)]
