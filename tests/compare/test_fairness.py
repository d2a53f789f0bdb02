"""What is counted as one seed, one group, one test set: no run may gain or lose by the way that it was made."""

from pathlib import Path
from typing import Any

import pytest
from made import config, make, right
from test_comparing import compared, three

from seqarena.compare.comparing import Options, compare
from seqarena.compare.records import of_sweep
from seqarena.errors import InputError

HASHES = {"data": "d", "tokenizer": "t", "labels": "l"}


def test_a_run_that_repeats_another_is_no_further_seed(tmp_path: Path) -> None:
    three(tmp_path, "gru", 0.6)
    for times in range(5):
        make(tmp_path, "lstm", 1, 0.9 + times / 100, name=f"again{times}", started=f"2026-01-0{9 - times}")
    found = compared(tmp_path)
    lstm = next(one for one in found.blocks[0].groups if one.label == "lstm")
    assert lstm.counted == 1 and found.blocks[0].pairs[0].decision == "better (that run of lstm only)"
    (banner,) = found.banners
    assert banner.differs == "repeats" and banner.text.startswith("4 runs repeat another one")
    assert "again4" not in banner.values["left out"], "the first that was begun stands for all"


def test_a_result_stands_for_the_seed_whose_first_try_gave_none(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.9)
    make(tmp_path, "lstm", 3, None, name="killed", status="interrupted", started="1", cost={})
    found = compared(tmp_path)
    (lstm,) = found.blocks[0].groups
    assert (lstm.counted, lstm.missing) == (3, 0) and found.banners[0].values == {"left out": ["killed"]}


def lengths(folder: Path, length: int, seed: int, share: float | None, **changes: Any) -> None:
    """A run of a sweep over the lengths of generated texts."""
    data = {"hashes": HASHES | {"data": f"d{length}"}, "overrides": [f"data.reader.lengths=[{length}]", f"seed={seed}"]}
    settled = config("lstm")
    settled["data"] |= {"reader": {"lengths": [length]}}
    make(folder, "lstm", seed, share, name=f"{length}-{seed}", config=settled, **(data | changes))


def test_an_untested_run_belongs_to_the_test_set_of_its_data(tmp_path: Path) -> None:
    folder = tmp_path / "outputs/sweeps/s"
    for seed in (1, 2, 3):
        lengths(folder, 64, seed, 0.8)
        lengths(folder, 512, seed, 0.7, correct=right(seed, 0.7, 100))
    lengths(folder, 64, 4, None, status="diverged")
    lengths(folder, 512, 4, None, status="failed", hashes={}, cost={})
    found = compare(of_sweep(tmp_path, "s"), Options())
    assert {tuple(sorted(run.name for run in block.runs)): block.groups[0].counted for block in found.blocks} == {
        ("512-1", "512-2", "512-3", "512-4"): 3,
        ("64-1", "64-2", "64-3", "64-4"): 4,
    }


@pytest.mark.parametrize("metric", ["val/accuracy", "test/accuracy"])
def test_scores_of_other_examples_are_never_compared(tmp_path: Path, metric: str) -> None:
    """No examples of a validation are kept: what tells two of them apart is the data's hash."""
    folder = tmp_path / "outputs/sweeps/s"
    for seed in (1, 2, 3):
        lengths(folder, 64, seed, 0.8)
        lengths(folder, 512, seed, 0.7, correct=right(seed, 0.7, 100))
    found = compare(of_sweep(tmp_path, "s"), Options(metric=metric))
    assert len(found.blocks) == 2 and not any(block.pairs for block in found.blocks)


def test_a_validation_score_says_that_it_is_over_seeds_only(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.8)
    score = compared(tmp_path, metric="val/accuracy").blocks[0].groups[0].score
    assert score is not None and score.note == "over seeds only: its examples are not recorded"


def test_a_run_that_ended_before_its_budget_was_settled_is_one_of_its_group(tmp_path: Path) -> None:
    settled = [config("lstm") | {"budget": {"kind": "parameters", "target": 1e6}} for _ in range(4)]
    for seed, one in enumerate(settled, 1):
        one["model"] |= {"dim": 64 if seed == 4 else 200}
        ended = {"share": None, "status": "failed", "cost": {}} if seed == 4 else {"share": 0.8}
        make(tmp_path, "lstm", seed, config=one, **ended)
    (lstm,) = compared(tmp_path).blocks[0].groups
    assert (lstm.counted, lstm.missing) == (3, 1)


