"""Training rows that are read, tokenized and batched as they come, never kept: for more data than one wants to prepare.

Rows are dealt to shards, one for each worker of each rank: row i goes to shard i modulo their number. A shard reads as
many of its rows as the shuffle buffer holds, a block; tokenizes them; makes batches of them as the ordinary loader does
of the whole split, similar lengths together, in an order drawn by (seed, epoch, first row); and reads on. Behind the
last row it begins its next epoch, whatever the others do: no rank waits for another that has more, and the run ends by
steps or by time.

Each batch carries the place behind it. A checkpoint holds, for every shard, the place behind the last batch that was
trained on; to go on from there, rows before its block are passed over, and the block is tokenized again.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from torch.utils.data import IterableDataset, get_worker_info

from seqarena.data.augmentation import Reading
from seqarena.data.batch import Batch
from seqarena.data.batching import Drawn, plan
from seqarena.data.encoding import Encoder
from seqarena.data.examples import Examples
from seqarena.data.filtering import Filters, judged, lengths, misfits
from seqarena.data.gathering import as_batch, is_empty, unknown
from seqarena.data.loading import BatchOptions
from seqarena.data.source import Row, Source
from seqarena.data.vocabulary import Vocabulary
from seqarena.errors import InputError


class Place(NamedTuple):
    """Where a shard stands: in its epoch, in the block that begins with row `row`, behind `taken` of its batches."""

    epoch: int = 0
    row: int = 0
    taken: int = 0


class Streamed(NamedTuple):
    """A batch of a worker's, the place behind it, and what the worker has read since its batch before: rows by fate."""

    batch: Batch
    worker: int
    behind: Place
    counts: dict[str, int]
    """Plain, as who pins memory rebuilds it by `update`, which adds in a Counter."""


class Block(NamedTuple):
    """Usable rows of a shard, the number of the row from which on they were looked for, and how many were read."""

    first: int
    rows: list[Row]
    counts: Counter[str]


@dataclass(frozen=True)
class Recipe:
    """How rows become batches. `vocabulary` is its folder; `buffer` is the number of rows in a block."""

    source: Source
    task: str
    vocabulary: Path
    filters: Filters
    batches: BatchOptions
    buffer: int


class Stream(IterableDataset):
    """The batches of one rank, without end, from a place for each worker on.

    A loader takes its first batch from its first worker: that one stands in for worker `turn`, the next for the next.
    An InputError comes as an item and ends the worker: a loader would raise it with a traceback in its message.
    """

    def __init__(self, recipe: Recipe, rank: int, ranks: int, places: list[Place], turn: int) -> None:
        self._recipe, self._rank, self._ranks, self._places, self._turn = recipe, rank, ranks, places, turn

    def __iter__(self) -> Iterator[Streamed | InputError]:
        workers = len(self._places)
        if (info := get_worker_info()) is not None:
            os.environ["TOKENIZERS_PARALLELISM"] = "false"  # a forked copy of the tokenizers' threads would hang
        worker = ((info.id if info else 0) + self._turn) % workers
        try:
            shard = Shard(self._recipe, self._rank * workers + worker, self._ranks * workers)
            for batch, behind, counts in shard.batches(self._places[worker]):
                yield Streamed(batch, worker, behind, dict(counts))
        except InputError as error:
            yield error


