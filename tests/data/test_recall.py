"""The memory tasks: every label by an independent solver, exact distances, reproducible, shared by no two splits."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from seqarena.data.source import SPLITS, Row
from seqarena.data.sources.copy_memory import CopyMemory
from seqarena.data.sources.generated import Generated
from seqarena.data.sources.induction import Induction
from seqarena.data.sources.recall import Recall
from seqarena.data.sources.selective_copy import SelectiveCopy
from seqarena.errors import InputError

SIZES = {"train": 120, "val": 40, "test": 60, "seed": 1}

Solved = dict[int, tuple[str, int]]
"""By the place of each query: its label, and its distance."""


def solve_recall(words: list[str]) -> Solved:
    """A key followed by a value is a pair; a key that is not is a query."""
    value, found = {}, {}
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else ""
        if word[0] == "k" and after[:1] == "v":
            value[word] = (after, place + 1)
        elif word[0] == "k":
            label, at = value[word]
            found[place] = (label, len(words[at + 1 : place]))
    return found


def solve_induction(words: list[str]) -> Solved:
    before, after = " ".join(words).split("recall")[:2]
    answer, *between = after.split()
    return {len(before.split()) + 2 + len(between): (answer, len(between))}


def solve_copies(words: list[str]) -> Solved:
    """What lies before the marks and is no blank, in its order."""
    held = [(word, place) for place, word in enumerate(words) if word not in ("blank", "recall")]
    marks = [place for place, word in enumerate(words) if word == "recall"]
    return {mark: (word, mark - place - 1) for mark, (word, place) in zip(marks, held, strict=True)}


def solve_copy_memory(words: list[str]) -> Solved:
    return {place: (label, words.count("blank")) for place, (label, _) in solve_copies(words).items()}


class Case(NamedTuple):
    kind: type[Generated]
    solve: Callable[[list[str]], Solved]
    options: dict[str, Any]
    other: dict[str, Any]
    """Another value of each option, the test's own lengths or distances last."""


CASES = {
    "recall": Case(
        Recall, solve_recall, {"length": 40, "pairs": 3, "keys": 9, "values": 7, "power": 0.01},
        {"length": 50, "pairs": 4, "keys": 10, "values": 8, "power": 0.5, "test_lengths": [40, 80]},
    ),
    "induction": Case(
        Induction, solve_induction, {"symbols": 6, "lead": 5, "distances": [2, 7]},
        {"symbols": 7, "lead": 6, "distances": [2, 8], "test_distances": [2, 30]},
    ),
    "copy_memory": Case(
        CopyMemory, solve_copy_memory, {"items": 5, "symbols": 6, "distances": [2, 7]},
        {"items": 6, "symbols": 7, "distances": [2, 8], "test_distances": [2, 30]},
    ),
    "selective_copy": Case(
        SelectiveCopy, solve_copies, {"items": 4, "symbols": 5, "lengths": [9, 16]},
        {"items": 5, "symbols": 6, "lengths": [9, 17], "test_lengths": [9, 40]},
    ),
}  # fmt: skip

each = pytest.mark.parametrize("name", CASES)


def made(name: str, **options: Any) -> Generated:
    return CASES[name].kind(**{**SIZES, **CASES[name].options, **options})


def told(row: Row) -> Solved:
    """The queries of a row by what it says of them."""
    labels = {place: label for place, label in enumerate(str(row["labels"]).split(" ")) if label != "_"}
    distances = str(row["distance"]).split(" ")
    if isinstance(row["distance"], int):
        distances *= len(labels)
    return {place: (label, int(distance)) for (place, label), distance in zip(labels.items(), distances, strict=True)}


@each
def test_an_independent_solver_finds_every_label_and_distance(name: str) -> None:
    source = made(name)
    rows = [row for split in SPLITS for row in source.rows(split)]
    assert len(rows) == 220
    for row in rows:
        words = str(row["text"]).split(" ")
        assert told(row) == CASES[name].solve(words)
        assert len(str(row["labels"]).split(" ")) == len(words)
    others = [{**row, "labels": rows[place - 1]["labels"]} for place, row in enumerate(rows)]
    right = sum(dict(told(row)) == CASES[name].solve(str(row["text"]).split(" ")) for row in others)
    assert right < 0.35 * len(rows)


@each
def test_rows_depend_on_seed_split_and_index_alone_and_no_text_is_in_two_splits(name: str) -> None:
    whole, other = made(name), made(name, seed=2)
    assert list(made(name, train=7, val=0).rows("train")) == list(whole.rows("train"))[:7]
    texts = [{split: [row["text"] for row in source.rows(split)] for split in SPLITS} for source in (whole, other)]
    assert texts[0]["train"] != texts[1]["train"] and whole.splits() == SPLITS
    for one in texts:
        assert all(len(set(one[split])) == len(one[split]) == SIZES[split] for split in SPLITS)
        for another in texts:
            assert not set(one["train"]) & {*another["val"], *another["test"]}
            assert not set(one["val"]) & set(another["test"])


