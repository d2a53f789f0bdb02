"""Arrow files: opened memory-mapped, written batch by batch, so that their size does not matter to memory."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa


def opened(path: Path) -> pa.Table:
    """The whole table; nothing is read before it is looked at."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The batches of a file in order."""
    file = pa.ipc.open_file(pa.memory_map(str(path)))
    yield from (file.get_batch(number) for number in range(file.num_record_batches))


def write(parts: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
    """A file of these batches; a file that lies there is replaced when the new one is whole."""
    part = path.with_suffix(".part")
    with pa.OSFile(str(part), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in parts:
            writer.write_batch(batch)
    part.replace(path)
