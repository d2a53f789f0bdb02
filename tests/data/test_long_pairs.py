"""Joined pairs: every pair of the test at every number, training and validation as they were."""

from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from seqarena.building import check_node
from seqarena.data.sources.long_pairs import LongPairs
from seqarena.data.sources.numbers import Numbers
from seqarena.data.sources.strings import Copy
from seqarena.errors import InputError


def reader(test: int = 10) -> Numbers:
    return Numbers("en", "de", train=8, val=4, test=test, largest=9999, dates=0.3, seed=1)


def texts(rows) -> list[tuple[str, str]]:
    return [(row["source"], row["target"]) for row in rows]


def test_the_test_holds_its_pairs_at_each_number_in_their_order():
    rows = list(LongPairs(reader(), [1, 2, 3], between=" | ").rows("test"))
    pairs = texts(reader().rows("test"))
    assert [row["sentences"] for row in rows] == [1] * 10 + [2] * 5 + [3] * 3
    assert texts(rows[:10]) == pairs
    for count, at in ((2, 10), (3, 15)):
        joined = texts(row for row in rows[at:] if row["sentences"] == count)
        for place, side in enumerate(("source", "target")):
            parts = [part for pair in joined for part in pair[place].split(" | ")]
            assert parts == [pair[place] for pair in pairs][: len(parts)] and len(parts) > 10 - count, side


def test_training_and_validation_stay_as_they_are():
    source = LongPairs(reader(), [4])
    for split in ("train", "val"):
        rows = list(source.rows(split))
        assert texts(rows) == texts(reader().rows(split)) and {row["sentences"] for row in rows} == {1}
    assert source.splits() == ("train", "val", "test") and source.strata == ("sentences",)


def test_the_fingerprint_changes_with_the_reader_and_every_option():
    told = [(reader(), [1, 2], " "), (reader(9), [1, 2], " "), (reader(), [1], " "), (reader(), [1, 2], ", ")]
    assert len({LongPairs(*one).fingerprint() for one in told}) == 4
    assert LongPairs(*told[0]).fingerprint() == LongPairs(reader(), [1, 2]).fingerprint()


def test_what_cannot_be_joined_is_named_with_its_cure():
    with pytest.raises(InputError, match="joined holds 0; write whole numbers from 1"):
        LongPairs(reader(), [0])
    with pytest.raises(InputError, match="reader=None is no source; write one with its _target_"):
        LongPairs(None, [1])
    with pytest.raises(InputError, match="the reader has no test split"):
        LongPairs(reader(test=0), [1]).splits()
    with pytest.raises(InputError, match=r"joined=\[1, 11\]: the test has fewer than 11 pairs"):
        list(LongPairs(reader(), [1, 11]).rows("test"))


def test_the_yaml_wraps_numbers_and_can_wrap_another():
    config = OmegaConf.create({"data": OmegaConf.load(Path(__file__).parents[2] / "conf/data/long_pairs.yaml")})
    config.data.reader.reader.test = 40
    check_node(config.data.reader)
    source = instantiate(config.data.reader)
    assert type(source.reader) is Numbers and list(source.joined) == list(config.data.buckets.sentences)
    assert {row["sentences"] for row in source.rows("test")} == set(source.joined)
    other = {"_target_": "seqarena.data.sources.strings.Copy", "train": 5, "val": 5, "test": 5, "lengths": [4, 5],
             "symbols": 9, "seed": 1}  # fmt: skip
    node = OmegaConf.create({"_target_": config.data.reader._target_, "joined": [1, 5], "reader": other})
    check_node(node)
    found = instantiate(node)
    assert type(found.reader) is Copy and [row["sentences"] for row in found.rows("test")] == [1] * 5 + [5]
