"""From raw rows to prepared examples: counted, tokenized, written once under a key of everything they depend on."""

import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seqarena.data.baselines import predictions
from seqarena.data.ledger import Ledger
from seqarena.data.source import SPLITS, Row, Source
from seqarena.data.splits import Splits
from seqarena.data.tokenizer import Tokenizer, TokenizerOptions, train
from seqarena.errors import InputError

VERSION = 2
CHUNK = 10_000


@dataclass(frozen=True)
class Preparation:
    """What, beside the rows, decides how they are prepared. `max_length` is a number, `p95` or nothing."""

    task: str
    tokenizer: TokenizerOptions
    max_length: int | str | None
    seed: int
    baselines: tuple[str, ...] = ()

    def key(self, source: Source) -> str:
        """The name of the cache entry."""
        told = json.dumps([VERSION, source.fingerprint(), asdict(self)], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Vocabulary:
    """What training fixed: both sides' tokenizers (the same one when joint), the labels in order, the longest text."""

    source: Tokenizer
    target: Tokenizer | None
    labels: list[str]
    max_length: int | None = None

    def save(self, folder: Path) -> None:
        """Write it as plain JSON files."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "source.json").write_text(self.source.json(), encoding="utf-8")
        if self.target is not None:
            (folder / "target.json").write_text(self.target.json(), encoding="utf-8")
        rest = {"labels": self.labels, "max_length": self.max_length}
        (folder / "vocabulary.json").write_text(json.dumps(rest, ensure_ascii=False, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Vocabulary":
        """Read what `save` wrote."""
        target = folder / "target.json"
        source = Tokenizer.load(folder / "source.json")
        rest = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
        return cls(source, Tokenizer.load(target) if target.exists() else None, rest["labels"], rest["max_length"])

    def hashes(self) -> dict[str, str]:
        """Short hashes of tokenizer and labels, for the record."""
        told = self.source.json() + ("" if self.target is None else self.target.json())
        return {"tokenizer": digest(told), "labels": digest(json.dumps(self.labels))}


def digest(text: str) -> str:
    """The first 16 hex digits of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def prepare(source: Source, how: Preparation, cache: Path) -> Path:
    """The folder of prepared examples, made now unless it lies in `cache` already.

    It is made under a temporary name and renamed when whole, so a crash leaves no half entry and two processes may do
    it at once.
    """
    entry = cache / how.key(source)
    if entry.is_dir():
        return entry
    try:
        cache.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=f"{entry.name}-", dir=cache))
    except OSError as error:
        raise InputError(
            f"cache={cache} cannot be written ({error.strerror}): write cache=<a folder of yours>"
        ) from error
    try:
        _make(source, how, making)
        try:
            making.rename(entry)
        except OSError:  # another process was first, with the same content
            if not entry.is_dir():
                raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return entry


