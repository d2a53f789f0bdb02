"""The datamodule: prepared examples of three splits as batches, for any task, rank and world size."""

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pyarrow as pa
import torch
from torch.utils.data import DataLoader

from seqarena.data.augmentation import Noise, Reading
from seqarena.data.batch import Batch
from seqarena.data.batching import TokenBatches
from seqarena.data.buckets import check_buckets
from seqarena.data.examples import Examples
from seqarena.data.preparation import Preparation, prepare, prepare_test
from seqarena.data.queries import items
from seqarena.data.source import SPLITS, Row, Source
from seqarena.data.vocabulary import Vocabulary
from seqarena.errors import InputError

SAMPLING = ("all", "oversample")
"""Every training example once an epoch; or those of the rarer classes repeated until all classes are as frequent."""


@dataclass(frozen=True)
class BatchOptions:
    """How batches are made, and how much each example counts in training.

    Sizes are limits a batch; `seed` orders the training batches and draws their noise, of which word dropout and word
    swap are shares of the source tokens. `class_weights` makes every class count as much as any other in the loss.
    Without `bucketing` training batches hold examples of any length, always as many as the limits allow of the longest.
    """

    tokens: int
    examples: int | None
    workers: int
    seed: int
    sampling: str = "all"
    class_weights: bool = False
    word_dropout: float = 0.0
    word_swap: float = 0.0
    bucketing: bool = True

    def __post_init__(self) -> None:
        if self.sampling not in SAMPLING:
            raise InputError(f"data.sampling={self.sampling} is not known: choose one of {', '.join(SAMPLING)}")
        if self.sampling == "oversample" and self.class_weights:
            raise InputError(
                "data.sampling=oversample and data.class_weights=true would make up for rare classes twice: "
                "write one of them"
            )

    def refuse_unfit(self, examples: Examples) -> None:
        """InputError if texts are to have classes that have none, or labelled tokens are to change their places."""
        for option, chosen in (
            ("sampling=oversample", self.sampling == "oversample"),
            ("class_weights=true", self.class_weights),
        ):
            if chosen and examples.classes_N is None:
                raise InputError(f"data.{option} needs a class for each text, as a classification has: leave it out")
        if self.word_swap and examples.tags is not None:
            raise InputError(f"data.word_swap={self.word_swap} would move tokens away from their labels: leave it out")


def loader(examples: Examples, options: BatchOptions, seed: int | None, rank: int, ranks: int) -> DataLoader:
    """Batches of `examples` for one rank: for training with a `seed`; without one as they are, in plan order."""
    training = seed is not None
    if training:
        options.refuse_unfit(examples)
    classes_N = examples.classes_N if training and options.sampling == "oversample" else None
    lengths_N = examples.lengths()
    if training and not options.bucketing:
        lengths_N = np.full_like(lengths_N, lengths_N.max())  # to the plan all are alike, so it leaves them shuffled
    noise = Noise(options.word_dropout, options.word_swap) if training else Noise()
    return DataLoader(
        Reading(examples, noise, seed or 0),  # type: ignore[arg-type]
        sampler=TokenBatches(lengths_N, options.tokens, options.examples, seed, rank, ranks, classes_N),
        batch_size=None,
        num_workers=options.workers,
        generator=torch.Generator(),  # a loader draws a number for its workers, which must not come out of the model's
        persistent_workers=options.workers > 0,
    )


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
        self._splits = {split: Examples(self.folder / f"{split}.arrow", limit) for split in SPLITS}
        for split in SPLITS:
            if not len(self._splits[split]):
                raise InputError(self._empty(split))

    def _empty(self, split: str) -> str:
        told = f"the {split} split has no usable example: {self.report['ledger'][split]}"
        if split in self.report["cut"]:
            told += f"; it was cut from training, which is too small for that: give {split} a file of its own"
        return told

    def table(self, split: str) -> pa.Table:
        """The raw columns of a split: id, length, texts, labels, strata, baselines."""
        return self._splits[split].table

    def single(self, split: str, index: int) -> Batch:
        """One example of a split as a batch."""
        return self._splits[split][[index]]

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

    def _loader(self, split: str, seed: int | None) -> DataLoader:
        rank, ranks = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        return loader(self._splits[split], self._batches, seed, rank, ranks)

    def train_dataloader(self) -> DataLoader:
        """Training batches, shuffled by (seed, epoch); a resumed epoch begins after those that are done."""
        found = self._loader("train", self._batches.seed)
        if self._begin is not None:
            found.sampler.load_state_dict(self._begin)  # type: ignore[attr-defined]
            self._begin = None
        return found

    def state_dict(self) -> dict[str, int]:
        """How far training has got: the epoch, and the batches of it that are done on each rank."""
        trainer = self.trainer
        assert trainer is not None
        done = trainer.fit_loop.epoch_loop.batch_progress.current.completed
        return {"epoch": trainer.current_epoch, "taken": done}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Where the next training loader is to begin."""
        self._begin = state_dict

    def val_dataloader(self) -> DataLoader:
        """Validation batches, each example once."""
        return self._loader("val", None)

    def test_dataloader(self) -> DataLoader:
        """Test batches, each example once."""
        return self._loader("test", None)


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
        self._examples, self._batches = Examples(path, vocabulary.max_length), batches
        self.buckets = {**vocabulary.edges, **buckets}
        self.baselines = tuple(name for name in baselines if name in self._examples.table.column_names)
        if not len(self._examples):
            raise InputError(f"the test set has no usable example: {self.ledger}")

    def table(self, split: str) -> pa.Table:
        """The raw columns."""
        return self._examples.table

    def items(self, split: str) -> pa.Table:
        """What is scored, one a row: the examples, or the queries in them."""
        return items(self.table(split), self.buckets)

    def test_dataloader(self) -> DataLoader:
        """Each example once."""
        return loader(self._examples, self._batches, None, 0, 1)
