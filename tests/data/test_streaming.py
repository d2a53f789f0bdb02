"""Streamed training rows: each to one shard, in the same order wherever it went on, never more than a buffer."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice, takewhile
from pathlib import Path

import pytest
from conftest import ROOT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from torch.utils.data._utils.pin_memory import pin_memory

from seqarena.data.filtering import Filters
from seqarena.data.head import StreamOptions
from seqarena.data.loading import BatchOptions
from seqarena.data.preparation import Preparation
from seqarena.data.source import Row
from seqarena.data.sources.files import LabelledFiles, ParallelText
from seqarena.data.streaming import Place, Progress, Recipe, Shard, Stream, Streamed
from seqarena.data.streaming_module import StreamingDataModule
from seqarena.data.tokenizer import TokenizerOptions
from seqarena.errors import InputError
from seqarena.streaming_check import check_streaming, refuse_report

WORDS = TokenizerOptions(kind="word", vocabulary=1000)
TEXTS = Preparation("classification", WORDS, Filters(8), 1)
PAIRS = Preparation("translation", WORDS, Filters(9, 2.0), 1)
NOISY = BatchOptions(64, 9, 0, 7, word_dropout=0.3)


@dataclass
class Counted:
    """A source that counts the training rows that were asked of it. `size` rows; None: they never end."""

    size: int | None = 200
    pairs: bool = False
    asked: int = 0
    strata: tuple[str, ...] = ()
    shortcuts: tuple[str, ...] = ()
    odd: dict[int, Row] = field(default_factory=dict)

    def splits(self) -> tuple[str, ...]:
        return "train", "val", "test"

    def rows(self, split: str) -> Iterator[Row]:
        numbers: Iterator[int] = iter(range({"val": 5, "test": 6}[split])) if split != "train" else count()
        for number in numbers if self.size is None or split != "train" else range(self.size):
            self.asked += split == "train"
            odd = self.odd.get(number) if split == "train" else None
            yield odd or self._row(" ".join(["a"] * (number * 7 % 11 + 1)), number)

    def _row(self, text: str, number: int) -> Row:
        return {"source": text, "target": "b b b"} if self.pairs else {"text": text, "label": "xy"[number % 2]}

    def fingerprint(self) -> str:
        raise AssertionError("a fingerprint reads everything")

    def stamp(self) -> str:
        return f"{self.size} {self.pairs}"


EMPTY = {number: {"text": " ", "label": "x"} for number in (3, 4, 50, 198, 199)}
HALF = {2: {"text": "b", "label": "y"}} | {number: {"text": "", "label": "x"} for number in range(1, 41, 2)}


def opened(source: Counted, how: Preparation, folder: Path, batches: BatchOptions = NOISY) -> StreamingDataModule:
    data = StreamingDataModule(source, how, batches, {}, folder, 1, StreamOptions(20, 40))
    data.prepare_data()
    data.setup()
    return data


def recipe(source: Counted, how: Preparation, folder: Path, batches: BatchOptions = NOISY, buffer: int = 20) -> Recipe:
    vocabulary = opened(source, how, folder).folder / "vocabulary"
    return Recipe(source, how.task, vocabulary, how.filters, batches, buffer)


def epochs(shard: Shard, number: int) -> list[list[list[int]]]:
    """The rows of each batch, by epoch."""
    found = [[] for _ in range(number)]
    for batch, behind, _ in takewhile(lambda told: told[1].epoch < number, shard.batches(Place())):
        found[behind.epoch].append(batch.id_B.tolist())
    return found


@pytest.mark.parametrize("shards", [1, 2, 6])
def test_each_row_goes_to_one_shard_once_an_epoch_in_an_order_of_the_epoch(tmp_path: Path, shards: int) -> None:
    how = recipe(Counted(odd=EMPTY), TEXTS, tmp_path)
    dealt = [epochs(Shard(how, number, shards), 2) for number in range(shards)]
    for epoch in range(2):
        rows = [row for shard in dealt for batch in shard[epoch] for row in batch]
        assert sorted(rows) == sorted(set(range(200)) - set(EMPTY))
    assert dealt[0][0] != dealt[0][1] and dealt[0] == epochs(Shard(how, 0, shards), 2)


def test_batches_keep_the_budget_hold_similar_lengths_and_are_shuffled_within_the_buffer(tmp_path: Path) -> None:
    how = recipe(Counted(), TEXTS, tmp_path, BatchOptions(40, 9, 0, 7), buffer=50)
    sizes, blocks = Counter[str](), []
    for batch, behind, _ in takewhile(lambda told: told[1].epoch < 1, Shard(how, 0, 1).batches(Place())):
        assert batch.examples <= 9 and (batch.positions <= 40 or batch.examples == 1)
        assert {row // 50 * 50 for row in batch.id_B.tolist()} == {behind.row}
        sizes.update(tokens=batch.tokens, positions=batch.positions)
        blocks.append(batch.id_B.tolist())
    assert sizes["tokens"] > 0.9 * sizes["positions"]
    lengths = [max(row * 7 % 11 for row in batch) for batch in blocks]
    assert lengths != sorted(lengths) and [row for batch in blocks for row in batch] != list(range(200))


@pytest.mark.parametrize("how", [TEXTS, PAIRS], ids=["texts", "pairs"])
def test_a_shard_goes_on_from_any_place_with_the_same_batches_and_counts(tmp_path: Path, how: Preparation) -> None:
    told = recipe(Counted(90, how is PAIRS, odd={} if how is PAIRS else EMPTY), how, tmp_path)
    whole = list(takewhile(lambda one: one[1].epoch < 2, Shard(told, 0, 2).batches(Place())))
    total = sum((counts for _, _, counts in whole), Counter())
    assert total["read"] == 90 and total["read"] == sum(total.values()) - total["read"] - total["truncated"]
    assert (total["too_long"] and total["bad_ratio"]) if how is PAIRS else (total["empty"] and total["truncated"])
    for stop in range(len(whole)):
        rest = islice(Shard(told, 0, 2).batches(whole[stop][1]), len(whole) - stop - 1)
        for (batch, behind, counts), (again, place, read) in zip(whole[stop + 1 :], rest, strict=True):
            assert (behind, counts) == (place, read) and batch.source_BS.equal(again.source_BS)
            assert batch.id_B.equal(again.id_B)


def taken(data: StreamingDataModule, number: int) -> list[tuple[list[int], list[int]]]:
    """The next batches, as a trainer takes them."""
    batches = (data.on_before_batch_transfer(one, 0) for one in data.train_dataloader())
    return [(batch.id_B.tolist(), batch.source_BS.flatten().tolist()) for batch in islice(batches, number)]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_goes_on_with_the_batch_that_was_at_hand(tmp_path: Path, workers: int) -> None:
    options = BatchOptions(64, 9, workers, 7, word_dropout=0.3)
    whole = taken(opened(Counted(), TEXTS, tmp_path, options), 40)
    broken = opened(Counted(), TEXTS, tmp_path, options)
    assert taken(broken, 16) == whole[:16]
    state, read = broken.state_dict(), broken.report["ledger"]["train"]["read"]
    again = opened(Counted(), TEXTS, tmp_path, options)
    again.load_state_dict(state)
    assert taken(again, 25) == whole[15:]
    assert again.state_dict() != state and again.report["ledger"]["train"]["read"] > read


def test_a_run_goes_on_with_as_many_ranks_only(tmp_path: Path) -> None:
    data = opened(Counted(), TEXTS, tmp_path)
    taken(data, 1)
    data.load_state_dict({"ranks": data.state_dict()["ranks"] * 2})
    with pytest.raises(InputError, match=r"began with 2 ranks.*not 1: write trainer.devices"):
        data.train_dataloader()


def test_no_more_is_read_than_the_buffer_asks_for(tmp_path: Path) -> None:
    source = Counted(None)
    told = recipe(source, TEXTS, tmp_path)
    assert source.asked == 40
    _, behind, counts = next(Shard(told, 1, 3).batches(Place()))
    assert source.asked == 40 + 59 and behind == (0, 0, 1) and counts["read"] == 20


def test_the_record_calls_the_first_rows_what_they_are(tmp_path: Path) -> None:
    data = opened(Counted(), TEXTS, tmp_path)
    ledger = data.report["ledger"]
    assert ledger["val"] == {"read": 5, "kept": 5, "truncated": 1} and ledger["first_rows"]["read"] == 40
    assert list(ledger) == ["val", "test", "first_rows", "train"] and ledger["train"] == {}
    assert data.report["overlap"]["first_rows-val"] == 5 and "train" not in data.report["classes"]
    assert data.report["streaming"]["tokenizer_rows"] == 40 and len(data.table("train")) == 40
    assert "times of change of the training files" in data.report["streaming"]["data_hash_of"]


@pytest.mark.parametrize(
    ("source", "workers", "message"),
    [
        (Counted(odd={150: {"text": "a", "label": "z"}}), 0, "training row 151 has the label 'z'"),
        (Counted(41, odd=HALF), 2, "for at least one of the 2 workers and ranks"),
    ],
)
def test_what_cannot_be_used_ends_the_stream_with_one_message(tmp_path, source, workers, message) -> None:
    data = opened(source, TEXTS, tmp_path, BatchOptions(64, 9, workers, 7))
    with pytest.raises(InputError, match=message) as told:
        taken(data, 100)
    assert "Traceback" not in str(told.value)


def test_a_missing_split_is_refused(texts: Path, tmp_path: Path) -> None:
    (texts / "val.csv").unlink()
    with pytest.raises(InputError, match=r"no val split.*write data.val=<file>, or data.streaming=false"):
        opened(LabelledFiles("csv", "text", "label", str(texts)), TEXTS, tmp_path)  # type: ignore[arg-type]


def test_a_stamp_reads_no_training_file_but_every_other(pairs: Path) -> None:
    def stamps() -> tuple[str, str]:
        source = ParallelText("en", "de", str(pairs))
        return source.stamp(), source.fingerprint()

    first, train = stamps(), pairs / "train.en"
    time = train.stat().st_mtime_ns
    train.write_text(train.read_text().replace("man", "cat"))

    os.utime(train, ns=(time, time))
    same_stamp, other_content = stamps()
    assert (same_stamp == first[0]) and other_content != first[1]
    os.utime(train, ns=(time, time + 1))
    assert stamps()[0] != same_stamp
    (pairs / "val.en").write_text((pairs / "val.en").read_text().replace("man", "cat"))
    os.utime(train, ns=(time, time))
    assert stamps()[0] != same_stamp


REFUSED = {
    "trainer.max_epochs=4": "trainer.max_epochs=4 (write trainer.max_epochs=null)",
    "trainer.validate_every=null": "(write trainer.validate_every=<optimizer steps>)",
    "trainer.average=2": "trainer.average=2 (write trainer.average=0)",
    "data.baselines=[tfidf]": "data.baselines=[tfidf], which learn from all rows (write data.baselines=[])",
    "data.sampling=oversample": "data.sampling=oversample (write data.sampling=all)",
    "data.class_weights=true": "data.class_weights=true (write data.class_weights=false)",
    "data.drop_duplicates=true": "data.drop_duplicates=true (write data.drop_duplicates=false)",
    "budget.kind=flops": "average length of all rows (write budget=parameters)",
    "model.positions=learned": "write data.max_length=<tokens>, or model.positions=sinusoidal",
}


def test_what_needs_all_rows_or_an_epoch_is_refused_with_its_cure() -> None:
    given = ["data=csv", "data.path=x", "data.streaming=true", "data.baselines=[]", "data.max_length=null"]
    steps = ["trainer.max_epochs=null", "trainer.max_steps=9", "trainer.validate_every=3"]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        fitting = compose("train", [*given, *steps])
    check_streaming(fitting)
    for option, message in REFUSED.items():
        config = OmegaConf.merge(fitting, OmegaConf.from_dotlist([option]))
        with pytest.raises(InputError) as told:
            check_streaming(config)
        assert message in str(told.value) and ";" not in str(told.value)
    with pytest.raises(InputError, match=r"trainer.max_epochs=10 \(.*max_steps=<.*; trainer.validate_every=null"):
        check_streaming(
            OmegaConf.merge(fitting, {"trainer": {"max_epochs": 10, "max_steps": -1, "validate_every": None}})
        )
    with pytest.raises(InputError, match="report=data counts all training rows"):
        refuse_report(fitting)


def test_counts_are_not_doubled_by_who_pins_memory(tmp_path: Path) -> None:
    (told,) = islice(Stream(recipe(Counted(), TEXTS, tmp_path), 0, 1, [Place()], 0), 1)
    pinned = pin_memory(told._replace(batch=None))
    assert told.counts["read"] and dict(pinned.counts) == dict(told.counts)


def test_progress_is_behind_the_batches_before_the_one_at_hand() -> None:
    progress = Progress(2)
    for worker, done in ((0, 1), (1, 1), (0, 2)):
        progress.take(Streamed(None, worker, Place(0, 0, done), Counter(read=1)))  # type: ignore[arg-type]
    assert progress.state_dict() == {"places": [[0, 0, 1], [0, 0, 1]], "turn": 0, "counts": {"read": 2}}
    assert progress.counts() == {"read": 3}
    assert Progress.of(progress.state_dict()).places == progress.places
