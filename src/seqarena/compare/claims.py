"""Rules of a sweep file as claims: weighted sums of cells, each a group of runs on some examples, against bounds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from seqarena.compare.influences import logarithmic
from seqarena.compare.pool import Members, Pool
from seqarena.compare.trends import slope_weights
from seqarena.sweep.metrics import Better as Way
from seqarena.sweep.metrics import Metric
from seqarena.sweep.rules import AtLeast, Below, Better, Declines, Equal, Falls, Order, Rule


@dataclass(frozen=True)
class Cell:
    """A point of a rule: the runs there, and the examples (all where None). `place` tells test sets apart."""

    name: str
    pool: Pool
    members: Members
    at: np.ndarray | None
    place: int


@dataclass(frozen=True)
class Claim:
    """A weighted sum of cells against a bound: above it or below, or on it unless `strict`. `ratio`: of logarithms."""

    text: str
    cells: tuple[Cell, ...]
    weights: tuple[float, ...]
    bound: float
    above: bool = True
    ratio: bool = False
    strict: bool = False


def claims(rule: Rule, cells: Sequence[Cell], metric: Metric) -> list[Claim]:
    """What must be true of the cells of a rule's points, in their order, for it to hold."""
    if isinstance(rule, AtLeast):
        return [Claim(f"{cells[0].name} at least {rule.value:g}", tuple(cells), (1.0,), rule.value)]
    if isinstance(rule, Below):
        text = f"{cells[0].name} below {rule.value:g}"
        return [Claim(text, tuple(cells), (1.0,), rule.value, above=False, strict=True)]
    if isinstance(rule, Better):
        return [_better(rule, (cells[0], cells[1]), metric)]
    if isinstance(rule, Order):
        weights = _lead(metric)
        return [Claim(f"{a.name} better than {b.name}", (a, b), weights, 0.0, strict=True) for a, b in pairwise(cells)]
    if isinstance(rule, Declines):
        text = f"from {cells[0].name} to {cells[-1].name} a line through {len(cells)} points goes down by {rule.by:g}"
        return [Claim(text, tuple(cells), tuple(-slope_weights(len(cells))), rule.by)]
    if isinstance(rule, Equal):
        return _equal(rule, tuple(cells))
    assert isinstance(rule, Falls), "what converges is counted, not estimated"
    return [_falls(rule, tuple(cells))]


def _lead(metric: Metric) -> tuple[float, float]:
    return (1.0, -1.0) if metric.better is Way.MORE else (-1.0, 1.0)


def _better(rule: Better, cells: tuple[Cell, Cell], metric: Metric) -> Claim:
    if not rule.relative:
        margin = f" by {rule.margin:g}" if rule.margin else ""
        return Claim(f"{cells[0].name} better than {cells[1].name}{margin}", cells, _lead(metric), rule.margin)
    more, less = cells if metric.better is Way.MORE else cells[::-1]
    times = 1 + rule.margin  # the ratio is at least this where one is at least so many times the other
    if logarithmic(metric):
        text = f"{more.name} more than {times:g} times {less.name}"
        return Claim(text, cells, _lead(metric), math.log(times), ratio=True)
    weights = (1.0, -times) if more is cells[0] else (-times, 1.0)
    return Claim(f"{more.name} − {times:g} × {less.name} above 0", cells, weights, 0.0)


def _falls(rule: Falls, cells: tuple[Cell, ...]) -> Claim:
    text = f"from {cells[0].name} to {cells[1].name} it falls by {_size(rule.by, rule.relative)}"
    if rule.relative:
        return Claim(text, cells, (1 - rule.by, -1.0), 0.0)
    return Claim(text, cells, (1.0, -1.0), rule.by)


def _equal(rule: Equal, cells: tuple[Cell, ...]) -> list[Claim]:
    """Two claims: not more above, and not more below."""
    text = f"{cells[0].name} at most {_size(rule.within, rule.relative)} {{}} {cells[1].name}"
    if rule.relative:
        more, less, bound = (1.0, -1 - rule.within), (1.0, rule.within - 1), 0.0
    else:
        more, less, bound = (1.0, -1.0), (1.0, -1.0), rule.within
    above = Claim(text.format("above"), cells, more, bound, above=False)
    return [above, Claim(text.format("below"), cells, less, -bound)]


def _size(by: float, relative: bool) -> str:
    return f"{by:.0%}".replace("%", " %") if relative else f"{by:g}"
