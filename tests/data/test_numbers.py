"""Numbers and dates in two languages: what the libraries write, drawn fairly, without repeats, split by meaning."""

from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from babel.dates import format_date
from hydra.utils import instantiate
from hypothesis import given, settings
from hypothesis import strategies as st
from num2words import num2words
from omegaconf import OmegaConf

from seqarena.data.source import SPLITS
from seqarena.data.sources.numbers import Numbers, write
from seqarena.errors import InputError

OPTIONS = {"source": "en", "target": "de", "train": 2000, "val": 200, "test": 200, "largest": 999999, "dates": 0.3}


def numbers(**options) -> Numbers:
    return Numbers(**OPTIONS | {"seed": 1} | options)


def test_known_pairs():
    assert write(21005, "en") == "twenty-one thousand and five" and write(21005, "de") == "einundzwanzigtausendfünf"
    assert write(date(1987, 3, 4), "en") == "Wednesday, March 4, 1987"
    assert write(date(1987, 3, 4), "de") == "Mittwoch, 4. März 1987"
    assert write(80, "fr") == "quatre-vingts" and write(1234567, "ja") == "百二十三万四千五百六十七"


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("fr", "es"), ("ja", "pt_BR"), ("ru", "tr")])
def test_both_sides_say_the_same_as_the_libraries_write_it(source, target):
    generator = numbers(source=source, target=target, train=60)
    for meaning, row in zip(generator.meanings["train"], generator.rows("train"), strict=True):
        for side, language in (("source", source), ("target", target)):
            if isinstance(meaning, date):
                assert row[side] == format_date(meaning, "full", locale=language) and row["digits"] == 0
                assert 1900 <= meaning.year <= 2099
            else:
                assert row[side] == num2words(meaning, lang=language) and row["digits"] == len(str(meaning))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.sampled_from(["en", "de", "fr", "es", "ja", "ru"]))
def test_two_numbers_are_never_written_alike(one, other, language):
    assert (write(one, language) == write(other, language)) == (one == other)


def test_every_length_and_the_share_of_dates_occur():
    digits = Counter(row["digits"] for row in numbers(train=5000).rows("train"))
    assert digits[0] / 5000 == pytest.approx(0.3, abs=0.03)
    assert sorted(digits) == [0, 1, 2, 3, 4, 5, 6] and digits[1] <= 10 and digits[2] <= 90
    assert digits[4] == pytest.approx(digits[6], rel=0.2)
    assert {row["digits"] for row in numbers(dates=1.0).rows("test")} == {0}


def test_a_row_depends_on_seed_split_and_index_alone():
    large, small = numbers(), numbers(train=50, val=0)
    assert list(small.rows("test")) == list(large.rows("test")) and small.splits() == ("train", "test")
    assert list(small.rows("train")) == list(large.rows("train"))[:50] == list(small.rows("train"))
    assert numbers(seed=2).meanings["train"] != large.meanings["train"]
    assert len({large.fingerprint(), small.fingerprint(), numbers(seed=2).fingerprint()}) == 3


def test_meanings_are_in_one_split_whatever_the_seed_and_never_repeated():
    one, two = numbers().meanings, numbers(seed=2, source="fr").meanings
    for split in SPLITS:
        assert len(set(one[split])) == OPTIONS[split]
        assert not set(one[split]) & {meaning for other in SPLITS if other != split for meaning in two[other]}


def test_the_splits_hold_everything_there_is_and_not_more():
    sizes = {}
    for split in SPLITS:
        with pytest.raises(InputError, match=f"{split}=9999 is more than there are.*write {split}=") as refusal:
            numbers(**{"train": 0, "val": 0, "test": 0, split: 9999, "largest": 999, "dates": 0.0})
        sizes[split] = int(str(refusal.value).split(f"write {split}=")[1].split()[0])
    assert sum(sizes.values()) == 1000
    whole = numbers(**sizes, largest=999, dates=0.0).meanings
    assert sorted(meaning for split in SPLITS for meaning in whole[split]) == list(range(1000))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"source": "zh"}, "source='zh' is not a language of both num2words and babel; write for example en, de"),
        ({"target": "english"}, "target='english' is not a language"),
        ({"target": "kz"}, "target='kz' is not a language"),
        ({"train": -1}, "train=-1 is not a number of pairs; write 0 or more"),
        ({"dates": 1.5}, "dates=1.5 is not a share; write a number from 0 to 1"),
        ({"largest": -1}, "largest=-1 leaves no number"),
        ({"dates": 1.0, "test": 10000}, "test=10000 is more than there are"),
    ],
)
def test_a_bad_option_is_named_with_its_cure(option, message):
    with pytest.raises(InputError, match=message):
        numbers(**option)


def test_a_number_that_a_language_cannot_write_is_named():
    with pytest.raises(InputError, match=r"num2words cannot write 1100 in 'am'.*write a smaller largest"):
        write(1100, "am")


def test_the_yaml_builds_it():
    config = OmegaConf.create({"data": OmegaConf.load(Path(__file__).parents[2] / "conf/data/numbers.yaml")})
    config.data.target = "fr"
    source = instantiate(config.data.reader)
    assert (source.source, source.target, source.sizes["train"]) == ("en", "fr", 20000)
    assert set(config.data.buckets) == set(source.strata)
