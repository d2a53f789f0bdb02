"""The datamodule: prepared examples of three splits as batches, for any task, rank and world size."""

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning as L
import pyarrow as pa
from torch.utils.data import DataLoader

from seqarena.data.batching import TokenBatches
from seqarena.data.examples import Examples
from seqarena.data.preparation import Preparation, Vocabulary, prepare, write
from seqarena.data.source import SPLITS, Row, Source
from seqarena.errors import InputError


@dataclass(frozen=True)
class BatchOptions:
    """How batches are made. Sizes are limits a batch; `seed` orders the training batches."""

    tokens: int
    examples: int | None
    workers: int
    seed: int


def loader(examples: Examples, options: BatchOptions, seed: int | None, rank: int, ranks: int) -> DataLoader:
    """Batches of `examples` for one rank, shuffled by `seed` and epoch, or in plan order without one."""
    return DataLoader(
        examples,  # type: ignore[arg-type]
        sampler=TokenBatches(examples.lengths(), options.tokens, options.examples, seed, rank, ranks),
        batch_size=None,
        num_workers=options.workers,
        persistent_workers=options.workers > 0,
    )


class DataModule(L.LightningDataModule):
    """Batches of one dataset. `buckets` are the lower edges of each stratum; the last bucket is open."""

    def __init__(
        self,
        source: Source,
        preparation: Preparation,
        batches: BatchOptions,
        buckets: dict[str, list[int]],
        cache: Path,
    ) -> None:
        super().__init__()
        self._source, self._preparation, self._batches, self._cache = source, preparation, batches, cache
        self.buckets = buckets
        self.baselines = (*source.shortcuts, *preparation.baselines)
        """Columns with labels to score beside the model's: rules of thumb and simple models."""
        self._splits: dict[str, Examples] = {}

    def prepare_data(self) -> None:
        """Make the cache entry (once a machine)."""
        prepare(self._source, self._preparation, self._cache)

    def setup(self, stage: str | None = None) -> None:
        """Open the cache entry; nothing is read yet."""
        if self._splits:
            return
        self.folder = self._cache / self._preparation.key(self._source)
        self.vocabulary = Vocabulary.load(self.folder / "vocabulary")
        self.report: dict[str, Any] = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        limit = self.vocabulary.max_length
        self._splits = {split: Examples(self.folder / f"{split}.arrow", limit) for split in SPLITS}
        for split in SPLITS:
            if not len(self._splits[split]):
                raise InputError(f"the {split} split has no usable example: {self.report['ledger'][split]}")

    def table(self, split: str) -> pa.Table:
        """The raw columns of a split: id, length, texts, labels, strata, baselines."""
        return self._splits[split].table

    def longest(self, split: str) -> int:
        """The most positions that any example of a split takes up."""
        return int(self._splits[split].lengths().max())

    def hashes(self) -> dict[str, str]:
        """What a comparison checks: data, tokenizer and labels."""
        return {"data": self.folder.name, **self.vocabulary.hashes()}

    def _loader(self, split: str, seed: int | None) -> DataLoader:
        rank, ranks = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        return loader(self._splits[split], self._batches, seed, rank, ranks)

    def train_dataloader(self) -> DataLoader:
        """Training batches, shuffled by (seed, epoch)."""
        return self._loader("train", self._batches.seed)

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
        self.ledger = write(rows, task, vocabulary, path).plain()
        self._examples, self._batches = Examples(path, vocabulary.max_length), batches
        self.buckets = buckets
        self.baselines = tuple(name for name in baselines if name in self._examples.table.column_names)
        if not len(self._examples):
            raise InputError(f"the test set has no usable example: {self.ledger}")

    def table(self, split: str) -> pa.Table:
        """The raw columns."""
        return self._examples.table

    def test_dataloader(self) -> DataLoader:
        """Each example once."""
        return loader(self._examples, self._batches, None, 0, 1)
