"""What is decided about pairs of groups: conditions are tried in order, and the first that is met gives the word."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seqarena.compare.forecast import forecast
from seqarena.compare.statistics import ALPHA, Estimate, Group, contrast, holm, paired

SEEDS, PAIRED_SEEDS = 3, 4
"""Runs that a side must have for a claim about other seeds: two give intervals that are unsafe or useless."""
THESE_RUNS = "these runs only; says nothing about other seeds"


@dataclass(frozen=True)
class Side:
    """One side of a pair. `runs` are all that count, diverged ones too; `converged` those that learned something.

    `seeds` (J,) belong to `runs`, `converged_at` are the places of the converged among them; so many planned runs are
    `missing`, without a result yet.
    """

    label: str
    runs: Group
    seeds: tuple[int, ...]
    converged_at: tuple[int, ...]
    missing: int = 0

    @property
    def diverged(self) -> int:
        """How many runs diverged."""
        return self.runs.runs - len(self.converged_at)

    def only_converged(self) -> "Side":
        """The same side had its diverged runs not been there."""
        at = list(self.converged_at)
        kept = Group(self.runs.theta[at], self.runs.psi[:, at], self.runs.ids, self.runs.fixed)
        return Side(self.label, kept, tuple(self.seeds[place] for place in at), tuple(range(len(at))), self.missing)


@dataclass(frozen=True)
class Manner:
    """How pairs are decided, all of it said beforehand.

    `alpha` is the error of the whole family. `paired`: the same seed fixes something on both sides. `margin`:
    differences within it are called equal. `detect`: the difference that forecasts are about, in place of the observed
    one. `simultaneous` widens every interval for the whole family.
    """

    alpha: float = ALPHA
    more_is_better: bool | None = True
    paired: bool = False
    margin: float | None = None
    detect: float | None = None
    simultaneous: bool = False


@dataclass(frozen=True)
class Decision:
    """A word and its whole wording. `estimate` is of a - b; `half` is what is printed around it."""

    word: str
    text: str
    estimate: Estimate | None = None
    half: float | None = None
    adjusted: float | None = None
    note: str = ""


@dataclass(frozen=True)
class _Pair:
    """A pair made ready: the groups of its contrast, and how far a claim about it may reach."""

    a: Side
    b: Side
    groups: tuple[Group, ...]
    weights: tuple[float, ...]
    small: tuple[Side, ...]
    needed: int
    note: str
    estimate: Estimate | None

    @property
    def in_family(self) -> bool:
        """Whether it is decided at all, and so counts among the comparisons."""
        return self.estimate is not None and len(self.small) < 2


def no_effect(group: Group) -> bool:
    """Whether all runs, two or more, have the same result on every example."""
    return group.runs > 1 and group.examples > 0 and _same(group, group)


def _same(a: Group, b: Group) -> bool:
    every = np.concatenate([a.psi, b.psi], axis=1) if len(a.psi) == len(b.psi) else np.zeros((0, 0))
    return bool(every.size and np.ptp(every, axis=1).max() == 0 and np.ptp(np.concatenate([a.theta, b.theta])) == 0)


def _ready(a: Side, b: Side, manner: Manner) -> _Pair:
    if manner.paired:
        a, b = _common(a, b), _common(b, a)
    needed = PAIRED_SEEDS if manner.paired else SEEDS
    small = tuple(side for side in (a, b) if side.runs.runs < needed)
    if not a.runs.runs or not b.runs.runs:
        return _Pair(a, b, (), (), small, needed, "", None)
    still = [side.label for side in (a, b) if side not in small and no_effect(side.runs)]
    note = THESE_RUNS if len(small) == 2 else f"the seed has no effect on {' and '.join(still)}" if still else ""
    ga, gb = (replace(one.runs, fixed=one in small or one.label in still) for one in (a, b))
    together = manner.paired and not small and not still
    groups: tuple[Group, ...] = (paired(ga, gb),) if together else (ga, gb)
    weights = (1.0,) if together else (1.0, -1.0)
    return _Pair(a, b, groups, weights, small, needed, note, contrast(groups, weights))


def _common(side: Side, other: Side) -> Side:
    """The runs whose seed the other side has too, in the order of seeds."""
    at = sorted((seed, place) for place, seed in enumerate(side.seeds) if seed in other.seeds)
    places = [place for _, place in at]
    kept = Group(side.runs.theta[places], side.runs.psi[:, places], side.runs.ids, side.runs.fixed)
    converged = tuple(new for new, place in enumerate(places) if place in side.converged_at)
    return Side(side.label, kept, tuple(seed for seed, _ in at), converged, side.missing)


def decide(
    pairs: Sequence[tuple[Side, Side]],
    manner: Manner,
    same_outputs: Callable[[str, str], bool] = lambda a, b: True,
) -> list[Decision]:
    """A decision for each pair, corrected over all that are decided.

    `same_outputs` tells of two labels whose scores agree on every example whether the outputs do.
    """
    ready = [_ready(a, b, manner) for a, b in pairs]
    family = [place for place, pair in enumerate(ready) if pair.in_family]
    everyone = [_p(ready[place]) for place in family]
    learned = [_converged(ready[place], manner) for place in family]
    adjusted, given = holm(everyone), holm([1.0 if one is None else one.p() for one in learned])
    found = [_outside(pair) for pair in ready]
    for number, place in enumerate(family):
        judged = _Judged(ready[place], learned[number], everyone[number], adjusted[number], given[number], len(family))
        found[place] = _inside(judged, manner, same_outputs)
    return found


def _p(pair: _Pair) -> float:
    return 1.0 if pair.estimate is None else pair.estimate.p()


def _converged(pair: _Pair, manner: Manner) -> Estimate | None:
    """The estimate given that training converged; None where too few runs did."""
    if not (pair.a.diverged or pair.b.diverged):
        return pair.estimate
    kept = _ready(pair.a.only_converged(), pair.b.only_converged(), manner)
    more_small = len(kept.small) > len(pair.small)
    return None if more_small else kept.estimate


def _outside(pair: _Pair) -> Decision:
    """Pairs that nothing is decided about: a side without runs, or too few on both."""
    if pair.estimate is None:
        return Decision("not comparable", "not comparable (no finished run)")
    text = f"undecided (needs {pair.needed} seeds)"
    return Decision("undecided", text, pair.estimate, pair.estimate.half(), None, pair.note)


@dataclass(frozen=True)
class _Judged:
    """A pair of the family with its p-values: own, adjusted, and adjusted given that training converged."""

    pair: _Pair
    learned: Estimate | None
    p: float
    adjusted: float
    given: float
    comparisons: int

    @property
    def multiplier(self) -> float:
        """By how much Holm's step multiplied p, one at least."""
        return max(1.0, min(self.comparisons, self.adjusted / self.p if self.p > 0 else self.comparisons))


