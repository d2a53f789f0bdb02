"""A quantity against a bound, and rules of several such parts: intersection-union to hold, Holm's step to fail."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from scipy.stats import binom

from seqarena.compare.statistics import ALPHA, Estimate

HOLDS, FAILS, OPEN = "holds", "fails", "open"


class Decidable(Protocol):
    """What a rule is made of: something that points to one side or the other, more or less surely."""

    @property
    def agrees(self) -> bool:
        """Whether it points to the claimed side."""

    @property
    def p(self) -> float:
        """Of what is claimed lying on its bound."""


@dataclass(frozen=True)
class Bounded:
    """It is claimed that a quantity lies above (or below) `bound`, or on it unless `strict`.

    `exact` numbers need no interval.
    """

    estimate: Estimate
    bound: float
    above: bool = True
    exact: bool = False
    strict: bool = False

    @property
    def agrees(self) -> bool:
        """Whether the estimate lies on the claimed side; only an exact number can be on the bound."""
        apart = self.estimate.value - self.bound if self.above else self.bound - self.estimate.value
        return apart > 0 or (self.exact and not self.strict and apart == 0)

    @property
    def p(self) -> float:
        """Of the quantity lying on the bound."""
        return 0.0 if self.exact else self.estimate.p(self.bound)

    def outcome(self, alpha: float = ALPHA) -> str:
        """By its own interval: whole on the claimed side, whole on the other, or neither."""
        if self.p >= alpha:
            return OPEN
        return HOLDS if self.agrees else FAILS


@dataclass(frozen=True)
class Rate:
    """It is claimed that trainings converge with a probability of `bound` or more, when `converged` of `runs` did.

    p is twice the binomial tail, so that it is under alpha where the interval of Clopper and Pearson is on one side.
    """

    converged: int
    runs: int
    bound: float

    @property
    def agrees(self) -> bool:
        """Whether so many did."""
        return self.converged >= self.bound * self.runs

    @property
    def p(self) -> float:
        """Of the probability being the bound."""
        many = binom.sf(self.converged - 1, self.runs, self.bound)
        few = binom.cdf(self.converged, self.runs, self.bound)
        return min(1.0, 2 * float(many if self.agrees else few))

    def outcome(self, alpha: float = ALPHA) -> str:
        """By its own interval."""
        return OPEN if self.p >= alpha else HOLDS if self.agrees else FAILS


def p_values(parts: Sequence[Decidable], steps: int) -> tuple[float, float]:
    """p of a rule that all `parts` make up to hold, and to fail; 1 where a part points the other way, or none does.

    All must hold, so the largest counts; one of `steps` independent quantities is enough to fail, so the smallest
    counts that many times.
    """
    holds = max(part.p for part in parts) if all(part.agrees for part in parts) else 1.0
    against = [part.p for part in parts if not part.agrees]
    return holds, min(1.0, steps * min(against)) if against else 1.0


def rule_outcome(p_holds: float, p_fails: float, adjusted: float, alpha: float = ALPHA) -> str:
    """What a rule comes to once its smaller p has been `adjusted` over all rules of the sweep."""
    if adjusted > alpha:
        return OPEN
    return HOLDS if p_holds <= p_fails else FAILS
