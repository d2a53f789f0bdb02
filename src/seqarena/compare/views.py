"""A block of a comparison as its page shows it: scores in shown units, groups by key, links to runs, headings.

Labels come from records and may hold anything, so that the page knows groups by keys of ours: `g0`, `g1` ...
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from seqarena.compare.advice import elsewhere, key_of
from seqarena.compare.comparison import Banner, Block, GroupSummary, PairSummary, Run, Score
from seqarena.compare.palette import styles
from seqarena.compare.rows import memory

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
    "memory": {"key": "memory/training_mib", "label": "Training memory", "short": "Train memory", "unit": "MiB"},
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
PEAK = {"key": "memory/peak_mib", "label": "Peak memory", "short": "Peak memory", "unit": "MiB"}
"""In place of training's memory where runs lack it."""
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
    "mfu": "Model FLOPs utilization",
    "train_seconds": "Training time, s",
    "training_mib": "Training memory, MiB",
    "peak_mib": "Peak memory, MiB",
    "decode_tokens_per_s": "Decoded tokens per second",
    "latency_ms": "Latency, ms",
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
    """Name, model and style of each group, by key; a model that all share is left out of their names."""
    chosen = styles([group.model for group in block.groups])
    shared = len({group.model for group in block.groups}) == 1
    return {
        f"g{number}": {"name": _name(group, shared), "model": group.model, **vars(style)}
        for number, (group, style) in enumerate(zip(block.groups, chosen, strict=True))
    }


def _name(group: GroupSummary, shared: bool) -> str:
    return group.label.removeprefix(f"{group.model} ") if shared else group.label


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
        "cost": {name: _cost(group, one) for name, one in costs(block).items()},
        "versus": _versus(block, group.label),
    }


def _seed(run: Run, factor: float, page: Path) -> dict[str, Any]:
    score = None if run.score is None else run.score * factor
    return {"seed": run.seed, "score": score, "href": link(run.folder, page), "status": run.status}


def costs(block: Block) -> dict[str, dict[str, Any]]:
    """The costs as this block's table has them, too; whether more of each is better."""
    peak = {"memory": PEAK} if memory(block) == PEAK["key"] else {}
    return {name: one | {"more": name in MORE} for name, one in (COSTS | peak).items()}


def limits(block: Block, asked: Mapping[str, float]) -> dict[str, Any]:
    """Where the sliders stand for the command's limits, in shown units, and those `beside` that have no slider."""
    sliders = {one["key"]: name for name, one in costs(block).items() if name not in (*MORE, "minutes")}
    known = {name: sliders.get(key_of(block, name)) for name in asked}
    placed = {slider: asked[name] * COSTS[slider].get("scale", 1) for name, slider in known.items() if slider}
    return {"sliders": placed, "beside": ", ".join(name for name, slider in known.items() if not slider)}


def _cost(group: GroupSummary, one: Mapping[str, Any]) -> float | None:
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
    if last <= first:  # all alike: an axis needs two ends all the same
        first, last = (first - step, first) if block.factor == 100 else (first, first + step)
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


def unfair(block: Block, banners: Sequence[Banner]) -> dict[str, list[str]]:
    """Groups timed on another machine than most, and the costs that this spoils."""
    odd = elsewhere(block, banners)
    models = [key for label, key in keys(block).items() if label in odd]
    return {"models": models, "costs": list(BY_MACHINE) if models else []}
