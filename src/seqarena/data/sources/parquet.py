"""Records of a Parquet file, read in batches and without the columns that nobody wants."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from seqarena.data.sources.columns import Record, refuse_twice, require
from seqarena.data.sources.compression import opened
from seqarena.errors import InputError

ROWS = 4096
"""Rows in memory at a time."""


def parquet_records(file: Path, wanted: Mapping[str, str]) -> Iterator[Record]:
    """The wanted columns of each row, as Python values; null is the empty text, to be counted with the empty ones.

    InputError: not a whole Parquet file, a wanted column is missing or there twice.
    """
    with opened(file) as stream:
        try:
            table = pq.ParquetFile(stream)
            names = table.schema_arrow.names
            refuse_twice(str(file), names)
            require(str(file), "column", names, wanted)
            batches = table.iter_batches(ROWS, columns=list(wanted))
            number = 0
            for batch in batches:
                for row in batch.to_pylist():
                    number += 1
                    yield f"{file}:row {number}", {name: "" if row[name] is None else row[name] for name in wanted}
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{file}: not a whole Parquet file ({str(error).splitlines()[0]}). Write it again."
            ) from error
