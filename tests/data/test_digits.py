"""The digits: the library's own images, each in one split, in one order of pixels for all."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf
from sklearn.datasets import load_digits

from seqarena.data.source import SPLITS
from seqarena.data.sources.digits import AVAILABLE, Digits
from seqarena.errors import InputError

OPTIONS = {**AVAILABLE, "order": "rows", "seed": 1}


def images(source: Digits, split: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, str(row["text"]).split(" "))) for row in source.rows(split)]


def test_every_image_of_the_library_is_in_exactly_one_split_with_its_label_and_its_ink():
    source = Digits(**OPTIONS)
    found = {}
    for split in SPLITS:
        for image, row in zip(images(source, split), source.rows(split), strict=True):
            assert image not in found and row["ink"] == 64 - image.count(0)
            found[image] = row["label"]
    data = load_digits()
    assert found == {tuple(map(int, image)): str(label) for image, label in zip(data.data, data.target, strict=True)}


def test_each_split_has_its_share_of_each_digit():
    for split, size in AVAILABLE.items():
        counts = Counter(row["label"] for row in Digits(**OPTIONS).rows(split))
        assert len(counts) == 10 and max(counts.values()) < 1.1 * size / 10 < 1.25 * min(counts.values())


def test_one_permutation_is_applied_to_all_images():
    rows, permuted = (np.array(images(Digits(**OPTIONS | {"order": order}), "val")) for order in ("rows", "permuted"))
    places = [next(b for b in range(64) if (rows[:, a] == permuted[:, b]).all()) for a in range(64) if rows[:, a].any()]
    assert places != sorted(places)
    assert (np.sort(rows, axis=1) == np.sort(permuted, axis=1)).all()


@pytest.mark.parametrize("enlarge", [2, 4])
def test_an_enlarged_image_repeats_each_pixel_and_is_permuted_as_a_whole(enlarge):
    options = OPTIONS | {"val": 40}
    small = np.array(images(Digits(**options), "val")).reshape(40, 8, 8)
    rows = np.array(images(Digits(**options, enlarge=enlarge), "val"))
    assert rows.shape == (40, 64 * enlarge**2)
    np.testing.assert_array_equal(rows.reshape(40, 8 * enlarge, -1), small.repeat(enlarge, 1).repeat(enlarge, 2))
    permuted = np.array(images(Digits(**options | {"order": "permuted"}, enlarge=enlarge), "val"))
    assert (permuted != rows).any() and (np.sort(permuted, axis=1) == np.sort(rows, axis=1)).all()
    by_column = [sorted(map(tuple, one.T)) for one in (rows, permuted)]
    assert by_column[0] == by_column[1]  # the same order for all images
    inks = [[row["ink"] for row in Digits(**options, enlarge=one).rows("val")] for one in (1, enlarge)]
    assert inks[0] == inks[1]


def test_an_image_depends_on_seed_split_and_index_alone():
    whole, part = Digits(**OPTIONS), Digits(**OPTIONS | {"train": 5, "val": 0})
    assert list(part.rows("train")) == list(whole.rows("train"))[:5]
    assert list(part.rows("test")) == list(whole.rows("test"))
    assert part.splits() == ("train", "test") and list(part.rows("val")) == []
    assert images(Digits(**OPTIONS | {"seed": 2}), "test") != images(whole, "test")


def test_the_fingerprint_changes_with_every_option():
    changed = {"train": 3, "val": 3, "test": 3, "order": "permuted", "seed": 2, "enlarge": 2}
    sources = [Digits(**OPTIONS), *(Digits(**OPTIONS | {key: value}) for key, value in changed.items())]
    assert len({source.fingerprint() for source in sources}) == len(changed) + 1


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"train": 1199}, "digits: train=1199 is not a number of images that there are; write 0 to 1198"),
        ({"val": -1}, "digits: val=-1 is not .*; write 0 to 300"),
        ({"enlarge": 0}, "digits: enlarge=0 is not a number of times; write 1 or more"),
        ({"order": "columns"}, "digits: order=columns is not known; write rows or permuted"),
    ],
)
def test_a_bad_option_is_named_with_its_cure(option, message):
    with pytest.raises(InputError, match=message):
        Digits(**OPTIONS | option)


def test_the_yaml_builds_it():
    config = OmegaConf.load(Path(__file__).parents[2] / "conf/data/digits.yaml")
    source = instantiate(config.reader)
    assert source.sizes == AVAILABLE and set(config.buckets) == set(source.strata)
