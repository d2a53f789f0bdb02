"""Records of delimited text: CSV, where quotes may hold anything, and TSV, where no field holds a tab or a line end."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from seqarena.data.sources.columns import Record, refuse_twice, require
from seqarena.data.sources.lines import lines, without_end
from seqarena.data.sources.wording import listing, nearest
from seqarena.errors import InputError

Fields: TypeAlias = Iterator[tuple[str, list[str]]]
"""Where a row starts, and its fields."""

LONGEST_FIELD = 2**31 - 1
"""Characters in one CSV field; Python's own limit of 131,072 is less than a long document."""

QUOTED_TAB = "A text with a tab in it must stand in double quotes."
TAB = "A text cannot hold a tab or a line break, unless all are quoted as in CSV: then write data.quotes=true."


@dataclass(frozen=True)
class Dialect:
    """What delimited files do not say about themselves.

    `header` names the columns, in order, of files that do not start with their names. `delimiter` stands between the
    fields of a CSV file. `quotes` is about TSV files: true for quotes as in CSV; false for quotes that are text; None
    for the same, but a field that looks quoted as in CSV is refused.
    """

    header: Sequence[str] = ()
    delimiter: str = ","
    quotes: bool | None = None

    def __post_init__(self) -> None:
        if isinstance(self.header, str | bool) or not all(isinstance(name, str) for name in self.header):
            raise InputError(
                f"data.header={self.header}: write the names of all columns in order, such as [label,text], "
                "or leave it out where the first line has them."
            )
        object.__setattr__(self, "header", tuple(self.header))
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1 or self.delimiter in '"\r\n\t':
            raise InputError(
                f"data.delimiter={self.delimiter!r}: write one character, such as ';'. Files with tabs are data=tsv."
            )


def csv_records(file: Path, wanted: Mapping[str, str], encoding: str, dialect: Dialect) -> Iterator[Record]:
    """Rows of a CSV file, in the csv module's strict reading: every field is text, exactly as written.

    Blank lines are skipped (two columns at least are read, so no row looks like one). InputError: a wanted column
    is missing, a name stands twice in the header, a row is longer or shorter than it, quotes do not match.
    """
    rows = _quoted(file, encoding, dialect.delimiter)
    return _records(
        rows, file, wanted, dialect.header, f"A text with {dialect.delimiter!r} in it must stand in double quotes."
    )


def tsv_records(file: Path, wanted: Mapping[str, str], encoding: str, dialect: Dialect) -> Iterator[Record]:
    """Rows of a TSV file, cut at tabs and line ends alone, or read as CSV if `dialect.quotes`; else the same."""
    rows = _quoted(file, encoding, "\t") if dialect.quotes else _raw(file, encoding, dialect.quotes is None)
    return _records(rows, file, wanted, dialect.header, QUOTED_TAB if dialect.quotes else TAB)


def _records(rows: Fields, file: Path, wanted: Mapping[str, str], given: Sequence[str], cure: str) -> Iterator[Record]:
    """Rows with the names of their columns, from the first row or as they were given."""
    where, names = (f"{file}:1", list(given)) if given else next(rows, ("", []))
    if names:
        refuse_twice(where, names)
        hint = _other_delimiter(names) or ("" if given else _no_header(names, wanted))
        require(where, "column", names, wanted, hint)
    for where, row in rows:
        if len(row) != len(names):
            source = "data.header" if given else "the header"
            raise InputError(f"{where}: {_fields(len(row))} where {source} has {len(names)} ({listing(names)}). {cure}")
        if given and row == names:
            raise InputError(f"{where}: the names of the columns stand in the file. Leave data.header out.")
        yield where, dict(zip(names, row, strict=True))


def _quoted(file: Path, encoding: str, delimiter: str) -> Fields:
    """Every row that is not blank, the header included, with the line where it starts."""
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(lines(file, encoding), strict=True, delimiter=delimiter)
    start = 1
    try:
        for row in reader:
            if row:
                yield f"{file}:{start}", row
            start = reader.line_num + 1
    except csv.Error as error:
        reason = str(error).split(" - ")[0]  # after the dash stands advice for programmers
        raise InputError(
            f"{file}:{start}: the row that starts here is not valid CSV ({reason}). A text with a delimiter, a "
            'quote or a line break must stand in double quotes, and quotes inside it are doubled ("").'
        ) from error


def _raw(file: Path, encoding: str, suspicious: bool) -> Fields:
    """Every line that is not blank, cut at its tabs. InputError if `suspicious` of a field that looks quoted."""
    for number, line in enumerate(lines(file, encoding), 1):
        if text := without_end(line):
            row = text.split("\t")
            if suspicious and '""' in text and any(map(_looks_quoted, row)):
                raise InputError(
                    f"{file}:{number}: a text in quotes with doubled quotes in it, as in CSV. Write data.quotes=true "
                    "to take such quotes off, or data.quotes=false if they belong to the text."
                )
            yield f"{file}:{number}", row


def _looks_quoted(field: str) -> bool:
    inner = field[1:-1]
    return field[:1] == field[-1:] == '"' and '""' in inner and '"' not in inner.replace('""', "")


def _other_delimiter(names: Sequence[str]) -> str:
    """What to write if a whole header came out as one column."""
    if len(names) == 1:
        for delimiter, cure in ((";", "data.delimiter=';'"), ("\t", "data=tsv"), (",", "data=csv")):
            if delimiter in names[0]:
                return f"Is {delimiter!r} what stands between the fields? Then write {cure}."
    return ""


def _no_header(names: Sequence[str], wanted: Mapping[str, str]) -> str:
    """What to write if the first line may be a row: nothing in it is a name that is wanted, or like one."""
    if len(names) < len(wanted) or any(nearest(name, names) for name in wanted):
        return ""
    options = " ".join(f"{option}=<column>" for option in wanted.values())
    listed = ",".join(wanted) + (",..." if len(names) > len(wanted) else "")
    unnamed = f"data.header=[{listed}] if this is no header but a row"
    return f"Name them with {options}; or all, in their order, with {unnamed}."


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"
