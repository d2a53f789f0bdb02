"""Preparation: every row accounted for, nothing fitted on other splits, cached by content."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from seqarena.data.examples import Examples
from seqarena.data.filtering import Filters
from seqarena.data.module import BatchOptions, DataModule
from seqarena.data.preparation import Preparation, prepare
from seqarena.data.source import Row, Source
from seqarena.data.sources.listops import ListOps
from seqarena.data.tokenizer import TokenizerOptions
from seqarena.data.vocabulary import Vocabulary
from seqarena.errors import InputError

WORDS = TokenizerOptions(kind="word", vocabulary=1000, min_count=1, lowercase=False, joint=True)
TEXTS = Preparation("classification", WORDS, Filters(None), 1)
PAIRS = Preparation("translation", WORDS, Filters(None), 1)


@dataclass
class Fixed:
    """A source of given rows."""

    content: dict[str, list[Row]]
    strata: tuple[str, ...] = ()
    shortcuts: tuple[str, ...] = ()

    def splits(self) -> tuple[str, ...]:
        return tuple(self.content)

    def rows(self, split: str) -> Iterator[Row]:
        return iter(self.content[split])

    def fingerprint(self) -> str:
        return repr(self.content)


def texts(*pairs: tuple[str, str]) -> list[Row]:
    return [{"text": text, "label": label} for text, label in pairs]


def three(train: list[Row], val: list[Row] | None = None, test: list[Row] | None = None) -> Fixed:
    return Fixed(
        {"train": train, "val": train[:2] if val is None else val, "test": train[:1] if test is None else test}
    )


def opened(source: Source, how: Preparation, cache: Path) -> DataModule:
    data = DataModule(source, how, BatchOptions(100, None, 0, 1), {}, cache)
    data.prepare_data()
    data.setup()
    return data


def test_the_ledger_accounts_for_every_row(tmp_path: Path) -> None:
    train = texts(("a b", "x"), ("", "x"), ("c", ""), ("d", "y"), ("a b", "x"), ("  ", "y"))
    val, test = texts(("a b", "x"), ("d", "y")), texts(("a b", "x"), ("e", "z"))
    data = opened(three(train, val, test), TEXTS, tmp_path)
    ledger = data.report["ledger"]
    assert ledger["train"] == {"read": 6, "kept": 3, "empty": 3, "repeated": 1}
    assert ledger["test"] == {"read": 2, "kept": 1, "unknown_label": 1}
    assert data.report["overlap"] == {"train-val": 2, "train-test": 1, "val-test": 1}
    assert data.table("train")["id"].to_pylist() == [0, 3, 4]


def test_validation_that_is_the_test_is_refused(tmp_path: Path) -> None:
    rows = texts(("a", "x"), ("b", "y"))
    with pytest.raises(InputError, match="validation and test are the same 2 examples"):
        opened(three(rows, val=rows, test=rows), TEXTS, tmp_path)


def test_labels_and_words_come_from_training_alone(tmp_path: Path) -> None:
    data = opened(three(texts(("a", "y"), ("b", "x")), test=texts(("zebra", "x"))), TEXTS, tmp_path)
    assert data.vocabulary.labels == ["x", "y"]
    assert data.vocabulary.source.encode(["zebra a"])[0][0] == 1  # unknown


def test_a_joint_tokenizer_sees_both_sides_and_separate_ones_their_own(tmp_path: Path) -> None:
    source = three([{"source": "one two", "target": "eins zwei"}] * 3)
    joint = opened(source, PAIRS, tmp_path / "a").vocabulary
    assert 1 not in joint.source.encode(["one two eins zwei"])[0] and joint.target is not None
    apart = opened(source, replace(PAIRS, tokenizer=replace(WORDS, joint=False)), tmp_path / "b").vocabulary
    assert apart.source.encode(["one eins"])[0][1] == 1 and apart.target.encode(["one eins"])[0][0] == 1


def test_percentile_length_is_that_of_training_and_what_it_cuts_is_counted(tmp_path: Path) -> None:
    train = texts(*((" ".join("a" * n), "xy"[n % 2]) for n in range(1, 101)))
    data = opened(
        three(train, test=texts((" ".join("a" * 500), "x"))), replace(TEXTS, filters=Filters("p95")), tmp_path
    )
    assert data.vocabulary.max_length == 96
    assert data.report["ledger"]["train"]["truncated"] == 4 and data.report["ledger"]["test"]["truncated"] == 1
    assert next(iter(data.test_dataloader())).source_BS.shape == (1, 96)
    assert data.table("test")["length"].to_pylist() == [500]


def test_long_pairs_leave_training_but_never_the_test(tmp_path: Path) -> None:
    pairs = [{"source": " ".join("a" * n), "target": "b"} for n in (1, 2, 30)]
    data = opened(three(pairs, test=pairs), replace(PAIRS, filters=Filters(5)), tmp_path)
    assert data.report["ledger"]["train"] == {"read": 3, "kept": 2, "too_long": 1}
    assert data.report["ledger"]["test"]["kept"] == 3


def test_missing_splits_are_cut_from_training_by_seed_and_nothing_is_lost(tmp_path: Path) -> None:
    source = Fixed({"train": texts(*((f"t{n}", "xy"[n % 2]) for n in range(300)))})
    data = opened(source, TEXTS, tmp_path)
    cut = {split: set(data.table(split)["text"].to_pylist()) for split in ("train", "val", "test")}
    assert set.union(*cut.values()) == {f"t{n}" for n in range(300)} and sum(map(len, cut.values())) == 300
    assert 15 <= len(cut["val"]) <= 45 and 15 <= len(cut["test"]) <= 45
    assert data.report["cut"] == ["val", "test"]
    other = opened(source, replace(TEXTS, seed=2), tmp_path)
    assert set(other.table("val")["text"].to_pylist()) != cut["val"]


def test_the_cache_is_used_again_and_any_change_is_another_entry(tmp_path: Path) -> None:
    source = three(texts(("a", "x"), ("b", "y")))
    first = prepare(source, TEXTS, tmp_path)
    stamp = (first / "train.arrow").stat().st_mtime_ns
    assert prepare(source, TEXTS, tmp_path) == first and (first / "train.arrow").stat().st_mtime_ns == stamp
    others = [
        prepare(three(texts(("a", "x"), ("c", "y"))), TEXTS, tmp_path),
        prepare(source, replace(TEXTS, filters=Filters(3)), tmp_path),
        prepare(source, replace(TEXTS, tokenizer=replace(WORDS, lowercase=True)), tmp_path),
    ]
    assert len({first, *others}) == 4


def test_a_failure_leaves_nothing_half_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no usable example"):
        prepare(three(texts(("", "x"))), TEXTS, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".locks"]


def test_raw_text_survives_exactly_and_batches_match_their_rows(tmp_path: Path) -> None:
    pairs = [{"source": f"a{n} NA", "target": 'say "null", 007 \u2028 ok' + "!" * n} for n in range(40)]
    data = opened(three(pairs, test=pairs), PAIRS, tmp_path)
    assert data.table("test")["target"].to_pylist() == [pair["target"] for pair in pairs]
    seen = 0
    for batch in data.test_dataloader():
        assert batch.targets == (batch.wanted_BT != 0).sum() and batch.positions >= batch.tokens
        assert batch.tokens == batch.mask_BS.sum() + batch.targets
        for place, index in enumerate(batch.id_B.tolist()):
            ids = batch.wanted_BT[place].tolist()
            assert data.vocabulary.target.decode(ids).replace("<unk>", "?") != "" and ids[: ids.index(3)][0] > 3
            assert (
                batch.given_BT[place, 0] == 2
                and (batch.given_BT[place, 1:] == batch.wanted_BT[place, :-1])[: ids.index(3)].all()
            )
            assert data.vocabulary.source.decode(batch.source_BS[place].tolist()) == pairs[index]["source"]
            seen += 1
    assert seen == 40


def test_baselines_stand_beside_the_examples(tmp_path: Path) -> None:
    rows = texts(*((f"good {n}", "pos") for n in range(20)), *((f"bad {n}", "neg") for n in range(15)))
    data = opened(three(rows, val=rows[1:], test=rows), replace(TEXTS, baselines=("majority", "tfidf")), tmp_path)
    assert set(data.table("test")["majority"].to_pylist()) == {"pos"}
    assert data.table("test")["tfidf"].to_pylist() == data.table("test")["label"].to_pylist()


def test_a_lookup_stands_beside_the_examples_of_the_source_with_its_key(tmp_path: Path) -> None:
    source = ListOps(300, 40, 60, depth=3, arguments=4, lengths=[6, 30], seed=1)
    names = ("majority", "lookup_operator", "lookup_operator_digits_nested")
    table = opened(source, replace(TEXTS, baselines=names), tmp_path).table("test")
    usual: dict[str, Counter[str]] = {}
    for row in source.rows("train"):
        usual.setdefault(str(row["operator"]), Counter())[str(row["label"])] += 1
    for row in table.to_pylist():
        counts = usual[row["operator"]]
        assert counts[row["lookup_operator"]] == max(counts.values())
    right = [
        sum(a == b for a, b in zip(table[one].to_pylist(), table["label"].to_pylist(), strict=True)) for one in names
    ]
    assert right[0] < right[2]


def test_many_chunks_read_like_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = texts(*((" ".join(["a"] * (n % 7 + 1)), "xy"[n % 2]) for n in range(50)))
    whole = opened(three(rows), TEXTS, tmp_path / "a")
    monkeypatch.setattr("seqarena.data.gathering.CHUNK", 8)
    parts = opened(three(rows), TEXTS, tmp_path / "b")
    assert parts.table("train")["text"].num_chunks == 7
    one, many = (Examples(data.table("train"), None) for data in (whole, parts))
    assert (one.lengths() == many.lengths()).all()
    assert (one[list(range(50))].source_BS == many[list(range(50))].source_BS).all()


def test_a_vocabulary_is_itself_after_saving(tmp_path: Path) -> None:
    found = opened(
        three(texts(("a b", "x y"), ("b", "ü"))), replace(TEXTS, filters=Filters(2)), tmp_path / "c"
    ).vocabulary
    found.save(tmp_path / "v")
    again = Vocabulary.load(tmp_path / "v")
    assert (again.labels, again.max_length, again.hashes()) == (["x y", "ü"], 2, found.hashes())
