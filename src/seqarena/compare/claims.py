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
    texts, every = words(rule, [cell.name for cell in cells], metric), tuple(cells)
    if isinstance(rule, AtLeast):
        return [Claim(texts[0], every, (1.0,), rule.value)]
    if isinstance(rule, Below):
        return [Claim(texts[0], every, (1.0,), rule.value, above=False, strict=True)]
    if isinstance(rule, Better):
        return [_better(texts[0], rule, (cells[0], cells[1]), metric)]
    if isinstance(rule, Order):
        pairs = zip(texts, pairwise(cells), strict=True)
        return [Claim(text, pair, _lead(metric), 0.0, strict=True) for text, pair in pairs]
    if isinstance(rule, Declines):
        return [Claim(texts[0], every, tuple(-slope_weights(len(cells))), rule.by)]
    if isinstance(rule, Equal):
        return _equal(texts, rule, every)
    assert isinstance(rule, Falls), "what converges is counted, not estimated"
    weights, by = ((1 - rule.by, -1.0), 0.0) if rule.relative else ((1.0, -1.0), rule.by)
    return [Claim(texts[0], every, weights, by)]


def words(rule: Rule, names: Sequence[str], metric: Metric) -> list[str]:
    """The same in words, of the names of the points."""
    first, last = names[0], names[-1]
    if isinstance(rule, AtLeast):
        return [f"{first} at least {rule.value:g}"]
    if isinstance(rule, Below):
        return [f"{first} below {rule.value:g}"]
    if isinstance(rule, Better):
        return [_lead_in_words(rule, first, last, metric)]
    if isinstance(rule, Order):
        return [f"{a} better than {b}" for a, b in pairwise(names)]
    if isinstance(rule, Declines):
        return [f"from {first} to {last} a line through {len(names)} points goes down by {rule.by:g}"]
    if isinstance(rule, Equal):
        return [f"{first} at most {_size(rule.within, rule.relative)} {way} {last}" for way in ("above", "below")]
    if isinstance(rule, Falls):
        return [f"from {first} to {last} it falls by {_size(rule.by, rule.relative)}"]
    return [f"{first} converges"]


def _lead(metric: Metric) -> tuple[float, float]:
    return (1.0, -1.0) if metric.better is Way.MORE else (-1.0, 1.0)


def _lead_in_words(rule: Better, ahead: str, behind: str, metric: Metric) -> str:
    if not rule.relative:
        return f"{ahead} better than {behind}" + (f" by {rule.margin:g}" if rule.margin else "")
    more, less = (ahead, behind) if metric.better is Way.MORE else (behind, ahead)
    times = 1 + rule.margin  # the ratio is at least this where one is at least so many times the other
    return f"{more} more than {times:g} times {less}" if logarithmic(metric) else f"{more} − {times:g} × {less} above 0"


def _better(text: str, rule: Better, cells: tuple[Cell, Cell], metric: Metric) -> Claim:
    if not rule.relative:
        return Claim(text, cells, _lead(metric), rule.margin)
    times = 1 + rule.margin
    if logarithmic(metric):
        return Claim(text, cells, _lead(metric), math.log(times), ratio=True)
    weights = (1.0, -times) if metric.better is Way.MORE else (-times, 1.0)
    return Claim(text, cells, weights, 0.0)


def _equal(texts: Sequence[str], rule: Equal, cells: tuple[Cell, ...]) -> list[Claim]:
    """Two claims: not more above, and not more below."""
    if rule.relative:
        more, less, bound = (1.0, -1 - rule.within), (1.0, rule.within - 1), 0.0
    else:
        more, less, bound = (1.0, -1.0), (1.0, -1.0), rule.within
    return [Claim(texts[0], cells, more, bound, above=False), Claim(texts[1], cells, less, -bound)]


def _size(by: float, relative: bool) -> str:
    return f"{by:.0%}".replace("%", " %") if relative else f"{by:g}"
