"""A claim as an estimate: influences of its cells weighted and joined, small samples widened, counts taken as exact."""

import math
from dataclasses import replace

import numpy as np

from seqarena.compare.bounds import Bounded
from seqarena.compare.claims import Cell, Claim
from seqarena.compare.decisions import SEEDS, no_effect
from seqarena.compare.guard import machine
from seqarena.compare.influences import factor, logarithmic, value
from seqarena.compare.pool import score
from seqarena.compare.statistics import Estimate, Group, accuracy, contrast, unscored
from seqarena.compare.trends import TOO_FEW, adjusted, widened, within
from seqarena.sweep.metrics import Metric, by_machine

EXACT = ("parameters", "flops")
"""Counts: where all runs agree they are compared directly."""
APART = 1 << 40
"""Added to the ids of examples of another test set, so that they are other examples."""


def obstacle(claim: Claim, metric: Metric) -> str:
    """Why nothing can be decided about a claim yet, empty if it can."""
    if by_machine(metric.key) and len({machine(entry) for cell in claim.cells for entry in cell.members.counted}) > 1:
        return "measured on different machines or with different batches"
    for cell in claim.cells:
        results = cell.pool.results(cell.members, metric)
        if cell.members.missing:
            return f"{cell.members.missing} runs of {cell.members.label} are missing"
        if len(results) < SEEDS and not _exact(cell, metric):
            return f"{cell.members.label} needs {SEEDS} seeds, has {len(results)}"
        if not results:
            return f"{cell.members.label} has no finished run"
        if cell.at is not None and len(cell.at) < TOO_FEW:
            return f"{cell.name} has fewer than {TOO_FEW} test examples"
    return ""


def bounded(claim: Claim, metric: Metric, converged: bool = False) -> Bounded:
    """The claim with the estimate that its runs give: all of them, or those alone that converged."""
    if all(_exact(cell, metric) for cell in claim.cells):
        amount = [value(cell.members.counted[0], metric) for cell in claim.cells]
        shown = [math.log(one) for one in amount] if claim.ratio else amount
        total = sum(weight * one for weight, one in zip(claim.weights, shown, strict=True))
        return Bounded(
            Estimate(total, 0.0, 0.0, 0.0, 0.0, 1.0, 0), claim.bound, claim.above, exact=True, strict=claim.strict
        )
    return Bounded(_estimate(claim, metric, converged), claim.bound, claim.above)


def _exact(cell: Cell, metric: Metric) -> bool:
    values = {value(entry, metric) for entry in cell.members.counted}
    return metric.group in EXACT and len(values) == 1 and math.isfinite(min(values))


def _estimate(claim: Claim, metric: Metric, converged: bool) -> Estimate:
    """Cells of the same runs are joined run by run first."""
    groups = _small_sample([_group(cell, claim, metric, converged) for cell in claim.cells], claim, metric, converged)
    together: dict[tuple[int, str], list[int]] = {}
    for place, cell in enumerate(claim.cells):
        together.setdefault((cell.place, cell.members.label), []).append(place)
    joined = [
        within([groups[at] for at in places], [claim.weights[at] for at in places]) for places in together.values()
    ]
    return contrast([replace(one, fixed=one.fixed or no_effect(one)) for one in joined], [1.0] * len(joined))


def _group(cell: Cell, claim: Claim, metric: Metric, converged: bool) -> Group:
    side = cell.pool.side(cell.members, metric, cell.at)
    group = side.only_converged().runs if converged else side.runs
    if logarithmic(metric) and not claim.ratio:
        return unscored(np.exp(group.theta))
    return Group(group.theta, group.psi, group.ids + cell.place * APART if group.examples else group.ids)


def _small_sample(groups: list[Group], claim: Claim, metric: Metric, converged: bool) -> list[Group]:
    """Artificial rows for one 0/1 number, and for a difference of two groups on few examples."""
    if len({cell.members.label for cell in claim.cells}) < len(claim.cells):
        return groups
    tables = [_binary(cell, metric, converged) for cell in claim.cells]
    if len(groups) == 1 and tables[0] is not None:
        return [adjusted(tables[0])]
    a, b = (*tables, None)[:2]
    if a is None or b is None or not np.array_equal(groups[0].ids, groups[1].ids):
        return groups
    rows = widened(a, b)
    return groups if rows[0] is a else [accuracy(one, np.arange(len(one))) for one in rows]


def _binary(cell: Cell, metric: Metric, converged: bool) -> np.ndarray | None:
    found = cell.pool.scores(cell.members, metric, cell.at)
    if found is None or not converged:
        return found
    return found[:, list(cell.pool.side(cell.members, metric).converged_at)]


def value_of(claim: Claim, metric: Metric, found: Bounded) -> tuple[float, float, float]:
    """What is shown of a claim: value and limits, of a ratio as factors, of one group's mean as everywhere else."""
    cell = claim.cells[0]
    if len(claim.cells) == 1 and not found.exact:
        mean = score(cell.pool, cell.members, metric, cell.at)
        if mean is not None and mean.low is not None and mean.high is not None:
            return mean.value, mean.low, mean.high
    low, high = found.estimate.interval()
    shown = factor if claim.ratio else float
    return shown(found.estimate.value), shown(low), shown(high)