@each
def test_the_fingerprint_changes_with_every_option_and_the_test_alone_with_its_own(name: str) -> None:
    other = CASES[name].other
    changed = [made(name, **{option: value}) for option, value in [*other.items(), ("seed", 2), ("train", 3)]]
    assert len({source.fingerprint() for source in [made(name), *changed]}) == len(other) + 3
    assert made(name).fingerprint() == made(name).fingerprint()
    option, lengths = list(other.items())[-1]
    usual, tested = made(name), made(name, **{option: lengths})
    assert [list(tested.rows(split)) for split in SPLITS[:2]] == [list(usual.rows(split)) for split in SPLITS[:2]]
    longest = [max(len(str(row["text"]).split()) for row in source.rows("test")) for source in (usual, tested)]
    assert longest[1] >= longest[0] + 22


def test_distances_come_in_turn() -> None:
    for name in ("induction", "copy_memory"):
        found = [next(iter(told(row).values()))[1] for row in made(name).rows("train")]
        assert found[:4] == [2, 7, 2, 7]
    lengths = [str(row["text"]).split().index("recall") for row in made("selective_copy").rows("train")]
    assert lengths[:4] == [9, 16, 9, 16]


def test_a_text_of_recall_holds_each_pair_and_each_query_once_and_its_shortcut_one_right_answer() -> None:
    for row in made("recall").rows("train"):
        words, labels = str(row["text"]).split(), [label for label, _ in told(row).values()]
        assert Counter(word[0] for word in words) == {"k": 6, "v": 3, "b": 31}
        assert set(Counter(word for word in words if word[0] == "k").values()) == {2} and len(set(labels)) == 3
        last = str(row["last_value"]).split()
        assert len(last) == 3 and sum(map(str.__eq__, last, labels)) == 1 and last[0] == words[5]


@pytest.mark.parametrize("power", [0.01, 1.0])
def test_gaps_of_recall_follow_the_power_law(power: float) -> None:
    """With one pair the i-th free place has a share of i^(power - 1); the test of Pearson over all ten places."""
    rows = made("recall", train=2000, length=22, pairs=1, keys=500, values=500, power=power).rows("train")
    counts = Counter(next(iter(told(row))) for row in rows)
    assert set(counts) == set(range(2, 22, 2))
    weights = [(place / 2) ** (power - 1) for place in range(2, 22, 2)]
    expected = [2000 * weight / sum(weights) for weight in weights]
    assert sum((counts[2 * n + 2] - e) ** 2 / e for n, e in enumerate(expected)) < 27.9  # 0.1 % of nine degrees


def test_symbols_and_places_are_as_likely_as_each_other() -> None:
    symbols = Counter(
        word for row in made("copy_memory", train=2000).rows("train") for word in str(row["text"]).split()
    )
    assert max(symbols[one] for one in "abcdef") < 1.12 * min(symbols[one] for one in "abcdef")
    places = Counter(
        place for row in made("selective_copy", train=2000, lengths=[10]).rows("train")
        for place, word in enumerate(str(row["text"]).split()[:10]) if word != "blank"
    )  # fmt: skip
    assert set(places) == set(range(10)) and max(places.values()) < 1.15 * min(places.values())
    leads = Counter(str(row["text"]).split().index("recall") for row in made("induction", train=1200).rows("train"))
    assert set(leads) == set(range(6)) and max(leads.values()) < 1.4 * min(leads.values())


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("recall", {"train": -1}, "recall: train=-1 is not a number of examples; write 0 or more"),
        ("recall", {"pairs": 0}, "recall: pairs=0 is not a whole number from 1 to 10,000"),
        ("recall", {"keys": 2}, "recall: keys=2 is not a whole number from 3"),
        ("recall", {"values": 2}, "recall: values=2 is not a whole number from 3"),
        ("recall", {"length": 11}, "recall: length=11 is not a whole number from 12"),
        ("recall", {"test_lengths": [40, 8]}, "test_lengths holds 8; write whole numbers from 12"),
        ("recall", {"power": 40.0}, "recall: power=40.0 is not a number from 0 to 10"),
        ("induction", {"lead": True}, "induction: lead=True is not a whole number from 0"),
        ("induction", {"distances": []}, r"induction: distances=\[\] holds no number; .* \[8, 16, 32\]"),
        ("copy_memory", {"symbols": 1}, "copy_memory: symbols=1 is not a whole number from 2"),
        ("copy_memory", {"test_distances": [-3]}, "copy_memory: test_distances holds -3; write whole numbers from 0"),
        ("selective_copy", {"items": 0.5}, "selective_copy: items=0.5 is not a whole number from 1"),
        ("selective_copy", {"lengths": [3]}, "selective_copy: lengths holds 3; write whole numbers from 4"),
    ],
)  # fmt: skip
def test_a_bad_option_is_named_with_its_cure(name: str, option: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(name, **option)


def test_more_texts_than_there_are_are_refused() -> None:
    with pytest.raises(InputError, match=r"copy_memory: train=120 is more than there are: after \d+ examples"):
        list(made("copy_memory", items=2, symbols=3, distances=[1]).rows("train"))


@each
def test_the_yaml_builds_it(name: str) -> None:
    config = OmegaConf.load(Path(__file__).parents[2] / f"conf/data/{name}.yaml")
    source = instantiate(config.reader)
    assert type(source) is CASES[name].kind and source.name == config.name == name
    assert set(config.buckets) <= {"length", *source.strata} and source.sizes["train"] == config.reader.train
