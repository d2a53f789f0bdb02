"""Pairs of any other source, joined in the test to texts longer than any in training.

A synthetic test: real long sentences differ from short ones in more than their length, while these are the same
sentences at each length, of which a context is never needed. So a fall in quality is due to the length alone.
"""

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import islice

from seqarena.data.source import Row, Source
from seqarena.data.sources.generated import listed
from seqarena.errors import InputError

VERSION = 1
"""Of the joining: raise it whenever the same options would give other pairs."""


class LongPairs:
    """Translation: `reader`'s pairs in training and validation; in the test so many of them joined as `joined` says.

        en  one / two / three / four   ->   one two / three four      sentences 2, if joined is [2]

    For each number in `joined` the test holds all its pairs in their order, joined by so many with `between` between
    them; pairs at the end that do not make up the number are left out. The stratum `sentences` is that number, and 1 in
    training and validation. Of the reader's own columns only the texts are kept.
    """

    strata: tuple[str, ...] = ("sentences",)
    shortcuts: tuple[str, ...] = ()

    def __init__(self, reader: Source, joined: Sequence[int], between: str = " "):
        """`reader` is any source of translation with a test split. InputError names a bad option and the cure."""
        if not hasattr(reader, "rows"):
            raise InputError(f"long_pairs: reader={reader} is no source; write one with its _target_")
        self.joined = listed("long_pairs", "joined", joined, None, 1, "[1, 2, 4, 8]")["test"]
        self.reader, self.between = reader, between

    def splits(self) -> tuple[str, ...]:
        """The reader's."""
        found = self.reader.splits()
        if "test" not in found:
            raise InputError("long_pairs: the reader has no test split, whose pairs are to be joined; give it one")
        return found

    def rows(self, split: str) -> Iterator[Row]:
        """The pairs of a split, those of the test joined. InputError: the test is shorter than a number in `joined`."""
        for count in self.joined if split == "test" else (1,):
            rows = self.reader.rows(split)
            found = False
            while len(group := list(islice(rows, count))) == count:
                found = True
                yield {side: self.between.join(str(row[side]) for row in group) for side in ("source", "target")} | {
                    "sentences": count
                }
            if not found:
                raise InputError(f"long_pairs: joined={list(self.joined)}: the test has fewer than {count} pairs")

    def fingerprint(self) -> str:
        """A hash of the reader's own, the options and the version of the joining."""
        told = ["long_pairs", VERSION, self.reader.fingerprint(), self.joined, self.between]
        return blake2b(json.dumps(told).encode(), digest_size=16).hexdigest()
