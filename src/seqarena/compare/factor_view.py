"""The score over an option that was given several numbers, as the page draws it: a line for each setting of the rest.

Values of an option may make test sets of their own (a delay, a number of pairs), and then their runs stand in blocks of
their own and no difference between them is decided. What they score can be seen side by side all the same.
"""

import math
from collections.abc import Mapping
from typing import Any

from seqarena.compare.comparison import Block, Comparison, GroupSummary
from seqarena.compare.palette import styles
from seqarena.compare.views import digits, metric_name, triple

MODEL = "model"
"""The option that every line's name begins with."""

Key = tuple[tuple[str, str], ...]
"""What sets a line apart from the others."""


def number(value: str) -> float | None:
    """The number that an option was given, also in a list of nothing else, such as a range from it to itself."""
    try:
        numbers = {float(part) for part in value.removeprefix("[").removesuffix("]").split(",")}
    except ValueError:
        return None
    return numbers.pop() if len(numbers) == 1 and math.isfinite(*numbers) else None


def scaling(comparison: Comparison) -> dict[str, Any]:
    """By option: its numbers and, by line, the score's value, low and high at each of them; and the lines' names.

    Of the blocks whose metric is that of the first. An option is there if any line has two points or more.
    """
    if not comparison.blocks:
        return {"models": {}, "factors": {}}
    first = comparison.blocks[0]
    groups = [
        (block, group)
        for block in comparison.blocks
        if block.metric == first.metric
        for group in block.groups
        if group.score is not None
    ]
    found: dict[str, dict[str, Any]] = {"models": {}, "factors": {}}
    for name in dict.fromkeys(name for _, group in groups for name in group.factors if name != MODEL):
        lines = _lines(name, groups)
        if any(len(line) > 1 for line in lines.values()):
            prefix = f"f{len(found['factors'])}l"
            found["models"] |= _named(prefix, lines, len({block.data for block, _ in groups}) > 1)
            found["factors"][name] = _points(prefix, lines)
    about = {"metric": metric_name(first.metric), "unit": "%" if first.factor == 100 else "", "digits": digits(first)}
    return found | about


def _lines(name: str, groups: list[tuple[Block, GroupSummary]]) -> dict[Key, dict[float, list[float | None]]]:
    """By what else sets groups apart: the score at each number of the option `name`."""
    lines: dict[Key, dict[float, list[float | None]]] = {}
    for block, group in groups:
        at = number(group.factors.get(name, ""))
        if at is not None and group.score is not None:
            rest = {key: value for key, value in group.factors.items() if key not in (name, MODEL)}
            key = (("data", block.data), (MODEL, group.model), *sorted(rest.items()))
            lines.setdefault(key, {})[at] = triple(group.score, block.factor)
    return lines


def _named(prefix: str, lines: Mapping[Key, Any], several: bool) -> dict[str, dict[str, str]]:
    """Name and style of each line; the data is told where there are `several`."""
    chosen = styles([dict(key)[MODEL] for key in lines])
    return {
        f"{prefix}{place}": {"name": _name(dict(key), several), **vars(style)}
        for place, (key, style) in enumerate(zip(lines, chosen, strict=True))
    }


def _name(key: dict[str, str], several: bool) -> str:
    data, model = key.pop("data"), key.pop(MODEL)
    rest = [f"{name.rpartition('.')[2]}={value}" for name, value in key.items()]
    return " ".join([model, *rest, *([data] if several else [])])


def _points(prefix: str, lines: Mapping[Key, dict[float, list[float | None]]]) -> dict[str, Any]:
    at = sorted({x for line in lines.values() for x in line})
    series = {f"{prefix}{place}": [line.get(x) for x in at] for place, line in enumerate(lines.values())}
    return {"x": at, "series": series}
