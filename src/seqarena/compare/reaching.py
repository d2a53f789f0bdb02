"""How far the runs of a group reach: what their probes found at the end, and their single numbers, side by side."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from seqarena.compare.comparison import Reach
from seqarena.reach import clear_of_chance
from seqarena.record import Record

BACK = ("distance", "beyond")
"""Axes of curves that count tokens from the end of a text."""
NUMBERS = ("effective_length", "half_life")


def reach(records: Iterable[Record]) -> Reach:
    """Of each run a value at every place of every curve, and each number with whether it was reached.

    No number of a run that is not clear of chance near by: such a run is counted.
    """
    found = Reach({}, {})
    for record in records:
        for name, at, value in _points(record):
            found.curves.setdefault(name, {}).setdefault(at, []).append(value)
        for axis, name, one in _numbers(record):
            found.numbers.setdefault(axis, {}).setdefault(name, []).append((float(one["value"]), bool(one["reached"])))
        for axis, told in record.reach.items():
            if not clear_of_chance(told):
                found.unclear[axis] = found.unclear.get(axis, 0) + 1
    curves = {name: dict(sorted(curve.items())) for name, curve in found.curves.items()}
    return Reach(curves, found.numbers, found.unclear)


def _points(record: Record) -> Iterator[tuple[str, float, float]]:
    for finding in record.probes.get("end", {}).values():
        for name, curve in finding["curves"].items():
            for point in curve["buckets"] if curve["axis"] in BACK else ():
                if point["value"] is not None and math.isfinite(point["value"]):
                    yield name, float(point["at"]), float(point["value"])


def _numbers(record: Record) -> Iterator[tuple[str, str, Any]]:
    for axis, told in record.reach.items():
        for name in NUMBERS:
            if told.get(name) is not None and clear_of_chance(told):
                yield axis, name, told[name]
