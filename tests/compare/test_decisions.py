"""Decisions in their order, with their words; what divergence, too few seeds and Holm's correction do to them."""

from dataclasses import replace

import numpy as np
import pytest
from draws import Drawer

from seqarena.compare.bounds import FAILS, HOLDS, OPEN, Bounded, Rate, p_values, rule_outcome
from seqarena.compare.decisions import THESE_RUNS, Decision, Manner, Side, decide
from seqarena.compare.forecast import forecast, power, seeds_needed
from seqarena.compare.statistics import Group, accuracy, clopper_pearson, contrast, unscored


def side(label: str, x: np.ndarray, diverged: tuple[int, ...] = (), missing: int = 0) -> Side:
    runs = range(x.shape[1])
    group = accuracy(x, np.arange(len(x)))
    return Side(label, group, tuple(runs), tuple(run for run in runs if run not in diverged), missing)


def right(share: float, runs: int, n: int = 400, noise: int = 0) -> np.ndarray:
    """(n, J): the first examples are right, a few more or less of them in each run."""
    cuts = [round(share * n) + noise * (run - runs // 2) for run in range(runs)]
    return np.stack([(np.arange(n) < cut).astype(float) for cut in cuts], axis=1)


def one(a: Side, b: Side, manner: Manner | None = None) -> Decision:
    return decide([(a, b)], manner or Manner())[0]


GOOD, BAD = right(0.9, 3, noise=2), right(0.7, 3, noise=2)


@pytest.mark.parametrize(
    ("a", "b", "manner", "text"),
    [
        (side("A", GOOD), side("B", BAD), Manner(), "better"),
        (side("A", BAD), side("B", GOOD), Manner(), "worse"),
        (side("A", GOOD), side("B", BAD), Manner(more_is_better=False), "worse"),
        (side("A", GOOD), side("B", BAD), Manner(more_is_better=None), "higher"),
        (side("A", GOOD[:, :2]), side("B", BAD[:, :2]), Manner(), "undecided (needs 3 seeds)"),
        (side("A", GOOD), side("B", BAD), Manner(paired=True), "undecided (needs 4 seeds)"),
        (side("A", GOOD), side("B", BAD[:, :1]), Manner(), "better than that run of B"),
        (side("A", GOOD), side("B", BAD[:, :2]), Manner(), "better than those 2 runs of B"),
        (side("A", GOOD[:, :1]), side("B", BAD), Manner(), "better (that run of A only)"),
        (side("A", GOOD[:, :0]), side("B", BAD), Manner(), "not comparable (no finished run)"),
        (side("A", right(0.8, 3)), side("B", right(0.8, 3)), Manner(), "identical outputs"),
        (side("A", GOOD), side("B", BAD, missing=2), Manner(), "incomplete (2 of 8 runs missing)"),
        (side("A", right(0.8, 3, noise=1)), side("B", right(0.8, 3, noise=2)), Manner(margin=0.1), "equal within 0.1"),
    ],
)  # fmt: skip
def test_words(a: Side, b: Side, manner: Manner, text: str) -> None:
    assert one(a, b, manner).text == text


def test_few_seeds_make_no_claim_beyond_these_runs() -> None:
    few = one(side("A", GOOD[:, :2]), side("B", BAD[:, :2]))
    assert few.note == THESE_RUNS and few.adjusted is None and few.estimate is not None and few.estimate.seeds == 0
    pairs = [(side("A", GOOD), side("B", BAD)), (side("A", GOOD[:, :1]), side("B", BAD[:, :1]))]
    assert decide(pairs, Manner())[0].adjusted == one(*pairs[0]).adjusted, "a pair with few seeds is not in the family"


def test_a_seed_without_effect_is_said_and_its_side_fixed() -> None:
    found = one(side("A", right(0.8, 3)), side("B", BAD))
    assert found.note == "the seed has no effect on A"
    assert found.estimate == contrast(
        [replace(side("A", right(0.8, 3)).runs, fixed=True), side("B", BAD).runs], [1, -1]
    )


def test_outputs_that_only_score_the_same_are_not_identical() -> None:
    same = (side("A", right(0.8, 3)), side("B", right(0.8, 3)))
    assert decide([same], Manner(), lambda a, b: False)[0].word == "not distinguishable"


def test_correction_and_forecast() -> None:
    drawer = Drawer(7)
    x, y = drawer.table(1000, 5, [1, 1], [0.87, 0.85])
    pair = (side("A", x), side("B", y))
    alone = one(*pair)
    assert alone.estimate is not None
    p = alone.estimate.p()
    noise = [
        (side(f"N{k}", a), side(f"M{k}", b))
        for k, (a, b) in enumerate(drawer.table(1000, 5, [1, 1], [0.85, 0.85]) for _ in range(3))
    ]
    family = decide([pair, *noise], Manner(alpha=p * 1.5))
    assert one(*pair, Manner(alpha=p * 1.5)).word == "better"
    assert family[0].text == "not distinguishable after correction for 4 comparisons"
    wide = one(*pair, Manner(alpha=p / 2, simultaneous=True)).half
    assert wide is not None and alone.half is not None and wide > alone.half
    assert "more seed" in one(*pair, Manner(alpha=p / 2, detect=0.03)).text


def test_a_diverged_run_is_kept_and_never_helps() -> None:
    chance = right(0.5, 5)
    a, b = right(0.9, 5, noise=1), right(0.85, 5, noise=1)
    a[:, 4] = chance[:, 4]
    with_failure = side("A", a, diverged=(4,))
    assert one(with_failure, side("B", b)).text == "not distinguishable (1 of 10 runs diverged)"
    dropped = side("A", a[:, :4], missing=1)
    assert one(dropped, side("B", b)).word == "incomplete"
    assert with_failure.runs.theta.mean() < dropped.runs.theta.mean(), "the headline holds the diverged run"
    a[:, 3] = chance[:, 3]
    assert one(side("A", a, diverged=(3, 4)), side("B", b)).word == "not distinguishable"


def test_a_diverged_run_leaves_a_difference_that_both_analyses_show() -> None:
    b = right(0.5, 5, noise=1)
    a = right(0.9, 5, noise=1)
    a[:, 4] = right(0.86, 1)[:, 0]
    assert one(side("A", a, diverged=(4,)), side("B", b)).word == "better"
    three = right(0.9, 3, noise=1)
    assert one(side("A", three, diverged=(2,)), side("B", b)).word == "not distinguishable", "two converged are too few"


def test_paired_seeds_are_matched_by_seed() -> None:
    x = right(0.8, 5, noise=3)
    a, b = side("A", x), side("B", np.roll(right(0.78, 5, noise=3), 1, axis=1))
    b = replace(b, seeds=(4, 0, 1, 2, 3))
    found = one(a, b, Manner(paired=True))
    assert found.estimate is not None and found.estimate.seeds == pytest.approx(0, abs=1e-12) and found.word == "better"


@pytest.mark.parametrize(("sd", "gap", "needed"), [(1, 0.03, 5), (2, 0.05, 5)])
def test_the_forecast_is_as_powerful_as_it_says(sd: float, gap: float, needed: int) -> None:
    drawer, tables = Drawer(11), 300
    truth = {0.85 + gap: None, 0.85: None}
    pilots = [
        [accuracy(x, np.arange(1000)) for x in drawer.table(1000, 5, [sd, sd], list(truth))] for _ in range(tables)
    ]
    decided = sum(contrast(groups, [1, -1]).p() < 0.05 for groups in pilots) / tables
    parts = [contrast(groups, [1, -1]) for groups in pilots]
    true = replace(parts[0], value=gap, examples=float(np.mean([p.examples for p in parts])))
    steady = [
        unscored(np.array([-1.0, 0.0, 1.0]) * np.sqrt(np.mean([g[k].seed_variance for g in pilots]))) for k in (0, 1)
    ]
    assert power(steady, [1, -1], true, needed) == pytest.approx(decided, abs=0.05)
    assert seeds_needed(steady, [1, -1], true) in (needed - 1, needed, needed + 1)


def test_who_has_many_seeds_is_told_how_many_more() -> None:
    groups = [accuracy(right(share, 40, noise=1), np.arange(400)) for share in (0.8, 0.79)]
    now = contrast(groups, [1, -1])
    assert seeds_needed(groups, [1, -1], replace(now, value=0.05, examples=0.0)) == 41


def test_no_forecast_of_no_difference() -> None:
    groups = [accuracy(GOOD, np.arange(400))] * 2
    assert forecast(groups, [1, -1], contrast(groups, [1, -1])) == ""


def test_a_forecast_that_rounding_made_up_or_that_nobody_could_follow() -> None:
    groups = [accuracy(right(0.8, 3, noise=2), np.arange(400)), accuracy(right(0.8, 3, noise=-3), np.arange(400))]
    now = contrast(groups, [1, -1])
    assert forecast(groups, [1, -1], replace(now, value=1e-17, examples=1e-4)) == ""
    told = forecast(groups, [1, -1], replace(now, value=1e-6, examples=1e-4))
    assert told == "no number of seeds will do; more than 1,000,000 test examples would be needed"


def bounded(value: float, bound: float, above: bool = True) -> Bounded:
    return Bounded(contrast([unscored([value - 0.01, value, value + 0.01])], [1]), bound, above)


def test_rules_hold_all_together_and_fail_by_one_step() -> None:
    every = [bounded(0.5, 0.0), bounded(0.3, 0.0)]
    holds, fails = p_values(every, 2)
    assert holds == max(part.p for part in every) and fails == 1
    assert rule_outcome(holds, fails, holds) == HOLDS and rule_outcome(holds, fails, 0.06) == OPEN
    mixed = [*every, bounded(-0.5, 0.0)]
    holds, fails = p_values(mixed, 3)
    assert holds == 1 and fails == pytest.approx(3 * mixed[2].p) and rule_outcome(holds, fails, fails) == FAILS


def test_exact_numbers_are_compared_directly() -> None:
    same = replace(
        bounded(3.0, 3.0),
        exact=True,
        estimate=contrast([Group(np.array([3.0]), np.zeros((0, 1)), np.zeros(0), True)], [1]),
    )
    assert same.outcome() == HOLDS and replace(same, bound=3.1).outcome() == FAILS


def test_convergence_is_judged_by_the_exact_interval() -> None:
    assert [Rate(*one).outcome() for one in ((10, 10, 0.6), (5, 5, 0.6), (1, 10, 0.6))] == [HOLDS, OPEN, FAILS]


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("bound", [0.3, 0.5, 0.9])
def test_a_rate_decides_as_its_exact_interval_does(runs: int, bound: float) -> None:
    for converged in range(runs + 1):
        low, high = clopper_pearson(converged, runs)
        assert Rate(converged, runs, bound).outcome() == (HOLDS if low >= bound else FAILS if high < bound else OPEN)