def test_sizes_of_batches_that_memory_decided_make_no_groups(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        settled = config("lstm")
        settled["data"] |= {"batch_tokens": 1000 * seed}
        make(tmp_path, "lstm", seed, config=settled, budget={"batch_tokens": 1000 * seed})
    (lstm,) = compared(tmp_path).blocks[0].groups
    assert lstm.counted == 3


def test_a_tokenizer_may_be_allowed_to_differ_as_long_as_the_test_set_is_one(tmp_path: Path) -> None:
    other = {"hashes": {"data": "d2", "tokenizer": "t2", "labels": "l"}}
    three(tmp_path / "same", "lstm", 0.8)
    three(tmp_path / "same", "gru", 0.6, **other)
    assert len(compared(tmp_path / "same").blocks) == 2
    assert len(compared(tmp_path / "same", allow=("tokenizer",)).blocks) == 1
    three(tmp_path / "other", "lstm", 0.8)
    for seed in (1, 2, 3):
        make(tmp_path / "other", "gru", seed, correct=right(seed, 0.6, 100), **other)
    assert len(compared(tmp_path / "other", allow=("tokenizer",)).blocks) == 2


@pytest.mark.parametrize("metric", ["test/accuracy", "speed/tokens_per_s"])
def test_a_tokenizer_that_may_differ_excuses_no_other_data(tmp_path: Path, metric: str) -> None:
    three(tmp_path, "lstm", 0.8)
    three(tmp_path, "gru", 0.6, hashes=HASHES | {"data": "d2"})
    assert len(compared(tmp_path, allow=("tokenizer",), metric=metric).blocks) == 2


@pytest.mark.parametrize("option", ["margin", "detect"])
def test_differences_are_asked_for_where_differences_are_compared(tmp_path: Path, option: str) -> None:
    three(tmp_path, "lstm", 0.8)
    three(tmp_path, "gru", 0.6)
    with pytest.raises(InputError, match=f"{option}=0.1 is a difference, and speed/tokens_per_s is compared by ratios"):
        compared(tmp_path, metric="speed/tokens_per_s", **{option: 0.1})


ELSEWHERE = {"machine": {"cpu": "two", "gpus": [], "threads": 1, "ranks": 1}}


def test_training_time_is_the_machine_s(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.8)
    three(tmp_path, "gru", 0.6, **ELSEWHERE)
    assert len(compared(tmp_path, metric="cost/train_seconds").blocks) == 2
    assert len(compared(tmp_path, metric="cost/steps").blocks) == 1


def test_advice_leaves_out_what_was_timed_elsewhere_where_time_counts(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.8)
    three(tmp_path, "transformer", 0.8)
    three(tmp_path, "gru", 0.8, **ELSEWHERE)
    by_time = compared(tmp_path, advise=True, limits={"tokens_per_s": 1000.0}).advice[0]
    assert set(by_time.fitting) == {"lstm", "transformer"}
    assert by_time.text.endswith("Left out, as measured on another machine: gru.")
    assert compared(tmp_path, advise=True, limits={"parameters": 1e6}).advice[0].choice == "gru"


def test_where_no_machine_has_most_runs_or_machines_may_differ_nobody_is_left_out(tmp_path: Path) -> None:
    three(tmp_path / "tie", "lstm", 0.8)
    three(tmp_path / "tie", "gru", 0.8, **ELSEWHERE)
    limits = {"tokens_per_s": 1.0}
    assert len(compared(tmp_path / "tie", advise=True, limits=limits).advice[0].fitting) == 2
    three(tmp_path / "more", "lstm", 0.8)
    three(tmp_path / "more", "transformer", 0.8)
    three(tmp_path / "more", "gru", 0.8, **ELSEWHERE)
    allowed = compared(tmp_path / "more", advise=True, limits=limits, allow=("machine",))
    assert len(allowed.advice[0].fitting) == 3


def test_measured_sizes_of_batches_and_runs_without_a_result_are_no_other_machine(tmp_path: Path) -> None:
    for model, size in (("lstm", 1000), ("gru", 3000)):
        for seed in (1, 2, 3):
            settled = config(model)
            settled["data"] |= {"batch_tokens": size}
            make(tmp_path, model, seed, config=settled, budget={"batch_tokens": size})
    make(tmp_path, "gru", 4, None, status="interrupted", cost={}, **ELSEWHERE)
    advice = compared(tmp_path, advise=True, limits={"tokens_per_s": 1.0}).advice[0]
    assert set(advice.fitting) == {"lstm", "gru"}


def test_what_nobody_has_compared_is_no_tie(tmp_path: Path) -> None:
    three(tmp_path, "transformer", 0.9)
    make(tmp_path, "gru", 1, None, status="diverged", metrics={"val/accuracy/baseline=majority": 0.5})
    make(tmp_path, "lstm", 1, 0.8)
    make(tmp_path, "lstm", 2, None, status="running", cost={})
    advice = compared(tmp_path, advise=True).advice[0]
    assert advice.choice == "transformer" and advice.tied == ["transformer"]
    assert "For now: too few runs to tell transformer from lstm" in advice.text
    with pytest.raises(InputError, match="advise=true needs every pair decided: leave baseline out"):
        compared(tmp_path, advise=True, baseline="lstm")
