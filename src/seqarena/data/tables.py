"""Arrow files: mapped where examples are looked up, read and written batch by batch where all are gone through.

A mapped page counts as memory of the process until the mapping ends; a batch that was read is free again behind it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa


def opened(path: Path) -> pa.Table:
    """The whole table; nothing is read before it is looked at."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def reader(path: Path, *names: str) -> pa.ipc.RecordBatchFileReader:
    """A file whose batches are read one by one; of its columns those that are named, if any are."""
    file = pa.OSFile(str(path))
    if not names:
        return pa.ipc.open_file(file)
    there = pa.ipc.open_file(file).schema.names
    fields = [there.index(name) for name in names if name in there]
    return pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=fields))


def batches(path: Path, *names: str) -> Iterator[pa.RecordBatch]:
    """The batches of a file in order; of its columns those that are named, if any are."""
    file = reader(path, *names)
    yield from (file.get_batch(number) for number in range(file.num_record_batches))


def write(parts: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
    """A file of these batches; a file that lies there is replaced when the new one is whole."""
    part = path.with_suffix(".part")
    with pa.OSFile(str(part), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in parts:
            writer.write_batch(batch)
    part.replace(path)
