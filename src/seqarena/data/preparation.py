"""From raw rows to prepared examples: counted, tokenized, written once under a key of everything they depend on."""

import hashlib
import json
import logging
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pyarrow as pa
from filelock import FileLock, Timeout

from seqarena.data import tables
from seqarena.data.baselines import predictions
from seqarena.data.encoding import encode
from seqarena.data.filtering import Filters, all_lengths, filter_training, length_limit
from seqarena.data.gathering import Gathered, gather
from seqarena.data.ledger import Ledger, counted
from seqarena.data.queries import by_row, items
from seqarena.data.source import SPLITS, Row, Source
from seqarena.data.splits import Splits
from seqarena.data.survey import edges, survey
from seqarena.data.tokenizer import TokenizerOptions
from seqarena.data.vocabulary import Vocabulary, fit
from seqarena.data.watching import Watch
from seqarena.errors import InputError

VERSION = 3
"""Of what is prepared: raise it whenever the same options would give other files."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Preparation:
    """What, beside the rows, decides how they are prepared. `seed` is that of the splits cut from training."""

    task: str
    tokenizer: TokenizerOptions
    filters: Filters
    seed: int
    baselines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.task != "tagging":
            return
        if self.tokenizer.kind != "word":
            raise InputError(
                f"data.tokenizer.kind={self.tokenizer.kind}: labels belong to words, so in a tagging each is a token: "
                "write data.tokenizer.kind=word"
            )
        if "tfidf" in self.baselines:
            raise InputError("data.baselines: tfidf labels whole texts, not their tokens: write [majority]")

    def key(self, source: Source) -> str:
        """The name of the cache entry."""
        told = json.dumps([VERSION, source.fingerprint(), asdict(self)], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:20]


def prepare(source: Source, how: Preparation, cache: Path, processes: int = 1) -> Path:
    """The folder of prepared examples, made now unless it lies in `cache` already; large data by several `processes`.

    It is made under a temporary name and renamed when whole, so a crash leaves no half entry. One process at a time
    makes an entry: the others wait for it, and a lock ends with the process that holds it.
    """
    entry = cache / how.key(source)
    if entry.is_dir():
        return entry
    lock = _lock(cache, entry.name)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        log.warning("waiting for another process that is preparing the same data")
        lock.acquire()
    try:
        return entry if entry.is_dir() else _make_atomically(source, how, entry, processes)
    finally:
        lock.release()


def _lock(cache: Path, name: str) -> FileLock:
    try:
        (cache / ".locks").mkdir(parents=True, exist_ok=True)
        (cache / ".locks" / name).touch()
    except OSError as error:
        raise InputError(
            f"cache={cache} cannot be written ({error.strerror}): write cache=<a folder of yours>"
        ) from error
    return FileLock(cache / ".locks" / name)


def _make_atomically(source: Source, how: Preparation, entry: Path, processes: int) -> Path:
    for left in entry.parent.glob(f"{entry.name}-*"):  # by a process that was killed: who has the lock is alone
        shutil.rmtree(left)
    making = Path(tempfile.mkdtemp(prefix=f"{entry.name}-", dir=entry.parent))
    try:
        with Watch() as watch:
            _make(source, how, making, processes, watch)
        making.chmod(0o755)
        making.rename(entry)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return entry


def _make(source: Source, how: Preparation, folder: Path, processes: int, watch: Watch) -> None:
    splits, raw = Splits(source, how.seed), folder / "raw"
    raw.mkdir()
    gathered = _gather_training(splits, how, raw, watch)
    watch.stage("training the tokenizer")
    vocabulary = fit(how.task, how.tokenizer, raw / "train.arrow")
    for split in ("val", "test"):
        watch.stage(f"reading {split}")
        labels = set(vocabulary.labels) if how.task != "translation" else None
        gathered[split] = gather(splits.rows(split), how.task, labels, raw / f"{split}.arrow", watch.advance)
    for split in SPLITS:
        watch.stage(f"tokenizing {split}", gathered[split].ledger.kept)
        encode(raw / f"{split}.arrow", how.task, vocabulary, folder / f"{split}.arrow", processes, watch.advance)
    shutil.rmtree(raw)
    watch.stage("looking it over")
    vocabulary = _limit(how, gathered, vocabulary, source.strata, folder)
    _refuse_same(folder)
    report = {
        "ledger": {split: gathered[split].ledger.plain() for split in SPLITS},
        "unknown_labels": {split: dict(gathered[split].ledger.unknown.most_common(20)) for split in SPLITS},
        "cut": list(splits.cut),
        **survey(folder, gathered, vocabulary),
    }
    if how.baselines:
        watch.stage("fitting baselines")
        _add_baselines(how.baselines, folder)
    vocabulary.save(folder / "vocabulary")
    (folder / "report.json").write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")


def _gather_training(splits: Splits, how: Preparation, raw: Path, watch: Watch) -> dict[str, Gathered]:
    watch.stage("reading train")
    found = gather(splits.rows("train"), how.task, None, raw / "train.arrow", watch.advance)
    if not found.ledger.kept:
        raise InputError(f"the training split has no usable example (rows: {counted(found.ledger.plain())})")
    return {"train": found}


def _limit(
    how: Preparation, gathered: dict[str, Gathered], vocabulary: Vocabulary, strata: tuple[str, ...], folder: Path
) -> Vocabulary:
    """Hold training within the filters; count the texts that will be cut when they are read."""
    path = folder / "train.arrow"
    limit = length_limit(how.filters, all_lengths(path))
    gathered["train"] = filter_training(how.filters, limit, gathered["train"], path)
    for split in SPLITS:
        _count_cut(gathered[split], how.task, limit, folder / f"{split}.arrow")
    return replace(vocabulary, max_length=limit, edges=edges(tables.opened(path), strata))


def _count_cut(gathered: Gathered, task: str, limit: int | None, path: Path) -> None:
    """Note how many texts will be cut when they are read; a translation's never are."""
    long = 0 if limit is None or task == "translation" else int((all_lengths(path) > limit).sum())
    if long:
        gathered.ledger.notes["truncated"] = long


def _add_baselines(names: Iterable[str], folder: Path) -> None:
    """Columns of val and test with what each baseline answers there, having seen what a model may see."""
    splits = {split: tables.opened(folder / f"{split}.arrow") for split in SPLITS}
    asked = {split: items(table, ()) for split, table in splits.items()}
    for split in ("val", "test"):
        table = splits[split]
        for name in names:
            answers = predictions(name, asked["train"], asked["val"], asked[split])
            table = table.append_column(name, pa.array(by_row(table, answers), pa.string()))
        tables.write(table.to_batches(), table.schema, folder / f"{split}.arrow")


def _refuse_same(folder: Path) -> None:
    """Choosing on the test examples would make the test score meaningless."""
    val, test = tables.opened(folder / "val.arrow"), tables.opened(folder / "test.arrow")
    if len(val) and val.equals(test):
        raise InputError(
            f"validation and test are the same {len(val)} examples: the best epoch would be chosen on the test"
        )


def prepare_test(rows: Iterable[Row], task: str, vocabulary: Vocabulary, path: Path) -> Ledger:
    """Write one set of rows, prepared with a vocabulary that is fixed already."""
    raw = path.with_suffix(".raw")
    labels = set(vocabulary.labels) if task != "translation" else None
    found = gather(rows, task, labels, raw, lambda count: None)
    encode(raw, task, vocabulary, path, 1, lambda count: None)
    raw.unlink()
    _count_cut(found, task, vocabulary.max_length, path)
    return found.ledger
