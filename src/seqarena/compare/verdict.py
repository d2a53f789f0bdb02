"""The verdict on a sweep's claim: its rules decided by intervals over seeds and examples, corrected over all rules."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from seqarena.compare.bounds import HOLDS, OPEN, Bounded, Rate, p_values, rule_outcome
from seqarena.compare.claims import Cell, Claim, claims, words
from seqarena.compare.comparison import Part, RuleOutcome, Verdict
from seqarena.compare.decisions import SEEDS
from seqarena.compare.factors import canonical
from seqarena.compare.influences import factor
from seqarena.compare.pool import Members, Pool
from seqarena.compare.statistics import ALPHA, clopper_pearson, holm
from seqarena.compare.terms import bounded, obstacle, value_of
from seqarena.compare.wording import DIVERGED
from seqarena.errors import InputError
from seqarena.sweep.metrics import Metric, parse
from seqarena.sweep.overrides import written
from seqarena.sweep.question import Question
from seqarena.sweep.rules import SPELLED, Converges, Equal, Rule

SUPPORTED, REFUTED, UNDECIDED = "supported", "refuted", "undecided"


@dataclass(frozen=True)
class _Judged:
    """A rule with its claims and their estimates; `open` says why it cannot be decided, if it cannot."""

    side: str
    rule: Rule
    parts: tuple[Part, ...]
    p_holds: float
    p_fails: float
    asks: Hashable
    """What it asks, whichever way: two sides of one test ask the same."""


def verdict(question: Question, pools: Sequence[Pool], alpha: float = ALPHA) -> Verdict:
    """Decide the rules of a sweep file from its runs; the pools are in order of size."""
    asked = [(side, rule) for side in (SUPPORTED, REFUTED) for rule in getattr(question, side)]
    judged = [_judge(side, rule, question, pools, alpha) for side, rule in asked]
    corrected = _corrected([(one.asks, min(one.p_holds, one.p_fails)) for one in judged])
    rules = [
        RuleOutcome(
            side=one.side,
            text=told(one.rule),
            metric=one.rule.metric,
            outcome=rule_outcome(one.p_holds, one.p_fails, q, alpha),
            p=min(one.p_holds, one.p_fails),
            adjusted=q,
            parts=list(one.parts),
        )
        for one, q in zip(judged, corrected, strict=True)
    ]
    outcome = outcome_of(rules)
    return Verdict(
        outcome=outcome,
        question=question.question,
        claim=question.claim,
        source=question.source,
        cannot=question.cannot,
        reason=_reason(outcome, rules),
        rules=rules,
    )


def _corrected(asked: Sequence[tuple[Hashable, float]]) -> list[float]:
    """Holm's adjusted p-values, where rules that ask the same question, and have the same p to ten digits, count once.

    "A better than B" and "B better than A" are two sides of one test.
    """
    tests = {(asks, f"{p:.10g}"): p for asks, p in asked}
    adjusted = dict(zip(tests, holm(list(tests.values())), strict=True))
    return [adjusted[asks, f"{p:.10g}"] for asks, p in asked]


def _question(metric: str, every: Sequence[Claim]) -> Hashable:
    """What claims ask, whichever way: the cells weighted, the first of them positively, and the bound."""
    return metric, frozenset(map(_either_way, every))


def _either_way(claim: Claim) -> Hashable:
    terms = sorted(
        (cell.place, cell.members.label, b"" if cell.at is None else cell.at.tobytes(), weight)
        for cell, weight in zip(claim.cells, claim.weights, strict=True)
    )
    sign = 1.0 if terms[0][-1] > 0 else -1.0
    return tuple((*where, sign * weight) for *where, weight in terms), sign * claim.bound + 0.0


def outcome_of(rules: Sequence[RuleOutcome]) -> str:
    """supported if all rules of that side hold and none of the other does, refuted the other way round."""
    supported = [rule.outcome for rule in rules if rule.side == SUPPORTED]
    refuted = any(rule.outcome == HOLDS for rule in rules if rule.side == REFUTED)
    all_hold = bool(supported) and all(one == HOLDS for one in supported)
    if all_hold == refuted:
        return UNDECIDED
    return SUPPORTED if all_hold else REFUTED


def _judge(side: str, rule: Rule, question: Question, pools: Sequence[Pool], alpha: float) -> _Judged:
    combinations = _combinations(rule, question)
    every: list[tuple[Claim, Metric]] = []
    rates: list[tuple[str, Members]] = []
    for combination in combinations:
        cells = _cells([{**combination, **point} for point in rule.points()], rule.metric, question, pools)
        if isinstance(cells, str):
            asks = rule.metric, str(sorted(str(sorted(point.items())) for point in rule.points()))
            text = _in_words(rule, combination, question, pools[0].task)
            return _Judged(side, rule, (Part(text, None, None, None, 0.0, OPEN, cells),), 1.0, 1.0, asks)
        metric = parse(rule.metric, cells[0].pool.task)
        if isinstance(rule, Converges):
            rates.append((words(rule, [cells[0].name], metric)[0], cells[0].members))
            continue
        every += [(claim, metric) for claim in claims(rule, cells, metric)]
    if isinstance(rule, Converges):
        return _converging(side, rule, rates, alpha)
    stopped = [(claim, why) for claim, metric in every if (why := obstacle(claim, metric))]
    if stopped:
        parts = tuple(Part(claim.text, None, None, None, claim.bound, OPEN, why, claim.above) for claim, why in stopped)
        return _Judged(side, rule, parts, 1.0, 1.0, _question(rule.metric, [claim for claim, _ in every]))
    return _decided(side, rule, every, len(combinations) if isinstance(rule, Equal) else len(every), alpha)


def _in_words(rule: Rule, combination: Mapping[str, Any], question: Question, task: str) -> str:
    """What a rule claims at points some of which have no runs; as in its file where its metric is another task's."""
    try:
        metric = parse(rule.metric, task)
    except InputError:
        return told(rule)
    bucket = {metric.axis: metric.bucket} if metric.axis else {}
    names = [
        _name({key: canonical(written(one)) if key in question.grid else str(one) for key, one in point.items()})
        for point in ({**combination, **point, **bucket} for point in rule.points())
    ]
    return " and ".join(words(rule, names, metric))


