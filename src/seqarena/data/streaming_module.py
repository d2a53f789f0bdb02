"""The datamodule of training data that is streamed: validation and test are prepared as ever, of training the head."""

from collections import Counter
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

from seqarena.data.batch import Batch
from seqarena.data.head import Head, StreamOptions, told_of_head
from seqarena.data.loading import BatchOptions, pins
from seqarena.data.module import DataModule, refuse_other_ranks
from seqarena.data.preparation import Preparation
from seqarena.data.source import Source
from seqarena.data.streaming import Progress, Recipe, Stream, Streamed
from seqarena.errors import InputError


class StreamingDataModule(DataModule):
    """Training batches without end; `table("train")` holds the first rows, which tokenizer and all else are fitted on.

    The data's hash is one of names, sizes and times of change of the training files, as the report says; the ledger of
    training is that of the rows read so far, brought up to date with every checkpoint.
    """

    def __init__(
        self,
        source: Source,
        preparation: Preparation,
        batches: BatchOptions,
        buckets: object,
        cache: Path,
        processes: int,
        stream: StreamOptions,
    ) -> None:
        head = Head(source, stream.tokenizer_rows)
        super().__init__(head, preparation, batches, buckets, cache, processes)
        self._streamed, self._stream = source, stream
        self._progress: Progress | None = None
        self._resumed: list[dict[str, Any]] = []

    def setup(self, stage: str | None = None) -> None:
        """Open the cache entry; nothing is read yet."""
        if self._splits:
            return
        super().setup(stage)
        self.report = told_of_head(self.report)
        self.report["ledger"]["train"] = {}
        self.report["streaming"] = {
            "shuffle_buffer": self._stream.shuffle_buffer,
            "tokenizer_rows": self._stream.tokenizer_rows,
            "fitted_on_first_rows": ["tokenizer", "labels", "length limit", "edges of strata", "average lengths"],
            "data_hash_of": "names, sizes and times of change of the training files; contents of the others; options",
        }

    def longest(self, split: str) -> int:
        """The most positions that an example can take up; of training, as far as the length limit tells."""
        limit = self.vocabulary.max_length
        if split != "train" or limit is None:
            return super().longest(split)
        return limit if self._preparation.task == "classification" else limit + 1

    def train_dataloader(self) -> DataLoader:
        """Training batches as they come, from where a checkpoint left off. InputError: it is one of other ranks."""
        rank, ranks = self._place()
        if self._resumed:
            refuse_other_ranks(len(self._resumed), ranks)
        workers = self._batches.workers
        self._progress = Progress.of(self._resumed[rank]) if self._resumed else Progress(max(1, workers))
        vocabulary, options = self.folder / "vocabulary", self._preparation
        recipe = Recipe(
            self._streamed, options.task, vocabulary, options.filters, self._batches, self._stream.shuffle_buffer
        )
        return DataLoader(
            Stream(recipe, rank, ranks, self._progress.places, self._progress.turn),
            batch_size=None,
            num_workers=workers,
            pin_memory=pins(self.trainer),
            generator=torch.Generator(),  # as in the ordinary loader
            persistent_workers=workers > 0,
        )

    def on_before_batch_transfer(self, batch: Streamed | InputError | Batch, dataloader_idx: int) -> Batch:
        """A streamed batch is about to be trained on. InputError: what reading has come upon."""
        if isinstance(batch, InputError):
            raise batch
        if not isinstance(batch, Streamed):
            return batch
        assert self._progress is not None
        return self._progress.take(batch)

    def state_dict(self) -> dict[str, Any]:
        """Where every rank is to begin with the batch at hand."""
        if self._progress is None:
            return {}
        told = of_all_ranks((self._progress.state_dict(), self._progress.counts()))
        counts = sum((counts for _, counts in told), Counter[str]())
        self.report["ledger"]["train"] = {"read": 0, "kept": 0, **counts}
        return {"ranks": [state for state, _ in told]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Where the next training loader is to begin."""
        self._resumed = state_dict["ranks"]


def of_all_ranks(mine: Any) -> list[Any]:
    """What each rank gives, in their order; on every rank."""
    if not (dist.is_available() and dist.is_initialized()):
        return [mine]
    ranks: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, mine)
    return ranks
