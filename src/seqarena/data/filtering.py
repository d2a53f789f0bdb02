"""What leaves the training split by the user's wish: pairs too long or too uneven, and examples that came before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqarena.data import tables
from seqarena.data.gathering import Gathered
from seqarena.errors import InputError

MEASURED = ("length", "target_ids")
"""The columns that lengths are told from."""


@dataclass(frozen=True)
class Filters:
    """`max_length` is a number of tokens, a percentile of the training lengths such as `p95`, or nothing.

    `max_ratio` bounds the longer side of a pair over the shorter, in tokens. Long texts to classify are cut when they
    are read; all else here drops examples, from training only.
    """

    max_length: int | str | None
    max_ratio: float | None = None
    drop_duplicates: bool = False


def length_limit(filters: Filters, lengths_N: np.ndarray) -> int | None:
    """`max_length` as a number of tokens. `lengths_N` are those of training: nothing is fitted on other splits."""
    wanted = filters.max_length
    if wanted is None:
        return None
    if isinstance(wanted, int) and not isinstance(wanted, bool) and wanted > 0:
        return wanted
    if isinstance(wanted, str) and wanted.startswith("p") and wanted[1:].isdigit() and 0 < int(wanted[1:]) <= 100:
        return max(1, int(np.percentile(lengths_N, int(wanted[1:]), method="higher")))
    raise InputError(f"data.max_length={wanted} is not understood: write a number from 1, p95 (a percentile) or null")


def all_lengths(path: Path) -> np.ndarray:
    """`lengths` of a file, of which not more than a batch is in memory."""
    return np.concatenate([np.zeros(0, np.int64), *map(lengths, tables.batches(path, *MEASURED))])


def lengths(table: pa.Table | pa.RecordBatch) -> np.ndarray:
    """Tokens of each example: of a pair, of its longer side."""
    source_N = table["length"].to_numpy()
    return np.maximum(source_N, _target_lengths(table)) if "target_ids" in table.schema.names else source_N


def _target_lengths(table: pa.Table | pa.RecordBatch) -> np.ndarray:
    return pc.list_value_length(table["target_ids"]).to_numpy()


def filter_training(filters: Filters, limit: int | None, gathered: Gathered, path: Path) -> Gathered:
    """Drop from the training file, and count, what `filters` ask for."""
    each = [misfits(filters, limit, batch) for batch in tables.batches(path, *MEASURED)]
    reasons = {reason: np.concatenate([one[reason] for one in each]) for reason in each[0]}
    if filters.drop_duplicates:
        first = np.unique(gathered.examples_N, return_index=True)[1]
        reasons["duplicate"] = ~np.isin(np.arange(len(gathered.examples_N)), first)
    keep_N, counts = judged(reasons, len(gathered.examples_N))
    for reason, count in counts.items():
        gathered.ledger.discard(reason, count)
    if keep_N.all():
        return gathered
    tables.write(_kept(path, keep_N), tables.reader(path).schema, path)
    return replace(gathered, examples_N=gathered.examples_N[keep_N], texts_N=gathered.texts_N[keep_N])


def _kept(path: Path, keep_N: np.ndarray) -> Iterator[pa.RecordBatch]:
    start = 0
    for batch in tables.batches(path):
        yield batch.filter(pa.array(keep_N[start : start + len(batch)]))
        start += len(batch)


def judged(reasons: Mapping[str, np.ndarray], size: int) -> tuple[np.ndarray, dict[str, int]]:
    """Which examples stay, and how many go for each reason; of several reasons the first counts."""
    keep_N, counts = np.ones(size, bool), {}
    for reason, bad_N in reasons.items():
        if count := int((bad_N & keep_N).sum()):
            counts[reason] = count
        keep_N &= ~bad_N
    return keep_N, counts


def misfits(filters: Filters, limit: int | None, table: pa.Table | pa.RecordBatch) -> dict[str, np.ndarray]:
    """By reason, which pairs of a table are too long or too uneven."""
    reasons = {}
    pairs = "target_ids" in table.schema.names
    if pairs and limit is not None:
        reasons["too_long"] = lengths(table) > limit
    if pairs and filters.max_ratio is not None:
        source_N, target_N = table["length"].to_numpy().clip(1), _target_lengths(table).clip(1)
        reasons["bad_ratio"] = np.maximum(source_N, target_N) > filters.max_ratio * np.minimum(source_N, target_N)
    return reasons
