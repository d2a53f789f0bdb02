"""Means over examples, where not all examples have a value, with intervals from resampled examples."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from seqarena.evaluation import bucket_name
from seqarena.probing.finding import Point
from seqarena.reach import RESAMPLES, Estimate, crossing, estimate

FEWEST = 8
"""Examples that a mean needs; of fewer texts than that, all."""


def joined(parts: Sequence[Tensor]) -> np.ndarray:
    """Values by distance (B, S) of several batches as one table (N, K), NaN where a text does not reach."""
    longest = max(part.shape[1] for part in parts)
    padded = [
        torch.nn.functional.pad(part.detach().cpu().double(), (0, longest - part.shape[1]), value=torch.nan)
        for part in parts
    ]
    return torch.cat(padded).numpy()


def weights(examples: int, seed: int) -> np.ndarray:
    """How often each example counts, (1 + RESAMPLES, N): once, then as often as each draw has it."""
    draws_RN = np.random.default_rng(seed).multinomial(examples, np.full(examples, 1 / examples), RESAMPLES)
    return np.concatenate([np.ones((1, examples)), draws_RN])


def means(values_NK: np.ndarray, weights_RN: np.ndarray) -> np.ndarray:
    """Weighted means (R, K) over the examples that have a value; NaN where none has."""
    known_NK = ~np.isnan(values_NK)
    totals_RK = weights_RN @ np.where(known_NK, values_NK, 0.0)
    counts_RK = weights_RN @ known_NK
    return np.divide(totals_RK, counts_RK, out=np.full_like(totals_RK, np.nan), where=counts_RK > 0)


def ratios(values_NK: np.ndarray, weights_RN: np.ndarray) -> np.ndarray:
    """Each column's weighted mean over that of the first, (R, K), of the same examples both: those that have a value.

    Were it not the same ones, what differs between long and short texts would look like a matter of distance.
    """
    known_NK = ~np.isnan(values_NK)
    first_NK = np.where(known_NK, values_NK[:, :1], np.nan)
    here_RK, nearest_RK = means(values_NK, weights_RN), means(first_NK, weights_RN)
    return np.divide(here_RK, nearest_RK, out=np.full_like(here_RK, np.nan), where=nearest_RK != 0)


def mean(values_N: np.ndarray, weights_RN: np.ndarray) -> Estimate:
    """The mean over the examples that have a value."""
    found_R = means(values_N[:, None], weights_RN)[:, 0]
    return estimate(found_R[0], found_R[1:])


def own_means(values_NK: np.ndarray) -> np.ndarray:
    """Each example's mean over its own columns (N,)."""
    return means(values_NK.T, np.ones((1, values_NK.shape[1])))[0]


def points(values_NK: np.ndarray, found_RK: np.ndarray, names: Sequence[str], places: Sequence[float]) -> list[Point]:
    """A curve whose point k is what was found for column k, with its draws; those of too few examples are left out."""
    counts_K = (~np.isnan(values_NK)).sum(0)
    return [
        Point(names[k], float(places[k]), int(counts_K[k]), estimate(found_RK[0, k], found_RK[1:, k]))
        for k in np.flatnonzero(counts_K >= enough(values_NK)).tolist()
    ]


def enough(values_NK: np.ndarray) -> int:
    """How many examples a column needs."""
    return min(FEWEST, len(values_NK))


def half_life(values_NK: np.ndarray, weights_RN: np.ndarray, at: Sequence[int]) -> Estimate:
    """The distance from which on the mean stays at half of that at the nearest (`ratios`) or below.

    A curve that has fallen and rises again has not fallen yet. Columns of too few examples are left out.
    """
    kept = int(((~np.isnan(values_NK)).sum(0) >= enough(values_NK)).sum())
    shares_RK = ratios(values_NK[:, :kept], weights_RN)
    ahead_RK = np.fmax.accumulate(shares_RK[:, ::-1], 1)[:, ::-1]  # the most that is still to come
    places_R, reached_R = crossing(np.array(at[:kept], float), ahead_RK, np.full(len(ahead_RK), 0.5))
    return estimate(places_R[0], places_R[1:], reached_R[0])


def edges(longest: int) -> list[int]:
    """Lower edges of buckets of distances: each of the first eight, then four to every doubling."""
    every = [*range(8), *(2**power * quarter // 4 for power in range(3, 31) for quarter in (4, 5, 6, 7))]
    return [edge for edge in every if edge < longest]


def bucketed(values_NK: np.ndarray) -> tuple[np.ndarray, list[str], list[float]]:
    """Each example's mean by bucket of distance (N, buckets), the names of the buckets and their middles."""
    begins = edges(values_NK.shape[1])
    ends = [*begins[1:], values_NK.shape[1]]
    parts = [own_means(values_NK[:, a:b]) for a, b in zip(begins, ends, strict=True)]
    names = [bucket_name(number, [*begins, ends[-1]]) for number in range(len(begins))]
    return np.stack(parts, 1), names, [(a + b - 1) / 2 for a, b in zip(begins, ends, strict=True)]
