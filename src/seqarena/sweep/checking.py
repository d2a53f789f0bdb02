"""What a metric and a rule may say, given the grid and what is known of the data."""

from collections.abc import Mapping, Sequence
from typing import Any

from seqarena.errors import InputError
from seqarena.sweep.axes import Axes
from seqarena.sweep.metrics import Better as Way
from seqarena.sweep.metrics import Metric, parse
from seqarena.sweep.overrides import written
from seqarena.sweep.reading import Place, nearest
from seqarena.sweep.rules import Better, Order, Point, Rule

Grid = Mapping[str, Sequence[Any]]


def check_metric(place: Place, key: str, known: Sequence[Axes]) -> list[Metric]:
    """The metric's parts, for each dataset. InputError: a run on one of them has no such number."""
    found = []
    for data in known:
        try:
            metric = parse(key, data.task)
        except InputError as error:
            raise place.error(str(error)) from error
        if metric.axis:
            _check_bucket(place, metric.axis, metric.bucket, data)
        found.append(metric)
    return found


def check_rules(place: Place, rules: Sequence[Rule], grid: Grid, over: str, known: Sequence[Axes]) -> None:
    """InputError: a rule about what the grid or the data do not have, or about the same point twice."""
    for number, rule in enumerate(rules):
        here = place.at(number)
        metrics = check_metric(here, rule.metric, known)
        if isinstance(rule, Better | Order) and any(metric.better is Way.NEITHER for metric in metrics):
            raise here.error(f"{rule.metric} is not better one way or the other: write at_least, below or equal")
        _check_points(here, rule.points())
        for point in rule.points():
            _check_point(here, point, metrics, grid, over, known)


def _check_points(place: Place, points: Sequence[Point]) -> None:
    first, *others = points
    for other in others:
        if other.keys() != first.keys():
            raise place.error(f"both sides must name the same keys, not {_told(first)} and {_told(other)}")
    words = [_told(point) for point in points]
    if len(set(words)) < len(words):
        raise place.error(f"{words[0]} is compared with itself")


def _check_point(
    place: Place, point: Point, metrics: Sequence[Metric], grid: Grid, over: str, known: Sequence[Axes]
) -> None:
    if over in point:
        raise place.error(f"{over} is averaged over, so no rule can name a value of it")
    strata = [key for key in point if key not in grid]
    if len(strata) > 1:
        raise place.error(f"{' and '.join(strata)} are not in the grid, which has {', '.join(grid)}")
    for key in (key for key in point if key in grid):
        there = [written(value) for value in grid[key]]
        if written(point[key]) not in there:
            raise place.error(f"{key}={written(point[key])} is not in the grid: there are {', '.join(there)}")
    for axis in strata:
        if not all(metric.stratified for metric in metrics):
            raise place.error(f"{axis} is not in the grid ({', '.join(grid)}), and only test/<metric> has strata")
        for data in known:
            _check_bucket(place, axis, str(point[axis]), data)


def _check_bucket(place: Place, axis: str, bucket: str, data: Axes) -> None:
    if axis not in data.buckets:
        if data.open:
            return
        raise place.error(f"{axis} is no axis of the data: there are {nearest(axis, list(data.buckets))}")
    names = data.buckets[axis]
    if names is not None and bucket not in names:
        raise place.error(f"{axis}={bucket} is no bucket of it: there are {', '.join(names)}")


def _told(point: Point) -> str:
    return "{" + ", ".join(f"{key}: {written(value)}" for key, value in sorted(point.items())) + "}"
