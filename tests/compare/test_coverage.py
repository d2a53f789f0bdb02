"""How often intervals hold the truth, and how often nothing is called something, in simulated tables."""

import math
from collections.abc import Callable
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from draws import Drawer

from seqarena.compare.decisions import Manner, Side, decide
from seqarena.compare.statistics import Estimate, Group, accuracy, contrast, t_quantile
from seqarena.compare.trends import trend

TABLES = 1000
CELLS = [(seeds, sd) for seeds in (3, 5, 10) for sd in (0, 1, 2)]

Half = Callable[[Estimate, list[Group]], float]


def ours(e: Estimate, groups: list[Group]) -> float:
    return e.half()


def welch(e: Estimate, groups: list[Group]) -> float:
    parts = [group.seed_variance / group.runs for group in groups]
    total = sum(parts)
    df = total**2 / sum(part**2 / (group.runs - 1) for part, group in zip(parts, groups, strict=True)) if total else 1
    return t_quantile(0.05, df) * math.sqrt(total)


def wald(e: Estimate, groups: list[Group]) -> float:
    return 1.959964 * math.sqrt(e.seeds + e.examples)


def seed_df(e: Estimate, groups: list[Group]) -> float:
    parts = [group.seed_variance / group.runs for group in groups]
    df = sum(parts) ** 2 / sum(p**2 / (g.runs - 1) for p, g in zip(parts, groups, strict=True)) if sum(parts) else 1
    return t_quantile(0.05, df) * math.sqrt(e.seeds + e.examples)


METHODS: dict[str, Half] = {"ours": ours, "welch": welch, "wald": wald, "seed_df": seed_df}


@cache
def coverage() -> dict[str, list[float]]:
    """Percent of tables without a true difference whose interval holds 0, by method and cell."""
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    for cell, (seeds, sd) in enumerate(CELLS):
        drawer, held = Drawer(100 + cell), dict.fromkeys(METHODS, 0)
        for _ in range(TABLES):
            groups = [accuracy(x, np.arange(500)) for x in drawer.table(500, seeds, [sd, sd], [0.85, 0.85])]
            e = contrast(groups, [1, -1])
            for name, half in METHODS.items():
                held[name] += abs(e.value) <= half(e, groups)
        for name, count in held.items():
            found[name].append(100 * count / TABLES)
    return found


def sound(cells: list[float]) -> bool:
    return all(93.0 <= one <= 98.5 for one in cells) and 94.5 <= sum(cells) / len(cells) <= 97.0


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_coverage_over_seeds_and_examples_and_that_other_methods_are_rejected(method: str) -> None:
    assert sound(coverage()[method]) == (method == "ours"), coverage()[method]


@pytest.mark.slow
def test_no_more_false_decisions_than_claimed_among_five_equal_architectures() -> None:
    drawer, wrong = Drawer(3), 0
    for _ in range(TABLES):
        table = drawer.table(500, 5, [1] * 5, [0.85] * 5)
        sides = [
            Side(str(k), accuracy(x, np.arange(500)), tuple(range(5)), tuple(range(5))) for k, x in enumerate(table)
        ]
        found = decide(list(combinations(sides, 2)), Manner())
        wrong += any(one.word in ("better", "worse") for one in found)
    assert wrong / TABLES < 0.065


@pytest.mark.slow
def test_a_flat_curve_rarely_falls() -> None:
    drawer, falls = Drawer(4), 0
    for _ in range(TABLES):
        (x,) = drawer.table(500, 5, [1], [0.85])
        points = [accuracy(x[at], at) for at in np.array_split(np.arange(500), 5)]
        falls += trend(points).interval()[1] < 0
    assert falls / TABLES < 0.04
