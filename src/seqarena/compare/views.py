"""A block of a comparison as its page shows it: scores in shown units, groups by key, links to runs, headings.

Labels come from records and may hold anything, so that the page knows groups by keys of ours: `g0`, `g1` ...
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from seqarena.compare.comparison import Banner, Block, Curve, GroupSummary, PairSummary, Run, Score, Stratum
from seqarena.compare.palette import styles
from seqarena.compare.trends import TOO_FEW

COSTS: dict[str, dict[str, Any]] = {
    "speed": {"key": "speed/tokens_per_s", "label": "Training speed", "short": "Train speed", "unit": "tokens/s"},
    "parameters": {"key": "parameters/total", "label": "Parameters", "short": "Parameters", "unit": "M", "scale": 1e-6},
    "flops": {
        "key": "flops/per_token_forward",
        "label": "Compute",
        "short": "FLOPs",
        "unit": "MFLOP/token",
        "scale": 1e-6,
    },
    "memory": {"key": "memory/training_mib", "label": "Training memory", "short": "Memory", "unit": "MiB"},
    "latency": {"key": "speed/latency_ms", "label": "Latency", "short": "Latency", "unit": "ms"},
    "decoding": {
        "key": "speed/decode_tokens_per_s",
        "label": "Decoding speed",
        "short": "Decoding",
        "unit": "tokens/s",
    },
    "minutes": {"key": "cost/train_seconds", "label": "Time", "short": "Time", "unit": "min/run", "scale": 1 / 60},
}
"""What a model costs, in the order shown, with its key in the record; `scale` takes the record's unit to the shown."""
MORE = ("speed", "decoding")
"""Costs of which more is better."""
BY_MACHINE = ("speed", "memory", "latency", "decoding", "minutes")
"""Costs that depend on the machine."""
METRICS = {
    "accuracy": "Accuracy",
    "f1_macro": "Macro-F1",
    "loss": "Loss",
    "length_ratio": "Length ratio",
    "empty_outputs": "Empty outputs",
    "bleu": "BLEU",
    "chrf": "chrF",
    "tokens_per_s": "Tokens per second",
    "train_seconds": "Training time, s",
}
FLIPPED = {"better": "worse", "worse": "better"}


def metric_name(metric: str) -> str:
    """`test/accuracy` as `Accuracy`; a name that is not known stays as it is."""
    last = metric.rpartition("/")[2]
    return METRICS.get(last, last)


def digits(block: Block) -> int:
    """Decimals of a score: one of percent and BLEU, three of losses, none of large counts."""
    last = block.metric.rpartition("/")[2]
    if block.ratio:
        return 0 if all(group.score is None or group.score.value >= 100 for group in block.groups) else 2
    return 1 if block.factor == 100 or last in ("bleu", "chrf") else 3


def keys(block: Block) -> dict[str, str]:
    """Our key of each group, by label."""
    return {group.label: f"g{number}" for number, group in enumerate(block.groups)}


def models(block: Block) -> dict[str, dict[str, str]]:
    """Name, model and style of each group, by key."""
    chosen = styles([group.model for group in block.groups])
    return {
        f"g{number}": {"name": group.label, "model": group.model, **vars(style)}
        for number, (group, style) in enumerate(zip(block.groups, chosen, strict=True))
    }


def link(folder: str, page: Path, file: str = "record.json") -> str:
    """A relative address from the folder of the page to a run's file; never one with a scheme."""
    path = os.path.relpath(Path(folder).absolute() / file, page.absolute())
    return quote(path if path.startswith("..") else f"./{path}")


def triple(score: Score, factor: float) -> list[float | None]:
    """Value, low and high as shown."""
    return [None if one is None else one * factor for one in (score.value, score.low, score.high)]


# the leaderboard ------------------------------------------------------------------------------------------------------


def rows(block: Block, page: Path) -> list[dict[str, Any]]:
    """A row a group, the best first; groups without a score come last."""
    found = [_row(block, group, page) for group in block.groups]
    sign = -1 if block.more_is_better is False else 1
    found.sort(key=lambda row: -math.inf if row["mean"] is None else sign * row["mean"], reverse=True)
    return found