def _inside(judged: _Judged, manner: Manner, same_outputs: Callable[[str, str], bool]) -> Decision:
    pair, estimate = judged.pair, judged.pair.estimate
    assert estimate is not None
    if _same(pair.a.runs, pair.b.runs) and same_outputs(pair.a.label, pair.b.label):
        hint = "the configurations may be equal"
        return Decision("identical", "identical outputs", replace(estimate, value=0.0), None, 1.0, hint)
    half = estimate.half(manner.alpha / judged.comparisons if manner.simultaneous else ALPHA)
    word, text = _worded(judged, estimate, half, manner)
    return Decision(word, text, estimate, half, judged.adjusted, pair.note)


def _worded(judged: _Judged, estimate: Estimate, half: float, manner: Manner) -> tuple[str, str]:
    pair, alpha = judged.pair, manner.alpha
    missing, diverged = pair.a.missing + pair.b.missing, pair.a.diverged + pair.b.diverged
    runs = pair.a.runs.runs + pair.b.runs.runs
    if missing:
        return "incomplete", f"incomplete ({missing} of {runs + missing} runs missing)"
    if judged.adjusted <= alpha and (not diverged or _confirmed(judged, estimate, alpha)):
        word = direction(estimate.value, manner.more_is_better)
        return word, word + _reach(pair)
    unclear = "not distinguishable"
    if diverged:
        return unclear, f"{unclear} ({diverged} of {runs} runs diverged)"
    if judged.p <= alpha:
        return unclear, f"{unclear} after correction for {judged.comparisons} comparisons"
    if manner.margin is not None and abs(estimate.value) + half <= manner.margin:
        return "equal", f"equal within {manner.margin:g}"
    aim = estimate if manner.detect is None else replace(estimate, value=manner.detect)
    more = forecast(pair.groups, pair.weights, aim, alpha / judged.multiplier)
    return unclear, unclear + (f" ({more})" if more else "")


def _confirmed(judged: _Judged, estimate: Estimate, alpha: float) -> bool:
    """Whether the runs that converged say the same by themselves."""
    learned = judged.learned
    return learned is not None and judged.given <= alpha and learned.value * estimate.value > 0


def direction(difference: float, more_is_better: bool | None) -> str:
    """better or worse; of a number that is neither, higher or lower."""
    if more_is_better is None:
        return "higher" if difference > 0 else "lower"
    return "better" if (difference > 0) == more_is_better else "worse"


def _reach(pair: _Pair) -> str:
    """Of one side with few runs nothing is claimed but of these."""
    if not pair.small:
        return ""
    few = pair.small[0]
    these = "that run" if few.runs.runs == 1 else f"those {few.runs.runs} runs"
    return f" than {these} of {few.label}" if few is pair.b else f" ({these} of {few.label} only)"
