"""Learning curves from `history.jsonl`, thinned to what a plot can show."""

import math
from collections.abc import Sequence

from seqarena.compare.comparison import Curve
from seqarena.compare.records import Entry
from seqarena.history import FILE, read

POINTS = 100
MONITORED = {"classification": "val/accuracy", "tagging": "val/accuracy", "translation": "val/bleu"}


def curve(entry: Entry, label: str) -> Curve | None:
    """Validation by step, with tokens and seconds of training there; None without any."""
    key = MONITORED[entry.record.task]
    lines = read(entry.folder, (key, "cost/tokens")) if (entry.folder / FILE).exists() else []
    costs = {line["step"]: line for line in lines if "cost/tokens" in line}
    values = {line["step"]: line[key] for line in lines if key in line}
    steps = thinned(sorted(values), POINTS)
    if not steps:
        return None
    return Curve(
        run=entry.record.run,
        group=label,
        seed=entry.record.seed,
        converged=not entry.diverged,
        key=key,
        steps=steps,
        tokens=[costs.get(step, {}).get("cost/tokens") for step in steps],
        seconds=[costs.get(step, {}).get("cost/train_seconds") for step in steps],
        values=[values[step] for step in steps],
    )


def thinned(steps: Sequence[int], points: int) -> list[int]:
    """So many of these at most, evenly, the first and the last among them."""
    if len(steps) <= points:
        return list(steps)
    return [steps[round(place * (len(steps) - 1) / (points - 1))] for place in range(points)]


def finite(value: float) -> float | None:
    """None of a number that is not finite."""
    return value if math.isfinite(value) else None
