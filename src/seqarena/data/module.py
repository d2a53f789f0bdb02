"""The datamodule: prepared examples of three splits as batches, for any task, rank and world size."""

import json
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pyarrow as pa
from torch.utils.data import DataLoader

from seqarena.data import tables
from seqarena.data.batch import Batch
from seqarena.data.buckets import check_buckets
from seqarena.data.examples import Examples
from seqarena.data.ledger import counted
from seqarena.data.loading import BatchOptions, loader, pins
from seqarena.data.preparation import Preparation, prepare, prepare_test
from seqarena.data.queries import items
from seqarena.data.source import SPLITS, Row, Source
from seqarena.data.vocabulary import Vocabulary
from seqarena.errors import InputError


class DataModule(L.LightningDataModule):
    """Batches of one dataset. `buckets` are the lower edges of strata; the others are divided by what training has."""

    def __init__(
        self,
        source: Source,
        preparation: Preparation,
        batches: BatchOptions,
        buckets: object,
        cache: Path,
        processes: int = 1,
    ) -> None:
        super().__init__()
        self._source, self._preparation, self._batches, self._cache = source, preparation, batches, cache
        self._processes = processes
        self.buckets = check_buckets(buckets, source.strata)
        self.baselines = (*source.shortcuts, *preparation.baselines)
        """Columns with labels to score beside the model's: rules of thumb and simple models."""
        self._splits: dict[str, Examples] = {}
        self._begin: dict[str, int] | None = None

    def prepare_data(self) -> None:
        """Make the cache entry (once a machine)."""
        prepare(self._source, self._preparation, self._cache, self._processes)

    def setup(self, stage: str | None = None) -> None:
        """Open the cache entry; nothing is read yet."""
        if self._splits:
            return
        self.folder = self._cache / self._preparation.key(self._source)
        self.vocabulary = Vocabulary.load(self.folder / "vocabulary")
        self.buckets = {**self.vocabulary.edges, **self.buckets}
        self.report: dict[str, Any] = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        limit = self.vocabulary.max_length
        self._splits = {split: Examples(tables.opened(self.folder / f"{split}.arrow"), limit) for split in SPLITS}
        for split in SPLITS:
            if not len(self._splits[split]):
                raise InputError(self._empty(split))

    def _empty(self, split: str) -> str:
        told = f"the {split} split has no usable example (rows: {counted(self.report['ledger'][split])})"
        if split in self.report["cut"]:
            told += f"; it was cut from training, which is too small for that: give {split} a file of its own"
        return told

    def table(self, split: str) -> pa.Table:
        """The raw columns of a split: id, length, texts, labels, strata, baselines."""
        return self._splits[split].table

    def single(self, split: str, index: int) -> Batch:
        """One example of a split as a batch."""
        return self._splits[split][[index]]

    def longest_batch(self, tokens: int) -> Batch:
        """As many as `tokens` hold of the training examples that take up the most positions, some of them repeated."""
        lengths_N = self._splits["train"].lengths()
        count = max(1, tokens // int(lengths_N.max()))
        order_N = np.argsort(-lengths_N, kind="stable")
        return self._splits["train"][np.resize(order_N[: max(1, (lengths_N == lengths_N.max()).sum())], count).tolist()]

    def resize(self, tokens: int) -> None:
        """Make batches of at most so many tokens from now on."""
        self._batches = replace(self._batches, tokens=tokens)

    def items(self, split: str) -> pa.Table:
        """What is scored of a split, one a row: its examples, or the queries in them."""
        return items(self.table(split), self.buckets)

    def longest(self, split: str) -> int:
        """The most positions that any example of a split takes up."""
        return int(self._splits[split].lengths().max())

    def class_weights(self) -> list[float] | None:
        """What each class counts in the training loss, 1 on average over the examples; None where all count the same.

        It is the inverse of the class's frequency, so that every class with any examples counts as much in all.
        """
        classes_N = self._splits["train"].classes_N
        if not self._batches.class_weights or classes_N is None:
            return None
        counts_C = np.bincount(classes_N, minlength=len(self.vocabulary.labels))
        return (counts_C.sum() / np.count_nonzero(counts_C) / counts_C.clip(1)).tolist()

    def hashes(self) -> dict[str, str]:
        """What a comparison checks: data, tokenizer and labels."""
        return {"data": self.folder.name, **self.vocabulary.hashes()}

    def _place(self) -> tuple[int, int]:
        """The rank of this process, and the number of ranks."""
        return (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)

    def _loader(self, split: str, seed: int | None) -> DataLoader:
        return loader(self._splits[split], self._batches, seed, *self._place(), pins(self.trainer))

    def train_dataloader(self) -> DataLoader:
        """Training batches, shuffled by (seed, epoch); a resumed epoch begins after those that are done.

        InputError: it was begun by another number of ranks.
        """
        found = self._loader("train", self._batches.seed)
        if self._begin is not None:
            _, ranks = self._place()
            refuse_other_ranks(self._begin.get("ranks", ranks), ranks)
            found.sampler.load_state_dict(self._begin)  # type: ignore[attr-defined]
            self._begin = None
        return found

    def state_dict(self) -> dict[str, int]:
        """How far training has got: the epoch, the batches of it that are done on each rank, and how many ranks."""
        trainer = self.trainer
        assert trainer is not None
        done = trainer.fit_loop.epoch_loop.batch_progress.current.completed
        return {"epoch": trainer.current_epoch, "taken": done, "ranks": trainer.world_size}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Where the next training loader is to begin."""
        self._begin = state_dict

    def val_dataloader(self) -> DataLoader:
        """Validation batches, each example once."""
        return self._loader("val", None)

    def test_dataloader(self) -> DataLoader:
        """Test batches, each example once."""
        return self._loader("test", None)


def refuse_other_ranks(began: int, now: int) -> None:
    """InputError: a run cannot go on with another number of ranks, among which its batches were dealt out."""
    if began != now:
        raise InputError(
            f"the run began with {began} ranks, and goes on with as many only, not {now}: write trainer.devices and "
            "trainer.num_nodes for as many, or begin another in a new hydra.run.dir"
        )


class TestSet(L.LightningDataModule):
    """One set of rows to evaluate on with a vocabulary that is fixed already."""

    def __init__(
        self,
        rows: Iterable[Row],
        task: str,
        vocabulary: Vocabulary,
        batches: BatchOptions,
        buckets: dict[str, list[int]],
        baselines: tuple[str, ...],
    ) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="seqarena-")
        path = Path(self._folder.name) / "test.arrow"
        self.ledger = prepare_test(rows, task, vocabulary, path).plain()
        self._examples, self._batches = Examples(tables.opened(path), vocabulary.max_length), batches
        self.buckets = {**vocabulary.edges, **buckets}
        self.baselines = tuple(name for name in baselines if name in self._examples.table.column_names)
        if not len(self._examples):
            raise InputError(f"the test set has no usable example (rows: {counted(self.ledger)})")

    def table(self, split: str) -> pa.Table:
        """The raw columns."""
        return self._examples.table

    def items(self, split: str) -> pa.Table:
        """What is scored, one a row: the examples, or the queries in them."""
        return items(self.table(split), self.buckets)

    def test_dataloader(self) -> DataLoader:
        """Each example once."""
        return loader(self._examples, self._batches, None, 0, 1, pins(self.trainer))
