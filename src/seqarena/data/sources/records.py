"""Records of any file of records: the one function that picks the reader, by the file's ending."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from seqarena.data.sources.columns import Record, require
from seqarena.data.sources.compression import UNPACKERS, inner_name
from seqarena.data.sources.delimited import Dialect, csv_records, tsv_records
from seqarena.data.sources.json_lines import json_records
from seqarena.data.sources.parquet import parquet_records
from seqarena.errors import InputError

__all__ = ["FORMATS", "Record", "format_of", "read", "require"]

FORMATS = {"csv": "csv", "tsv": "tsv", "jsonl": "jsonl", "json": "jsonl", "parquet": "parquet"}
"""The formats by the endings of their files; each but Parquet may have .gz or .zst on top."""


def read(
    file: Path,
    wanted: Mapping[str, str],
    encoding: str = "utf-8",
    dialect: Dialect | None = None,
    form: str | None = None,
) -> Iterator[Record]:
    """Every record of a file in order: where it stands, and its fields by name.

    `wanted` maps each column that will be read to the option that named it; others may be missing from the records.
    `form` is one of FORMATS' values for a file whose ending does not say it. InputError names file, line and cure.
    """
    form, how = _agreed(file, form), dialect or Dialect()
    if how.header and form not in ("csv", "tsv"):
        raise InputError(f"data.header={list(how.header)}: {file} names its columns itself. Leave data.header out.")
    if form == "csv":
        return csv_records(file, wanted, encoding, how)
    if form == "tsv":
        return tsv_records(file, wanted, encoding, how)
    if form == "jsonl":
        return json_records(file, wanted, encoding)
    return parquet_records(file, wanted)


def format_of(file: Path) -> str:
    """The format that the file's ending says. InputError: none that is known."""
    name = inner_name(file)
    form = FORMATS.get(Path(name).suffix.removeprefix("."))
    if form is None:
        raise InputError(f"{file}: the ending says no format that is read here. Known: {known()}.")
    if form == "parquet" and name != file.name.lower():
        raise InputError(f"{file}: Parquet is packed inside. Unpack the file, so that it ends in .parquet.")
    return form


def _agreed(file: Path, form: str | None) -> str:
    """The format to read: `form`, unless the ending says another one."""
    told = FORMATS.get(Path(inner_name(file)).suffix.removeprefix("."))
    if form is None or told == form:
        return format_of(file)
    if told is None:
        return form
    raise InputError(f"{file}: the ending says {told}, the option data={form}. Write data={told}, or rename the file.")


def known() -> str:
    """The endings of files of records, in words."""
    return (
        f"{', '.join('.' + ending for ending in FORMATS)}, all but .parquet also with {' or '.join(UNPACKERS)} on top"
    )
