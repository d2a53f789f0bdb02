"""Forms of the plain JSON in run folders, which others may have written: what has another is refused as it is read.

A number that is not finite is null there, and NaN here. Keys that a form does not name may hold anything.
"""

import math
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic import with_config as configured
from pydantic_core import from_json
from typing_extensions import TypedDict  # pydantic asks for this one before Python 3.12

from seqarena.errors import InputError

T = TypeVar("T")

CURE = "copy it again from where it was written, or do without it"
OPEN = ConfigDict(extra="allow", strict=True)
Number = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]
Count = Annotated[int, Field(ge=0, le=2**63)]
Name = Annotated[str, StringConstraints(pattern=r"^[^/\\]+$")]
"""Of a file or folder in the folder where it is named: no path leads out of it."""


@configured(OPEN)
class Interval(TypedDict):
    """A number with the limits of its interval, and whether it was reached at all."""

    value: Number
    reached: bool


@configured(OPEN)
class Reached(TypedDict, total=False):
    """How far along an axis a run reaches."""

    effective_length: Interval | None
    half_life: Interval | None


@configured(OPEN)
class Point(TypedDict):
    """A value at a place of an axis."""

    at: Number
    value: Number


@configured(OPEN)
class Curve(TypedDict):
    """Values along an axis."""

    axis: str
    buckets: list[Point]


@configured(OPEN)
class Finding(TypedDict):
    """What a probe found."""

    numbers: dict[str, Interval]
    curves: dict[str, Curve]


@configured(OPEN)
class Failure(TypedDict):
    """What a run ended with."""

    type: str
    message: str


@configured(OPEN)
class Code(TypedDict):
    """A commit."""

    commit: str | None
    dirty: bool


@configured(OPEN)
class Machine(TypedDict, total=False):
    """What a run was trained on."""

    cpu: str
    gpus: list[str]
    threads: int
    ranks: int
    precision: str


@configured(OPEN)
class Soundness(TypedDict, total=False):
    """The laws that a model broke."""

    broken: list[str]


@configured(OPEN)
class Lengths(TypedDict):
    """Texts by length: lower edges, and by split how many texts lie above each, the median and the longest."""

    edges: list[Count]
    counts: dict[str, list[Count]]
    median: dict[str, Number]
    longest: dict[str, Count]


@configured(OPEN)
class Suspect(TypedDict):
    """A text that several labels claim."""

    text: str
    labels: dict[str, Count]


@configured(OPEN)
class Suspects(TypedDict, total=False):
    """How many there are, and some of them."""

    count: Count
    examples: list[Suspect]


@configured(OPEN)
class DataReport(TypedDict, total=False):
    """What a run says of its data."""

    lengths: dict[str, Lengths]
    cut_share: dict[str, Number]
    unknown_share: dict[str, Number]
    classes: dict[str, dict[str, Count]]
    suspects: Suspects


@configured(OPEN)
class Planned(TypedDict):
    """A job in a sweep's ledger."""

    folder: Name
    overrides: list[str]
    status: str


@configured(OPEN)
class Job(Planned):
    """The same with when it began and ended, in seconds since 1970."""

    started: float | None
    finished: float | None


@configured(OPEN)
class Ledger(TypedDict):
    """A sweep's ledger."""

    jobs: list[Planned]


@configured(OPEN)
class TimedLedger(TypedDict):
    """The same with times."""

    jobs: list[Job]


Probes = dict[str, dict[str, Finding]]
Reach = dict[str, Reached]
Buckets = list[dict[str, str | int | Number]]
Counts = dict[str, dict[str, Count]]
LEDGER, TIMED = TypeAdapter(Ledger), TypeAdapter(TimedLedger)


def held_as(form: Any) -> GetPydanticSchema:
    """For `Annotated[dict[str, Any], held_as(Form)]`: plain data for whoever writes it, of a form when it is read."""
    return GetPydanticSchema(lambda _, handler: handler(form))


def plain(path: Path) -> Any:
    """The JSON of a file. InputError: it cannot be read, or is cut off or no JSON."""
    try:
        return from_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is damaged (cut off or not JSON): {error}; {CURE}") from error


def read(path: Path, form: TypeAdapter[T]) -> T:
    """The JSON of a file in a form. InputError: it has another, or none; the message names the place and the value."""
    try:
        return form.validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise InputError(f"{path} is damaged, or of another version: {problem(error)}; {CURE}") from error


def problem(error: ValidationError) -> str:
    """The first thing that is wrong, with its place and value, and how many more there are."""
    first, *others = error.errors(include_url=False, include_context=False)
    place = ".".join(str(part) for part in first["loc"])
    value = "" if first["type"] in ("missing", "json_invalid") else f", not {str(first['input'])[:60]!r}"
    more = f" (and {len(others)} more)" if others else ""
    return f"{place + ': ' if place else ''}{first['msg'].removeprefix('Input ')}{value}{more}"
