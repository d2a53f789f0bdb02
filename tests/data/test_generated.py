"""Generated classification data: right by a reading of the text alone, exact, balanced, reproducible, split apart."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from seqarena.data.source import SPLITS, Row
from seqarena.data.sources.adding import Adding
from seqarena.data.sources.agreement import Agreement
from seqarena.data.sources.coreference import ANIMALS, TIRED, WAYS, WIDE, Coreference
from seqarena.data.sources.english import CHOICES, NOUNS
from seqarena.data.sources.generated import Generated
from seqarena.data.sources.listops import ListOps, expression
from seqarena.data.sources.needle import Needle
from seqarena.data.sources.nested_agreement import NestedAgreement
from seqarena.data.sources.parity import Parity
from seqarena.errors import InputError

ROOT = Path(__file__).parents[2]
SIZES = {"train": 200, "val": 60, "test": 400, "seed": 1}

OPTIONS: dict[type[Generated], dict[str, Any]] = {
    Adding: {"lengths": [10, 21], "test_lengths": [10, 60]},
    Agreement: {"distances": [4, 8]},
    Coreference: {"distances": [1, 2, 3, 9], "test_distances": [1, 2, 3, 4, 30]},
    ListOps: {"depth": 4, "arguments": 5, "lengths": [6, 30], "test_lengths": [31, 50]},
    Needle: {"distances": [28, 29, 30, 31, 40], "facts": 4, "test_distances": [28, 80]},
    NestedAgreement: {"depths": [1, 2, 3], "test_depths": [1, 2, 3, 5]},
    Parity: {"lengths": [9, 16], "test_lengths": [13, 40]},
}
KINDS = [pytest.param(kind, id=kind.name) for kind in OPTIONS]


def made(kind: type[Generated], **changes: Any) -> Generated:
    return kind(**SIZES | OPTIONS[kind] | changes)


def read_adding(text: str) -> dict[str, str | int]:
    marked = re.findall(r"(\d)x", text)
    assert len(marked) == 2
    return {"label": str(sum(map(int, marked))), "distance": text.partition("x")[2].count(" ")}


def read_parity(text: str) -> dict[str, str | int]:
    return {"label": "odd" if text.count("1") % 2 else "even", "last_symbol": "odd" if text.endswith("1") else "even"}


def read_listops(text: str) -> dict[str, str | int]:
    """Innermost operations are replaced by what they come to until nothing is left but one digit."""
    depths = [0]
    for token in text.split():
        depths.append(depths[-1] + (1 if token.isalpha() else 0) - (2 if token == "end" else 0))
    inner = re.compile(r"(min|max|med|sm)((?: \d)+) end")
    while " " in text:
        text, count = inner.subn(lambda found: str(operated(found[1], sorted(map(int, found[2].split())))), text)
        assert count
    return {"label": text, "nesting": max(depths)}


def operated(name: str, ordered: list[int]) -> int:
    half = len(ordered) // 2
    middle = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) // 2
    return {"min": ordered[0], "max": ordered[-1], "med": middle, "sm": int(str(sum(ordered))[-1])}[name]


def read_needle(text: str) -> dict[str, str | int]:
    stated = re.findall(r"the code of the (\w+ \w+) is (\w+)", text)
    (asked,) = re.findall(r"what is the code of the (\w+ \w+)$", text)
    assert len(dict(stated)) == len(stated) == len({code for _, code in stated})
    since = text.split(f"the code of the {asked} is ")[1].split(" what is ")[0]
    return {
        "label": dict(stated)[asked], "distance": len(since.split()) - 1,
        "first_fact": stated[0][1], "last_fact": stated[-1][1],
    }  # fmt: skip


def read_coreference(text: str) -> dict[str, str | int]:
    tokens = text.split()
    nouns = [(place, token) for place, token in enumerate(tokens) if token in (*ANIMALS, *WAYS)]
    fitting = ANIMALS if tokens[-1] in TIRED else WAYS if tokens[-1] in WIDE else ()
    (meant,) = (place for place, (_, noun) in enumerate(nouns) if noun in fitting)
    animal = next(place for place, (_, noun) in enumerate(nouns) if noun in ANIMALS)
    return {
        "label": ("first", "second")[meant], "animal": ("first", "second")[animal],
        "distance": tokens.index("it") - nouns[1][0] - 1,
    }  # fmt: skip


def read_nested(text: str) -> dict[str, str | int]:
    """With a stack: a subject, the first noun of the sentence or after "that", is put on it, a verb takes one off."""
    singular, plural = ({pair[one] for pair in NOUNS["NOUN"]} for one in (0, 1))
    tokens, stack, numbers, depth = text.split(), list[tuple[int, int]](), list[str](), 0
    subject = True
    for place, token in enumerate(tokens):
        subject |= token == "that"
        depth += token == "that"
        if token in singular | plural:
            if subject:
                stack.append((place, len(numbers)))
            numbers.append("singular" if token in singular else "plural")
            subject = False
        elif token in CHOICES["ADMIRED"]:
            stack.pop()
    place, noun = stack[-1]
    return {
        "label": numbers[noun], "depth": depth, "distance": len(tokens) - place - 1,
        "attractors": sum(one != numbers[noun] for one in numbers[noun:]),
        "first_noun": numbers[0], "last_noun": numbers[-1],
    }  # fmt: skip


READERS: dict[type[Generated], Callable[[str], dict[str, str | int]]] = {
    Adding: read_adding, Coreference: read_coreference, ListOps: read_listops, Needle: read_needle,
    NestedAgreement: read_nested, Parity: read_parity,
}  # fmt: skip


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in READERS])
def test_an_independent_reader_agrees_with_every_row(kind: type[Generated]) -> None:
    source = made(kind)
    for row in (row for split in SPLITS for row in source.rows(split)):
        told = READERS[kind](str(row["text"]))
        assert {name: row[name] for name in told} == told, row["text"]
        assert {"text", "label", *source.strata, *source.shortcuts} <= set(row)
        assert not re.search(r"[^a-z0-9 ]|  ", str(row["text"]))  # so that tokens are what spaces part


def share(rows: list[Row], column: str) -> float:
    return sum(row[column] == row["label"] for row in rows) / len(rows)


@pytest.mark.parametrize(
    "kind,axis,chance",
    [
        (Adding, "distance", 0.1), (Coreference, "distance", 0.5), (Needle, "distance", 0.25),
        (NestedAgreement, "depth", 0.5), (Parity, "label", 0.5),
    ],
    ids=lambda told: getattr(told, "name", ""),
)  # fmt: skip
def test_rules_of_thumb_are_at_chance_overall_and_along_the_axis(
    kind: type[Generated], axis: str, chance: float
) -> None:
    rows = list(made(kind, train=1600).rows("train"))
    values = {row[axis] for row in rows}
    values = values if len(values) < 8 else {None}  # distances of adding are too many to have enough rows each
    for shortcut in kind.shortcuts:
        assert share(rows, shortcut) == pytest.approx(chance, abs=0.04), shortcut
        for value in values:
            here = [row for row in rows if value in (row[axis], None)]
            below = 0.1 if shortcut == "majority_noun" else 0.0  # which may be wrong more often than right
            assert chance - below - 0.09 < share(here, shortcut) < chance + 0.09, (shortcut, value)


def test_labels_are_balanced_at_each_distance() -> None:
    for kind, axis, labels in ((Coreference, "distance", 2), (Needle, "distance", 4), (NestedAgreement, "depth", 2)):
        rows = list(made(kind).rows("test"))
        each = Counter((row[axis], row["label"]) for row in rows)
        assert len(each) == labels * len({row[axis] for row in rows}) and max(each.values()) - min(each.values()) <= 1
    counts = Counter(row["label"] for row in made(Parity).rows("test"))
    assert counts == {"odd": 200, "even": 200}


def test_sums_have_the_frequencies_of_two_dice_with_ten_sides() -> None:
    rows = list(made(Adding, lengths=[4], train=2500).rows("train"))
    counts = Counter(int(row["label"]) for row in rows)
    for total in range(19):
        assert counts[total] / len(rows) == pytest.approx((10 - abs(9 - total)) / 100, abs=0.02)


def test_marks_are_anywhere_in_their_half() -> None:
    for length in (10, 11):
        texts = [str(row["text"]).split() for row in made(Adding, lengths=[length], train=800).rows("train")]
        first, second = (Counter(sorted(place for place, one in enumerate(text) if "x" in one)[at] for text in texts)
                         for at in (0, 1))  # fmt: skip
        assert set(first) == set(range(length // 2)) and set(second) == set(range(length // 2, length))


def test_an_adjective_or_an_order_alone_does_not_tell_what_it_means() -> None:
    rows = list(made(Coreference).rows("test"))
    for told in (lambda text: text.split()[-1] in TIRED, lambda text: " was never " in text):
        known = Counter((told(str(row["text"])), row["label"]) for row in rows)
        assert len(known) == 4 and max(known.values()) - min(known.values()) < 20


def test_each_place_among_the_facts_and_each_subject_is_asked_for_as_often() -> None:
    source = made(Needle, facts=3, distances=[19, 25], train=600)
    places = Counter()
    for row in source.rows("train"):
        stated = [code for _, code in re.findall(r"the code of the (\w+ \w+) is (\w+)", str(row["text"]))]
        assert sorted(stated) == ["one", "three", "two"]
        places[stated.index(str(row["label"]))] += 1
    assert all(count == pytest.approx(200, abs=45) for count in places.values()) and len(places) == 3
    nested = list(made(NestedAgreement, depths=[2], train=600).rows("train"))
    verbs = Counter(len(set(str(row["text"]).split()) & set(CHOICES["ADMIRED"])) for row in nested)
    assert all(verbs[count] == pytest.approx(200, abs=45) for count in range(3))


def test_expressions_of_the_arena_s_size_leave_lookups_where_they_are_known_to_be() -> None:
    """The most frequent label is right in 17.1 % there, the outermost operation in 35.6, with its digits in 47.7."""
    rows = list(ListOps(120, 0, 0, depth=10, arguments=10, lengths=[500, 2000], seed=1).rows("train"))
    assert all(500 <= len(str(row["text"]).split()) <= 2000 for row in rows)
    assert all(read_listops(str(row["text"]))["label"] == row["label"] for row in rows[:20])

    def right(*columns: str) -> float:
        by_key: dict[Any, Counter[Any]] = {}
        for row in rows:
            by_key.setdefault(tuple(row[column] for column in columns), Counter())[row["label"]] += 1
        return sum(counts.most_common(1)[0][1] for counts in by_key.values()) / len(rows)

    assert right() == pytest.approx(0.18, abs=0.08)
    assert right("operator") == pytest.approx(0.37, abs=0.1)
    assert right("operator_digits") > right("operator", "operator") + 0.1
    assert right("operator", "operator_digits") == right("operator_digits") < right("operator_digits_nested")


def test_the_keys_of_an_expression_say_what_its_outermost_operation_sees() -> None:
    for row in made(ListOps).rows("train"):
        depth, digits, nested = 0, [], 0
        for token in str(row["text"]).split():
            depth -= token == "end"
            digits += [int(token)] if depth == 1 and token.isdigit() else []
            nested += depth == 1 and token.isalpha() and token != "end"
            depth += token.isalpha() and token != "end"
        name = str(row["operator"])
        told = f"{name} {operated(name, sorted(digits))}" if digits else name
        assert (row["operator_digits"], row["operator_digits_nested"]) == (told, f"{told} and {nested}")
        assert str(row["text"]).startswith(f"{name} ")


def test_an_expression_that_cannot_end_in_time_is_given_up() -> None:
    import random

    found = [expression(random.Random(seed), 30, 10, 100) for seed in range(200)]
    assert any(one is None for one in found) and all(len(one.tokens) <= 100 for one in found if one)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_depends_on_seed_split_and_index_alone(kind: type[Generated]) -> None:
    whole, part, other = made(kind, test=100), made(kind, train=7, test=0), made(kind, train=50, seed=2)
    assert list(part.rows("train")) == list(whole.rows("train"))[:7] == list(part.rows("train"))
    assert list(part.rows("val")) == list(whole.rows("val"))
    assert part.splits() == ("train", "val") and list(part.rows("test")) == []
    assert [row["text"] for row in other.rows("train")] != [row["text"] for row in whole.rows("train")][:50]


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_in_two_splits_or_twice_in_one_whatever_the_seed(kind: type[Generated]) -> None:
    texts = {
        (split, seed): [row["text"] for row in made(kind, test=150, seed=seed).rows(split)]
        for split in SPLITS for seed in (1, 2)
    }  # fmt: skip
    for (split, seed), here in texts.items():
        assert len(here) == made(kind, test=150).sizes[split]
        assert len(set(here)) == len(here) or (kind.repeats and split == "train")
        assert not any(set(here) & set(there) for (other, _), there in texts.items() if other != split), seed


@pytest.mark.parametrize("kind", KINDS)
def test_the_fingerprint_changes_with_every_option(kind: type[Generated]) -> None:
    sizes = {split: 3 for split in SPLITS}
    options = {name: value - 1 if isinstance(value, int) else [60, 70] for name, value in OPTIONS[kind].items()}
    changes = [{}, *({name: value} for name, value in (sizes | {"seed": 2} | options).items())]
    assert len({made(kind, **change).fingerprint() for change in changes}) == len(changes)
    assert made(kind).fingerprint() == made(kind).fingerprint()


def test_where_too_few_are_different_it_says_how_many_there_are() -> None:
    source = made(Parity, lengths=[1, 3])
    with pytest.raises(InputError, match=r"parity: val=60 is more than there are: after (\d+) .* write val=") as told:
        list(source.rows("val"))
    most = int(str(told.value).split("after ")[1].split(" ")[0])
    assert 0 < most <= 14 and len(list(made(Parity, lengths=[1, 3], val=most).rows("val"))) == most
    with pytest.raises(InputError, match=r"listops: train=200 .* after 0 examples"):
        list(made(ListOps, depth=1, lengths=[10, 20]).rows("train"))


@pytest.mark.parametrize(
    "kind,option,message",
    [
        (Adding, {"train": -1}, "adding: train=-1 is not a number of examples; write 0 or more"),
        (Adding, {"lengths": []}, r"adding: lengths=\[\] holds no number; write a list such as \[50, 100\]"),
        (Adding, {"lengths": [1]}, "adding: lengths holds 1; write whole numbers from 2"),
        (Adding, {"test_lengths": [2.5]}, "adding: test_lengths holds 2.5; write whole numbers"),
        (Parity, {"lengths": [4, 2]}, r"parity: lengths=\[4, 2\] are not .* from 1, such as \[2, 16\]"),
        (Parity, {"test_lengths": [4]}, r"parity: test_lengths=\[4\] are not a shortest and a longest"),
        (ListOps, {"depth": 0}, "listops: depth=0 is too small; write a whole number from 1"),
        (ListOps, {"arguments": 1}, "listops: arguments=1 is too small; write a whole number from 2"),
        (ListOps, {"lengths": [3, 9]}, r"listops: lengths=\[3, 9\] are not .* from 4"),
        (Needle, {"facts": 11}, "needle: facts=11 is not a number of facts; write 2 to 10"),
        (Needle, {"distances": [27]}, r"needle: distances holds 27; write whole numbers from 28, such as \[28, 56\]"),
        (Coreference, {"distances": 8}, "coreference: distances=8 holds no number"),
        (Coreference, {"test_distances": [0]}, "coreference: test_distances holds 0; write whole numbers from 1"),
        (NestedAgreement, {"depths": [0]}, "nested_agreement: depths holds 0; write whole numbers from 1"),
    ],
)  # fmt: skip
def test_a_bad_option_is_named_with_its_cure(kind: type[Generated], option: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(kind, **option)


@pytest.mark.parametrize("kind", KINDS)
def test_the_yaml_builds_it(kind: type[Generated]) -> None:
    config = OmegaConf.load(ROOT / f"conf/data/{kind.name}.yaml")
    source = instantiate(config.reader)
    assert type(source) is kind and config.name == kind.name and set(source.strata) <= set(config.buckets)
    keys = [name.removeprefix("lookup_") for name in config.get("baselines", ()) if name.startswith("lookup_")]
    for split in SPLITS:
        row = next(source.rows(split))
        assert source.sizes[split] == config.reader[split] and set(keys) <= set(row)