def _make(source: Source, how: Preparation, folder: Path) -> None:
    splits = Splits(source, how.seed)
    vocabulary = fit(splits, how)
    ledgers = {split: write(splits.rows(split), how.task, vocabulary, folder / f"{split}.arrow") for split in SPLITS}
    if not ledgers["train"].kept:
        raise InputError(f"the training split has no usable example: {ledgers['train'].plain()}")
    limit = _length_limit(how, folder / "train.arrow")
    _refuse_same(folder)
    for split in SPLITS:
        _apply_limit(how.task, limit, split, folder / f"{split}.arrow", ledgers[split])
    if how.baselines:
        _add_baselines(how.baselines, folder)
    replace(vocabulary, max_length=limit).save(folder / "vocabulary")
    report = {
        "ledger": {split: ledger.plain() for split, ledger in ledgers.items()},
        "overlap": _overlap(folder, how.task),
        "cut": list(splits.cut),
    }
    (folder / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")


def fit(splits: Splits, how: Preparation) -> Vocabulary:
    """Tokenizers and labels, from the training rows alone."""
    if how.task == "classification":
        labels = sorted({str(row["label"]) for row in splits.rows("train")} - {""})
        tokenizer = train(how.tokenizer, _texts(splits, "text"))
        return Vocabulary(tokenizer, None, labels)
    source, target = _texts(splits, "source"), _texts(splits, "target")
    if how.tokenizer.joint:
        tokenizer = train(how.tokenizer, chain(source, target))
        return Vocabulary(tokenizer, tokenizer, [])
    return Vocabulary(train(how.tokenizer, source), train(how.tokenizer, target), [])


def _texts(splits: Splits, side: str) -> Iterator[str]:
    return (str(row[side]) for row in splits.rows("train"))


def write(rows: Iterable[Row], task: str, vocabulary: Vocabulary, path: Path) -> Ledger:
    """Count and tokenize the rows of a split and write those kept as an Arrow file."""
    ledger = Ledger()
    kept = _kept(rows, task, set(vocabulary.labels), ledger)
    writer = None
    with pa.OSFile(str(path), "wb") as file:
        while chunk := list(islice(kept, CHUNK)):
            batch = _encode(chunk, task, vocabulary)
            writer = writer or pa.ipc.new_file(file, batch.schema)
            writer.write_batch(batch)
        if writer is None:
            writer = pa.ipc.new_file(file, _encode([], task, vocabulary).schema)
        writer.close()
    return ledger


def _kept(rows: Iterable[Row], task: str, labels: set[str], ledger: Ledger) -> Iterator[dict[str, Any]]:
    sides = ("text", "label") if task == "classification" else ("source", "target")
    seen: Counter[tuple[Any, ...]] = Counter()
    for index, row in enumerate(rows):
        if any(not str(row[side]).strip() for side in sides):
            ledger.drop("empty")
        elif task == "classification" and row["label"] not in labels:
            ledger.drop("unknown_label")
        else:
            ledger.keep()
            seen[tuple(row[side] for side in sides)] += 1
            yield {"id": index, **row}
    repeated = sum(seen.values()) - len(seen)
    if repeated:
        ledger.notes["duplicate"] = repeated


def _encode(rows: list[dict[str, Any]], task: str, vocabulary: Vocabulary) -> pa.RecordBatch:
    sides = ("text", "label") if task == "classification" else ("source", "target")
    names = list(rows[0]) if rows else ["id", *sides]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in names}
    ids = vocabulary.source.encode(columns[sides[0]])
    columns["source_ids"] = pa.array(ids, pa.list_(pa.int32()))
    if task == "classification":
        number = {label: place for place, label in enumerate(vocabulary.labels)}
        columns["class"] = pa.array([number[label] for label in columns["label"]], pa.int32())
    else:
        columns["target_ids"] = pa.array(
            (vocabulary.target or vocabulary.source).encode(columns["target"]), pa.list_(pa.int32())
        )
    columns["length"] = pa.array([len(row) for row in ids], pa.int64())
    return pa.RecordBatch.from_pydict(columns)


def _table(path: Path) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def _length_limit(how: Preparation, path: Path) -> int | None:
    """`p95` is the 95th percentile of the training lengths: nothing is fitted on other splits."""
    wanted = how.max_length
    if wanted is None or isinstance(wanted, int):
        return wanted
    if not (wanted.startswith("p") and wanted[1:].isdigit() and 0 < int(wanted[1:]) <= 100):
        raise InputError(f"data.max_length={wanted} is not understood: write a number, p95 (a percentile) or null")
    return max(1, int(np.percentile(_table(path)["length"].to_numpy(), int(wanted[1:]), method="higher")))


def _apply_limit(task: str, limit: int | None, split: str, path: Path, ledger: Ledger) -> None:
    """Long texts are cut when they are read (and counted here); long pairs are dropped, from training only."""
    if limit is None:
        return
    table = _table(path)
    long = table["length"].to_numpy() > limit
    if task == "classification":
        if long.any():
            ledger.notes["truncated"] = int(long.sum())
        return
    if split != "train" or not long.any():
        return
    ledger.discard("too_long", int(long.sum()))
    _rewrite(table.filter(pa.array(~long)), path)


def _rewrite(table: pa.Table, path: Path) -> None:
    part = path.with_suffix(".part")
    with pa.OSFile(str(part), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    part.replace(path)


def _add_baselines(names: Iterable[str], folder: Path) -> None:
    """Columns of val and test with what each baseline answers there, having seen what a model may see."""
    tables = {split: _table(folder / f"{split}.arrow") for split in SPLITS}
    labelled = {split: (table["text"].to_pylist(), table["label"].to_pylist()) for split, table in tables.items()}
    for split in ("val", "test"):
        table = tables[split]
        for name in names:
            answers = predictions(name, labelled["train"], labelled["val"], labelled[split][0])
            table = table.append_column(name, pa.array(answers, pa.string()))
        _rewrite(table, folder / f"{split}.arrow")


def _refuse_same(folder: Path) -> None:
    """Choosing on the test examples would make the test score meaningless."""
    val, test = _table(folder / "val.arrow"), _table(folder / "test.arrow")
    if len(val) and val.equals(test):
        raise InputError(
            f"validation and test are the same {len(val)} examples: the best epoch would be chosen on the test"
        )


def _overlap(folder: Path, task: str) -> dict[str, int]:
    """How many examples of val and test have a text (or source) that training holds too."""
    side = "text" if task == "classification" else "source"
    texts = {split: _table(folder / f"{split}.arrow")[side].to_pylist() for split in SPLITS}
    pairs = (("train", "val"), ("train", "test"), ("val", "test"))
    return {f"{a}-{b}": sum(text in known for text in texts[b]) for a, b in pairs for known in [set(texts[a])]}
