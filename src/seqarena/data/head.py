"""The first rows of a training split that is streamed: what everything is fitted on that other runs fit on all rows."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from seqarena.data.source import SPLITS, Row, Source, Streamable
from seqarena.errors import InputError

NAME = "first_rows"
"""What a report calls them, as they are not the training split."""


@dataclass(frozen=True)
class StreamOptions:
    """`shuffle_buffer` is the number of rows, in each worker, that are shuffled and sorted by length at a time;
    `tokenizer_rows` that of the first rows."""

    shuffle_buffer: int
    tokenizer_rows: int


class Head:
    """A source whose training split is the first `count` rows of another's. It knows that one by its stamp."""

    def __init__(self, source: Source, count: int) -> None:
        if not isinstance(source, Streamable):
            raise InputError("data.streaming=true: this data is generated, not read from files: leave it out")
        self._source, self._count = source, count
        self.strata, self.shortcuts = source.strata, source.shortcuts

    def splits(self) -> tuple[str, ...]:
        """Those of the source. InputError: one is missing."""
        found = self._source.splits()
        if missing := [split for split in SPLITS if split not in found]:
            cure = " ".join(f"data.{split}=<file>" for split in missing)
            raise InputError(
                f"data.streaming=true: there is no {' and no '.join(missing)} split, and none can be cut from rows "
                f"that are not kept: write {cure}, or data.streaming=false"
            )
        return found

    def rows(self, split: str) -> Iterator[Row]:
        """The first rows of training, all rows of the others."""
        rows = self._source.rows(split)
        return islice(rows, self._count) if split == "train" else rows

    def fingerprint(self) -> str:
        """By names, sizes and times of the training files, by contents of the others."""
        return json.dumps([NAME, self._count, self._source.stamp()])


def told_of_head(report: dict[str, Any]) -> dict[str, Any]:
    """The report of a prepared head, with its rows under a name of their own in place of the training split's."""
    by_split = [report[key] for key in ("ledger", "unknown_labels", "unknown_share", "cut_share")]
    by_split += [report["classes"]] if "classes" in report else []
    for lengths in report["lengths"].values():
        by_split += [told for told in lengths.values() if isinstance(told, dict)]
    for told in by_split:
        told[NAME] = told.pop("train")
    overlap = {pair.replace("train", NAME): shared for pair, shared in report["overlap"].items()}
    return {**report, "overlap": overlap}
