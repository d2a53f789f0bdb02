"""How far a classifier's accuracy reaches along each axis of its test: numbers in place of a row of buckets."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seqarena.evaluation import Evaluation, by_bucket
from seqarena.reach import NEAR, Stratum, design_effect, effective_length, half_life

FEWEST = 20
"""Examples that a bucket needs to be looked at."""
QUERY = {"example", "position"}
"""Columns of examples that are queries, several of a text."""
BUCKETS = 3
"""Such buckets that an axis needs."""


def reaches(found: Evaluation, buckets: Mapping[str, Sequence[int]], seed: int) -> dict[str, dict[str, Any]]:
    """By axis: effective length and half-life with their intervals, chance, and the strata that they come from.

    Chance is what the most frequent label reaches, over the whole test; both are None where the nearest stratum is
    within NEAR of it, as nothing was learned there that could be lost, and without that baseline. An axis with fewer
    than BUCKETS buckets of FEWEST examples is left out, and so are tasks whose answers are not just right or wrong.
    """
    examples = found.examples
    if "correct" not in examples.column_names:
        return {}
    measured = ((axis, strata_of(examples, axis, buckets[axis])) for axis in found.strata)
    chance = found.metrics.get("accuracy/baseline=majority")
    return {axis: _reach(strata, chance, seed) for axis, strata in measured if len(strata) >= BUCKETS}


def strata_of(examples: pa.Table, axis: str, edges: Sequence[int]) -> list[Stratum]:
    """The buckets of an axis, nearest first, that hold FEWEST examples or more; queries belong to texts."""
    values_N = examples[axis].to_numpy()
    right_N = examples["correct"].to_numpy(zero_copy_only=False)
    texts_N = examples["example"].to_numpy() if set(examples.column_names) >= QUERY else np.arange(len(examples))
    return [
        Stratum(
            name,
            float(values_N[at].mean()),
            len(at),
            int(np.count_nonzero(right_N[at])),
            design_effect(right_N[at], texts_N[at]),
        )
        for name, at in by_bucket(values_N.tolist(), edges)
        if len(at) >= FEWEST
    ]


def _reach(strata: Sequence[Stratum], chance: float | None, seed: int) -> dict[str, Any]:
    told: dict[str, Any] = {"effective_length": None, "half_life": None}
    if chance is not None and strata[0].right / strata[0].n > chance + NEAR:
        told["effective_length"] = effective_length(strata, seed).plain()
        told["half_life"] = half_life(strata, chance, seed).plain()
    return told | {
        "chance": chance,
        "buckets": [{"bucket": one.bucket, "at": one.at, "n": one.n, "accuracy": one.right / one.n} for one in strata],
    }
