"""Comparisons of made-up runs: which are found, how they are grouped, what sets them apart, what is decided."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made import N, config, make, right, translate

from seqarena.compare.comparing import Options, compare
from seqarena.compare.comparison import Comparison
from seqarena.compare.influences import Examples, group
from seqarena.compare.records import Selection, of_folders, of_sweep
from seqarena.compare.statistics import accuracy, bleu, contrast
from seqarena.errors import InputError
from seqarena.sweep.metrics import Better, Metric

ACCURACY = Metric("test", "accuracy", Better.MORE)


def three(home: Path, model: str, share: float | None, **changes: Any) -> None:
    for seed in (1, 2, 3):
        make(home, model, seed, share, **changes)


def compared(home: Path, **options: Any) -> Comparison:
    return compare(of_folders(str(home / "*")), Options(**options))


def test_scores_and_differences_are_those_of_the_statistics(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.8)
    three(tmp_path, "gru", 0.6)
    (block,) = compared(tmp_path).blocks
    lstm, gru = (np.stack([right(seed, share) for seed in (1, 2, 3)], axis=1) for share in (0.8, 0.6))
    wanted = contrast([accuracy(lstm, np.arange(N)), accuracy(gru, np.arange(N))], [1, -1])
    (pair,) = block.pairs
    assert (pair.a, pair.b, pair.word) == ("lstm", "gru", "better")
    assert (pair.difference, pair.p) == pytest.approx((wanted.value, wanted.p()))
    assert (pair.low, pair.high) == pytest.approx(wanted.interval())
    assert block.groups[0].score is not None and block.groups[0].score.value == pytest.approx(lstm.mean())
    assert [run.score for run in block.runs[:3]] == pytest.approx(lstm.mean(0).tolist())
    assert {axis: sum(one.n for one in strata) for axis, strata in block.strata.items()} == {"length": N, "distance": N}
    short = block.strata["length"][0]
    at = np.arange(N) % 30 < 10
    assert short.bucket == "0-9" and short.scores["gru"].value == pytest.approx(gru[at].mean())
    assert len(block.curves) == 6 and block.curves[0].values[-1] == 0.5
    assert json.loads(json.dumps(compared(tmp_path).plain())) == json.loads(json.dumps(compared(tmp_path).plain()))


def test_groups_are_called_by_what_varies(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.8)
    for heads in (4, 8):
        three(tmp_path, "transformer", 0.8, options={"heads": heads})
    labels = {one.label for one in compared(tmp_path).blocks[0].groups}
    assert labels == {"lstm", "transformer heads=4", "transformer heads=8"}


def test_runs_with_equal_configs_are_one_group_whatever_their_seed_and_place(tmp_path: Path) -> None:
    for seed in (1, 2, 3, 4):
        make(tmp_path, seed=seed, config=config("lstm") | {"cache": f"place{seed}", "jobs": seed})
    (one,) = compared(tmp_path).blocks[0].groups
    assert one.counted == 4


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"hashes": {"data": "x", "tokenizer": "t", "labels": "l"}}, "data"),
        ({"hashes": {"data": "d", "tokenizer": "x", "labels": "l"}}, "tokenizer"),
        ({"signature": {"bleu": "x"}}, "metric signature"),
        ({"code": {"commit": "other", "dirty": False}}, "code commit"),
        ({"versions": {"torch": "3"}}, "versions"),
        ({"machine": {"cpu": "one", "gpus": [], "threads": 1, "ranks": 1, "precision": "bf16-mixed"}}, "precision"),
        ({"config": config("gru") | {"budget": {"kind": "time", "minutes": 5}}}, "budget"),
        ({"config": config("gru") | {"task": {"name": "classification", "decoding": {"beam": 5}}}}, "decoding"),
    ],
)
def test_the_guard_sets_apart_what_differs_in_anything_else(
    tmp_path: Path, changes: dict[str, Any], title: str
) -> None:
    three(tmp_path, "lstm", 0.8)
    three(tmp_path, "gru", 0.6, **changes)
    found = compared(tmp_path)
    assert [len(block.pairs) for block in found.blocks] == [0, 0]
    (banner,) = found.banners
    assert banner.differs == title and "3" in banner.text and banner.separates
    name = {"metric signature": "signature", "code commit": "code"}.get(title, title)
    if title != "data":
        allowed = compared(tmp_path, allow=(name,))
        assert len(allowed.blocks) == 1 and allowed.blocks[0].pairs and not allowed.banners[0].separates
    else:
        with pytest.raises(InputError, match="allow=data"):
            compared(tmp_path, allow=(name,))


def test_a_run_that_failed_before_its_precision_was_chosen_sets_nothing_apart(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.8)
    machine = {"cpu": "one", "gpus": [], "threads": 1, "ranks": 1}
    failed = config("gru") | {"trainer": {"precision": "auto"}}
    make(tmp_path, "gru", 1, share=None, status="failed", machine=machine, config=failed, hashes={})
    assert compared(tmp_path).banners == []


def test_the_machine_sets_speeds_apart_and_scores_not(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.8)
    three(tmp_path, "gru", 0.6, machine={"cpu": "two", "gpus": [], "threads": 1, "ranks": 1})
    assert len(compared(tmp_path).blocks) == 1 and compared(tmp_path).banners[0].differs == "machine"
    assert len(compared(tmp_path, metric="speed/tokens_per_s").blocks) == 2


def test_speeds_are_compared_as_ratios(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.8)
    three(tmp_path, "transformer", 0.8)
    (block,) = compared(tmp_path, metric="speed/tokens_per_s").blocks
    (pair,) = block.pairs
    assert block.ratio and pair.a == "transformer" and pair.word == "better"
    assert (
        pair.difference == pytest.approx(11002 / 4002, rel=1e-4)
        and pair.low is not None
        and 2.7 < pair.low < pair.difference
    )


def test_a_left_out_example_counts_as_wrong_and_is_told(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.8)
    make(tmp_path, "gru", 1, 1.0, left_out=[0, 1, 2], correct=np.ones(N, bool))
    (block,) = compared(tmp_path).blocks
    assert block.notes == ["gru-seed1 left out 3 of 240 test examples: counted as wrong"]
    assert next(run.score for run in block.runs if run.group == "gru") == pytest.approx((N - 3) / N)


def test_a_diverged_run_without_results_gets_the_majority_class(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.9)
    for seed in (1, 2, 3):
        make(tmp_path, "gru", seed, 0.8)
    make(tmp_path, "gru", 4, None, status="diverged", error={"type": "Diverged", "message": "loss is nan"})
    found = compared(tmp_path)
    (block,) = found.blocks
    gru = next(one for one in block.groups if one.label == "gru")
    assert (gru.counted, gru.converged, gru.missing) == (4, 3, 0)
    assert next(run.score for run in block.runs if run.status == "diverged") == 0.5
    assert gru.given_converged is not None and gru.score is not None and gru.given_converged.value > gru.score.value
    assert "1 of 7 runs diverged" in block.pairs[0].decision or block.pairs[0].word == "better"
    assert [run.message for run in found.failures] == ["loss is nan"]


def test_a_run_no_better_than_the_majority_class_on_validation_has_diverged(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.8)
    make(tmp_path, "lstm", 4, 0.5, metrics={"val/accuracy": 0.5, "val/accuracy/baseline=majority": 0.5})
    (one,) = compared(tmp_path).blocks[0].groups
    assert (one.counted, one.converged) == (4, 3)


@pytest.mark.parametrize("status", ["running", "interrupted", "failed"])
def test_a_run_without_an_outcome_makes_decisions_incomplete(tmp_path: Path, status: str) -> None:
    three(tmp_path, "lstm", 0.9)
    three(tmp_path, "gru", 0.6)
    make(tmp_path, "gru", 4, None, status=status, cost={}, hashes={"config": "c"})
    found = compared(tmp_path)
    (block,) = found.blocks
    assert block.pairs[0].decision == "incomplete (1 of 7 runs missing)" and len(found.failures) == 1


def sweep(root: Path, jobs: list[tuple[str, int]]) -> Selection:
    told = [{"folder": f"{m}-seed{s}", "overrides": [f"model={m}", f"seed={s}"], "status": "queued"} for m, s in jobs]
    (root / "outputs/sweeps/s/sweep.json").write_text(json.dumps({"jobs": told}), encoding="utf-8")
    return of_sweep(root, "s")


def test_a_diverged_run_whose_record_is_removed_is_missing(tmp_path: Path) -> None:
    home = tmp_path / "outputs/sweeps/s"
    three(home, "lstm", 0.9)
    three(home, "gru", 0.6)
    make(home / "superseded", "gru", 4, 0.9)
    found = compare(sweep(tmp_path, [(m, s) for m in ("lstm", "gru") for s in (1, 2, 3, 4)]), Options())
    assert found.blocks[0].pairs[0].decision == "incomplete (2 of 8 runs missing)"
    assert [run.status for run in found.failures] == ["missing", "missing"]


def test_options_outside_the_grid_make_groups_of_their_own_and_a_banner(tmp_path: Path) -> None:
    home = tmp_path / "outputs/sweeps/s"
    three(home, "gru", 0.6)
    for seed in (1, 2, 3, 4, 5, 6):
        make(home, "lstm", seed, 0.9, config=config("lstm", dropout=0.1 if seed < 4 else 0.2))
    found = compare(of_sweep(tmp_path, "s"), Options())
    assert [one.label for one in found.blocks[0].groups] == ["lstm dropout=0.1", "lstm dropout=0.2", "gru"]
    assert [one.differs for one in found.banners] == ["options"] and "lstm dropout=0.1" in found.banners[0].text


def test_seeds_added_after_a_look_divide_alpha(tmp_path: Path) -> None:
    home, kept = tmp_path / "outputs/sweeps/s", tmp_path / "kept"
    three(home, "lstm", 0.9)
    assert compare(of_sweep(tmp_path, "s"), Options(), home=kept).notes == []
    assert compare(of_sweep(tmp_path, "s"), Options(), home=kept).blocks[0].alpha == 0.05
    make(home, "lstm", 4, 0.9, code={"commit": "later", "dirty": False})
    assert compare(of_sweep(tmp_path, "s"), Options(), home=kept).blocks[0].alpha == 0.025
    found = compare(of_sweep(tmp_path, "s"), Options(allow=("code",)), home=kept)
    assert found.blocks[0].alpha == 0.025 and "alpha is now 0.05/2" in found.notes[0]
    assert compare(of_sweep(tmp_path, "s"), Options(looks=3), home=kept).blocks[0].alpha == 0.05 / 3


def test_bleu_of_runs_is_that_of_their_statistics_and_an_empty_translation_scores_nothing(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    length = random.integers(8, 20, 50)
    grams = np.stack([length - k for k in range(4)], axis=1)
    runs = [np.concatenate([np.stack([length, length], 1), random.binomial(grams, 0.6), grams], 1) for _ in range(3)]
    for seed, statistics in enumerate(runs):
        translate(tmp_path, "lstm", seed, statistics)
    translate(tmp_path, "lstm", 3, None)
    (block,) = compared(tmp_path).blocks
    wanted = bleu(np.stack([*runs, runs[0] * (np.arange(10) == 1)], axis=1).astype(float), np.arange(50))
    score = block.groups[0].score
    assert [run.score for run in block.runs] == pytest.approx(wanted.theta.tolist()) and wanted.theta[3] == 0
    assert score is not None and score.note == "few sentences"
    assert (score.low, score.high) == pytest.approx(contrast([wanted], [1]).interval())


def test_macro_f1_is_jackknifed(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.8)
    entries = of_folders(str(tmp_path)).entries
    examples = Examples(entries)
    found = group(entries, examples, Metric("test", "f1_macro", Better.MORE))
    truth, called = (column.to_numpy(zero_copy_only=False) for column in entries[0].columns("label", "prediction"))

    def f1(keep: np.ndarray) -> float:
        t, c = truth[keep], called[keep]
        return float(
            np.mean([2 * np.sum((t == k) & (c == k)) / (np.sum(t == k) + np.sum(c == k)) for k in ("no", "yes")])
        )

    without = np.array([f1(np.arange(N) != k) for k in range(N)])
    assert found.theta[0] == pytest.approx(f1(np.ones(N, bool)))
    assert found.psi[:, 0] == pytest.approx((N - 1) * (without.mean() - without))
    assert group(entries, examples, ACCURACY).psi.sum(0) == pytest.approx(np.zeros(3), abs=1e-9)


def test_advice_names_the_cheapest_of_those_not_told_apart(tmp_path: Path) -> None:
    for model in ("lstm", "transformer"):
        three(tmp_path, model, 0.8)
    three(tmp_path, "gru", 0.5)
    advice = compared(tmp_path, advise=True).advice[0]
    assert (
        advice.choice == "lstm" and set(advice.tied) == {"lstm", "transformer"} and "not distinguishable" in advice.text
    )
    assert compared(tmp_path, advise=True, limits={"parameters": 3500.0}).advice[0].choice == "gru"
    assert compared(tmp_path, advise=True, limits={"tokens_per_s": 9000.0}).advice[0].choice == "transformer"
    nothing = compared(tmp_path, advise=True, limits={"parameters": 10.0}).advice[0]
    assert nothing.choice is None and nothing.text == "No model fits. limits.parameters would have to be 3000, for gru"
    with pytest.raises(InputError, match=r"limits\.step_ms: no run measured it; there are parameters"):
        compared(tmp_path, advise=True, limits={"step_ms": 3.0})


def test_advice_says_what_is_no_better_than_a_constant_and_writes_costs_as_tables_do(tmp_path: Path) -> None:
    for seed, share in ((1, 0.5), (2, 0.52), (3, 0.54)):
        metrics = {"val/accuracy": share, "test/accuracy/baseline=majority": 0.5}
        sizes = {"total": 135426, "embedding": 10, "other": 90}
        make(tmp_path, "lstm", seed, share, metrics=metrics, parameters=sizes)
    told = compared(tmp_path, advise=True).advice[0].text
    assert "parameters/total 135k." in told
    assert "Its interval reaches what always answering the most frequent class scores (50)." in told
    fitting = compared(tmp_path, advise=True, limits={"parameters": 10.0}).advice[0].text
    assert "limits.parameters would have to be 135500, for lstm" in fitting
    assert compared(tmp_path, advise=True, limits={"parameters": 135500.0}).advice[0].choice == "lstm"
    three(tmp_path, "gru", 0.8)
    assert "most frequent class" not in compared(tmp_path, advise=True).advice[0].text


def test_refusals_name_the_run_and_the_cure(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"matches no folder with a record\.json"):
        of_folders(str(tmp_path / "nothing*"))
    refused = tmp_path / "outputs/sweeps/refused/multirun.yaml"  # of a command that was refused; no sweep began
    refused.parent.mkdir(parents=True)
    refused.touch()
    with pytest.raises(InputError, match="sweep=x is not in outputs/sweeps: there are none"):
        of_sweep(tmp_path, "x")
    single = make(tmp_path / "one", correct=np.ones(1, bool))
    with pytest.raises(InputError, match="tested on a single example"):
        compare(of_folders(str(single)), Options())
    three(tmp_path / "two", "lstm", 0.8)
    with pytest.raises(InputError, match="has no speed/step_ms"):
        compared(tmp_path / "two", metric="speed/step_ms")
    with pytest.raises(InputError, match="baseline=gru is no group"):
        compared(tmp_path / "two", baseline="gru")
    with pytest.raises(InputError, match="no metric of a classification"):
        compared(tmp_path / "two", metric="test/bleu")
    path = tmp_path / "two/lstm-seed1/examples.parquet"
    kept = pq.read_table(path)
    pq.write_table(kept.set_column(kept.column_names.index("loss"), "loss", pa.array(np.full(N, np.nan))), path)
    with pytest.raises(InputError, match="lstm-seed1: test/loss is nan"):
        compared(tmp_path / "two", metric="test/loss")
    path.write_bytes(b"PAR1")
    with pytest.raises(InputError, match="cannot be read"):
        compared(tmp_path / "two")


def test_nothing_heavy_is_imported() -> None:
    import subprocess
    import sys

    asked = (
        "import sys, seqarena.compare.verb; print([m for m in ('torch', 'lightning', 'datasets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_share_lies_within_0_and_1_and_so_does_its_interval(tmp_path: Path) -> None:
    for seed, share in ((1, 1.0), (2, 0.99), (3, 0.93)):
        make(tmp_path, "lstm", seed, share)
    (block,) = compared(tmp_path, metric="test/f1_macro").blocks
    score = block.groups[0].score
    assert score is not None and score.low is not None and score.low < score.value < 1.0 == score.high


def test_a_model_that_broke_a_law_is_marked_and_compared_all_the_same(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.9, soundness={"card": "c1", "broken": ["future"]})
    three(tmp_path, "gru", 0.8, soundness={"card": "c2", "broken": []})
    found = compared(tmp_path)
    (banner,) = (one for one in found.banners if one.differs == "soundness")
    assert "lstm breaks: future" in banner.text and not banner.separates and len(found.blocks) == 1


def test_where_the_data_is_under_study_scores_need_one_test_set_and_speeds_do_not(tmp_path: Path) -> None:
    folder = tmp_path / "outputs" / "sweeps" / "s"
    for length, n in ((64, 240), (512, 100)):
        for seed in (1, 2, 3):
            asked = [f"data.reader.lengths=[{length}]", f"data.batch_tokens={length}", f"seed={seed}"]
            settled = config("lstm")
            settled["data"] = settled["data"] | {"batch_tokens": length}
            make(
                folder, "lstm", seed, 0.8, name=f"{length}-{seed}", overrides=asked, config=settled,
                correct=right(seed, 0.8, n), hashes={"data": f"d{length}", "tokenizer": "t", "labels": "l"},
            )  # fmt: skip
    scores, speeds = (
        compare(of_sweep(tmp_path, "s"), Options(metric=one)) for one in ("test/accuracy", "speed/tokens_per_s")
    )
    assert [len(block.groups) for block in scores.blocks] == [1, 1]
    assert "data.reader.lengths and data.batch_tokens make other test sets" in scores.banners[0].text
    assert [len(block.groups) for block in speeds.blocks] == [2] and speeds.blocks[0].pairs
    assert not any(banner.separates for banner in speeds.banners)


def test_queries_of_a_text_are_no_independent_examples(tmp_path: Path) -> None:
    """Each text has eight queries, all right or all wrong: the interval must be that of as many texts."""
    rights = {"lstm": 0.8, "gru": 0.6}
    for model, share in rights.items():
        three(tmp_path / "texts", model, share)
        for seed in (1, 2, 3):
            settled = config(model) | {"task": {"name": "tagging"}}
            own = {"task": "tagging", "config": settled, "correct": np.repeat(right(seed, share), 8)}
            path = make(tmp_path / "queries", model, seed, share, **own) / "examples.parquet"
            texts = pa.array(np.repeat(np.arange(N), 8)[::-1])  # in no special order
            pq.write_table(pq.read_table(path).append_column("example", texts), path)
    (texts,), (queries,) = (compared(tmp_path / name).blocks for name in ("texts", "queries"))
    (wanted,), (found,) = texts.pairs, queries.pairs
    assert (found.difference, found.low, found.high) == pytest.approx((wanted.difference, wanted.low, wanted.high))
    score, plain = queries.groups[0].score, texts.groups[0].score
    assert score is not None and plain is not None and score.low is not None and plain.low is not None
    assert score.n == N and score.low == pytest.approx(plain.low, abs=0.01)


def test_runs_whose_configs_do_not_tell_them_apart_are_lost_by_none(tmp_path: Path) -> None:
    three(tmp_path, "lstm", 0.9)
    make(tmp_path, "lstm", 4, 0.6, name="other", config={})
    found = compared(tmp_path, metric="speed/tokens_per_s", allow=("code", "versions", "budget", "decoding"))
    assert sum(len(block.runs) for block in found.blocks) == 4
