"""Where curves have fallen, on curves that are made up so that the answer is known."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from seqarena.evaluation import Evaluation
from seqarena.extrapolation import FEWEST, reaches
from seqarena.reach import Stratum, clear_of_chance, crossing, design_effect, effective_length, half_life

AT = np.array([0.0, 1, 2, 4, 8])


@pytest.mark.parametrize(
    ("curve", "level", "place", "reached"),
    [
        ([1.0, 0.8, 0.6, 0.4, 0.2], 0.5, 3.0, True),  # halfway between 2 and 4
        ([1.0, 0.5, 0.9, 0.1, 0.1], 0.5, 1.0, True),  # the first time counts
        ([1.0, 0.9, 0.9, 0.9, 0.9], 0.5, 8.0, False),
        ([0.4, 0.9, 0.9, 0.9, 0.9], 0.5, 0.0, True),
        ([1.0, np.nan, 0.0, 0.0, 0.0], 0.5, 2.0, True),
    ],
)
def test_where_a_curve_comes_down_to_a_level(curve: list[float], level: float, place: float, reached: bool) -> None:
    places, there = crossing(AT, np.array([curve]), np.array([level]))
    assert (places[0], there[0]) == (pytest.approx(place), reached)


def strata(*accuracies: float, n: int = 1000) -> list[Stratum]:
    """At distances 4, 8, 16, 32 and so on."""
    return [Stratum(str(4 << k), 4 << k, n, round(n * share)) for k, share in enumerate(accuracies)]


@pytest.mark.parametrize(
    ("accuracies", "at", "reached"),
    [
        ((0.99, 0.97, 0.95, 0.70), 16, True),
        ((0.99, 0.93, 0.99, 0.99), 4, True),  # what comes behind the first fall does not count
        ((0.80, 0.80, 0.90, 0.76), 32, False),
        ((0.90, 0.85, 0.85, 0.84), 16, True),  # five points are within five points
    ],
)
def test_effective_length(accuracies: tuple[float, ...], at: float, reached: bool) -> None:
    found = effective_length(strata(*accuracies), seed=1)
    assert (found.value, found.reached) == (at, reached) and found.low <= at <= found.high


def test_half_life_is_where_half_of_the_gain_over_chance_is_gone() -> None:
    found = half_life(strata(1.0, 0.9, 0.7, 0.6), 0.5, seed=1)
    assert found.value == pytest.approx(14) and found.reached  # 0.75 lies three quarters of the way from 8 to 16
    assert 13 < found.low < 14 < found.high < 15
    wide = half_life(strata(1.0, 0.9, 0.7, 0.6, n=40), 0.5, seed=1)
    assert wide.high - wide.low > 3 * (found.high - found.low)
    lasting = half_life(strata(1.0, 0.9, 0.85, 0.8), 0.5, seed=1)
    assert (lasting.value, lasting.reached) == (32, False)


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    truth, rng, held = (0.95, 0.85, 0.65, 0.55), np.random.default_rng(7), 0
    for draw in range(200):
        drawn = [Stratum("", 4 << k, 200, int(rng.binomial(200, p))) for k, p in enumerate(truth)]
        found = half_life(drawn, 0.5, draw)
        held += found.low <= 8 + 8 * (0.85 - 0.725) / 0.2 <= found.high
    assert 182 <= held <= 199


def test_queries_of_one_text_count_as_far_as_they_tell_something_new() -> None:
    rng, texts, held = np.random.default_rng(3), np.repeat(np.arange(100), 8), {"design": 0, "none": 0}
    for draw in range(200):
        rights = [np.repeat(rng.random(100) < share, 8) for share in (0.95, 0.85, 0.65, 0.55)]  # all of a text, or none
        told = [Stratum("", 4 << k, 800, int(of.sum()), design_effect(of, texts)) for k, of in enumerate(rights)]
        assert [one.design for one in told] == pytest.approx([8] * 4, rel=0.02)
        for name, drawn in (("design", told), ("none", [replace(one, design=1.0) for one in told])):
            found = half_life(drawn, 0.5, draw)
            held[name] += found.low <= 8 + 8 * (0.85 - 0.725) / 0.2 <= found.high
    assert 182 <= held["design"] <= 199 and held["none"] < 150
    assert design_effect(rng.random(5000) < 0.5, np.arange(5000)) == pytest.approx(1)
    assert design_effect(np.ones(9), np.arange(9)) == 1


def evaluation(accuracies: list[float], chance: float | None, n: int = 200) -> Evaluation:
    distance = np.repeat([4, 9, 16], n)
    correct = np.concatenate([np.arange(n) < round(n * share) for share in accuracies])
    table = pa.table({"distance": distance, "few": np.zeros(3 * n, int), "correct": correct})
    metrics = {} if chance is None else {"accuracy/baseline=majority": chance}
    shown = {axis: [] for axis in ("distance", "few")}
    return Evaluation("test", metrics, shown, table)  # type: ignore[arg-type]


BUCKETS = {"distance": [4, 8, 16], "few": [0], "absent": [0]}


def test_an_axis_is_read_off_the_examples_of_a_test() -> None:
    found = reaches(evaluation([0.9, 0.9, 0.5], 0.5), BUCKETS, seed=1)
    assert list(found) == ["distance"]
    told = found["distance"]
    assert told["effective_length"]["value"] == 9 and told["half_life"]["value"] == pytest.approx(12.5)
    assert [one["bucket"] for one in told["buckets"]] == ["4-7", "8-15", "16+"] and told["chance"] == 0.5


@pytest.mark.parametrize("chance", [None, 0.6])
def test_who_learned_nothing_near_by_has_nothing_to_lose(chance: float | None) -> None:
    told = reaches(evaluation([0.62, 0.5, 0.5], chance), BUCKETS, seed=1)["distance"]
    assert told["effective_length"] is None and told["half_life"] is None


@pytest.mark.parametrize(
    ("accuracy", "n", "clear"),
    [(0.55, 579, False), (0.58, 600, False), (0.62, 600, True), (0.62, 100, False), (1.0, 20, True), (0.9, 200, True)],
)
def test_a_gain_over_chance_is_clear_of_noise(accuracy: float, n: int, clear: bool) -> None:
    found = {"chance": 0.5, "buckets": [{"bucket": "0", "at": 0.0, "n": n, "accuracy": accuracy}]}
    assert clear_of_chance(found) == clear and clear_of_chance({"effective_length": None})


def test_buckets_of_few_examples_are_left_out() -> None:
    assert reaches(evaluation([0.9, 0.9, 0.5], 0.5, FEWEST - 1), BUCKETS, seed=1) == {}
