"""What leaves the training split by the user's wish: pairs too long or too uneven, and examples that came before."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from seqarena.data import tables
from seqarena.data.examples import Ragged
from seqarena.data.gathering import Gathered
from seqarena.errors import InputError


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


def lengths(table: pa.Table) -> np.ndarray:
    """Tokens of each example: of a pair, of its longer side."""
    source_N = table["length"].to_numpy()
    return np.maximum(source_N, _target_lengths(table)) if "target_ids" in table.column_names else source_N


def _target_lengths(table: pa.Table) -> np.ndarray:
    return Ragged(table["target_ids"]).lengths_N


def filter_training(filters: Filters, limit: int | None, gathered: Gathered, path: Path) -> Gathered:
    """Drop from the training file, and count, what `filters` ask for."""
    table = tables.opened(path)
    reasons = misfits(filters, limit, table)
    if filters.drop_duplicates:
        first = np.unique(gathered.examples_N, return_index=True)[1]
        reasons["duplicate"] = ~np.isin(np.arange(len(table)), first)
    keep_N, counts = judged(reasons, len(table))
    for reason, count in counts.items():
        gathered.ledger.discard(reason, count)
    if keep_N.all():
        return gathered
    starts = np.cumsum([0] + [len(batch) for batch in table.to_batches()])
    kept = (
        batch.filter(pa.array(keep_N[start : start + len(batch)]))
        for start, batch in zip(starts, table.to_batches(), strict=False)
    )
    tables.write(kept, table.schema, path)
    return replace(gathered, examples_N=gathered.examples_N[keep_N], texts_N=gathered.texts_N[keep_N])


def judged(reasons: Mapping[str, np.ndarray], size: int) -> tuple[np.ndarray, dict[str, int]]:
    """Which examples stay, and how many go for each reason; of several reasons the first counts."""
    keep_N, counts = np.ones(size, bool), {}
    for reason, bad_N in reasons.items():
        if count := int((bad_N & keep_N).sum()):
            counts[reason] = count
        keep_N &= ~bad_N
    return keep_N, counts


def misfits(filters: Filters, limit: int | None, table: pa.Table) -> dict[str, np.ndarray]:
    """By reason, which pairs of a table are too long or too uneven."""
    reasons = {}
    pairs = "target_ids" in table.column_names
    if pairs and limit is not None:
        reasons["too_long"] = lengths(table) > limit
    if pairs and filters.max_ratio is not None:
        source_N, target_N = table["length"].to_numpy().clip(1), _target_lengths(table).clip(1)
        reasons["bad_ratio"] = np.maximum(source_N, target_N) > filters.max_ratio * np.minimum(source_N, target_N)
    return reasons
