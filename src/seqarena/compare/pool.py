"""Runs under equal conditions, made ready: grouped, their examples aligned, their scores as groups and sides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from seqarena.compare.comparison import Score
from seqarena.compare.decisions import SEEDS, THESE_RUNS, Side, no_effect
from seqarena.compare.influences import Examples, factor, group, logarithmic, measure_of, table
from seqarena.compare.measures import MEASURES
from seqarena.compare.records import Entry
from seqarena.compare.statistics import ALPHA, Group, contrast, unscored
from seqarena.compare.trends import TOO_FEW, one_number
from seqarena.errors import InputError
from seqarena.sweep.metrics import Metric

FEW_SENTENCES = 300
SCORED = ("val", "test", "probe")
"""What is computed from examples, those of validation kept by no run."""
SHARES = ("accuracy", "f1_macro", "empty_outputs")
"""Metrics from 0 to 1, and so are the limits of their intervals."""


@dataclass(frozen=True)
class Members:
    """The runs of a group. `factors` are its options under study; so many planned runs have not even a record."""

    label: str
    entries: tuple[Entry, ...]
    factors: Mapping[str, str]
    unrecorded: int = 0

    @property
    def counted(self) -> list[Entry]:
        """Runs with a result, good or bad."""
        return [entry for entry in self.entries if entry.counts]

    @property
    def missing(self) -> int:
        """Runs that are still to give a result."""
        return self.unrecorded + len(self.entries) - len(self.counted)


@dataclass(frozen=True)
class Pool:
    """All runs that may be compared with each other, by the metric of the comparison."""

    metric: Metric
    members: Mapping[str, Members]
    _groups: dict[tuple[str, Metric], Group] = field(default_factory=dict, repr=False)

    @property
    def entries(self) -> list[Entry]:
        """All runs."""
        return [entry for one in self.members.values() for entry in one.entries]

    @property
    def task(self) -> str:
        """The task of all."""
        return self.entries[0].record.task

    @cached_property
    def examples(self) -> Examples:
        """The test examples of those that count. InputError: there is a single one."""
        measure = MEASURES[self.task].get(self.metric.name) if self.metric.group == "test" else None
        counted = [entry for one in self.members.values() for entry in one.counted]
        found = Examples(counted, measure.columns if measure else ())
        if len(found.ids) == 1:
            raise InputError(f"{self.entries[0].folder} was tested on a single example: nothing can be told from that")
        return found

    def results(self, members: Members, metric: Metric) -> list[Entry]:
        """Runs that a metric can be taken of: of costs those that were finished, else all that count."""
        return [entry for entry in members.counted if not logarithmic(metric) or entry.record.status == "done"]

    def group(self, members: Members, metric: Metric, at: np.ndarray | None = None) -> Group:
        """Scores and influences on the examples at these places, or on all."""
        key = (members.label, metric)
        if at is not None or key not in self._groups:
            entries = self.results(members, metric)
            found = group(entries, self.examples, metric, at) if entries else unscored([])
            if at is not None:
                return found
            self._groups[key] = found
        return self._groups[key]

    def side(self, members: Members, metric: Metric, at: np.ndarray | None = None) -> Side:
        """The same as a side of a pair. Of costs nothing counts as diverged."""
        entries = self.results(members, metric)
        learned = tuple(at for at, entry in enumerate(entries) if logarithmic(metric) or not entry.diverged)
        seeds = tuple(entry.record.seed for entry in entries)
        return Side(members.label, self.group(members, metric, at), seeds, learned, members.missing)

    def scores(self, members: Members, metric: Metric, at: np.ndarray | None = None) -> np.ndarray | None:
        """(n, J) of a metric that is 0 or 1 on each of independent examples, else None."""
        entries, measure = self.results(members, metric), measure_of(self.examples, self.task, metric)
        if measure is None or not measure.binary or not entries or self.examples.texts is not None:
            return None
        places = np.arange(len(self.examples.ids)) if at is None else at
        return table(entries, self.examples, metric, measure, places)[:, :, 0]

    def same_outputs(self, a: str, b: str) -> bool:
        """Whether all runs of two groups predict the same."""
        every = [entry for label in (a, b) for entry in self.members[label].counted]
        if not all(entry.has_examples for entry in every):
            return False
        return len({str(entry.columns("prediction")[0].to_pylist()) for entry in every}) == 1


def score(pool: Pool, members: Members, metric: Metric, at: np.ndarray | None = None) -> Score | None:
    """The mean over the runs of a group with its interval, on some examples or all; None without runs."""
    found = pool.side(members, metric, at)
    return summary(found, metric, pool.scores(members, metric, at))


def summary(side: Side, metric: Metric, binary: np.ndarray | None, alpha: float = ALPHA) -> Score | None:
    """A side's mean with its interval. `binary` are its scores on each example where they are 0 or 1.

    Fewer than 3 runs give an interval for these runs only, without examples none.
    """
    runs = side.runs
    if not runs.runs:
        return None
    n, few = runs.examples, runs.runs < SEEDS
    shown = factor if logarithmic(metric) else float
    value = shown(float(runs.theta.mean()))
    if (few and not n) or 0 < n < TOO_FEW:
        return Score(
            value, None, None, n, runs.runs, f"fewer than {SEEDS} runs" if few else f"fewer than {TOO_FEW} examples"
        )
    fixed = few or no_effect(runs)
    if binary is not None:
        _, low, high = one_number(binary, fixed, alpha)
    else:
        low, high = contrast([Group(runs.theta, runs.psi, runs.ids, fixed)], [1.0]).interval(alpha)
        if metric.name in SHARES:
            low, high = max(low, 0.0), min(high, 1.0)
    return Score(value, shown(low), shown(high), n, runs.runs, _note(metric, n, few))


def _note(metric: Metric, n: int, few: bool) -> str:
    notes = [THESE_RUNS] if few else []
    if metric.name == "bleu" and 0 < n < FEW_SENTENCES:
        notes.append("few sentences")
    if metric.group in SCORED and not n:
        notes.append("over seeds only: its examples are not recorded")
    return "; ".join(notes)


def pooled(
    grouped: Mapping[str, Sequence[Entry]],
    factors: Mapping[str, Mapping[str, str]],
    unrecorded: Mapping[str, int],
    metric: Metric,
) -> Pool:
    """Groups of runs, by label, made ready."""
    members = {
        label: Members(label, tuple(entries), factors[label], unrecorded.get(label, 0))
        for label, entries in grouped.items()
    }
    return Pool(metric, members)
