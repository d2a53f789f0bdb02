"""Estimates over seeds and examples: every run is a score and one influence value for each test example.

The variance of a difference has a seed part (few runs) and an example part (many examples). They are added, and
Student's t with Welch-Satterthwaite degrees of freedom gives the interval, which is never narrower than that of the
examples alone. For balanced data this is the mixed model with crossed random effects of seed and example, in closed
form. Notation: J runs of a group, n examples of a group, N distinct examples of a contrast.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

ALPHA = 0.05


@dataclass(frozen=True)
class Group:
    """The runs of one architecture, or of one architecture at one point of an axis.

    `theta` (J,) are the runs' scores; `psi` (n, J) the influence of each example on each score, every column summing to
    zero; `ids` (n,) the examples, in the same order for every run. Without examples (throughput, memory) n is 0.
    `fixed` means these very runs: nothing is claimed of other seeds.
    """

    theta: np.ndarray
    psi: np.ndarray
    ids: np.ndarray
    fixed: bool = False

    @property
    def runs(self) -> int:
        """J."""
        return len(self.theta)

    @property
    def examples(self) -> int:
        """n."""
        return len(self.psi)

    @cached_property
    def mean_psi(self) -> np.ndarray:
        """(n,) The mean influence of each example over the runs."""
        mean: np.ndarray = self.psi.mean(1) if self.examples else np.zeros(0)
        return mean

    @property
    def seed_variance(self) -> float:
        """S2: of the scores over runs, divisor J - 1."""
        return float(self.theta.var(ddof=1))

    @property
    def residual(self) -> float:
        """E: the variance of the seed-by-example interaction; 0 without examples."""
        if not self.examples:
            return 0.0
        apart = ((self.psi - self.mean_psi[:, None]) ** 2).sum()
        return float(apart / ((self.examples - 1) * (self.runs - 1)))


def unscored(theta: Sequence[float] | np.ndarray) -> Group:
    """Runs with a number each, (J,), and no examples: log throughput, memory, time."""
    scores = np.asarray(theta, float)
    return Group(scores, np.zeros((0, len(scores))), np.zeros(0, int))


def accuracy(x: np.ndarray, ids: np.ndarray) -> Group:
    """Scores that are means over examples, x (n, J): accuracy of 0 and 1, or mean loss."""
    x = np.asarray(x, float)
    return Group(x.mean(0), x - x.mean(0), np.asarray(ids))


def bleu_score(totals: np.ndarray) -> np.ndarray:
    """BLEU in points of sums (..., 10): hypothesis length, reference length, matches 1-4, totals 1-4.

    It is sacreBLEU's corpus score with its default ("exp") smoothing.
    """
    totals = np.asarray(totals, float)
    hypothesis, reference, matches, possible = totals[..., 0], totals[..., 1], totals[..., 2:6], totals[..., 6:10]
    with np.errstate(divide="ignore", invalid="ignore"):
        smoothed = 1 / (2.0 ** np.cumsum(matches == 0, -1) * possible)
        precision = np.where(matches > 0, matches / possible, smoothed)
        brevity = np.where(hypothesis < reference, np.exp(1 - reference / hypothesis), 1.0)
        score = 100 * brevity * np.exp(np.log(precision).mean(-1))
    return np.where((matches.sum(-1) == 0) | (possible == 0).any(-1), 0.0, score)


def bleu(statistics: np.ndarray, ids: np.ndarray) -> Group:
    """Corpus BLEU of sentence statistics (n, J, 10); the influences are a delete-one jackknife."""
    totals, n = statistics.sum(0), len(statistics)
    without = bleu_score(totals - statistics)
    return Group(bleu_score(totals), (n - 1) * (without.mean(0) - without), np.asarray(ids))


def clustered(group: Group, clusters: np.ndarray) -> Group:
    """The same scores with clusters of examples, (n,), in place of examples: documents, dialogues."""
    names, at = np.unique(clusters, return_inverse=True)
    psi = np.zeros((len(names), group.runs))
    np.add.at(psi, at, group.psi)
    return Group(group.theta, psi * len(names) / group.examples, names, group.fixed)


def paired(a: Group, b: Group) -> Group:
    """A - B run by run, for seeds that share something. Both have the same examples, and run j the same seed."""
    return Group(a.theta - b.theta, a.psi - b.psi, a.ids, a.fixed or b.fixed)


def t_quantile(alpha: float, df: float) -> float:
    """The two-sided quantile of Student's t."""
    return -float(special.stdtrit(df, alpha / 2))


