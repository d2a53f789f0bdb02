"""Scores drawn for tests: the golden table, and tables of runs with seed effects on shared examples."""

import math

import numpy as np
from scipy.optimize import brentq

HALF_NODES, HALF_WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


def golden(k: int, seeds: int, base: float) -> np.ndarray:
    """The (400, J) scores of STATISTICS section 13."""
    i, j = np.arange(400)[:, None], np.arange(seeds)[None]
    hard = 0.6180339887 * i % 1
    u = ((7919 * i + 104729 * j + 611953 * k + 31 * i**2) % 10007) / 10007
    own = 0.7548776662 * (3 + k) * i % 1
    return (0.55 * hard + 0.25 * own + 0.20 * u < base + 0.008 * ((5 * j + 3 * k) % 4)).astype(float)


class Drawer:
    """Tables of 0/1 scores: P(right) = sigmoid(mu + difficulty + seed effect), difficulties are correlated.

    `accuracy` is that of every architecture on average, `sd` the standard deviation over seeds in points.
    """

    def __init__(self, seed: int, accuracy: float = 0.85, difficulty: float = 2.5, correlation: float = 0.8) -> None:
        self.random, self.difficulty, self.correlation = np.random.default_rng(seed), difficulty, correlation
        self.mean = lambda mu: float(HALF_WEIGHTS @ _sigmoid(mu + difficulty * HALF_NODES) / math.sqrt(2 * math.pi))
        self.mu = {accuracy: float(brentq(lambda mu: self.mean(mu) - accuracy, -20, 20))}

    def offset(self, accuracy: float) -> float:
        """The mu of an accuracy."""
        if accuracy not in self.mu:
            self.mu[accuracy] = float(brentq(lambda mu: self.mean(mu) - accuracy, -20, 20))
        return self.mu[accuracy]

    def slope(self, accuracy: float) -> float:
        """Accuracy gained by a logit."""
        mu = self.offset(accuracy)
        return (self.mean(mu + 0.01) - self.mean(mu - 0.01)) / 0.02

    def table(self, n: int, seeds: int, sds: list[float], accuracies: list[float]) -> list[np.ndarray]:
        """(n, J) scores of each architecture; `sds` are in points."""
        shared = self.random.standard_normal(n)
        found = []
        for sd, accuracy in zip(sds, accuracies, strict=True):
            own = self.random.standard_normal(n)
            hard = math.sqrt(self.correlation) * shared + math.sqrt(1 - self.correlation) * own
            effect = self.random.standard_normal(seeds) * sd / 100 / self.slope(accuracy)
            logit = self.offset(accuracy) + self.difficulty * hard[:, None] + effect[None]
            found.append((self.random.random((n, seeds)) < _sigmoid(logit)).astype(float))
        return found


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))