def _row(block: Block, group: GroupSummary, page: Path) -> dict[str, Any]:
    mean, low, high = triple(group.score, block.factor) if group.score else [None, None, None]
    own = [run for run in block.runs if run.group == group.label]
    return {
        "model": keys(block)[group.label],
        "n": group.counted + group.missing,
        "diverged": group.counted - group.converged,
        "missing": group.missing,
        "mean": mean,
        "low": low,
        "high": high,
        "note": group.score.note if group.score else "no result",
        "seeds": [_seed(run, block.factor, page) for run in own],
        "cost": {name: _cost(group, name) for name in COSTS},
        "versus": _versus(block, group.label),
    }


def _seed(run: Run, factor: float, page: Path) -> dict[str, Any]:
    score = None if run.score is None else run.score * factor
    return {"seed": run.seed, "score": score, "href": link(run.folder, page), "status": run.status}


def _cost(group: GroupSummary, name: str) -> float | None:
    one = COSTS[name]
    return float(group.costs[one["key"]].value * one.get("scale", 1)) if one["key"] in group.costs else None


def _versus(block: Block, label: str) -> dict[str, dict[str, Any]]:
    """What is decided about this group against each other one, from its own side."""
    known = keys(block)
    own = {known[pair.b]: _difference(pair, block, True) for pair in block.pairs if pair.a == label}
    return own | {known[pair.a]: _difference(pair, block, False) for pair in block.pairs if pair.b == label}


def _difference(pair: PairSummary, block: Block, from_a: bool) -> dict[str, Any]:
    """The pair seen from a or from b; a ratio is turned over, a difference changes its sign."""

    def seen(value: float | None) -> float | None:
        if value is None:
            return None
        return (value if from_a else 1 / value) if block.ratio else block.factor * (value if from_a else -value)

    low, high = (pair.low, pair.high) if from_a else (pair.high, pair.low)
    word = pair.word if from_a else FLIPPED.get(pair.word, pair.word)
    rest = pair.decision.removeprefix(pair.word).strip().removeprefix("(").removesuffix(")")
    values = {"difference": seen(pair.difference), "low": seen(low), "high": seen(high)}
    return values | {"word": word, "rest": rest, "adjusted": pair.adjusted, "note": pair.note}


def axis(block: Block, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A tidy axis for the score column. Models far below the rest would flatten it: they get an arrow instead."""
    inside = [row for row in found if row["mean"] is not None]
    while len(inside) > 3 and _reach(inside[:-1]) < 0.35 * _reach(inside):
        inside.pop()
    low, high = _limits(inside) if inside else (0.0, 1.0)
    step = _step(max(high - low, 10.0 ** -digits(block)))
    first, last = math.floor(low / step) * step, math.ceil(high / step) * step
    last = min(last, 100.0) if block.factor == 100 and high <= 100 else last
    ticks = [first + step * place for place in range(round((last - first) / step) + 1)]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return {"low": ticks[0], "high": ticks[-1], "ticks": ticks, "digits": decimals}


def _limits(found: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    points = [row[name] for row in found for name in ("mean", "low", "high")]
    points += [seed["score"] for row in found for seed in row["seeds"]]
    known = [value for value in points if value is not None and math.isfinite(value)]
    return min(known), max(known)


def _reach(found: Sequence[Mapping[str, Any]]) -> float:
    low, high = _limits(found)
    return high - low


def _step(reach: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that divides `reach` into at most four."""
    power = 10.0 ** math.floor(math.log10(reach / 4))
    return next(power * one for one in (1, 2, 5, 10) if reach / (power * one) <= 4)


# strata and curves ----------------------------------------------------------------------------------------------------


def strata(block: Block) -> dict[str, dict[str, Any]]:
    """Buckets, test examples in each and every group's value, low and high there, by axis; length comes first.

    A bucket with too few examples for an interval has no values, only their number.
    """
    order = sorted(block.strata, key=lambda name: (name != "length", list(block.strata).index(name)))
    return {name: _axis(block, name, block.strata[name]) for name in order if block.strata[name]}


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


def unfair(block: Block, banners: Sequence[Banner]) -> dict[str, list[str]]:
    """Groups timed on another machine than most, and the costs that this spoils."""
    for banner in banners:
        if "machine" in banner.differs and not banner.separates:
            most = max(banner.values, key=lambda value: len(banner.values[value]))
            others = {run for value, runs in banner.values.items() if value != most for run in runs}
            odd = {run.group for run in block.runs if run.name in others}
            return {"models": [key for label, key in keys(block).items() if label in odd], "costs": list(BY_MACHINE)}
    return {"models": [], "costs": []}
