"""The generated agreement task: right by an independent reading of each sentence, exact, balanced and reproducible."""

from collections import Counter
from pathlib import Path

import pytest
from hydra.utils import instantiate
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from seqarena.data.source import SPLITS, Row
from seqarena.data.sources.agreement import Agreement
from seqarena.data.sources.english import NOUNS
from seqarena.errors import InputError

DISTANCES = (1, 2, 4, 8, 12, 16, 24, 32)
IRREGULAR = {"children", "men", "women", "policemen", "feet", "teeth", "geese", "mice", "oxen"}
NOUN = {form for pairs in NOUNS.values() for pair in pairs for form in pair}


def number(noun: str) -> str:
    return "plural" if noun in IRREGULAR or noun.endswith("s") else "singular"


def solve(text: str) -> tuple[list[int], int]:
    """Where the nouns are and which is the subject: the first of the clause that follows a fronted phrase's comma."""
    tokens = text.split(" ")
    start = 0 if tokens[0] == "the" else tokens.index(",") + 1
    assert tokens[start] == "the"
    nouns = [place for place, token in enumerate(tokens) if token in NOUN]
    return nouns, next(place for place in nouns if place > start)


def rates(rows: list[Row], shortcut: str) -> float:
    return sum(row[shortcut] == row["label"] for row in rows) / len(rows)


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Row]]:
    source = Agreement(train=4000, val=1000, test=4000, distances=DISTANCES, seed=1)
    return {split: list(source.rows(split)) for split in source.splits()}


def test_an_independent_reader_agrees_with_every_column(rows):
    for row in rows["train"] + rows["test"]:
        tokens = str(row["text"]).split(" ")
        nouns, subject = solve(str(row["text"]))
        numbers = [number(tokens[place]) for place in nouns]
        assert row["label"] == number(tokens[subject])
        assert row["distance"] == len(tokens) - subject - 1
        assert row["attractors"] == sum(number(tokens[place]) != row["label"] for place in nouns if place > subject)
        assert (row["first_noun"], row["last_noun"]) == (numbers[0], numbers[-1])
        (most, count), *others = Counter(numbers).most_common()
        assert row["majority_noun"] == most or (others and others[0][1] == count)
        assert not {"is", "are", "was", "were", "has", "have", "a", "this", "these"} & set(tokens)


def test_singular_and_plural_of_a_noun_differ_and_no_form_is_two_nouns():
    forms = [form for pair in NOUNS["NOUN"] for form in pair]
    assert len(forms) == len(set(forms)) and all(number(one) != number(many) for one, many in NOUNS["NOUN"])


def test_labels_and_shortcuts_are_at_chance(rows):
    test = rows["test"]
    assert Counter(row["label"] for row in test) == {"singular": 2000, "plural": 2000}
    assert Counter(row["distance"] for row in test) == dict.fromkeys(DISTANCES, 500)
    for shortcut in Agreement.shortcuts:
        assert rates(test, shortcut) == pytest.approx(0.5, abs=0.03)
    for distance in DISTANCES:
        here = [row for row in rows["train"] + test if row["distance"] == distance]
        assert rates(here, "first_noun") == pytest.approx(0.5, abs=0.06)
        assert rates(here, "majority_noun") == pytest.approx(0.5, abs=0.06)
        assert rates(here, "last_noun") == (1.0 if distance < 3 else pytest.approx(1 / 3, abs=0.06))


def test_long_distances_alone_have_every_shortcut_at_chance():
    test = list(Agreement(0, 0, 4000, distances=[3, 5, 20], seed=2).rows("test"))
    assert all(rates(test, shortcut) == pytest.approx(0.5, abs=0.03) for shortcut in Agreement.shortcuts)


def test_test_sentences_can_be_longer_than_those_of_training():
    source = Agreement(60, 20, 400, distances=[4, 8], seed=1, test_distances=[4, 40])
    assert {split: {row["distance"] for row in source.rows(split)} for split in SPLITS} == {
        "train": {4, 8},
        "val": {4, 8},
        "test": {4, 40},
    }
    assert source.fingerprint() != Agreement(60, 20, 400, distances=[4, 8], seed=1).fingerprint()
    with pytest.raises(InputError, match=r"test_distances=\[\] holds no number"):
        Agreement(1, 1, 1, distances=[4], seed=1, test_distances=[])


def test_a_row_depends_on_seed_split_and_index_alone(rows):
    again = Agreement(train=100, val=1000, test=50, distances=DISTANCES, seed=1)
    assert list(again.rows("test")) == rows["test"][:50]
    assert list(again.rows("train")) == rows["train"][:100] == list(again.rows("train"))
    other = Agreement(train=100, val=0, test=0, distances=DISTANCES, seed=2)
    assert not {row["text"] for row in other.rows("train")} & {row["text"] for row in rows["train"]}
    assert other.splits() == ("train",) and list(other.rows("val")) == []
    assert len({again.fingerprint(), other.fingerprint()}) == 2


def test_no_sentence_is_in_two_splits_or_twice_in_one_even_where_few_are_short():
    short = [Agreement(1000, 500, 500, distances=[0], seed=seed) for seed in (1, 2)]
    texts = [[{row["text"] for row in source.rows(split)} for split in SPLITS] for source in short]
    assert [len(split) for split in texts[0]] == [1000, 500, 500]
    for train, val, test in [texts[0], (texts[0][0], texts[1][1], texts[1][2])]:
        assert not train & val and not train & test and not val & test


@settings(max_examples=25, deadline=None)
@given(distance=st.integers(0, 60), seed=st.integers(0, 10**6))
def test_every_distance_can_be_made_exactly(distance, seed):
    for row in Agreement(4, 0, 0, distances=[distance], seed=seed).rows("train"):
        text = str(row["text"])
        assert len(text.split(" ")) - solve(text)[1] - 1 == distance and text == text.lower()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"val": -1}, "val=-1 is not a number of examples; write 0 or more"),
        ({"distances": []}, r"distances=\[\] holds no number; write a list"),
        ({"distances": [4, -2]}, "distances holds -2; write whole numbers"),
        ({"distances": 8}, "distances=8 holds no number; write a list"),
    ],
)
def test_a_bad_option_is_named_with_its_cure(option, message):
    with pytest.raises(InputError, match=message):
        Agreement(**{"train": 1, "val": 1, "test": 1, "distances": [4], "seed": 1} | option)


def test_the_yaml_builds_it():
    config = OmegaConf.load(Path(__file__).parents[2] / "conf/data/agreement.yaml")
    source = instantiate(config.reader)
    assert (
        source.sizes["train"] == config.reader.train and min(source.distances["train"]) >= 3
    )  # every rule of thumb is at chance
    assert set(config.buckets) == set(source.strata) and len(source.fingerprint()) == 32
