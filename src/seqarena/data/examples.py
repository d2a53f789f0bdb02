"""Prepared examples of one split, memory-mapped, and how some of them become a batch."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from seqarena.data.batch import BEGIN, END, PAD, Batch, ClassificationBatch, TaggingBatch, TranslationBatch
from seqarena.errors import InputError


class Ragged:
    """A column of integer lists in Arrow chunks, as numpy views: no copy, no Python lists."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._chunks = [(c.offsets.to_numpy(), c.values.to_numpy()) for c in column.chunks]
        self._starts = np.cumsum([0] + [len(c) for c in column.chunks])
        self.lengths_N = np.concatenate([np.diff(offsets) for offsets, _ in self._chunks] or [np.zeros(0, np.int64)])

    def rows(self, indices: Sequence[int]) -> list[np.ndarray]:
        """The lists at these places; looking them up together saves half of the time of one by one."""
        chunks = np.searchsorted(self._starts, indices, "right") - 1
        places = np.asarray(indices) - self._starts[chunks]
        return [self._row(chunk, place) for chunk, place in zip(chunks.tolist(), places.tolist(), strict=True)]

    def _row(self, chunk: int, place: int) -> np.ndarray:
        offsets, values = self._chunks[chunk]
        return values[offsets[place] : offsets[place + 1]]


def padded(
    rows: Sequence[Sequence[int] | np.ndarray], begin: int | None = None, end: int | None = None
) -> tuple[Tensor, Tensor]:
    """Rows of ids side by side, (B, longest), at least one column, padded on the right; and True on real tokens.

    `begin` and `end` are marks to put around each row, real tokens too.
    """
    first = int(begin is not None)
    lengths_B = np.array([first + len(row) for row in rows], np.int64)
    width = lengths_B.max(initial=1 - int(end is not None)) + int(end is not None)
    ids_BT = np.full((len(rows), width), PAD, np.int64)
    places_T = np.arange(width)
    ids_BT[(first <= places_T) & (places_T < lengths_B[:, None])] = np.concatenate([np.zeros(0, np.int64), *rows])
    if begin is not None:
        ids_BT[:, 0] = begin
    if end is not None:
        ids_BT[np.arange(len(rows)), lengths_B] = end
        lengths_B += 1
    return torch.from_numpy(ids_BT), torch.from_numpy(places_T < lengths_B[:, None])


class Tags(NamedTuple):
    """The labelled tokens of each text: their places, their classes, and the number of the first among all queries."""

    places: Ragged
    classes: Ragged
    first_N: np.ndarray

    @classmethod
    def of(cls, table: pa.Table, limit: int | None) -> "Tags":
        """Those of prepared texts. InputError: one of them lies behind the `limit` tokens that are read."""
        places = Ragged(table["places"])
        last = pc.max(pc.list_flatten(table["places"])).as_py()
        if limit is not None and last is not None and last >= limit:
            raise InputError(f"data.max_length={limit} would cut off labels: write {last + 1} or more, or null")
        return cls(places, Ragged(table["classes"]), np.cumsum([0, *places.lengths_N]))


class Examples:
    """A prepared table. Indexing with a list of indices gives their batch; `table` holds the raw columns.

    `numbers_N` is what each example goes by: its place in the table, unless told otherwise.
    """

    def __init__(self, table: pa.Table, max_length: int | None, numbers_N: np.ndarray | None = None) -> None:
        self.table = table
        self.numbers_N = np.arange(len(table)) if numbers_N is None else numbers_N
        self.source = Ragged(self.table["source_ids"])
        self.target = Ragged(self.table["target_ids"]) if "target_ids" in self.table.column_names else None
        self.classes_N = self.table["class"].to_numpy() if "class" in self.table.column_names else None
        """The class of each text, by number; None where a text has no class of its own."""
        self.tags = Tags.of(self.table, max_length) if "places" in self.table.column_names else None
        """The labelled tokens; None where texts are not tagged."""
        self._max_length = max_length

    def __len__(self) -> int:
        return len(self.table)

    def lengths(self) -> np.ndarray:
        """Positions that each example takes up in a batch: the longer of its two sides, marks included."""
        if self.target is None:
            return (
                self.source.lengths_N if self._max_length is None else self.source.lengths_N.clip(max=self._max_length)
            )
        return np.maximum(self.source.lengths_N, self.target.lengths_N) + 1

    def __getitem__(self, indices: list[int]) -> Batch:
        return self.batch(indices, self.sources(indices))

    def sources(self, indices: list[int]) -> list[np.ndarray]:
        """The source ids of each, without marks; texts are cut at the length limit."""
        limit = self._max_length if self.target is None else None
        return [row[:limit] for row in self.source.rows(indices)]

    def batch(self, indices: list[int], sources: list[np.ndarray]) -> Batch:
        """Their batch, with these source ids."""
        numbers = self.numbers_N[indices].tolist()
        if self.target is not None:
            return translation_batch(numbers, sources, self.target.rows(indices))
        if self.tags is not None:
            places, classes, first_N = self.tags
            return tagging_batch(numbers, sources, places.rows(indices), classes.rows(indices), first_N[indices])
        labels_B = torch.from_numpy(self.classes_N[indices].astype(np.int64))  # type: ignore[index]
        return classification_batch(numbers, sources, labels_B)


def tagging_batch(
    indices: list[int], rows: list[np.ndarray], places: list[np.ndarray], classes: list[np.ndarray], first_B: np.ndarray
) -> TaggingBatch:
    """Texts as ids, with places and classes of their labelled tokens, which are numbered from `first_B` on."""
    source_BS, mask_BS = padded(rows)
    tokens = sum(len(row) for row in rows)
    id_Q = _flat([np.arange(first, first + len(row)) for first, row in zip(first_B, places, strict=True)])
    row_Q = _flat([np.full(len(row), place) for place, row in enumerate(places)])
    queries = id_Q, row_Q, _flat(places), _flat(classes)
    return TaggingBatch(torch.tensor(indices), source_BS, mask_BS, *queries, tokens, source_BS.numel())


def _flat(rows: list[np.ndarray]) -> Tensor:
    return torch.from_numpy(np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int64))


def classification_batch(indices: list[int], rows: list[np.ndarray], labels_B: Tensor) -> ClassificationBatch:
    """Texts as ids, padded and masked."""
    source_BS, mask_BS = padded(rows)
    tokens = sum(len(row) for row in rows)
    return ClassificationBatch(torch.tensor(indices), source_BS, mask_BS, labels_B, tokens, source_BS.numel())


def translation_batch(indices: list[int], sources: list[np.ndarray], targets: list[np.ndarray]) -> TranslationBatch:
    """Pairs as ids: sources and wanted targets end with the end mark, given targets start with the begin mark."""
    source_BS, mask_BS = padded(sources, end=END)
    given_BT, _ = padded(targets, begin=BEGIN)
    wanted_BT, real_BT = padded(targets, end=END)
    real_N = real_BT.flatten().nonzero()[:, 0]
    return TranslationBatch(
        torch.tensor(indices),
        source_BS,
        mask_BS,
        given_BT,
        wanted_BT,
        real_N,
        targets=len(real_N),
        tokens=len(real_N) + sum(len(row) + 1 for row in sources),
        positions=source_BS.numel() + wanted_BT.numel(),
    )
