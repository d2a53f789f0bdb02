"""What the data is like: classes, lengths, unknown tokens, overlap between splits, texts with two labels.

Everything is counted over what was kept. The survey goes into the cache, into every run's record, and is what
`report=data` shows.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqarena.data import tables
from seqarena.data.gathering import Gathered
from seqarena.data.marks import UNKNOWN
from seqarena.data.queries import integers
from seqarena.data.source import SPLITS
from seqarena.data.vocabulary import Vocabulary

BARS = 40
"""Bins of a length histogram."""
SHOWN = 20
"""Suspects that are listed; all are counted."""
FEW = 12
"""Values of a stratum up to which each is a bucket by itself."""


def survey(folder: Path, gathered: Mapping[str, Gathered], vocabulary: Vocabulary) -> dict[str, Any]:
    """Everything about the splits in `folder`, as plain data."""
    splits = {split: tables.opened(folder / f"{split}.arrow") for split in SPLITS}
    sources = {split: counted(folder / f"{split}.arrow", "source_ids") for split in SPLITS}
    found: dict[str, Any] = {"lengths": {"source": histogram({name: one.lengths_N for name, one in sources.items()})}}
    if "target_ids" in splits["train"].column_names:
        targets = {split: counted(folder / f"{split}.arrow", "target_ids").lengths_N for split in SPLITS}
        found["lengths"]["target"] = histogram(targets)
    else:
        found["classes"] = {name: class_balance(table, vocabulary.labels) for name, table in splits.items()}
        if "class" in splits["train"].column_names:
            found["suspects"] = suspects(splits["train"], gathered["train"].texts_N)
    found["unknown_share"] = {name: one.unknown_share for name, one in sources.items()}
    limit = vocabulary.max_length
    found["cut_share"] = {name: cut_share(one.lengths_N, limit) for name, one in sources.items()}
    found["overlap"] = overlap({name: one.texts_N for name, one in gathered.items()})
    return found


class Counted(NamedTuple):
    """The tokens of each example, and which part of them the vocabulary does not know."""

    lengths_N: np.ndarray
    unknown_share: float


def counted(path: Path, column: str) -> Counted:
    """The ids in a column of a prepared file, of which not more than a batch is in memory."""
    lengths, unknown = [np.zeros(0, np.int64)], 0
    for batch in tables.batches(path, column):
        lengths.append(pc.list_value_length(batch[column]).to_numpy())
        unknown += int((batch[column].values.to_numpy() == UNKNOWN).sum())
    lengths_N = np.concatenate(lengths)
    return Counted(lengths_N, unknown / max(1, int(lengths_N.sum())))


def histogram(lengths: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Counts by split in common bins (`edges` are the lower ones, the last bin is open); mean, median, p95, longest."""
    train_N = lengths["train"]
    step = max(1, int(np.ceil(np.percentile(train_N, 99.5) / BARS)))
    edges = np.arange(0, step * BARS + 1, step)
    counted = {
        name: np.histogram(one_N.clip(max=edges[-1]), [*edges, edges[-1] + step])[0] for name, one_N in lengths.items()
    }
    return {
        "edges": edges.tolist(),
        "counts": {name: counts.tolist() for name, counts in counted.items()},
        "mean": {name: float(one_N.mean()) if len(one_N) else 0.0 for name, one_N in lengths.items()},
        "median": {name: float(np.median(one_N)) if len(one_N) else 0.0 for name, one_N in lengths.items()},
        "p95": {name: float(np.percentile(one_N, 95)) if len(one_N) else 0.0 for name, one_N in lengths.items()},
        "longest": {name: int(one_N.max()) if len(one_N) else 0 for name, one_N in lengths.items()},
    }


def class_balance(table: pa.Table, labels: list[str]) -> dict[str, int]:
    """How many examples, or queries in them, each label has."""
    one_each = "class" in table.column_names
    classes = table["class"] if one_each else pc.list_flatten(table["classes"])
    counts = np.bincount(classes.to_numpy(), minlength=len(labels))
    return dict(zip(labels, counts.tolist(), strict=True))


def suspects(table: pa.Table, texts_N: np.ndarray) -> dict[str, Any]:
    """Texts (equal where `texts_N` is) with more than one label: how many, and the first of them with their labels."""
    pairs = np.unique(np.stack([texts_N, table["class"].to_numpy().astype(np.int64)]), axis=1)
    texts, kinds = np.unique(pairs[0], return_counts=True)
    twice = texts[kinds > 1]
    known, places = np.unique(texts_N, return_index=True)
    first = np.sort(places[np.isin(known, twice)])[:SHOWN]
    return {
        "count": len(twice),
        "examples": [_suspect(table, np.flatnonzero(texts_N == texts_N[one])) for one in first],
    }


def _suspect(table: pa.Table, places: np.ndarray) -> dict[str, Any]:
    rows = table.take(pa.array(places))
    labels = Counter(rows["label"].to_pylist())
    return {"text": rows["text"][0].as_py(), "labels": dict(labels), "ids": rows["id"].to_pylist()}


def cut_share(lengths_N: np.ndarray, limit: int | None) -> float:
    """Which part of the examples is longer than what is read."""
    return float((lengths_N > limit).mean()) if limit is not None and len(lengths_N) else 0.0


def overlap(texts: Mapping[str, np.ndarray]) -> dict[str, int]:
    """How many examples of the later split have a text (or source) that the earlier one holds too."""
    pairs = (("train", "val"), ("train", "test"), ("val", "test"))
    return {f"{a}-{b}": int(np.isin(texts[b], texts[a]).sum()) for a, b in pairs}


def edges(table: pa.Table, strata: tuple[str, ...]) -> dict[str, list[int]]:
    """Lower edges for each stratum: its values where they are few, else tenths of the training examples."""
    found = {}
    for axis in strata:
        values_N = integers(table[axis])
        distinct = np.unique(values_N)
        tenths = np.unique(np.percentile(values_N, np.arange(0, 100, 10), method="lower"))
        found[axis] = [int(edge) for edge in (distinct if len(distinct) <= FEW else tenths)]
    return found
