"""The heading over each figure, computed from the records and never typed: what was found, or that nothing was."""

from collections.abc import Mapping, Sequence
from typing import Any

from seqarena.compare.trends import TOO_FEW
from seqarena.compare.wording import counted, listed, num

Row = Mapping[str, Any]
NEAR = 0.95
"""Part of the final score that counts as having learned."""


def leaderboard(rows: Sequence[Row], names: Mapping[str, str]) -> str:
    """Who is first, and who cannot be told apart from it."""
    scored = [row for row in rows if row["mean"] is not None]
    if not scored:
        return "No run has a score yet"
    best, others = scored[0], scored[1:]
    first = names[best["model"]]
    if not others:
        return f"{first}, alone so far"
    words = {row["model"]: best["versus"].get(row["model"], {}).get("word", "") for row in others}
    open_ = [key for key, word in words.items() if word in ("undecided", "incomplete", "not comparable", "")]
    if open_:
        return f"{first} is first in these runs; more are needed to say more"
    ties = [key for key, word in words.items() if word != "better"]
    if not ties:
        return f"{first} is first, and clear of the rest"
    if len(ties) == len(others) and len(others) > 1:
        return f"No model can be told apart from {first}, the first"
    tied = listed([names[key] for key in ties]) if len(ties) < 3 else f"{len(ties)} others"
    return (
        f"{first} is first, but cannot be told apart from {tied}"
        if len(ties) < 3
        else (f"{first} is first, but {tied} cannot be told apart from it")
    )


def by_axis(axis: str, found: Mapping[str, Any], names: Mapping[str, str], less: bool, digits: int, unit: str) -> str:
    """Which model loses most along an axis, where the interval of its trend leaves zero out."""
    known = {key: _worse(trend, less) for key, trend in found["trends"].items() if None not in trend}
    if not known:
        return "Too few runs or test examples for intervals by bucket"
    measured = [bucket for bucket, n in zip(found["buckets"], found["n"], strict=True) if n >= TOO_FEW]
    span = f"{axis} {measured[0]} to {measured[-1]}"
    falls = {key: loss for key, (loss, least, _) in known.items() if least > 0}
    if not falls:
        gains = any(most < 0 for _, _, most in known.values())
        return f"From {span}, no model shows a clear {'loss' if gains else 'change'}"
    worst = max(falls, key=lambda key: falls[key])
    calm = [names[key] for key in known if key not in falls]
    rest = "" if not calm else f"; {listed(calm)} {'shows' if len(calm) == 1 else 'show'} no clear loss"
    if len(calm) > 2:
        rest = f"; {len(calm)} others show no clear loss"
    return f"From {span}, {names[worst]} loses most: {num(falls[worst], digits)}{unit}{rest}"


def _worse(trend: Sequence[float], less: bool) -> tuple[float, float, float]:
    """A change over the axis with its limits as a loss with its limits, the least first."""
    value, low, high = trend
    return (value, low, high) if less else (-value, -high, -low)


def curves(found: Mapping[str, Any], names: Mapping[str, str], less: bool) -> str:
    """Which model needs the fewest steps to nearly its own final score, and which most; who gains nothing is out."""
    reached = {key: _reached(one["median"], less) for key, one in found.items()}
    known = {key: step for key, step in reached.items() if step is not None}
    if less:
        return "How the models learn"
    if not known:
        return "No model gains more than a twentieth after its first validation"
    first, last = min(known, key=lambda key: known[key]), max(known, key=lambda key: known[key])
    share = f"{NEAR:.0%}".replace("%", " %")
    if known[first] == known[last]:
        return f"Every model is at {share} of its final score by {counted(known[last], 'step')}"
    return (
        f"{names[first]} needs {counted(known[first], 'step')} to {share} of its final score, "
        f"{names[last]} {num(known[last], 0)}"
    )


def _reached(median: Mapping[str, Sequence[float | None]], less: bool) -> int | None:
    pairs = [(step, value) for step, value in zip(median["steps"], median["values"], strict=True) if value is not None]
    if less or not pairs or pairs[-1][1] * NEAR < pairs[0][1]:
        return None
    return next(int(step or 0) for step, value in pairs if value >= NEAR * pairs[-1][1])
