"""Verdict rules: what must be true of a sweep's numbers for its claim to be supported, or refuted.

A rule is about points. A point, `{model: lstm, distance: 32+}`, names values of grid keys and at most one stratum axis
of the data with a bucket of it (a grid key wins over an axis of the same name). Its value is the rule's metric there:
the mean over all values of the sweep's `over` axis, with a confidence interval over runs and test examples.

Grid keys (but `over`) that a rule does not name are the same on both of its sides, and the rule is meant at each of
their combinations.

A rule *holds* where the interval of what it compares lies wholly on the rule's side of its bound, at each combination.
It *fails* where that interval lies wholly on the other side, at one combination or more. Otherwise it is open, as it is
where a run is missing. A claim is *supported* if all rules of `supported` hold and none of `refuted` does, *refuted* if
any rule of `refuted` holds and not all of `supported` do, else *undecided*; that a rule of `supported` fails refutes
nothing by itself, since claims can fail to be true without being false in the way that was named beforehand.

Better means more of an accuracy, less of a loss; `sweep/metrics.py` says which. A *lead* of A over B is A - B where
more is better, B - A where less is; a *ratio* is A / B where more is better, B / A where less is.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeAlias

from seqarena.sweep.reading import Place, items, mapping, nearest, number, options, switch, text

Point: TypeAlias = Mapping[str, Any]
"""Values by grid key, and a bucket's name by stratum axis."""


@dataclass(frozen=True)
class AtLeast:
    """The value at `where` is `value` or more."""

    where: Point
    value: float
    metric: str

    def points(self) -> list[Point]:
        """The points that the rule speaks of."""
        return [self.where]


@dataclass(frozen=True)
class Below:
    """The value at `where` is less than `value`."""

    where: Point
    value: float
    metric: str

    def points(self) -> list[Point]:
        """The points that the rule speaks of."""
        return [self.where]


@dataclass(frozen=True)
class Better:
    """`where` is better than `than` by `margin`: its lead is `margin` or more.

    With `relative` its ratio is 1 + `margin` or more: margin 4 is five times as fast. A negative margin, above -1 where
    relative, says that `where` is not worse than that: -0.02 is at most two points behind, relative -0.8 at least a
    fifth as fast.
    """

    where: Point
    than: Point
    metric: str
    margin: float = 0.0
    relative: bool = False

    def points(self) -> list[Point]:
        """The points that the rule speaks of."""
        return [self.where, self.than]


@dataclass(frozen=True)
class Order:
    """Of the values `ranking` of the grid key or axis `along`, best first, each has a lead above 0 over the next."""

    along: str
    ranking: tuple[Any, ...]
    metric: str
    where: Point = field(default_factory=dict)

    def points(self) -> list[Point]:
        """The points that the rule speaks of."""
        return [{**self.where, self.along: value} for value in self.ranking]


@dataclass(frozen=True)
class Falls:
    """At `end` of the grid key or axis `along` the metric is lower than at `start`, by `by` or more.

    It is the number that falls, whether or not less is better: value(start) - value(end), with `relative` that divided
    by value(start).
    """

    along: str
    start: Any
    end: Any
    by: float
    metric: str
    where: Point = field(default_factory=dict)
    relative: bool = False

    def points(self) -> list[Point]:
        """The points that the rule speaks of."""
        return [{**self.where, self.along: value} for value in (self.start, self.end)]


@dataclass(frozen=True)
class Equal:
    """The values at `where` and `than` differ by no more than `within`, either way.

    With `relative` that is a share of the value at `than`.
    """

    where: Point
    than: Point
    within: float
    metric: str
    relative: bool = False

    def points(self) -> list[Point]:
        """The points that the rule speaks of."""
        return [self.where, self.than]


