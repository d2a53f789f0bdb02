"""Labels of tokens: refused where they do not fit, found again in batches, one row a query and back."""

from dataclasses import replace
from pathlib import Path

import pytest
from test_preparation import TEXTS, opened, three

from seqarena.data import tables
from seqarena.data.batch import TaggingBatch
from seqarena.data.examples import Examples
from seqarena.data.filtering import Filters
from seqarena.data.module import DataModule, loader
from seqarena.data.preparation import prepare_test
from seqarena.data.queries import by_text
from seqarena.data.source import Row
from seqarena.errors import InputError
from seqarena.flops import average_batch

HOW = replace(TEXTS, task="tagging", baselines=("majority",))
TRAIN: list[Row] = [
    {"text": "a b c d", "labels": "_ x _ y", "gap": "4 7", "guess": "x x", "size": 1},
    {"text": "b a", "labels": "y _", "gap": "9", "guess": "x", "size": 2},
    {"text": "c c c", "labels": "_ _ _", "gap": "", "guess": "", "size": 3},
    {"text": "d a c", "labels": "y _ x", "gap": "5 5", "guess": "y x", "size": 4},
]
VAL, TEST = [TRAIN[3]], [TRAIN[0], TRAIN[1], {**TRAIN[1], "labels": "z _"}]


@pytest.fixture
def data(tmp_path: Path) -> DataModule:
    source = three(TRAIN, VAL, TEST)
    source.strata, source.shortcuts = ("gap", "size"), ("guess",)
    return opened(source, HOW, tmp_path)


def test_labels_are_counted_ordered_and_found_again(data: DataModule) -> None:
    assert data.report["ledger"]["train"] == {"read": 4, "kept": 3, "empty": 1}
    assert data.report["ledger"]["test"] == {"read": 3, "kept": 2, "unknown_label": 1}
    assert data.report["unknown_labels"]["test"] == {"z": 1}
    assert data.report["classes"]["train"] == {"x": 2, "y": 3} and "suspects" not in data.report
    assert data.vocabulary.labels == ["x", "y"]
    assert data.buckets == {"gap": [4, 5, 7, 9], "size": [1, 2, 4]}


def test_what_is_scored_is_a_query_with_what_belongs_to_it(data: DataModule) -> None:
    items = data.items("test").to_pydict()
    assert items["id"] == [0, 1, 2] and items["example"] == [0, 0, 1] and items["position"] == [1, 3, 0]
    assert items["text"] == ["a b c d", "a b c d", "b a"] and items["length"] == [4, 4, 2]
    assert items["label"] == ["x", "y", "y"] and items["class"] == [0, 1, 1]
    assert items["gap"] == [4, 7, 9] and items["size"] == [1, 1, 2]
    assert items["guess"] == ["x", "x", "x"] and items["majority"] == ["y", "y", "y"]
    raw = [{**row, "size": " ".join([str(row["size"])] * len(str(row["gap"]).split()))} for row in TRAIN[:2]]
    found = [{name: row[name] for name in TRAIN[0]} for row in by_text(data.items("test").to_pylist())]
    assert found == raw


def test_a_batch_says_where_each_label_belongs(data: DataModule) -> None:
    batch = data._splits["train"][[2, 0]]
    assert isinstance(batch, TaggingBatch)
    assert batch.row_Q.tolist() == [0, 0, 1, 1] and batch.place_Q.tolist() == [0, 2, 1, 3]
    assert [data.vocabulary.labels[one] for one in batch.label_Q] == ["y", "x", "x", "y"]
    assert batch.id_Q.tolist() == [3, 4, 0, 1] and batch.id_B.tolist() == [2, 0]
    assert (batch.examples, batch.targets, batch.tokens, batch.positions) == (2, 4, 7, 8)
    assert average_batch(data.table("train"), None).targets == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"labels": "x _ y"}, r"row 0 has 3 entries in labels='x _ y', where 4 belong, one for each token of its text"),
        ({"text": "a b. c"}, "punctuation is a token of its own"),
        ({"gap": "4"}, "row 0 has 1 entries in gap='4', where 2 belong, one for each label"),
    ],
)
def test_a_row_out_of_step_is_refused(tmp_path: Path, row: dict[str, str], message: str) -> None:
    rows = [{**TRAIN[0], "text": "a b c d", **row}, *TRAIN[1:]]
    if "." in rows[0]["text"]:
        rows[0]["labels"] = "_ x y"
    with pytest.raises(InputError, match=message):
        opened(three(rows, VAL, TEST), HOW, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokenizer": replace(TEXTS.tokenizer, kind="bpe")}, "kind=bpe: .* write data.tokenizer.kind=word"),
        ({"baselines": ("majority", "tfidf")}, r"tfidf labels whole texts, not their tokens: write \[majority\]"),
        ({"filters": Filters(3)}, "data.max_length=3 would cut off labels: write 4 or more, or null"),
    ],
)
def test_what_tagging_cannot_do_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        opened(three(TRAIN, VAL, TEST), replace(HOW, **change), tmp_path)  # type: ignore[arg-type]


def test_texts_may_be_cut_behind_their_labels_but_no_test_set_before_them(tmp_path: Path) -> None:
    source = three([{**row, "text": f"{row['text']} e", "labels": f"{row['labels']} _"} for row in TRAIN], VAL, TEST)
    data = opened(source, replace(HOW, filters=Filters(4)), tmp_path)
    assert data.report["ledger"]["train"]["truncated"] == 1 and next(iter(data.train_dataloader())).positions <= 4 * 3
    longer = [{"text": "a a a a a", "labels": "_ _ _ _ x", "gap": "1", "guess": "x", "size": 1}]
    prepare_test(longer, "tagging", data.vocabulary, tmp_path / "test.arrow")
    with pytest.raises(InputError, match="max_length=4 would cut off labels"):
        Examples(tables.opened(tmp_path / "test.arrow"), data.vocabulary.max_length)


@pytest.mark.parametrize("option", [{"word_swap": 0.1}, {"sampling": "oversample"}, {"class_weights": True}])
def test_labels_are_neither_moved_nor_weighed(data: DataModule, option: dict[str, object]) -> None:
    with pytest.raises(InputError, match=f"data.{next(iter(option))}=.*: leave it out"):
        loader(data._splits["train"], replace(data._batches, **option), 1, 0, 1)  # type: ignore[arg-type]
