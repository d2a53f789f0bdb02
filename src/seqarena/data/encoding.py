"""Gathered rows become examples: token ids, classes and lengths beside the text; large files in several processes."""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow as pa

from seqarena.data import tables
from seqarena.data.gathering import SIDES
from seqarena.data.queries import check_aligned, tags
from seqarena.data.vocabulary import Vocabulary
from seqarena.errors import InputError

LARGE = 20
"""Batches from which on starting processes pays."""
SHARE = 4
"""Batches that a process takes at a time."""

_worker: "Encoder"


class Encoder:
    """Adds ids and `length` (source tokens) to batches of raw rows.

    The ids are `source_ids`, then `target_ids` (translation), `class` (classification), or `places` and `classes` of
    the labelled tokens (tagging).
    """

    def __init__(self, task: str, vocabulary: Vocabulary) -> None:
        self._sides, self._vocabulary = SIDES[task], vocabulary
        self._second = {"classification": self._classes, "translation": self._targets, "tagging": self._tags}[task]
        self._class = {label: place for place, label in enumerate(vocabulary.labels)}

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with its ids."""
        source = id_lists(self._vocabulary.source.encode(batch[self._sides[0]].to_pylist()))
        lengths_N = np.diff(source.offsets.to_numpy()).astype(np.int64)
        columns = {name: batch[name] for name in batch.schema.names} | {"source_ids": source}
        columns |= self._second(batch, lengths_N.tolist())
        return pa.RecordBatch.from_pydict(columns | {"length": pa.array(lengths_N)})

    def _classes(self, batch: pa.RecordBatch, lengths: list[int]) -> dict[str, pa.Array]:
        return {"class": pa.array([self._class[label] for label in batch["label"].to_pylist()], pa.int32())}

    def _targets(self, batch: pa.RecordBatch, lengths: list[int]) -> dict[str, pa.Array]:
        target = self._vocabulary.target or self._vocabulary.source
        return {"target_ids": id_lists(target.encode(batch["target"].to_pylist()))}

    def _tags(self, batch: pa.RecordBatch, lengths: list[int]) -> dict[str, pa.Array]:
        rows = batch.to_pylist()
        for row, length in zip(rows, lengths, strict=True):
            check_aligned(row, length)
        found = [tags(row["labels"]) for row in rows]
        return {
            "places": id_lists([[place for place, _ in row] for row in found]),
            "classes": id_lists([[self._class[label] for _, label in row] for row in found]),
        }


def id_lists(rows: list[list[int]]) -> pa.ListArray:
    """Lists of ids as an Arrow array; numpy flattens them several times faster than Arrow does."""
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    flat = np.fromiter(chain.from_iterable(rows), np.int32, int(offsets[-1]))
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))


def encode(
    raw: Path, task: str, vocabulary: Vocabulary, path: Path, processes: int, advance: Callable[[int], None]
) -> None:
    """Write the encoded rows of `raw` to `path`, in the same order."""
    encoder = Encoder(task, vocabulary)
    file = tables.reader(raw)
    schema = encoder(
        pa.RecordBatch.from_arrays([pa.array([], field.type) for field in file.schema], schema=file.schema)
    ).schema
    many = processes > 1 and file.num_record_batches >= LARGE
    parts = (
        _by_processes(raw, file.num_record_batches, task, vocabulary, processes)
        if many
        else map(encoder, tables.batches(raw))
    )

    def watched() -> Iterator[pa.RecordBatch]:
        for batch in parts:
            yield batch
            advance(len(batch))

    tables.write(watched(), schema, path)


def _by_processes(raw: Path, count: int, task: str, vocabulary: Vocabulary, processes: int) -> Iterator[pa.RecordBatch]:
    """The encoded batches in order. Each process writes a file for each share of them and the first appends those."""
    folder = raw.parent / "parts"
    vocabulary.save(folder)
    shares = [(str(raw), begin, min(begin + SHARE, count)) for begin in range(0, count, SHARE)]
    spawn = multiprocessing.get_context("spawn")  # a forked copy of the tokenizers' threads would hang
    try:
        with ProcessPoolExecutor(processes, spawn, _start, (str(folder), task)) as pool:
            for part in map(Path, pool.map(_encode_share, shares)):
                yield from tables.batches(part)
                part.unlink()
    except BrokenProcessPool as error:
        raise InputError(
            "a process that was tokenizing the data was killed, probably for want of memory: free some, or start again "
            "with OMP_NUM_THREADS=1 for a single process"
        ) from error


def _start(folder: str, task: str) -> None:
    global _worker
    Thread(target=_end_with_parent, daemon=True).start()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _worker = Encoder(task, Vocabulary.load(Path(folder)))


def _end_with_parent() -> None:
    """A pool's processes would wait for ever for work from a process that was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _encode_share(share: tuple[str, int, int]) -> str:
    raw, begin, end = share
    file = tables.reader(Path(raw))
    encoded = [_worker(file.get_batch(number)) for number in range(begin, end)]
    path = Path(raw).parent / "parts" / f"{begin}.arrow"
    tables.write(encoded, encoded[0].schema, path)
    return str(path)