class Shard:
    """The rows whose number is `number` modulo `shards`."""

    def __init__(self, recipe: Recipe, number: int, shards: int) -> None:
        self._recipe, self._number, self._shards = recipe, number, shards
        vocabulary = Vocabulary.load(recipe.vocabulary)
        self._encoder, self._limit = Encoder(recipe.task, vocabulary), vocabulary.max_length
        self._labels = set(vocabulary.labels) if recipe.task != "translation" else None

    def batches(self, place: Place) -> Iterator[tuple[Batch, Place, Counter[str]]]:
        """Batches from `place` on, each with the place behind it and the rows read since the last one, by their fate.

        InputError: bad input, a label that is not in the vocabulary, no usable row in a whole epoch.
        """
        _, begin, taken = place
        since, found = Counter[str](), begin > 0
        for epoch in count(place.epoch):
            for block in self._blocks(begin):
                reading, order, fates = self._planned(block, epoch)
                if not taken:  # else they were counted with the block's first batch
                    since += fates
                for done, indices in enumerate(order[taken:], taken + 1):
                    yield reading[Drawn(epoch, indices)], Place(epoch, block.first, done), since
                    since, found = Counter(), True
                taken = 0
            if not found:
                raise InputError(
                    "data.streaming=true: no usable training row for at least one of the "
                    f"{self._shards} workers and ranks that they are dealt to: write data.workers=0, or fewer devices"
                )
            begin = 0

    def _blocks(self, begin: int) -> Iterator[Block]:
        """What there is from row `begin` on; the last block of an epoch may be small."""
        block = Block(begin, [], Counter())
        for number, row in islice(enumerate(self._recipe.source.rows("train")), begin, None):
            if number % self._shards != self._number:
                continue
            block.counts["read"] += 1
            if is_empty(row, self._recipe.task):
                block.counts["empty"] += 1
                continue
            self._refuse_unknown(number, row)
            block.rows.append({"id": number, **row})
            if len(block.rows) == self._recipe.buffer:
                yield block
                block = Block(number + 1, [], Counter())
        if block.counts:
            yield block

    def _refuse_unknown(self, number: int, row: Row) -> None:
        if labels := unknown(row, self._recipe.task, self._labels):
            raise InputError(
                f"training row {number + 1:,} has the label {labels[0]!r}, which none of the first rows has, where the "
                "labels come from: write a data.tokenizer_rows that reaches it"
            )

    def _planned(self, block: Block, epoch: int) -> tuple[Reading, list[list[int]], Counter[str]]:
        """Of a block: its reader, its batches in the order of this epoch, and what became of its rows."""
        how = self._recipe.batches
        table = pa.Table.from_batches([self._encoder(as_batch(block.rows, self._recipe.task))])
        keep_N, fates = judged(misfits(self._recipe.filters, self._limit, table), len(table))
        table = table.filter(pa.array(keep_N))
        examples = Examples(table, self._limit, table["id"].to_numpy())
        rng = np.random.default_rng([how.seed, epoch, block.first])
        batches = plan(how.planned(examples), how.tokens, how.examples, 1, rng)
        order = [batches[place].tolist() for place in rng.permutation(len(batches))]
        fates |= {"kept": len(table), **self._cut(table)}
        return Reading(examples, how.noise(), how.seed), order, block.counts + Counter(fates)

    def _cut(self, table: pa.Table) -> dict[str, int]:
        """How many texts are longer than what is read of them."""
        if self._limit is None or self._recipe.task == "translation":
            return {}
        return {"truncated": int((lengths(table) > self._limit).sum())}


class Progress:
    """How far the training of one rank has got in the shards of its workers."""

    def __init__(self, workers: int) -> None:
        self.places, self.turn = [Place()] * workers, 0
        self._counts = Counter[str]()
        self._at: Streamed | None = None

    @classmethod
    def of(cls, state: dict[str, Any]) -> "Progress":
        """As `state_dict` told it."""
        found = cls(len(state["places"]))
        found.places, found.turn = [Place(*place) for place in state["places"]], state["turn"]
        found._counts = Counter(state["counts"])
        return found

    def take(self, given: Streamed) -> Batch:
        """The batch that is trained on next; the one before it is done."""
        if self._at is not None:
            self.places[self._at.worker] = self._at.behind
            self.turn = (self._at.worker + 1) % len(self.places)
            self._counts += Counter(self._at.counts)
        self._at = given
        return given.batch

    def counts(self) -> Counter[str]:
        """The rows read so far, by their fate, those of the batch at hand among them."""
        return self._counts + Counter({} if self._at is None else self._at.counts)

    def state_dict(self) -> dict[str, Any]:
        """Plain data that says where to begin with the batch at hand, or the first one."""
        return {"places": [list(place) for place in self.places], "turn": self.turn, "counts": dict(self._counts)}
