"""Tuning budgets: settings drawn at random, as many for every architecture, and what the best of k of them is worth."""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from omegaconf import DictConfig

from seqarena.budget.options import with_options
from seqarena.building import filled
from seqarena.errors import InputError
from seqarena.limits import check_limits


@dataclass(frozen=True)
class Range:
    """Where an option's values come from: `between` two numbers, or so many `times` its own value, by the logarithm."""

    between: tuple[float, float] | None = None
    times: tuple[float, float] | None = None

    def at(self, share: float, own: float) -> float:
        """The value that `share` (0 to 1) of the range lies below, to three digits."""
        if self.times:
            value = own * self.times[0] * (self.times[1] / self.times[0]) ** share
        else:
            assert self.between is not None
            value = self.between[0] + share * (self.between[1] - self.between[0])
        return float(f"{value:.3g}")


def drawn(config: DictConfig) -> tuple[DictConfig, dict[str, Any]]:
    """The config with what trial `budget.trial` draws, and the record's account of it; as it is without trials.

    A draw depends on the trial's number and the option's name alone: not on the seed, the architecture or the number
    of trials, so that a larger tuning budget only adds trials. InputError: no such trial, or a range of no use.
    """
    budget = config.budget
    if budget.trials is None and budget.trial is None:
        return config, {}
    if budget.trials is None or budget.trial is None or budget.trial >= budget.trials:
        raise InputError(
            f"budget.trials={_shown(budget.trials)} budget.trial={_shown(budget.trial)}: write how many settings are "
            "drawn and which of them this is, from 0, such as budget.trials=8 budget.trial=3"
        )
    values = {f"model.{name}": _value(config, str(name)) for name in budget.space}
    config = with_options(config, values)
    check_limits(config)
    return config, {"kind": budget.kind, "trials": budget.trials, "trial": budget.trial, "drawn": values}


def _shown(number: int | None) -> str:
    return "null" if number is None else str(number)


def _value(config: DictConfig, name: str) -> float:
    place, own = f"budget.space.{name}", config.model.get(name)
    if not isinstance(own, int | float):
        raise InputError(f"{place}: model={config.model.name} has no number model.{name}: write ~{place}")
    chosen = filled(Range, config.budget.space[name], place)
    if (chosen.between is None) == (chosen.times is None):
        raise InputError(f"{place} must have one of between=[low,high] and times=[low,high]")
    low, high = chosen.between or chosen.times or (0.0, 0.0)
    if low > high or (chosen.times and low <= 0):
        raise InputError(f"{place}=[{low},{high}] is empty: write the lower number first, and of times, above 0")
    random = np.random.default_rng([config.budget.trial, zlib.crc32(name.encode())])
    return chosen.at(random.random(), own)


def expected_best(scores: Sequence[float], k: int) -> float:
    """The expected maximum of `k` of the trials with these scores, drawn without replacement.

    What a tuning budget of k trials is worth: Dodge et al. 2019, "Show Your Work", whose estimator draws with
    replacement and is biased; this one is unbiased (Tang et al. 2020, "Showing Your Work Doesn't Always Work",
    section 3). The i-th lowest of n scores is the maximum of C(i - 1, k - 1) of the C(n, k) subsets. Where less is
    better, negate scores and result. ValueError: k is not from 1 to n, or a score is NaN.
    """
    n = len(scores)
    if not 1 <= k <= n:
        raise ValueError(f"the best of {k} cannot be told from {n} scores")
    if any(math.isnan(score) for score in scores):
        raise ValueError("a score is NaN: give a trial that diverged the worst score there is")
    subsets = math.comb(n, k)
    return sum(score * (math.comb(i, k - 1) / subsets) for i, score in enumerate(sorted(scores)))
