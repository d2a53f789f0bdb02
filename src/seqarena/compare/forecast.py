"""How many more seeds, or test examples, would decide a difference of this size with 80 % power.

The observed difference is taken for the true one, so the answer is a plan ("about"), never evidence of equality.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence

from scipy import stats

from seqarena.compare.statistics import ALPHA, Estimate, Group

POWER = 0.8
MOST = 30
STEPS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 25, 30)
"""What a number of seeds is rounded up to."""
MANY = 1_000_000
"""Test examples beyond which a number tells nothing."""
NONE = 1e-12
"""Rounding of a difference of two equal means."""
LARGE = 10_000
"""Degrees of freedom from which the normal distribution is as good."""


def power(groups: Sequence[Group], weights: Sequence[float], now: Estimate, seeds: int, alpha: float = ALPHA) -> float:
    """The chance to decide the difference `now.value` with so many seeds in every group, the same test examples."""
    parts = [weight**2 * group.seed_variance / seeds for group, weight in zip(groups, weights, strict=True)]
    variance = sum(parts) + now.examples
    if variance == 0:
        return 1.0
    below = sum(part**2 for part in parts) / (seeds - 1) + (now.examples**2 / (now.n - 1) if now.n > 1 else 0.0)
    df, shift = variance**2 / below, abs(now.value) / math.sqrt(variance)
    if df > LARGE:
        t = stats.norm.isf(alpha / 2)
        return float(stats.norm.sf(t - shift) + stats.norm.cdf(-t - shift))
    t = stats.t.isf(alpha / 2, df)
    return float(stats.nct.sf(t, df, shift) + stats.nct.cdf(-t, df, shift))


def seeds_needed(groups: Sequence[Group], weights: Sequence[float], now: Estimate, alpha: float = ALPHA) -> int | None:
    """The smallest number of seeds in every group that has enough power, up to `MOST` more than now; None beyond."""
    fewest = min(group.runs for group in groups)
    choices = range(fewest + 1, fewest + MOST + 1)
    place = bisect_left(choices, True, key=lambda seeds: power(groups, weights, now, seeds, alpha) >= POWER)
    return choices[place] if place < len(choices) else None


def examples_needed(now: Estimate, alpha: float = ALPHA) -> int | None:
    """About how many test examples it takes, two digits; None where seeds alone would do."""
    reach = stats.norm.isf(alpha / 2) + stats.norm.isf(1 - POWER)
    if abs(now.value) >= reach * math.sqrt(now.examples):
        return None
    found = now.n * now.examples * (reach / now.value) ** 2
    return round(found, 1 - math.floor(math.log10(found)))


def forecast(groups: Sequence[Group], weights: Sequence[float], now: Estimate, alpha: float = ALPHA) -> str:
    """The answer in words, empty where the difference is none. `now.value` is the difference of interest."""
    if abs(now.value) < NONE or any(group.fixed for group in groups):
        return ""
    examples = examples_needed(now, alpha)
    if examples is not None:
        many = f"about {examples:,.0f}" if examples <= MANY else f"more than {MANY:,}"
        return f"no number of seeds will do; {many} test examples would be needed"
    seeds = seeds_needed(groups, weights, now, alpha)
    if seeds is None:
        return f"more than {MOST} more seeds"
    more = seeds - min(group.runs for group in groups)
    return f"about {next(step for step in STEPS if step >= more)} more seed{'s' if more > 1 else ''}"
