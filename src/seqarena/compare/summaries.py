"""A block of a comparison from a pool of runs: groups, pairs, strata, trends, curves and costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from seqarena.compare.comparison import Block, Curve, GroupSummary, PairSummary, Reach, Run, Score, Stratum
from seqarena.compare.curves import curve, finite
from seqarena.compare.decisions import Decision, Manner, Side, decide
from seqarena.compare.influences import factor, logarithmic, value
from seqarena.compare.pool import SHARES, Members, Pool, score, summary
from seqarena.compare.reaching import reach
from seqarena.compare.records import Entry
from seqarena.compare.statistics import clopper_pearson
from seqarena.compare.trends import TOO_FEW, trend
from seqarena.errors import InputError
from seqarena.record import Record, relative
from seqarena.sweep.metrics import MEASURES, SEARCH, Better, Metric

POINTS = 100.0
"""Accuracy and other shares are shown in points; BLEU, chrF, loss and costs as they are."""
UNFINISHED = {"running": "still running, or its process was killed", "interrupted": "stopped before its end"}
BASELINE = "baseline="


@dataclass(frozen=True)
class Family:
    """Which pairs one table decides: all, or those with a `baseline`; how, and what their runs share."""

    manner: Manner
    baseline: str | None
    conditions: dict[str, str]


def block(pool: Pool, family: Family) -> Block:
    """Everything about these runs."""
    metric = pool.metric
    groups = sorted((_group(pool, one) for one in pool.members.values()), key=lambda one: _rank(one, metric))
    labels = [one.label for one in groups]
    pairs = _pairs(pool, labels, family)
    whole = next((entry for entry in pool.entries if entry.has_examples), pool.entries[0])
    return Block(
        title=f"{metric.name} of {whole.record.data}",
        task=pool.task,
        data=whole.record.data,
        metric=metric.key,
        more_is_better=more_is_better(metric),
        factor=POINTS if metric.name in SHARES else 1.0,
        ratio=logarithmic(metric),
        examples=0 if metric.group != "test" else len(pool.examples.ids),
        alpha=family.manner.alpha,
        comparisons=sum(one.adjusted is not None for one in pairs),
        groups=groups,
        runs=[run for label in labels for run in _runs(pool, pool.members[label])],
        pairs=pairs,
        strata=_strata(pool, labels),
        trends=_trends(pool, labels),
        curves=_curves(pool, labels),
        reach=_reach(pool, labels),
        baselines=_baselines(whole, metric),
        conditions=family.conditions,
        signature=whole.record.signature,
        ledger=whole.record.ledger,
        data_report=whole.record.data_report,
        notes=list(pool.examples.warnings),
        simultaneous=family.manner.simultaneous,
    )


def more_is_better(metric: Metric) -> bool | None:
    """None of a metric that is better neither way."""
    return {Better.MORE: True, Better.LESS: False, Better.NEITHER: None}[metric.better]


def _rank(one: GroupSummary, metric: Metric) -> tuple[bool, float, str]:
    """Best first, groups without a score last."""
    if one.score is None:
        return True, 0.0, one.label
    return False, one.score.value if more_is_better(metric) is False else -one.score.value, one.label


def _group(pool: Pool, members: Members) -> GroupSummary:
    side = pool.side(members, pool.metric)
    converged = sum(not entry.diverged for entry in members.counted)
    low, high = clopper_pearson(converged, len(members.counted))
    given = None
    if side.diverged and side.converged_at:
        binary = pool.scores(members, pool.metric)
        kept = None if binary is None else binary[:, list(side.converged_at)]
        given = summary(side.only_converged(), pool.metric, kept)
    return GroupSummary(
        label=members.label,
        model=members.entries[0].record.model,
        factors=dict(members.factors),
        score=score(pool, members, pool.metric),
        counted=len(members.counted),
        converged=converged,
        rate_low=low,
        rate_high=high,
        missing=members.missing,
        given_converged=given,
        costs=_costs(members),
    )


def _costs(members: Members) -> dict[str, Score]:
    """The mean of every cost over finished runs; intervals are over runs, on logarithms."""
    done = [entry for entry in members.entries if entry.record.status == "done"]
    found = {}
    for group, names in MEASURES.items():
        for name, better in {**names, **(SEARCH if group == "speed" else {})}.items():
            one = _cost([value(entry, Metric(group, name, better)) for entry in done])
            if one is not None:
                found[f"{group}/{name}"] = one
    return found


def _cost(values: Sequence[float]) -> Score | None:
    known = np.array([one for one in values if math.isfinite(one)])
    if not len(known):
        return None
    mean, runs = float(known.mean()), len(known)
    if np.ptp(known) == 0:
        return Score(mean, mean, mean, 0, runs)
    return Score(mean, float(known.min()), float(known.max()), 0, runs, "lowest and highest run")


def _runs(pool: Pool, members: Members) -> list[Run]:
    side = pool.side(members, pool.metric)
    shown = factor if logarithmic(pool.metric) else float
    scores = {id(e): shown(one) for e, one in zip(pool.results(members, pool.metric), side.runs.theta, strict=True)}
    return [run(entry, members.label, scores.get(id(entry))) for entry in members.entries]


def run(entry: Entry, label: str, scored: float | None) -> Run:
    """A run with all numbers of its record."""
    record = entry.record
    costs = {f"{group}/{name}": one for group in MEASURES for name, one in getattr(record, group).items()}
    numbers = {**record.metrics, **costs}
    return Run(
        name=record.run,
        folder=relative(entry.folder),
        group=label,
        model=record.model,
        seed=record.seed,
        status=record.status,
        counted=entry.counts,
        converged=entry.counts and not entry.diverged,
        score=scored,
        measures={key: finite(float(one)) for key, one in numbers.items()},
        message=_message(record),
    )


def _message(record: Record) -> str:
    """What went wrong: some errors, such as a stop from the keyboard, have a type alone."""
    error = record.error or {}
    return error.get("message") or UNFINISHED.get(record.status) or error.get("type", "")


def _pairs(pool: Pool, labels: Sequence[str], family: Family) -> list[PairSummary]:
    if family.baseline is not None and family.baseline not in labels:
        raise InputError(f"baseline={family.baseline} is no group: there are {', '.join(labels)}")
    wanted = [pair for pair in combinations(labels, 2) if family.baseline in (None, *pair)]
    sides = {label: pool.side(pool.members[label], pool.metric) for label in labels}
    found = decide([(sides[a], sides[b]) for a, b in wanted], family.manner, pool.same_outputs)
    return [_pair(sides[a], sides[b], one, pool.metric) for (a, b), one in zip(wanted, found, strict=True)]


def _pair(a: Side, b: Side, decision: Decision, metric: Metric) -> PairSummary:
    """Numbers of a decision; of costs the ratio a / b in place of the difference."""
    shown = factor if logarithmic(metric) else float
    estimate, half = decision.estimate, decision.half
    return PairSummary(
        a=a.label,
        b=b.label,
        a_value=shown(float(a.runs.theta.mean())) if a.runs.runs else None,
        b_value=shown(float(b.runs.theta.mean())) if b.runs.runs else None,
        difference=shown(estimate.value) if estimate is not None else None,
        low=shown(estimate.value - half) if estimate is not None and half is not None else None,
        high=shown(estimate.value + half) if estimate is not None and half is not None else None,
        seeds_half=estimate.seed_half() if estimate is not None and half is not None else None,
        examples_half=estimate.example_half() if estimate is not None and half is not None else None,
        p=None if estimate is None else 1.0 if decision.word == "identical" else estimate.p(),
        adjusted=decision.adjusted,
        word=decision.word,
        decision=decision.text,
        note=decision.note,
    )


def _curves(pool: Pool, labels: Sequence[str]) -> list[Curve]:
    every = (curve(entry, label) for label in labels for entry in pool.members[label].entries)
    return [one for one in every if one is not None]


def _reach(pool: Pool, labels: Sequence[str]) -> dict[str, Reach]:
    """Of the groups any of whose finished runs was probed, or tested along an axis."""
    every = {label: reach(one.record for one in pool.members[label].counted) for label in labels}
    return {label: one for label, one in every.items() if one.curves or one.numbers or one.unclear}


def _strata(pool: Pool, labels: Sequence[str]) -> dict[str, list[Stratum]]:
    """The metric by bucket of each axis that the examples have."""
    return {
        axis: [
            Stratum(bucket, len(at), {label: one for label in labels if (one := _at(pool, label, at)) is not None})
            for bucket, at in buckets
        ]
        for axis, buckets in axes(pool).items()
    }


def _at(pool: Pool, label: str, at: np.ndarray) -> Score | None:
    return score(pool, pool.members[label], pool.metric, at)


def axes(pool: Pool) -> dict[str, list[tuple[str, np.ndarray]]]:
    """Buckets with the places of their examples, by axis; none of a metric that is not the test's."""
    if pool.metric.group != "test" or not len(pool.examples.ids):
        return {}
    asked = pool.examples.whole.record.option("data", "buckets")
    names = asked if isinstance(asked, dict) else ()
    return {axis: buckets for axis in names if (buckets := pool.examples.strata(axis))}


def _trends(pool: Pool, labels: Sequence[str]) -> dict[str, dict[str, Score]]:
    """The change over an axis, over its buckets that hold examples enough."""
    found: dict[str, dict[str, Score]] = {}
    for axis, buckets in axes(pool).items():
        large = [at for _, at in buckets if len(at) >= TOO_FEW]
        for label in labels if len(large) > 2 else ():
            groups = [pool.group(pool.members[label], pool.metric, at) for at in large]
            if groups[0].runs >= 3 and groups[0].examples:
                estimate = trend(groups)
                low, high = estimate.interval()
                found.setdefault(axis, {})[label] = Score(estimate.value, low, high, estimate.n, groups[0].runs)
    return found


def _baselines(whole: Entry, metric: Metric) -> dict[str, float]:
    begin = f"{metric.key}/{BASELINE}"
    return {key.removeprefix(begin): one for key, one in whole.record.metrics.items() if key.startswith(begin)}
