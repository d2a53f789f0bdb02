"""Strings of random symbols, to be written again as they are or backwards: the smallest translations there are.

After the copying and reversing tasks of Graves, Wayne and Danihelka 2014, "Neural Turing Machines", and Grefenstette
et al. 2015, "Learning to Transduce with Unbounded Memory". Nothing in a string says what comes next, so every symbol
has to be found in the source by its place: an architecture shows here whether it can address positions.
"""

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from random import Random
from typing import TypeAlias

from seqarena.data.source import SPLITS, Row
from seqarena.data.sources.generated import ends
from seqarena.errors import InputError

VERSION = 1
"""Of the drawing: raise it whenever the same options would give other strings."""

TRIES = 10_000
"""Draws without a new string after which there is none left (a thousandth of all strings is missed once in 20,000)."""

String: TypeAlias = tuple[int, ...]
"""Symbols by their numbers."""


class Copy:
    """Translation of a string into itself.

        c a f f e  ->  c a f f e        items 5

    First the number of symbols is drawn between the two `lengths`, each as likely, then each symbol. The stratum
    `items` is their number. A string depends on (seed, split, index) alone, belongs to the split that its hash selects,
    8 : 1 : 1, whatever the seed, and is not repeated in it; lengths of which there are few strings run out and the
    others share the rest.
    """

    strata: tuple[str, ...] = ("items",)
    shortcuts: tuple[str, ...] = ()

    def __init__(
        self,
        train: int,
        val: int,
        test: int,
        lengths: Sequence[int],
        symbols: int,
        seed: int,
        test_lengths: Sequence[int] | None = None,
    ):
        """Sizes are numbers of strings, 0 leaves a split out; `lengths` are the shortest and the longest in symbols.

        `test_lengths` are those of the test, if others. InputError names a bad option and the cure: among them a size
        beyond the strings there are.
        """
        self.task = type(self).__name__.lower()
        if not isinstance(symbols, int) or symbols < 1:
            raise InputError(f"{self.task}: symbols={symbols} is not a number of symbols; write 1 or more, such as 26")
        self.lengths = ends(self.task, "lengths", lengths, test_lengths, 1, "[4, 12]")
        self.symbols, self.seed = symbols, seed
        self.sizes = dict(zip(SPLITS, (train, val, test), strict=True))
        self.strings = {split: self._draw(split, size) for split, size in self.sizes.items()}

    def target(self, items: String) -> String:
        """What is to be written."""
        return items

    def splits(self) -> tuple[str, ...]:
        """The splits of which strings were asked for."""
        return tuple(split for split, size in self.sizes.items() if size)

    def rows(self, split: str) -> Iterator[Row]:
        """`sizes[split]` pairs; more of them start with the same ones."""
        for items in self.strings[split]:
            yield {"source": spell(items), "target": spell(self.target(items)), "items": len(items)}

    def fingerprint(self) -> str:
        """A hash of the task, its options and the version of the drawing."""
        options = (self.task, VERSION, self.sizes, self.lengths, self.symbols, self.seed)
        return blake2b(json.dumps(options).encode(), digest_size=16).hexdigest()

    def _draw(self, split: str, size: int) -> list[String]:
        """The split's strings. Only here can it show that there are too few."""
        if not isinstance(size, int) or size < 0:
            raise InputError(f"{self.task}: {split}={size} is not a number of strings; write 0 or more")
        drawn: dict[String, None] = {}
        for index in range(size):
            rng = Random(f"{self.seed} {split} {index}")
            tries = (self._string(rng, *self.lengths[split]) for _ in range(TRIES))
            items = next((items for items in tries if items not in drawn and _home(items) == split), None)
            if items is None:
                shortest, longest = self.lengths[split]
                raise InputError(
                    f"{self.task}: {split}={size} is more than there are: the strings of {shortest} to "
                    f"{longest} out of symbols={self.symbols} end after {index}; write {split}={index} or less, "
                    "or more symbols or longer lengths"
                )
            drawn[items] = None
        return list(drawn)

    def _string(self, rng: Random, shortest: int, longest: int) -> String:
        return tuple(rng.choices(range(self.symbols), k=rng.randint(shortest, longest)))


class Reverse(Copy):
    """Translation of a string into the same one backwards; all else is as in `Copy`, down to the strings.

    c a f f e  ->  e f f a c        items 5
    """

    def target(self, items: String) -> String:
        """What is to be written."""
        return items[::-1]


def spell(items: String) -> str:
    """The symbols' names between spaces."""
    return " ".join(map(name, items))


def name(symbol: int) -> str:
    """a to z, then aa, ab and so on, as spreadsheets name their columns."""
    before, letter = divmod(symbol, 26)
    return (name(before - 1) if before else "") + chr(ord("a") + letter)


def _home(items: String) -> str:
    key = int.from_bytes(blake2b(spell(items).encode(), digest_size=8).digest())
    return {8: "val", 9: "test"}.get(key % 10, "train")
