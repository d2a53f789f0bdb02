"""Copy and reverse: right by their definition, shared by no two splits, reproducible, and finite."""

from collections import Counter
from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from seqarena.data.source import SPLITS
from seqarena.data.sources.strings import Copy, Reverse, name
from seqarena.errors import InputError

OPTIONS = {"train": 400, "val": 60, "test": 80, "lengths": [2, 9], "symbols": 30, "seed": 1}


@pytest.mark.parametrize(("kind", "step"), [(Copy, 1), (Reverse, -1)])
def test_the_target_is_the_source_and_the_stratum_its_length(kind, step):
    source = kind(**OPTIONS)
    for split, size in (("train", 400), ("val", 60), ("test", 80)):
        rows = list(source.rows(split))
        assert len(rows) == size
        for row in rows:
            symbols = str(row["source"]).split(" ")
            assert str(row["target"]).split(" ") == symbols[::step]
            assert row["items"] == len(symbols) and 2 <= len(symbols) <= 9


def test_lengths_are_as_likely_as_each_other_and_so_are_symbols():
    rows = list(Copy(**OPTIONS | {"train": 4000, "lengths": [5, 8], "symbols": 10}).rows("train"))
    lengths = Counter(row["items"] for row in rows)
    assert set(lengths) == {5, 6, 7, 8} and max(lengths.values()) < 1.15 * min(lengths.values())
    symbols = Counter(symbol for row in rows for symbol in str(row["source"]).split())
    assert set(symbols) == set("abcdefghij") and max(symbols.values()) < 1.1 * min(symbols.values())


def test_test_strings_can_be_longer_than_those_of_training():
    source, usual = Copy(**OPTIONS, test_lengths=[20, 22]), Copy(**OPTIONS)
    assert {row["items"] for row in source.rows("test")} == {20, 21, 22}
    assert [list(source.rows(split)) for split in SPLITS[:2]] == [list(usual.rows(split)) for split in SPLITS[:2]]
    with pytest.raises(InputError, match=r"test_lengths=\[3\] are not a shortest and a longest"):
        Copy(**OPTIONS, test_lengths=[3])


def test_names_of_symbols_are_one_word_each():
    names = [name(symbol) for symbol in range(1000)]
    assert names[0] == "a" and names[25:28] == ["z", "aa", "ab"] and names[702] == "aaa"
    assert len(set(names)) == 1000 and all(one.isalpha() for one in names)


def test_no_string_is_in_two_splits_or_twice_in_one_whatever_the_seed():
    sources = [Copy(**OPTIONS | {"lengths": [1, 4], "symbols": 6, "seed": seed}) for seed in (1, 2)]
    texts = [{split: [row["source"] for row in source.rows(split)] for split in SPLITS} for source in sources]
    assert all(len(set(texts[0][split])) == OPTIONS[split] for split in SPLITS)
    assert texts[0]["train"] != texts[1]["train"]
    for one in texts:
        for other in texts:
            assert not set(one["train"]) & set(other["val"] + other["test"]) and not set(one["val"]) & set(
                other["test"]
            )


def test_a_string_depends_on_seed_split_and_index_alone():
    whole, part = Reverse(**OPTIONS), Reverse(**OPTIONS | {"train": 7, "test": 0})
    assert list(part.rows("train")) == list(whole.rows("train"))[:7] == list(part.rows("train"))
    assert list(part.rows("val")) == list(whole.rows("val"))
    assert part.splits() == ("train", "val") and list(part.rows("test")) == []


def test_all_the_strings_there_are_can_be_asked_for_and_one_more_is_refused():
    options = OPTIONS | {"val": 0, "test": 0, "lengths": [1, 2], "symbols": 3}
    with pytest.raises(InputError, match=r"copy: train=20 is more than there are.*symbols=3 end after (\d+);") as told:
        Copy(**options | {"train": 20})
    most = int(str(told.value).split("end after ")[1].split(";")[0])
    assert 0 < most <= 3 + 9
    assert len(list(Copy(**options | {"train": most}).rows("train"))) == most


def test_the_fingerprint_changes_with_every_option():
    changed = {"train": 401, "val": 61, "test": 81, "lengths": [2, 8], "symbols": 31, "seed": 2, "test_lengths": [9, 9]}
    sources = [Copy(**OPTIONS), Reverse(**OPTIONS), *(Copy(**OPTIONS | {key: one}) for key, one in changed.items())]
    assert len({source.fingerprint() for source in sources}) == len(changed) + 2
    assert Copy(**OPTIONS).fingerprint() == sources[0].fingerprint()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"train": -1}, "reverse: train=-1 is not a number of strings; write 0 or more"),
        ({"symbols": 0}, "reverse: symbols=0 is not a number of symbols; write 1 or more"),
        ({"lengths": [5, 3]}, r"reverse: lengths=\[5, 3\] are not .* such as \[4, 12\]"),
        ({"lengths": [0, 3]}, r"reverse: lengths=\[0, 3\] are not"),
        ({"lengths": 8}, "reverse: lengths=8 are not"),
        ({"lengths": [1, 2, 3]}, r"reverse: lengths=\[1, 2, 3\] are not"),
    ],
)
def test_a_bad_option_is_named_with_its_cure(option, message):
    with pytest.raises(InputError, match=message):
        Reverse(**OPTIONS | option)


@pytest.mark.parametrize("data", ["copy", "reverse"])
def test_the_yaml_builds_it(data):
    config = OmegaConf.load(Path(__file__).parents[2] / f"conf/data/{data}.yaml")
    source = instantiate(config.reader)
    assert source.task == config.name == data
    assert [len(list(source.rows(split))) for split in SPLITS] == [config.reader[split] for split in SPLITS]
    assert set(config.buckets) == set(source.strata) and config.buckets["items"][0] == config.reader.lengths[0]
