"""Queries: the labelled tokens of texts, from a row a text to a row a query and back.

The `labels` of a text have one entry a token, between spaces: a label, or `_` where nothing is asked. Any other column
of strings has one entry a query, between spaces; a column of integers says something of the whole text.

    text      k1 v5 k2 v9 k2 blank k1
    labels    _  _  _  _  v9 _     v5
    distance              0        4
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqarena.data.source import Row
from seqarena.errors import InputError

NONE = "_"
TEXTUAL = ("id", "text", "labels", "source_ids", "places", "classes")
"""Columns that the queries of a text do not take over as they are."""


def tags(labels: str) -> list[tuple[int, str]]:
    """The place of each labelled token, with its label."""
    return [(place, label) for place, label in enumerate(labels.split()) if label != NONE]


def check_aligned(row: Mapping[str, Any], tokens: int) -> None:
    """InputError: `labels` that are not one a token, or another column that is not one a query."""
    expected = {"labels": tokens}
    expected |= dict.fromkeys((name for name in row if name not in TEXTUAL), len(tags(row["labels"])))
    for name, count in expected.items():
        if isinstance(row[name], str) and len(row[name].split()) != count:
            kind = "token of its text" if name == "labels" else "label"
            raise InputError(
                f"row {row['id']} has {len(row[name].split())} entries in {name}={row[name]!r}, where {count} belong, "
                f"one for each {kind}: write {NONE} for a token without a label; punctuation is a token of its own"
            )


def items(table: pa.Table, axes: Collection[str]) -> pa.Table:
    """What is scored, one a row: the rows of a prepared table, or their queries. The columns in `axes` are integers."""
    return by_query(table, axes) if "places" in table.column_names else table


def by_query(table: pa.Table, axes: Collection[str]) -> pa.Table:
    """A row a query: `id` numbers them over the split, `example` is the id of their text, `position` their token in it.

    `label` and `class` are the query's own, `text` and `length` those of its text. The columns in `axes` are integers.
    """
    row_Q = np.repeat(np.arange(len(table)), pc.list_value_length(table["places"]).to_numpy())
    found = {
        "id": pa.array(np.arange(len(row_Q))),
        "example": table["id"].take(row_Q),
        "position": pc.list_flatten(table["places"]),
        "text": table["text"].combine_chunks().dictionary_encode().take(pa.array(row_Q)),  # each is kept once
        "label": pa.array([label for labels in table["labels"].to_pylist() for _, label in tags(labels)], pa.string()),
        "class": pc.list_flatten(table["classes"]),
    }
    for name in (name for name in table.column_names if name not in TEXTUAL):
        found[name] = _each(table[name], row_Q, name in axes)
    return pa.table(found)


def _each(column: pa.ChunkedArray, row_Q: np.ndarray, whole: bool) -> pa.Array | pa.ChunkedArray:
    if not pa.types.is_string(column.type):
        return column.take(row_Q)
    return pa.array(integers(column)) if whole else pa.array(_entries(column), pa.string())


def _entries(column: pa.ChunkedArray) -> list[str]:
    return " ".join(column.to_pylist()).split()


def by_row(table: pa.Table, entries: Sequence[str]) -> list[str]:
    """An entry for each of its `items` as a column of a prepared table: those of a text's queries between spaces."""
    if "places" not in table.column_names:
        return list(entries)
    rest = iter(entries)
    return [" ".join(islice(rest, count)) for count in pc.list_value_length(table["places"]).to_pylist()]


def integers(column: pa.ChunkedArray) -> np.ndarray:
    """The values of a stratum: one an example or, where it holds strings, one a query."""
    return np.array(_entries(column), np.int64) if pa.types.is_string(column.type) else column.to_numpy()


def by_text(queries: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """The raw rows of texts from rows of their queries: what `by_query` does, undone."""
    for _, group in groupby(queries, lambda query: query["example"]):
        rows = list(group)
        told = {name: " ".join(str(row[name]) for row in rows) for name in rows[0]}
        labels = [NONE] * rows[0]["length"]
        for row in rows:
            labels[row["position"]] = row["label"]
        own = ("id", "example", "position", "label", "length")
        others = {name: one for name, one in told.items() if name not in own}
        yield {**others, "text": rows[0]["text"], "labels": " ".join(labels)}
