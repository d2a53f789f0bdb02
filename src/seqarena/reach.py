"""How far something reaches: where a curve over distance has fallen, with an interval from resampled examples.

Intervals hold 95 % of the values that RESAMPLES draws of as many examples, with replacement, give (the percentile
bootstrap, Efron & Tibshirani 1993, section 13.3).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

RESAMPLES = 1000
NEAR = 0.05
"""How much less accuracy still counts as reaching: 5 points."""
Z = 1.96
"""The two-sided 95 % quantile of the normal distribution."""


@dataclass(frozen=True)
class Estimate:
    """A number with the limits of its interval.

    `reached` is False where a curve never fell as far as asked: the value is then the greatest distance looked at.
    """

    value: float
    low: float
    high: float
    reached: bool = True

    def plain(self) -> dict[str, Any]:
        """For a record."""
        return asdict(self)


@dataclass(frozen=True)
class Stratum:
    """The examples of one bucket of an axis: its name, the mean of their values there, how many, how many are right.

    `design` is how many times the variance of their mean is that of as many independent examples.
    """

    bucket: str
    at: float
    n: int
    right: int
    design: float = 1.0


def estimate(value: float, draws_R: np.ndarray, reached: bool = True) -> Estimate:
    """A value with the middle 95 % of its draws; draws that are no number are left out."""
    known = draws_R[~np.isnan(draws_R)]
    low, high = np.percentile(known, (2.5, 97.5)).tolist() if len(known) else (np.nan, np.nan)
    return Estimate(float(value), low, high, bool(reached))


def crossing(at_K: np.ndarray, curves_RK: np.ndarray, levels_R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each curve first comes down to its level (R,), between two points linearly, and whether it does (R,).

    A curve that never does gets the greatest distance, one that begins there the first. A point that is no number
    is above every level, and what follows it is not interpolated.
    """
    below_RK: np.ndarray = np.less_equal(curves_RK, levels_R[:, None])
    reached_R, first_R = np.any(below_RK, 1), np.argmax(below_RK, 1)
    rows = np.arange(len(curves_RK))
    before_R = np.maximum(first_R - 1, 0)
    above_R, under_R = curves_RK[rows, before_R], curves_RK[rows, first_R]
    drop_R = np.where(above_R > under_R, above_R - under_R, 1.0)
    share_R = np.where(first_R > 0, np.nan_to_num((above_R - levels_R) / drop_R, nan=1.0), 0.0)
    places_R = at_K[before_R] + share_R * (at_K[first_R] - at_K[before_R])
    return np.where(reached_R, places_R, at_K[-1]), reached_R


def clear_of_chance(found: Mapping[str, Any]) -> bool:
    """Whether what a record says of an axis is about something learned, which could be lost along it.

    The interval of the nearest bucket must lie more than NEAR above chance: of a gain that may be noise, half is gone
    anywhere. A record without chance or buckets is taken at its word.
    """
    if found.get("chance") is None or not found.get("buckets"):
        return True
    nearest = found["buckets"][0]
    return bool(_least(nearest["accuracy"], nearest["n"]) > found["chance"] + NEAR)


def _least(share: float, n: int) -> float:
    """The lower limit of the 95 % interval of a share of n (Wilson 1927)."""
    spread = Z * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return (share + Z**2 / (2 * n) - spread) / (1 + Z**2 / n)


def half_life(strata: Sequence[Stratum], chance: float, seed: int) -> Estimate:
    """The first distance at which half of the nearest stratum's gain over `chance` is gone.

    Draws without any gain there have lost it at the first distance already.
    """
    gains_RK = drawn(strata, seed) - chance
    places_R, reached_R = crossing(_places(strata), gains_RK, gains_RK[:, 0] / 2)
    return estimate(places_R[0], places_R[1:], reached_R[0])


def effective_length(strata: Sequence[Stratum], seed: int, near: float = NEAR) -> Estimate:
    """The last distance before accuracy first lies more than `near` below that of the first stratum.

    Nothing is interpolated: it is the mean distance of a stratum's examples, and at least the first one's.
    """
    curves_RK = drawn(strata, seed)
    below_RK: np.ndarray = np.less(curves_RK, curves_RK[:, :1] - near - 1e-12)
    reached_R = np.any(below_RK, 1)
    last_R = np.where(reached_R, below_RK.argmax(1) - 1, len(strata) - 1)
    places_R = _places(strata)[last_R]
    return estimate(places_R[0], places_R[1:], reached_R[0])


def drawn(strata: Sequence[Stratum], seed: int) -> np.ndarray:
    """Accuracies (1 + RESAMPLES, K): as measured, then with the examples of each stratum drawn with replacement.

    So many of n drawn examples are right as a binomial variable with the measured accuracy says; where they are not
    independent, n is divided by their design effect (Rao & Scott 1992, "A simple method for the analysis of clustered
    binary data").
    """
    share_K = np.array([one.right / one.n for one in strata])
    n_K = np.array([max(1, round(one.n / one.design)) for one in strata])
    draws_RK = np.random.default_rng(seed).binomial(n_K, share_K, (RESAMPLES, len(strata)))
    return np.concatenate([share_K[None], draws_RK / n_K])


def design_effect(right_N: np.ndarray, texts_N: np.ndarray) -> float:
    """How many times the variance of the mean of 0/1 values is that of independent ones, if those of a text are not.

    By the variance of a ratio over texts (Rao & Scott 1992); at least 1.
    """
    share = float(np.mean(right_N))
    excess_C = np.bincount(np.unique(texts_N, return_inverse=True)[1], right_N - share)
    if share in (0.0, 1.0) or len(excess_C) < 2:
        return 1.0
    return max(1.0, _spread(excess_C) / _spread(right_N - share))


def _spread(excesses: np.ndarray) -> float:
    """The variance of their sum, which is 0."""
    n = len(excesses)
    return n / (n - 1) * float((excesses**2).sum())


def _places(strata: Sequence[Stratum]) -> np.ndarray:
    return np.array([one.at for one in strata])