def z_quantile(alpha: float) -> float:
    """The two-sided quantile of the normal distribution."""
    return -float(special.ndtri(alpha / 2))


@dataclass(frozen=True)
class Estimate:
    """A weighted sum of groups' means, and where its variance comes from.

    `seeds` is v_seed, `interaction` v_int, `examples` v_ex (what more seeds cannot reduce), `these_runs` v_1 (examples
    only), `df` the degrees of freedom, `n` the number N of distinct examples.
    """

    value: float
    seeds: float
    interaction: float
    examples: float
    these_runs: float
    df: float
    n: int

    def half(self, alpha: float = ALPHA) -> float:
        """Half the width of the interval with error `alpha`."""
        both = t_quantile(alpha, self.df) * math.sqrt(self.seeds + self.examples)
        return max(both, z_quantile(alpha) * math.sqrt(self.these_runs))

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        """Lower and upper limit."""
        half = self.half(alpha)
        return self.value - half, self.value + half

    def seed_half(self, alpha: float = ALPHA) -> float:
        """The part of the seeds, as half a width: what more seeds would narrow."""
        return t_quantile(alpha, self.df) * math.sqrt(self.seeds)

    def example_half(self, alpha: float = ALPHA) -> float:
        """The part of the examples, as half a width: what a larger test set would narrow."""
        return z_quantile(alpha) * math.sqrt(self.examples)

    def p(self, bound: float = 0.0) -> float:
        """Two-sided p of the value being `bound`: below alpha exactly where the interval excludes it."""
        apart = abs(self.value - bound)
        if apart == 0:
            return 1.0
        both, alone = self.seeds + self.examples, self.these_runs
        from_t = 2 * special.stdtr(self.df, -apart / math.sqrt(both)) if both > 0 else 0.0
        from_z = 2 * special.ndtr(-apart / math.sqrt(alone)) if alone > 0 else 0.0
        return float(max(from_t, from_z))


def contrast(groups: Sequence[Group], weights: Sequence[float]) -> Estimate:
    """The sum of weight times mean score. Examples with the same id are the same example in all groups."""
    n, places = _distinct([group.ids for group in groups if group.examples])
    reach, taken = np.zeros(n), 0
    value = seeds = interaction = below = 0.0
    for group, weight in zip(groups, weights, strict=True):
        value += weight * float(group.theta.mean())
        if group.examples:
            at = places[taken : taken + group.examples]
            reach[at] += weight * n / group.examples * group.mean_psi
            taken += group.examples
        if not group.fixed:
            own = weight**2 * group.seed_variance / group.runs
            seeds, below = seeds + own, below + own**2 / (group.runs - 1)
            interaction += weight**2 * group.residual / (max(group.examples, 1) * group.runs)
    these_runs = float((reach**2).sum()) / (n * (n - 1)) if n > 1 else 0.0
    examples = max(these_runs - interaction, 0.0)
    below += examples**2 / (n - 1) if n > 1 else 0.0
    df = (seeds + examples) ** 2 / below if below > 0 else max(n - 1, 1)
    return Estimate(value, seeds, interaction, examples, these_runs, df, n)


def _distinct(lists: Sequence[np.ndarray]) -> tuple[int, np.ndarray]:
    """How many different ids there are, and which of them each id is, over all lists in a row."""
    if not lists:
        return 0, np.zeros(0, int)
    first = lists[0]
    if all(other is first or np.array_equal(other, first) for other in lists[1:]):
        return len(first), np.tile(np.arange(len(first)), len(lists))
    everyone, places = np.unique(np.concatenate(lists), return_inverse=True)
    return len(everyone), places


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values (1979), in the order given."""
    adjusted, largest = [0.0] * len(p), 0.0
    for place, which in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - place) * p[which]))
        adjusted[which] = largest
    return adjusted


def clopper_pearson(successes: int, trials: int, alpha: float = ALPHA) -> tuple[float, float]:
    """The exact two-sided interval of a success rate; (0, 1) of no trials."""
    failures = trials - successes
    low = float(special.betaincinv(successes, failures + 1, alpha / 2)) if successes else 0.0
    high = float(special.betainccinv(successes + 1, failures, alpha / 2)) if failures else 1.0
    return low, high
