"""What the tables of a comparison say, as rows of plain text: the groups of a block, and its pairs."""

import math
from dataclasses import dataclass

from seqarena.compare.comparison import Block, GroupSummary, PairSummary, Score
from seqarena.compare.wording import DIVERGED, NOTHING, short

COSTS = {
    "parameters/total": "parameters",
    "flops/per_token_forward": "FLOP/token",
    "speed/tokens_per_s": "tokens/s",
    "memory/training_mib": "train MiB",
    "memory/peak_mib": "peak MiB",
    "cost/train_seconds": "seconds",
}
MEMORY = ("memory/training_mib", "memory/peak_mib")
"""What training took beyond what was held before it, which compares models; and all that was held at most."""


UNTOLD = f"examples {NOTHING}: what they share over seeds is too little to tell from 0"


@dataclass(frozen=True)
class Rows:
    """A table: its title, column heads, which columns hold numbers, and the cells."""

    title: str
    heads: tuple[str, ...]
    numbers: tuple[int, ...]
    cells: tuple[tuple[str, ...], ...]


def leaderboard(block: Block) -> Rows:
    """A row a group, best first: score, interval, runs, costs."""
    other = {*MEMORY} - {memory(block)}
    known = {key for group in block.groups for key in group.costs} - other
    shown = {key: name for key, name in COSTS.items() if key in known}
    heads = (block.data, block.metric, "95 % interval", "runs", *shown.values())
    cells = tuple(
        (group.label, *_scored(block, group.score), _counted(group), *(_cost(group.costs.get(key)) for key in shown))
        for group in block.groups
    )
    return Rows(block.title, heads, tuple(range(1, len(heads))), cells)


def memory(block: Block) -> str:
    """The key of the memory that is shown: of training alone where every model has it, else the peak."""
    measured = [group.costs for group in block.groups if any(key in group.costs for key in MEMORY)]
    return MEMORY[0] if all(MEMORY[0] in costs for costs in measured) else MEMORY[1]


def _scored(block: Block, score: Score | None) -> tuple[str, str]:
    if score is None:
        return "–", "no finished run"
    if score.low is None or score.high is None:
        return fixed(score.value * block.factor, 1), score.note
    digits = decimals((score.high - score.low) / 2 * block.factor)
    return fixed(score.value * block.factor, digits), _limits(score.low, score.high, block.factor, digits)


def _counted(group: GroupSummary) -> str:
    missing = f", {group.missing} missing" if group.missing else ""
    diverged = group.counted - group.converged
    return f"{group.counted}{f' ({diverged} diverged)' if diverged else ''}{missing}"


def _cost(cost: Score | None) -> str:
    return short(None if cost is None else cost.value)


def pairs(block: Block) -> Rows:
    """A row a pair: both values, difference with interval, what makes it wide, p, and the decision."""
    heads = (
        "A",
        "B",
        "A",
        "B",
        "A / B" if block.ratio else "diff",
        "95 % interval",
        "seeds ±",
        "examples ±",
        "p",
        "decision",
    )
    cells = tuple(_pair(block, pair) for pair in block.pairs)
    return Rows(heading(block), heads, tuple(range(2, 9)), cells)


def heading(block: Block) -> str:
    """What the pairs are about, and how they are decided."""
    metric = block.metric.removeprefix("test/")
    on = f"{metric} on {block.examples:,} examples" if block.examples else metric
    corrected = f"decisions corrected over {block.comparisons} comparison{'s' * (block.comparisons != 1)} (Holm)"
    intervals = "intervals hold for all pairs at once" if block.simultaneous else "intervals are per pair"
    return f"{on}; {intervals}, {corrected}"


def _pair(block: Block, pair: PairSummary) -> tuple[str, ...]:
    decision = pair.decision + (f"; {pair.note}" if pair.note else "")
    if pair.difference is None:
        return (
            pair.a,
            pair.b,
            *(_value(block, one) for one in (pair.a_value, pair.b_value)),
            "",
            "",
            "",
            "",
            "",
            decision,
        )
    times = block.factor
    half = 0.0 if pair.low is None or pair.high is None else (pair.high - pair.low) / 2 * times
    digits = decimals(half)
    return (
        pair.a,
        pair.b,
        _value(block, pair.a_value),
        _value(block, pair.b_value),
        fixed(pair.difference * times, digits, sign=not block.ratio),
        "" if pair.low is None or pair.high is None else _limits(pair.low, pair.high, times, digits),
        "" if pair.seeds_half is None else fixed(pair.seeds_half * times, digits),
        "" if pair.examples_half is None or not block.examples else _part(pair.examples_half * times, digits),
        "" if pair.p is None else p_value(pair.p),
        decision,
    )


def _part(half: float, digits: int) -> str:
    """A part of an interval; its variance is a difference of two, and where that is not above 0 nothing can be told."""
    least = 10.0**-digits
    return NOTHING if not half else f"<{least:g}" if half < least / 2 else fixed(half, digits)


def _value(block: Block, value: float | None) -> str:
    if value is None:
        return "–"
    return fixed(value * block.factor, 1 if block.factor != 1 or abs(value) >= 10 else 4)


def converged(block: Block) -> str:
    """How many trainings converged, and how many would at least; what that share is, the first time only."""
    known = [one for one in block.groups if one.counted]
    meant = [" of such runs, with 95 % confidence", *("" for _ in known)]
    told = [
        f"{one.label} {one.converged} of {one.counted} (at least {100 * one.rate_low:.0f} %{share})"
        for one, share in zip(known, meant, strict=False)
    ]
    return f"converged: {', '.join(told)}" if told else ""


def legend(block: Block) -> list[str]:
    """What stands in the tables and needs saying, a line each."""
    clipped = bool(block.examples) and any(pair.examples_half == 0 for pair in block.pairs)
    return [*([UNTOLD] if clipped else []), *diverged(block)]


def diverged(block: Block) -> list[str]:
    """What is called so, where any run is."""
    return [DIVERGED] if any(one.converged < one.counted for one in block.groups) else []


def given_converged(block: Block) -> list[str]:
    """Beside the headline over all runs, the mean of those that converged."""
    found = []
    for group in block.groups:
        if group.given_converged is not None:
            value, limits = _scored(block, group.given_converged)
            found.append(f"{group.label}, given that training converged: {value} {limits}")
    return found


def decimals(half: float) -> int:
    """So many that the half-width shows two digits."""
    if half <= 0 or not math.isfinite(half):
        return 1
    return min(max(1 - math.floor(math.log10(half)), 0), 6)


def fixed(value: float, digits: int, sign: bool = False) -> str:
    """A number with so many decimals, never minus zero."""
    told = f"{value:{'+' if sign else ''},.{digits}f}"
    return told.lstrip("+-") if float(told.replace(",", "")) == 0 else told


def p_value(p: float) -> str:
    """Three decimals."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _limits(low: float, high: float, times: float, digits: int) -> str:
    return f"[{fixed(low * times, digits)}, {fixed(high * times, digits)}]"