@dataclass(frozen=True)
class Declines:
    """Along `steps` of the grid key or axis `along`, in their order, the metric goes down by `by` or more in all.

    What goes down is a straight line through all of them, each a step from the next, so one value out of line decides
    less than it does in `falls`. At least three steps.
    """

    along: str
    steps: tuple[Any, ...]
    by: float
    metric: str
    where: Point = field(default_factory=dict)

    def points(self) -> list[Point]:
        """The points that the rule speaks of."""
        return [{**self.where, self.along: value} for value in self.steps]


@dataclass(frozen=True)
class Converges:
    """At `where` a training converges with a probability of `at_least` or more, by the exact interval of the count.

    Converged is a run that was finished and validates above a constant answer.
    """

    where: Point
    at_least: float
    metric: str

    def points(self) -> list[Point]:
        """The points that the rule speaks of."""
        return [self.where]


Rule: TypeAlias = AtLeast | Below | Better | Order | Falls | Equal | Declines | Converges

KINDS: Mapping[str, type[Rule]] = {
    "at_least": AtLeast,
    "below": Below,
    "better": Better,
    "order": Order,
    "falls": Falls,
    "equal": Equal,
    "declines": Declines,
    "converges": Converges,
}
SPELLED = {"ranking": "as", "start": "from", "end": "to", "steps": "over"}
"""Fields that a file calls otherwise."""


def plain(place: Place, told: Any) -> Any:
    """Any value."""
    return told


def share(place: Place, told: Any) -> float:
    """A number above 0."""
    if (found := number(place, told)) <= 0:
        raise place.error(f"{told} must be above 0")
    return found


def probability(place: Place, told: Any) -> float:
    """A number above 0 and below 1."""
    if not 0 < (found := number(place, told)) < 1:
        raise place.error(f"{told} must lie between 0 and 1")
    return found


def steps(place: Place, told: Any) -> tuple[Any, ...]:
    """Three values or more."""
    found = items(place, told, plain)
    if len(found) < 3:
        raise place.error(f"{told} must name three values or more, in their order; of two, write falls")
    return found


def ranking(place: Place, told: Any) -> tuple[Any, ...]:
    """Two values or more."""
    found = items(place, told, plain)
    if len(found) < 2:
        raise place.error(f"{told} must name two values or more, the best first")
    return found


READERS: Mapping[str, Callable[[Place, Any], Any]] = {
    **dict.fromkeys(("where", "than"), options),
    **dict.fromkeys(("value", "margin"), number),
    **dict.fromkeys(("by", "within"), share),
    **dict.fromkeys(("metric", "along"), text),
    **dict.fromkeys(("start", "end"), plain),
    "relative": switch,
    "ranking": ranking,
    "steps": steps,
    "at_least": probability,
}
"""How each field is read, whatever the rule."""


def parse(place: Place, told: Any, metric: str) -> Rule:
    """A rule as it stands in a file, `{better: {where: {model: lstm}, than: {model: rnn}, margin: 0.02}}`.

    `metric` is that of a rule which names none.
    """
    if not isinstance(told, dict) or len(told) != 1:
        raise place.error(f"{told!r} must be one rule, such as at_least: {{where: {{model: lstm}}, value: 0.9}}")
    ((kind, written),) = told.items()
    if kind not in KINDS:
        raise place.error(f"{kind} is no rule: there are {nearest(str(kind), list(KINDS))}")
    place = place.at(kind)
    parts = {SPELLED.get(part.name, part.name): part for part in fields(KINDS[kind])}
    required = [name for name, part in parts.items() if part.name != "metric" and _has_no_default(part)]
    found = mapping(place, written, required, [name for name in parts if name not in required])
    read = {parts[name].name: READERS[parts[name].name](place.at(name), value) for name, value in found.items()}
    rule = KINDS[kind](**{"metric": metric, **read})
    if isinstance(rule, Better) and rule.relative and rule.margin <= -1:
        raise place.at("margin").error(f"{rule.margin} must be above -1 where it is relative")
    return rule


def _has_no_default(part: Field[Any]) -> bool:
    return part.default is MISSING and part.default_factory is MISSING
