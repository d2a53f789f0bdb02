"""Small samples and axes: one number near 0 or 1, differences on few examples, linear trends over points of an axis."""

from collections.abc import Sequence

import numpy as np

from seqarena.compare.statistics import ALPHA, Estimate, Group, accuracy, contrast

FEW = 200
"""Examples below which a difference of 0/1 scores gets two artificial rows."""
TOO_FEW = 20
"""Examples below which there are counts only."""


def adjusted(x: np.ndarray) -> Group:
    """0/1 scores (n, J) with four more rows, two right and two wrong (Agresti & Coull 1998)."""
    rows = np.repeat([[1.0], [1.0], [0.0], [0.0]], x.shape[1], axis=1)
    everything = np.concatenate([x, rows])
    return accuracy(everything, np.arange(len(everything)))


def one_number(x: np.ndarray, fixed: bool = False, alpha: float = ALPHA) -> tuple[float, float, float]:
    """Mean of 0/1 scores (n, J) and its limits: those of the adjusted scores, within 0 and 1, around the raw mean."""
    group, raw = adjusted(np.asarray(x, float)), float(np.mean(x))
    low, high = contrast([Group(group.theta, group.psi, group.ids, fixed)], [1]).interval(alpha)
    return raw, min(max(low, 0.0), raw), max(min(high, 1.0), raw)


def widened(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """0/1 scores (n, J) of both sides with two more rows, one where only A is right, one where only B is.

    From `FEW` examples they are returned as they are (Bonett & Price 2012).
    """
    if len(a) >= FEW:
        return a, b
    right, wrong = np.ones((1, 1)), np.zeros((1, 1))
    return _with(a, right, wrong), _with(b, wrong, right)


def _with(x: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.concatenate([x, np.repeat(first, x.shape[1], 1), np.repeat(second, x.shape[1], 1)])


def slope_weights(points: int) -> np.ndarray:
    """Weights (L,) that give the change over the whole axis of a straight line through L points, ranks as positions."""
    ranks = np.arange(points) - (points - 1) / 2
    weights: np.ndarray = ranks / (ranks**2).sum() * (points - 1)
    return weights


def within(points: Sequence[Group], weights: Sequence[float] | np.ndarray) -> Group:
    """The same runs at every point, on examples of its own or the same: the weighted sum of scores, run by run.

    What a run does at all points alike cancels.
    """
    everyone = np.unique(np.concatenate([point.ids for point in points]))
    theta, psi = np.zeros(points[0].runs), np.zeros((len(everyone), points[0].runs))
    for point, weight in zip(points, weights, strict=True):
        theta += weight * point.theta
        if point.examples:
            psi[np.searchsorted(everyone, point.ids)] += weight * len(everyone) / point.examples * point.psi
    return Group(theta, psi, everyone, points[0].fixed)


def trend(points: Sequence[Group]) -> Estimate:
    """The change over an axis whose points are buckets of the examples of the same runs."""
    return contrast([within(points, slope_weights(len(points)))], [1])


def trend_between(groups: Sequence[Group]) -> Estimate:
    """The change over an axis each of whose points has runs of its own."""
    return contrast(groups, list(slope_weights(len(groups))))
