"""Groups of runs as scores and influences: examples aligned by id, left-out ones counted wrong, strata of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from seqarena.compare.measures import ALL_WRONG, MEASURES, Measure, Rows
from seqarena.compare.records import EXAMPLES, Entry
from seqarena.compare.statistics import Group, clustered, unscored
from seqarena.errors import InputError
from seqarena.evaluation import by_bucket
from seqarena.sweep.metrics import MEASURES as COSTS
from seqarena.sweep.metrics import Metric

PLAUSIBLE = 1e100
"""Scores and costs up to here are taken for such."""
LARGEST = 709.0
"""e to this power is about the largest float."""


def logarithmic(metric: Metric) -> bool:
    """Whether differences of it are shown as ratios: speed, memory, time, sizes."""
    return metric.group in COSTS


def factor(logarithm: float) -> float:
    """What is shown of it: e to this power, infinite where no number is as large."""
    return math.inf if logarithm > LARGEST else math.exp(logarithm)


def value(entry: Entry, metric: Metric) -> float:
    """What a record says of a metric over everything; NaN if nothing."""
    record, key = entry.record, f"{metric.group}/{metric.name}"
    if metric.group in COSTS:
        return float(getattr(record, metric.group).get(metric.name, math.nan))
    return float(record.metrics.get(key, math.nan))


@dataclass
class Examples:
    """The test examples that runs of one test set share, and each run's statistics on them.

    `ids` (n,) are those that any run has. `columns`, if there, are read along with them, which is quicker than later.
    `warnings` says which runs left some out, and how many.
    """

    entries: Sequence[Entry]
    columns: Sequence[str] = ()
    warnings: list[str] = field(default_factory=list)
    _rows: dict[tuple[str, str], np.ndarray] = field(default_factory=dict, repr=False)
    _strata: dict[str, list[tuple[str, np.ndarray]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._tested = [entry for entry in self.entries if entry.has_examples]
        own = {id(entry): entry.columns("id", *self.columns)[0].to_numpy() for entry in self._tested}
        self._ids = own
        distinct = {ids.tobytes(): ids for ids in own.values()}
        self.ids: np.ndarray = np.unique(np.concatenate(list(distinct.values()))) if distinct else np.zeros(0, int)
        for entry in self._tested:
            left_out = len(self.ids) - len(own[id(entry)])
            if left_out:
                self.warnings.append(
                    f"{entry.record.run} left out {left_out} of {len(self.ids)} test examples: counted as wrong"
                )

    @property
    def whole(self) -> Entry:
        """A run that has all examples. InputError: none has."""
        for entry in self._tested:
            if len(self._ids[id(entry)]) == len(self.ids):
                return entry
        raise InputError("no run has a result for every test example that some run has: evaluate one of them again")

    @cached_property
    def texts(self) -> np.ndarray | None:
        """The text of each example, (n,), where examples are queries: those of a text are not independent."""
        if not self._tested or self._tested[0].record.task != "tagging":
            return None
        return self._ordered(self.whole, self.whole.columns("example")[0].to_numpy())

    def strata(self, axis: str) -> list[tuple[str, np.ndarray]]:
        """Buckets of an axis and the places of their examples; none where the examples have no such axis."""
        if axis not in self._strata:
            self._strata[axis] = self._bucketed(axis)
        return self._strata[axis]

    def _bucketed(self, axis: str) -> list[tuple[str, np.ndarray]]:
        whole = self.whole
        edges = whole.record.option("data", "buckets", axis)
        if not edges or axis not in whole.names():
            return []
        if not isinstance(edges, list) or not all(isinstance(edge, int | float) for edge in edges):
            raise InputError(f"{whole.folder}: data.buckets.{axis}={edges} in its record must be a list of numbers")
        (column,) = whole.columns(axis)
        if not pa.types.is_integer(column.type):
            raise InputError(
                f"{whole.folder / EXAMPLES}: {axis} is an axis, so it must be whole numbers, not {column.type}"
            )
        values = self._ordered(whole, column.to_numpy())
        return [(name, np.asarray(places)) for name, places in by_bucket(values.tolist(), edges)]

    def statistics(self, entry: Entry, name: str, measure: Measure) -> np.ndarray:
        """(n, K) of a run; what it left out, or all where it has no results, is the trivial answer."""
        key = (str(entry.folder), name)
        if key not in self._rows:
            self._rows[key] = self._filled(entry, name, measure)
        return self._rows[key]

    def _filled(self, entry: Entry, name: str, measure: Measure) -> np.ndarray:
        if not entry.has_examples:
            return self._constant(entry, name, measure.trivial, measure.beside)
        own = measure.rows(entry.columns(*measure.columns))
        if len(own) == len(self.ids):
            return self._ordered(entry, own)
        filled = self._constant(entry, name, measure.left_out or measure.trivial, measure.beside)
        if filled.shape[1] != own.shape[1]:
            raise InputError(f"{entry.folder} left out every example of a class: evaluate the run again")
        filled[np.searchsorted(self.ids, self._ids[id(entry)])] = own
        return filled

    def _constant(self, entry: Entry, name: str, answer: Rows | None, columns: tuple[str, ...]) -> np.ndarray:
        if answer is None:
            raise InputError(
                f"{entry.folder} lacks test results, and the {name} of a trivial answer is not known: "
                "choose another metric, or leave the run out"
            )
        return self._ordered(self.whole, answer(self.whole.columns(*columns)))

    def _ordered(self, entry: Entry, rows: np.ndarray) -> np.ndarray:
        ids = self._ids[id(entry)]
        ordered: np.ndarray = rows if np.all(ids[1:] > ids[:-1]) else rows[np.argsort(ids)]
        return ordered.copy()


def measure_of(examples: Examples, task: str, metric: Metric) -> Measure | None:
    """How a metric comes from examples; None where it is known of whole runs only."""
    if metric.group != "test" or metric.name not in MEASURES[task] or not len(examples.ids):
        return None
    found = MEASURES[task][metric.name]
    without_baseline = metric.name == "accuracy" and "majority" not in examples.whole.names()
    return ALL_WRONG if without_baseline else found


def table(entries: Sequence[Entry], examples: Examples, metric: Metric, measure: Measure, at: np.ndarray) -> np.ndarray:
    """(n, J, K) statistics of runs on the examples at these places."""
    return np.stack([examples.statistics(entry, metric.name, measure)[at] for entry in entries], axis=1)


def group(entries: Sequence[Entry], examples: Examples, metric: Metric, at: np.ndarray | None = None) -> Group:
    """The runs' scores with influences; on the examples `at` these places only, or all. Queries count text by text.

    Speed, sizes and times are logarithms. InputError: a score is missing or not finite.
    """
    measure = measure_of(examples, entries[0].record.task, metric)
    if measure is None:
        return unscored([_finite(entry, metric) for entry in entries])
    places = np.arange(len(examples.ids)) if at is None else at
    found = jackknifed(table(entries, examples, metric, measure, places), measure, examples.ids[places])
    found = found if examples.texts is None else clustered(found, examples.texts[places])
    for entry, score in zip(entries, found.theta, strict=True):
        if not math.isfinite(score):
            raise InputError(f"{entry.folder}: {metric.group}/{metric.name} is {score}: leave the run out")
    return found


def jackknifed(statistics: np.ndarray, measure: Measure, ids: np.ndarray) -> Group:
    """Scores of sums over examples, (n, J, K), with the influences of leaving each example out."""
    n, totals = len(statistics), statistics.sum(0)
    theta = measure.score(totals, n)
    if n < 2:
        return Group(theta, np.zeros((n, len(theta))), ids)
    without = np.stack([measure.score(totals[run] - statistics[:, run], n - 1) for run in range(len(theta))], axis=1)
    return Group(theta, (n - 1) * (without.mean(0) - without), ids)


def _finite(entry: Entry, metric: Metric) -> float:
    found = value(entry, metric)
    key = f"{metric.group}/{metric.name}"
    if abs(found) > PLAUSIBLE:
        raise InputError(f"{entry.folder}: {key} is {found:g}: leave the run out, or choose another metric")
    if math.isfinite(found) and (found > 0 or not logarithmic(metric)):
        return math.log(found) if logarithmic(metric) else found
    raise InputError(f"{entry.folder} has no {key}: leave the run out, or choose another metric")
