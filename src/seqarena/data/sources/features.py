"""What a file says about its columns: which there are, the names of a column's classes, and the class of a label."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from seqarena.data.sources import values
from seqarena.data.sources.records import format_of, read
from seqarena.data.sources.wording import listing
from seqarena.errors import InputError

UNLABELLED = (None, "", -1, "-1")
"""What stands for a label that is kept secret, as in the test set of SST-2."""

_NUMBER = re.compile("[0-9]{1,9}")


def columns(file: Path) -> tuple[str, ...]:
    """Its columns; of JSON Lines, the keys of the first object. Nothing where a text file has no record."""
    if format_of(file) == "parquet":
        return tuple(_schema(file).names)
    return next((tuple(record) for _, record in read(file, {})), ())


def class_names(file: Path, column: str) -> Sequence[str]:
    """The names of the classes 0, 1, ... of a Parquet column; none where the file does not tell.

    They are what the `datasets` library writes of a ClassLabel into the file's metadata.
    """
    if format_of(file) != "parquet":
        return ()
    told = json.loads((_schema(file).metadata or {}).get(b"huggingface", b"{}"))
    feature = told.get("info", {}).get("features", {}).get(column, {})
    return tuple(feature["names"]) if feature.get("_type") == "ClassLabel" else ()


def class_name(where: str, column: str, value: object, names: Sequence[str]) -> str:
    """The class that a label means: of a number, its name among `names` (from 0), if there are any; else the label.

    Nothing ("") for a secret label where the others have names. InputError: a number that has no name, or no label.
    """
    label = values.label(where, column, value)
    if not names or label in names or not _NUMBER.fullmatch(label):
        return "" if names and label in UNLABELLED else label
    if int(label) < len(names):
        return names[int(label)]
    raise InputError(
        f"{where}: {column!r} is {label}, but there are {len(names)} classes, from 0 to {len(names) - 1}: "
        f"{listing(names)}. Name another column with data.label, or the classes with data.labels."
    )


def _schema(file: Path) -> pa.Schema:
    try:
        return pq.read_schema(file)
    except (pa.ArrowException, OSError, ValueError) as error:  # a name of a column may be no UTF-8
        reason = str(error).splitlines()[0]
        raise InputError(f"{file}: not a Parquet file that can be read ({reason}). Download it again.") from error
