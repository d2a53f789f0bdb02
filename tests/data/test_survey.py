"""What leaves training is counted by reason; the survey's numbers against counts by hand; processes give the same."""

from dataclasses import replace
from pathlib import Path

import pytest
from dying import die
from test_preparation import PAIRS, TEXTS, opened, texts, three

from seqarena.data.buckets import check_buckets
from seqarena.data.filtering import Filters
from seqarena.data.module import BatchOptions, DataModule
from seqarena.data.survey import FEW
from seqarena.errors import InputError


def test_pairs_leave_training_for_one_reason_each_and_the_ledger_adds_up(tmp_path: Path) -> None:
    pairs = [("a b", "c d"), ("a b", "c d"), ("a " * 9, "c"), ("a b c d e", "f"), ("g", ""), ("a b", "c d")]
    rows = [{"source": one, "target": other} for one, other in pairs]
    how = replace(PAIRS, filters=Filters(8, max_ratio=4.0, drop_duplicates=True))
    data = opened(three(rows, val=rows[:1], test=rows), how, tmp_path)
    counts = data.report["ledger"]["train"]
    assert counts == {"read": 6, "kept": 1, "empty": 1, "too_long": 1, "bad_ratio": 1, "duplicate": 2, "repeated": 2}
    assert data.report["ledger"]["test"] == {"read": 6, "kept": 5, "empty": 1, "repeated": 2}
    assert data.table("train")["id"].to_pylist() == [0]
    assert data.report["overlap"]["train-test"] == 3


def test_duplicate_texts_of_a_classification_can_be_dropped(tmp_path: Path) -> None:
    train = texts(("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"))
    data = opened(three(train), replace(TEXTS, filters=Filters(None, drop_duplicates=True)), tmp_path)
    assert data.table("train")["id"].to_pylist() == [0, 2, 3]


def test_the_survey_counts_classes_lengths_unknown_tokens_and_suspects(tmp_path: Path) -> None:
    train = texts(("a b", "x"), ("a b", "y"), ("a b", "y"), ("c", "y"), ("a b c d", "x"))
    data = opened(three(train, test=texts(("a z", "x"), ("z z z", "odd"))), TEXTS, tmp_path)
    report = data.report
    assert report["classes"]["train"] == {"x": 2, "y": 3} and report["classes"]["test"] == {"x": 1, "y": 0}
    told = report["lengths"]["source"]
    assert dict(zip(told["edges"], told["counts"]["train"], strict=True))[2] == 3
    assert told["mean"]["train"] == pytest.approx(11 / 5) and told["longest"] == {"train": 4, "val": 2, "test": 2}
    assert report["unknown_share"]["test"] == 0.5 and report["unknown_share"]["train"] == 0.0
    suspect = {"text": "a b", "labels": {"x": 1, "y": 2}, "ids": [0, 1, 2]}
    assert report["suspects"] == {"count": 1, "examples": [suspect]}
    assert report["unknown_labels"]["test"] == {"odd": 1}


def test_strata_without_edges_get_them_from_training(tmp_path: Path) -> None:
    rows = [{"text": f"t{n}", "label": "xy"[n % 2], "few": n % 3, "many": n} for n in range(200)]
    source = replace(three(rows), strata=("few", "many"))
    data = opened(source, TEXTS, tmp_path)
    assert data.buckets["few"] == [0, 1, 2] and len(data.buckets["many"]) == 10 <= FEW
    given = DataModule(source, TEXTS, BatchOptions(100, None, 0, 1), {"many": [0, 100]}, tmp_path)
    given.setup()
    assert given.buckets["many"] == [0, 100] and given.buckets["few"] == [0, 1, 2]


@pytest.mark.parametrize(
    "buckets,told",
    [
        ({"lenght": [0]}, "no such axis, only length, year"),
        ({"length": []}, "must be a list of whole numbers"),
        ({"length": [0, 1.5]}, "must be a list of whole numbers"),
        ({"year": [3, 1, 1]}, r"write \[1, 3\]"),
        (None, "must give edges by axis"),
    ],
)
def test_buckets_that_mean_nothing_are_refused(buckets: object, told: str) -> None:
    with pytest.raises(InputError, match=told):
        check_buckets(buckets, ("year",))


@pytest.mark.parametrize("wanted", [0, -1, True, 1.5, "p0", "p101", "abc", ""])
def test_lengths_that_mean_nothing_are_refused(tmp_path: Path, wanted: int | str | None) -> None:
    with pytest.raises(InputError, match=r"data\.max_length=.* a number from 1, p95"):
        opened(three(texts(("a", "x"), ("b", "y"))), replace(TEXTS, filters=Filters(wanted)), tmp_path)


def test_several_processes_write_what_one_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqarena.data.gathering.CHUNK", 3)
    rows = [{"source": f"a{n} b", "target": f"c{n}"} for n in range(200)]
    one = opened(three(rows), PAIRS, tmp_path / "one")
    many = DataModule(three(rows), PAIRS, BatchOptions(100, None, 0, 1), {}, tmp_path / "many", processes=2)
    many.prepare_data()
    many.setup()
    for split in ("train", "val", "test"):
        assert one.table(split).equals(many.table(split)) and len(one.table(split)) > 0
    assert {path.name for path in many.folder.iterdir()} == {path.name for path in one.folder.iterdir()}


def test_a_killed_process_is_explained_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqarena.data.gathering.CHUNK", 3)
    monkeypatch.setattr("seqarena.data.encoding._start", die)
    rows = [{"source": f"a{n} b", "target": f"c{n}"} for n in range(200)]
    data = DataModule(three(rows), PAIRS, BatchOptions(100, None, 0, 1), {}, tmp_path, processes=2)
    with pytest.raises(InputError, match="was killed"):
        data.prepare_data()
    assert [path.name for path in tmp_path.iterdir()] == [".locks"]
