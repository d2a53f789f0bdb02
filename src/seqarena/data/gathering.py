"""The raw rows of a split, counted and kept in an Arrow file: the source is read once, and this file after it."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from seqarena.data import tables
from seqarena.data.ledger import Ledger
from seqarena.data.queries import tags
from seqarena.data.source import Row

CHUNK = 10_000
"""Rows that are in memory at a time."""

SIDES = {"classification": ("text", "label"), "translation": ("source", "target"), "tagging": ("text", "labels")}
"""What a row of each task must have."""


def answers(task: str, told: str) -> list[str]:
    """What the second side of a row asks for: a label, a target, or the labels of a text's tokens; nothing if empty."""
    if task == "tagging":
        return [label for _, label in tags(told)]
    return [told] if told.strip() else []


def is_empty(row: Row, task: str) -> bool:
    """Whether a side of the row has nothing to it."""
    first, second = SIDES[task]
    return not str(row[first]).strip() or not answers(task, str(row[second]))


def unknown(row: Row, task: str, labels: set[str] | None) -> list[str]:
    """What the row asks for and `labels`, if given, lack."""
    return [] if labels is None else [label for label in answers(task, str(row[SIDES[task][1]])) if label not in labels]


@dataclass(frozen=True)
class Gathered:
    """What gathering a split found out. Keys are 64-bit hashes of this process: equal where the rows are equal."""

    ledger: Ledger
    examples_N: np.ndarray
    """Of text and label, or of source and target."""
    texts_N: np.ndarray
    """Of the text or source alone."""


def gather(
    rows: Iterable[Row], task: str, labels: set[str] | None, path: Path, advance: Callable[[int], None]
) -> Gathered:
    """Count the rows and write those kept: none with an empty side, or with labels outside `labels` if given."""
    ledger, examples, texts = Ledger(), array("q"), array("q")
    first, second = SIDES[task]

    def kept() -> Iterator[Row]:
        for index, row in enumerate(rows):
            if is_empty(row, task):
                ledger.drop("empty")
            elif others := unknown(row, task, labels):
                ledger.drop("unknown_label")
                ledger.unknown.update(others)
            else:
                ledger.keep()
                examples.append(hash((str(row[first]), str(row[second]))))
                texts.append(hash(str(row[first])))
                yield {"id": index, **row}

    _write(kept(), task, path, advance)
    found = Gathered(ledger, np.frombuffer(examples, np.int64), np.frombuffer(texts, np.int64))
    if repeated := len(examples) - len(np.unique(found.examples_N)):
        ledger.notes["repeated"] = repeated
    return found


def _write(rows: Iterator[Row], task: str, path: Path, advance: Callable[[int], None]) -> None:
    chunks = iter(lambda: list(islice(rows, CHUNK)), [])
    first = next(chunks, [])
    schema = as_batch(first, task).schema

    def parts() -> Iterator[pa.RecordBatch]:
        chunk = first
        while chunk:
            yield as_batch(chunk, task)
            advance(len(chunk))
            chunk = next(chunks, [])

    tables.write(parts(), schema, path)


def as_batch(rows: list[Row], task: str) -> pa.RecordBatch:
    """Rows with an `id` as columns."""
    names = list(rows[0]) if rows else ["id", *SIDES[task]]
    columns = {name: [row[name] for row in rows] for name in names}
    types = {name: _type(name, values) for name, values in columns.items()}
    return pa.RecordBatch.from_arrays([pa.array(columns[name], types[name]) for name in names], names=names)


def _type(name: str, values: list[str | int]) -> pa.DataType:
    whole = name == "id" or (bool(values) and isinstance(values[0], int))
    return pa.int64() if whole else pa.string()
