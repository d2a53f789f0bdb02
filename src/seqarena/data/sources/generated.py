"""What generated classification data has in common: rows drawn one by one, each in the split that its hash selects."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from random import Random
from typing import ClassVar

from seqarena.data.source import SPLITS, Row
from seqarena.errors import InputError

HOMES = ("train", "train", "val", "test")
"""The split that the last two bits of a text's hash select."""

TRIES = 10_000
"""Draws without a new text of the split after which there is taken to be none left."""


class Generated(ABC):
    """A source whose rows are drawn at random.

    A row depends on (seed, split, index) alone, belongs to the split that the hash of its text selects, whatever the
    seed, and is not repeated in it: what is drawn for another split, or for the second time, is drawn again.
    """

    name: ClassVar[str]
    """As data= has it."""
    version: ClassVar[int] = 1
    """Of the drawing: raise it whenever the same options would give other rows."""
    repeats: ClassVar[bool] = False
    """Whether training may hold a text more than once."""
    strata: tuple[str, ...] = ()
    shortcuts: tuple[str, ...] = ()

    def __init__(self, sizes: Sequence[int], seed: int, *options: object) -> None:
        """`sizes` are numbers of rows to train, val and test, 0 for no such split; `options` are all else, as JSON."""
        self.sizes = dict(zip(SPLITS, sizes, strict=True))
        for split, size in self.sizes.items():
            if not isinstance(size, int) or size < 0:
                raise InputError(f"{self.name}: {split}={size} is not a number of examples; write 0 or more")
        self.seed, self._options = seed, options

    @abstractmethod
    def draw(self, rng: Random, split: str, index: int) -> Row | None:
        """One row, whichever split its text belongs to; None if this draw came to nothing."""

    def splits(self) -> tuple[str, ...]:
        """The splits of which rows were asked for."""
        return tuple(split for split, size in self.sizes.items() if size)

    def rows(self, split: str) -> Iterator[Row]:
        """`sizes[split]` rows; more of them start with the same ones. InputError where there are not so many."""
        seen = set[int]()
        for index in range(self.sizes[split]):
            row = self._next(split, index, seen)
            if row is None:
                raise self._end(split, index)
            yield row

    def _next(self, split: str, index: int, seen: set[int]) -> Row | None:
        """The first draw that belongs to the split and is not in `seen`, where it goes unless it may come again."""
        rng = Random(f"{self.seed} {split} {index}")
        for _ in range(TRIES):
            row = self.draw(rng, split, index)
            if row is None:
                continue
            key = int.from_bytes(blake2b(str(row["text"]).encode(), digest_size=8).digest())
            if HOMES[key % len(HOMES)] == split and key not in seen:
                if split != "train" or not self.repeats:
                    seen.add(key)
                return row
        return None

    def _end(self, split: str, index: int) -> InputError:
        return InputError(
            f"{self.name}: {split}={self.sizes[split]} is more than there are: after {index} examples {TRIES:,} draws "
            f"with these options gave no other one; write {split}={index} or less, or options that leave more room"
        )

    def fingerprint(self) -> str:
        """A hash of the options and the drawing's version."""
        told = json.dumps([self.name, self.version, self.sizes, *self._options, self.seed])
        return blake2b(told.encode(), digest_size=16).hexdigest()


def listed(
    name: str, option: str, usual: Sequence[int], tested: Sequence[int] | None, least: int, example: str
) -> dict[str, tuple[int, ...]]:
    """Whole numbers from `least` on by split; the test has its own if `tested`, the option's test_ form, is given.

    InputError: they are not that; `example` shows what would be.
    """
    found = _numbers(f"{name}: {option}", usual, least, example)
    other = found if tested is None else _numbers(f"{name}: test_{option}", tested, least, example)
    return dict(zip(SPLITS, (found, found, other), strict=True))


def _numbers(option: str, told: Sequence[int], least: int, example: str) -> tuple[int, ...]:
    if not isinstance(told, Sequence) or not told:
        raise InputError(f"{option}={told} holds no number; write a list such as {example}")
    for one in told:
        if not isinstance(one, int) or one < least:
            raise InputError(f"{option} holds {one!r}; write whole numbers from {least}, such as {example}")
    return tuple(told)


def turn(values: Sequence[int], index: int) -> int:
    """The value of that row: they take turns."""
    return values[index % len(values)]


def ends(
    name: str, option: str, usual: Sequence[int], tested: Sequence[int] | None, least: int, example: str
) -> dict[str, tuple[int, int]]:
    """A shortest and a longest length from `least` on by split, as `listed`."""
    found = _two(f"{name}: {option}", usual, least, example)
    other = found if tested is None else _two(f"{name}: test_{option}", tested, least, example)
    return dict(zip(SPLITS, (found, found, other), strict=True))


def _two(option: str, told: Sequence[int], least: int, example: str) -> tuple[int, int]:
    try:
        shortest, longest = told
    except (TypeError, ValueError):
        shortest = longest = least - 1
    if not all(isinstance(end, int) for end in (shortest, longest)) or not least <= shortest <= longest:
        raise InputError(
            f"{option}={told} are not a shortest and a longest length; write two whole numbers from {least}, "
            f"such as {example}"
        )
    return shortest, longest