def _decided(side: str, rule: Rule, every: Sequence[tuple[Claim, Metric]], steps: int, alpha: float) -> _Judged:
    """Both of all runs and of those alone that converged; where these differ nothing is decided."""
    all_runs = [bounded(claim, metric) for claim, metric in every]
    holds, fails = p_values(all_runs, steps)
    notes = [_diverged(claim, metric) for claim, metric in every]
    if any(notes):
        given = _given_converged(every, steps)
        holds, fails = max(holds, given[0]), max(fails, given[1])
    parts = (_part(*claim, one, note, alpha) for claim, one, note in zip(every, all_runs, notes, strict=True))
    return _Judged(side, rule, tuple(parts), holds, fails, _question(rule.metric, [claim for claim, _ in every]))


def _converging(side: str, rule: Converges, rates: Sequence[tuple[str, Members]], alpha: float) -> _Judged:
    """How many trainings converged, by the exact interval; runs that are missing leave it open."""
    found, parts, asks = [], [], (rule.at_least, frozenset(text for text, _ in rates))
    for text, members in rates:
        counted = members.counted
        rate = Rate(sum(not entry.diverged for entry in counted), len(counted), rule.at_least)
        low, high = clopper_pearson(rate.converged, max(rate.runs, 1))
        failed = f", {rate.runs - rate.converged} diverged" if rate.converged < rate.runs else ""
        note = f"{members.missing} runs are missing" if members.missing else f"{rate.converged} of {rate.runs}{failed}"
        outcome = OPEN if members.missing or not rate.runs else rate.outcome(alpha)
        share = rate.converged / rate.runs if rate.runs else None
        parts.append(Part(text, share, low, high, rule.at_least, outcome, note))
        found.append(rate)
    if any(members.missing or not members.counted for _, members in rates):
        return _Judged(side, rule, tuple(parts), 1.0, 1.0, asks)
    return _Judged(side, rule, tuple(parts), *p_values(found, len(found)), asks)


def _given_converged(every: Sequence[tuple[Claim, Metric]], steps: int) -> tuple[float, float]:
    for claim, metric in every:
        if any(len(cell.pool.side(cell.members, metric).converged_at) < SEEDS for cell in claim.cells):
            return 1.0, 1.0
    return p_values([bounded(claim, metric, converged=True) for claim, metric in every], steps)


def _diverged(claim: Claim, metric: Metric) -> str:
    sides = {cell.members.label: cell.pool.side(cell.members, metric) for cell in claim.cells}
    count, runs = sum(one.diverged for one in sides.values()), sum(one.runs.runs for one in sides.values())
    return f"{count} of {runs} runs diverged" if count else ""


def _part(claim: Claim, metric: Metric, found: Bounded, note: str, alpha: float) -> Part:
    number, low, high = value_of(claim, metric, found)
    bound = factor(claim.bound) if claim.ratio else claim.bound
    return Part(claim.text, number, low, high, bound, found.outcome(alpha), note, claim.above)


