"""Records of a Parquet file, read in batches and without the columns that nobody wants."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seqarena.data.sources.columns import Record, refuse_twice, require
from seqarena.data.sources.compression import opened
from seqarena.errors import InputError

ROWS = 1024
"""Rows in memory at a time."""


def parquet_records(file: Path, wanted: Mapping[str, str]) -> Iterator[Record]:
    """The wanted columns of each row, as Python values, null as None.

    InputError: not a whole Parquet file, strings that are not UTF-8, a wanted column is missing or there twice.
    """
    number = 0
    for rows in _batches(file, wanted):
        for row in rows:
            number += 1
            yield f"{file}:row {number}", row


def _batches(file: Path, wanted: Mapping[str, str]) -> Iterator[list[dict[str, Any]]]:
    with opened(file) as stream:
        try:
            table = pq.ParquetFile(stream)
            names = table.schema_arrow.names
            refuse_twice(str(file), names)
            require(str(file), "column", names, wanted)
            for batch in table.iter_batches(ROWS, columns=list(wanted)):
                yield batch.to_pylist()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{file}: a text that is not UTF-8 ({error}). Write the file again, from strings."
            ) from error
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise InputError(f"{file}: not a whole Parquet file ({reason}). Copy or write it again.") from error
