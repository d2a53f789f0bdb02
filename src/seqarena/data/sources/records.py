"""Records of a file by its format: one function each, from a path to (where it stands, its fields by name).

`where` is `file:line`, for messages. `wanted` maps each column that will be read to the option that named it.
"""

import csv
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from seqarena.data.sources.lines import lines
from seqarena.data.sources.wording import listing, nearest
from seqarena.errors import InputError

Record: TypeAlias = tuple[str, Mapping[str, object]]

LONGEST_FIELD = 2**31 - 1
"""Characters in one CSV field; Python's own limit of 131,072 is less than a long document."""


def csv_records(path: Path, wanted: Mapping[str, str]) -> Iterator[Record]:
    """Rows of a CSV file with a header, in the csv module's strict reading: every field is text, exactly as written.

    Blank lines are skipped (two columns at least are read, so no row looks like one). InputError: a wanted column
    is missing, a name stands twice in the header, a row is longer or shorter than it, quotes do not match.
    """
    rows = _csv_rows(path)
    where, header = next(rows, ("", []))
    if header:
        _check_header(where, header, wanted)
    for where, row in rows:
        if len(row) != len(header):
            raise InputError(
                f"{where}: {_fields(len(row))} where the header has {len(header)} ({listing(header)}). "
                "A text with a comma in it must stand in double quotes."
            )
        yield where, dict(zip(header, row, strict=True))


def json_records(path: Path, wanted: Mapping[str, str]) -> Iterator[Record]:
    """Objects of a JSON Lines file, one on each line; blank lines are skipped (no object looks like one).

    InputError: a line that is not one JSON object, a key that stands twice in it, a wanted key that is missing.
    """
    for number, line in enumerate(lines(path), 1):
        if line.strip(" \t\r\n"):
            where = f"{path}:{number}"
            record = _json_object(where, line)
            require(where, "key", record, wanted)
            yield where, record


def require(where: str, kind: str, found: Collection[str], wanted: Mapping[str, str]) -> None:
    """InputError if a wanted name is not among those found; `kind` says what they are (column, key)."""
    for name, option in wanted.items():
        if name not in found:
            guess = nearest(name, found)
            cure = f"Did you mean {option}={guess}?" if guess is not None else f"Name one with {option}=<{kind}>."
            raise InputError(f"{where}: no {kind} {name!r} (asked for by {option}); found {listing(found)}. {cure}")


def _csv_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Every row that is not blank, the header included, with the line where it starts."""
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(lines(path), strict=True)
    start = 1
    try:
        for row in reader:
            if row:
                yield f"{path}:{start}", row
            start = reader.line_num + 1
    except csv.Error as error:
        reason = str(error).split(" - ")[0]  # after the dash stands advice for programmers
        raise InputError(
            f"{path}:{start}: the row that starts here is not valid CSV ({reason}). A text with a comma, a quote or a "
            'line break must stand in double quotes, and quotes inside it are doubled ("").'
        ) from error


def _check_header(where: str, header: list[str], wanted: Mapping[str, str]) -> None:
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        raise InputError(f"{where}: the header has {listing(twice)} more than once. Rename or delete one.")
    require(where, "column", header, wanted)


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def _json_object(where: str, line: str) -> dict[str, object]:
    cure = 'Each line must hold one whole object, such as {"name": "text", ...}, without a list around all.'
    try:
        record = json.loads(line, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not valid JSON ({getattr(error, 'msg', error)}). {cure}") from error
    if not isinstance(record, dict):
        raise InputError(f"{where}: a {type(record).__name__} where an object is needed. {cure}")
    return record


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError(f"a key stands twice among {listing(key for key, _ in pairs)}")
    return record