def _combinations(rule: Rule, question: Question) -> list[dict[str, Any]]:
    """The values of the grid keys that a rule does not name, at each of which it is meant."""
    named = {key for point in rule.points() for key in point}
    free = [key for key in question.grid if key != question.over and key not in named]
    return [dict(zip(free, values, strict=True)) for values in product(*(question.grid[key] for key in free))]


def _cells(
    points: Sequence[Mapping[str, Any]], key: str, question: Question, pools: Sequence[Pool]
) -> list[Cell] | str:
    """The runs and examples of a rule's points, all of runs that may be compared; or why there are none.

    Points on different data lie apart by their nature, and are taken from wherever they are.
    """
    wanted = [
        {name: canonical(written(one)) for name, one in point.items() if name in question.grid} for point in points
    ]
    strata = [{name: str(one) for name, one in point.items() if name not in question.grid} for point in points]
    for point in wanted:
        if not any(_alike(pool, point) for pool in pools):
            return f"there is no run at {_name(point)}"
    together = [place for place, pool in enumerate(pools) if all(_alike(pool, point) for point in wanted)]
    if not together and len({_data(point) for point in wanted}) < 2:
        return "its runs are set apart by differences that are not under study"
    found = []
    for point, stratum in zip(wanted, strata, strict=True):
        places = together or [place for place, pool in enumerate(pools) if _alike(pool, point)]
        if len(several := _alike(pools[places[0]], point)) > 1:
            told = " and ".join(one.label for one in several)
            return f"there are several groups at {_name(point)}: {told}; move the runs of all but one elsewhere"
        cell = _cell(point, stratum, key, pools[places[0]], places[0])
        if isinstance(cell, str):
            return cell
        found.append(cell)
    return found


def _data(point: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, one) for name, one in point.items() if name == "data" or name.startswith("data."))


def _name(point: Mapping[str, str]) -> str:
    return ", ".join(f"{key.rpartition('.')[2]} {one}" for key, one in point.items())


def _cell(wanted: Mapping[str, str], strata: Mapping[str, str], key: str, pool: Pool, place: int) -> Cell | str:
    (members,) = _alike(pool, wanted)
    try:
        metric = parse(key, pool.task)
    except InputError as error:
        return str(error)
    buckets = {metric.axis: metric.bucket} if metric.axis else strata
    name = _name({**wanted, **buckets})
    for axis, bucket in buckets.items():
        at = dict(pool.examples.strata(axis)).get(bucket)
        return (
            f"no test example has {axis}={bucket}" if at is None else Cell(name, pool, members, np.asarray(at), place)
        )
    return Cell(name, pool, members, None, place)


def _alike(pool: Pool, wanted: Mapping[str, str]) -> list[Members]:
    """The groups with results at a point: more than one where options beside the grid were changed between runs."""
    alike = [one for one in pool.members.values() if all(one.factors.get(key) == wanted[key] for key in wanted)]
    return [one for one in alike if one.counted] or alike[:1]


def told(rule: Rule) -> str:
    """A rule as its file has it, on one line."""
    kind = type(rule).__name__.lower().replace("atleast", "at_least")
    shown = {name: one for name, one in vars(rule).items() if name != "metric" and one not in ({}, False)}
    parts = [f"{SPELLED.get(name, name)}: {_told(one)}" for name, one in shown.items()]
    return f"{kind}: {{{', '.join(parts)}}}"


def _told(one: Any) -> str:
    if isinstance(one, Mapping):
        return "{" + ", ".join(f"{key}: {written(value)}" for key, value in one.items()) + "}"
    if isinstance(one, tuple):
        return f"[{', '.join(map(written, one))}]"
    return f"{one:g}" if isinstance(one, float) else written(one)


def _reason(outcome: str, rules: Sequence[RuleOutcome]) -> str:
    """The deciding numbers in words: of the rules that decided, or of those that are open."""
    side = REFUTED if outcome == REFUTED else SUPPORTED
    deciding = [rule for rule in rules if rule.side == side and (rule.outcome == HOLDS) == (outcome != UNDECIDED)]
    parts = [part for rule in deciding or rules for part in rule.parts]
    told = [*map(_numbers, parts[:4]), *(["and more"] if len(parts) > 4 else [])]
    return "; ".join([*told, DIVERGED] if any_diverged(parts[:4]) else told)


def any_diverged(parts: Sequence[Part]) -> bool:
    """Whether any of these tells of runs that diverged."""
    return any("diverged" in part.note for part in parts)


def _numbers(part: Part) -> str:
    note = f", {part.note}" if part.note else ""
    if part.value is None:
        return f"{part.text}: open{note}"
    return f"{part.text}: {part.value:.4g} [{part.low:.4g}, {part.high:.4g}] against {part.bound:.4g}{note}"
