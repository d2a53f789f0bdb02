"""Runs as a comparison sees them: their records, their examples column by column, and what was planned beside them."""

import glob
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

import seqarena.forms as forms
from seqarena.errors import InputError
from seqarena.record import FILE, Record
from seqarena.sweep.reading import nearest

T = TypeVar("T")

EXAMPLES = "examples.parquet"
SWEEPS = "outputs/sweeps"
LEDGER = "sweep.json"
SUPERSEDED = "superseded"


def _is_text(kind: pa.DataType) -> bool:
    """Strings, each written out or once for all that are the same."""
    return pa.types.is_string(kind.value_type if pa.types.is_dictionary(kind) else kind)


_TYPES: Mapping[str, Callable[[pa.DataType], bool]] = {
    **dict.fromkeys(("id", "example", "length", "tokens"), pa.types.is_integer),
    **dict.fromkeys(("text", "label", "source", "reference", "prediction", "majority"), _is_text),
    "correct": pa.types.is_boolean,
    "loss": pa.types.is_floating,
    "bleu_statistics": lambda kind: pa.types.is_list(kind) and pa.types.is_integer(kind.value_type),
}
"""Of the columns that are computed with."""


@dataclass
class Entry:
    """A run's folder with its record. Columns of its examples are read when they are asked for, and kept."""

    folder: Path
    record: Record
    _columns: dict[str, pa.ChunkedArray] = field(default_factory=dict, repr=False)
    _names: list[str] = field(default_factory=list, repr=False)

    @property
    def has_examples(self) -> bool:
        """Whether it was tested."""
        return (self.folder / EXAMPLES).exists()

    def names(self) -> list[str]:
        """The columns that its examples have."""
        if not self._names:
            self._names = list(_opened(self.folder, lambda file: file.schema_arrow.names))
        return self._names

    def columns(self, *names: str) -> list[pa.ChunkedArray]:
        """Columns of its examples. InputError: the file is damaged, or has no such column."""
        missing = [name for name in names if name not in self._columns]
        if missing:
            table = read_examples(self.folder, missing)
            self._columns |= {name: table[name] for name in table.column_names}
        for name in names:
            if name not in self._columns:
                raise InputError(f"{self.folder / EXAMPLES} has no column {name}, only {', '.join(self.names())}")
        return [self._columns[name] for name in names]

    @property
    def began(self) -> bool:
        """Whether it trained at all."""
        return bool(self.record.cost.get("steps"))

    @property
    def diverged(self) -> bool:
        """Whether training came to nothing: it diverged, crashed on the way, or validates no better than a constant.

        A run that somebody or something else stopped is none of these; it is incomplete.
        """
        if self.record.status == "done":
            return not _learned(self.record)
        return self.record.status == "diverged" or (self.record.status == "failed" and self.began)

    @property
    def counts(self) -> bool:
        """Whether it is a result, a good or a bad one."""
        return self.record.status == "done" or self.diverged


def read_examples(folder: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Those of these columns, or all, of a run's examples. InputError: the file is damaged, or a column."""
    wanted = None if columns is None else [*columns]
    table = _opened(folder, lambda file: file.read(columns=wanted, use_threads=False))
    for name in table.column_names:
        if fault := _fault(name, table[name]):
            raise InputError(f"{folder / EXAMPLES}: its column {name} {fault}: evaluate the run again, or leave it out")
    return table


def _fault(name: str, column: pa.ChunkedArray) -> str:
    """What is wrong with a column, if anything."""
    if not _TYPES.get(name, lambda _: True)(column.type):
        return f"holds {column.type}"
    if column.null_count or (pa.types.is_list(column.type) and column.combine_chunks().flatten().null_count):
        return "lacks values"
    if name == "id" and len(column.unique()) < len(column):
        return "names an example twice"
    if name == "bleu_statistics" and set(pa.compute.list_value_length(column).unique().to_pylist()) - {10}:
        return "does not hold ten numbers a sentence"
    return ""


def _opened(folder: Path, how: Callable[[pq.ParquetFile], T]) -> T:
    path = folder / EXAMPLES
    try:
        with pq.ParquetFile(path) as file:
            found = how(file)
            if isinstance(found, pa.Table):
                found.validate(full=True)  # texts that are no UTF-8
            return found
    except (OSError, ValueError, pa.ArrowException) as error:  # a name of a column may be no UTF-8
        raise InputError(f"{path} cannot be read ({error}): evaluate the run again, or leave it out") from error


def _learned(record: Record) -> bool:
    """Validation above the majority class, or above an empty translation."""
    metrics = record.metrics
    if record.task == "translation":
        return not metrics.get("val/bleu", 1.0) <= 0.0
    return not metrics.get("val/accuracy", 1.0) <= metrics.get("val/accuracy/baseline=majority", 0.0)


@dataclass(frozen=True)
class Planned:
    """A job of a sweep that has left no record."""

    folder: Path
    overrides: tuple[str, ...]
    status: str


@dataclass(frozen=True)
class Selection:
    """The runs that were asked for; of a sweep also its folder, and the jobs that are `planned`."""

    name: str
    entries: list[Entry]
    sweep: Path | None = None
    planned: tuple[Planned, ...] = ()


def of_sweep(root: Path, name: str) -> Selection:
    """All runs in `outputs/sweeps/NAME`, and the jobs its ledger plans. InputError: no such sweep, no runs in it."""
    folder = root / SWEEPS / name
    if not folder.is_dir() or not name:
        found = [one for one in (root / SWEEPS).glob("*") if (one / LEDGER).exists() or _runs_in(one)]
        there = sorted(one.name for one in found)  # a refused command leaves a folder too
        raise InputError(f"sweep={name} is not in {SWEEPS}: there are {nearest(name, there)}")
    entries = [read(one) for one in _runs_in(folder)]
    if not entries:
        raise InputError(f"{SWEEPS}/{name} holds no run yet: its jobs leave {FILE} when they start")
    return Selection(name, entries, folder, _planned(folder))


def of_folders(asked: str | Sequence[str]) -> Selection:
    """Runs by glob patterns and folders, of runs or of sweeps. InputError: one that matches no run."""
    patterns = asked.split(",") if isinstance(asked, str) else list(asked)
    folders = dict.fromkeys(one for pattern in patterns for one in _matched(pattern.strip()))
    return Selection("runs", [read(one) for one in folders])


def read(folder: Path) -> Entry:
    """The run of a folder."""
    return Entry(folder, Record.read(folder))


def _matched(pattern: str) -> list[Path]:
    found = [Path(one) for one in sorted(glob.glob(pattern))]  # noqa: PTH207 (Path.glob takes no absolute pattern)
    runs = [run for one in found for run in ([one] if (one / FILE).exists() else _runs_in(one))]
    if not runs:
        raise InputError(f"runs={pattern} matches no folder with a {FILE}: name folders of runs, or a pattern of them")
    return [one.resolve() for one in runs]


def _runs_in(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob(f"*/{FILE}") if path.parent.name != SUPERSEDED)


def jobs(folder: Path) -> list[forms.Planned] | None:
    """The jobs in a sweep's ledger; None without one. InputError: it is damaged."""
    return forms.read(folder / LEDGER, forms.LEDGER)["jobs"] if (folder / LEDGER).exists() else None


def _planned(folder: Path) -> tuple[Planned, ...]:
    """Without a ledger none: another launcher ran the sweep, or it is a copy of its runs alone."""
    named = (Planned(folder / job["folder"], tuple(job["overrides"]), job["status"]) for job in jobs(folder) or ())
    return tuple(one for one in named if not (one.folder / FILE).exists())
