"""What the page draws as lines: scores by bucket of each axis, and learning curves."""

from collections.abc import Sequence
from typing import Any

from seqarena.compare.comparison import Block, Curve, Stratum
from seqarena.compare.trends import TOO_FEW
from seqarena.compare.views import keys, triple


def strata(block: Block) -> dict[str, dict[str, Any]]:
    """Buckets, test examples in each and every group's value, low and high there, by axis; length comes first.

    A bucket with too few examples for an interval has no values, only their number. One bucket alone is no axis.
    """
    order = sorted(block.strata, key=lambda name: (name != "length", list(block.strata).index(name)))
    return {name: _axis(block, name, block.strata[name]) for name in order if len(block.strata[name]) > 1}


def _axis(block: Block, name: str, buckets: Sequence[Stratum]) -> dict[str, Any]:
    series = {key: [_known(one, label, block.factor) for one in buckets] for label, key in keys(block).items()}
    names = [one.bucket for one in buckets]
    boundary = _trained(block, names) if name == "length" else None
    return {
        "buckets": names,
        "n": [one.n for one in buckets],
        "boundary": boundary,
        "series": {key: values for key, values in series.items() if any(values)},
        "trends": {keys(block)[label]: triple(one, block.factor) for label, one in block.trends.get(name, {}).items()},
    }


def _known(bucket: Stratum, label: str, factor: float) -> list[float | None] | None:
    enough = label in bucket.scores and bucket.n >= TOO_FEW
    return triple(bucket.scores[label], factor) if enough else None


def _trained(block: Block, names: Sequence[str]) -> int | None:
    """The place of the first bucket that begins beyond the longest text of training; None if none does."""
    longest = block.data_report.get("lengths", {}).get("source", {}).get("longest", {}).get("train")
    starts = [name.rstrip("+").partition("-")[0] for name in names]
    if longest is None:
        return None
    beyond = [place for place, start in enumerate(starts) if start.isdigit() and int(start) > longest]
    return beyond[0] if beyond and beyond[0] > 0 else None


def curves(block: Block) -> dict[str, dict[str, Any]]:
    """Every run of a group, and the median over those that converged, at the steps that at least half of them reach."""
    found: dict[str, dict[str, Any]] = {}
    for label, key in keys(block).items():
        own = [one for one in block.curves if one.group == label and one.values]
        if own:
            good = [one for one in own if one.converged] or own
            found[key] = {"runs": [_curve(one, block.factor) for one in own], "median": _median(good, block.factor)}
    return found


def _curve(curve: Curve, factor: float) -> dict[str, Any]:
    values = [None if one is None else one * factor for one in curve.values]
    whole = {"steps": curve.steps, "tokens": curve.tokens, "seconds": curve.seconds, "values": values}
    return whole | {"seed": curve.seed, "diverged": not curve.converged}


def _median(curves: Sequence[Curve], factor: float) -> dict[str, list[float | None]]:
    reached = [step for curve in curves for step in curve.steps]
    steps = sorted(step for step in set(reached) if 2 * reached.count(step) >= len(curves))
    found: dict[str, list[float | None]] = {"steps": list(steps)}
    for name, scale in (("tokens", 1.0), ("seconds", 1.0), ("values", factor)):
        at = [dict(zip(curve.steps, getattr(curve, name), strict=True)) for curve in curves]
        found[name] = [_middle([one[step] for one in at if one.get(step) is not None], scale) for step in steps]
    return found


def _middle(values: Sequence[float], scale: float) -> float | None:
    ordered, half = sorted(values), len(values) // 2
    if not ordered:
        return None
    return scale * (ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2)
