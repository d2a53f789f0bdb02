"""Verdicts on made-up runs: each rule held, failed and left open; strata, ratios, exact counts, missing runs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import N, make

from seqarena.compare.comparing import Options, compare
from seqarena.compare.comparison import RuleOutcome, Verdict
from seqarena.compare.records import of_folders
from seqarena.sweep.question import Question
from seqarena.sweep.reading import Place
from seqarena.sweep.rules import parse

MODELS = {"lstm": 0.9, "gru": 0.75, "rnn": 0.6}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models with four seeds; the rnn is wrong at long distances."""
    found = tmp_path_factory.mktemp("runs")
    for model, share in MODELS.items():
        for seed in (1, 2, 3, 4):
            correct = np.random.default_rng([seed, len(model)]).random(N) < share
            if model == "rnn":
                correct |= 4 + np.arange(N) % 16 < 8
                correct &= ~((4 + np.arange(N) % 16 >= 16) & (np.arange(N) % 32 < 18))
            make(found, model, seed, share, correct=correct)
    return found


def judged(home: Path, supported: Any, refuted: Any = None, metric: str = "test/accuracy", **grid: Any) -> Verdict:
    never = {"at_least": {"where": {"model": "lstm"}, "value": 2.0, "metric": "test/accuracy"}}
    rules = {
        side: tuple(parse(Place("f"), one, metric) for one in given)
        for side, given in (("supported", supported), ("refuted", refuted or [never]))
    }
    question = Question(
        name="q", scale="full", question="Q?", claim="C.", source="S", cannot="X", fixed={},
        grid=grid or {"model": list(MODELS), "seed": [1, 2, 3, 4]}, metric=metric, over="seed", **rules,
    )  # fmt: skip
    found = compare(of_folders(str(home)), Options(), question).verdict
    assert found is not None
    return found


def first(verdict: Verdict) -> RuleOutcome:
    return verdict.rules[0]


SPEED = "speed/tokens_per_s"
LSTM, GRU, RNN = ({"model": name} for name in MODELS)


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ({"at_least": {"where": LSTM, "value": 0.8}}, "holds"),
        ({"at_least": {"where": LSTM, "value": 0.95}}, "fails"),
        ({"at_least": {"where": LSTM, "value": 0.9}}, "open"),
        ({"below": {"where": GRU, "value": 0.85}}, "holds"),
        ({"below": {"where": GRU, "value": 0.6}}, "fails"),
        ({"better": {"where": LSTM, "than": GRU}}, "holds"),
        ({"better": {"where": GRU, "than": LSTM}}, "fails"),
        ({"better": {"where": LSTM, "than": GRU, "margin": 0.15}}, "open"),
        ({"better": {"where": GRU, "than": LSTM, "margin": -0.3}}, "holds"),
        ({"better": {"where": LSTM, "than": GRU, "margin": 0.05, "relative": True}}, "holds"),
        ({"better": {"where": LSTM, "than": GRU, "margin": 0.5, "relative": True}}, "fails"),
        ({"better": {"where": LSTM, "than": GRU, "metric": "test/loss"}}, "holds"),
        ({"better": {"where": GRU, "than": LSTM, "metric": "test/loss", "margin": 0.01, "relative": True}}, "fails"),
        ({"order": {"along": "model", "as": ["lstm", "gru"]}}, "holds"),
        ({"order": {"along": "model", "as": ["gru", "lstm", "rnn"]}}, "fails"),
        ({"equal": {"where": LSTM, "than": GRU, "within": 0.3}}, "holds"),
        ({"equal": {"where": LSTM, "than": GRU, "within": 0.02}}, "fails"),
        ({"equal": {"where": LSTM, "than": GRU, "within": 0.15}}, "open"),
        ({"equal": {"where": GRU, "than": LSTM, "within": 0.4, "relative": True}}, "holds"),
        ({"falls": {"along": "distance", "from": "4-7", "to": "16+", "by": 0.1, "where": RNN}}, "holds"),
        ({"falls": {"along": "distance", "from": "4-7", "to": "16+", "by": 0.4, "relative": True, "where": RNN}},
         "holds"),
        ({"falls": {"along": "distance", "from": "16+", "to": "4-7", "by": 0.1, "where": RNN}}, "fails"),
        ({"falls": {"along": "model", "from": "lstm", "to": "gru", "by": 0.05}}, "holds"),
        ({"declines": {"along": "distance", "over": ["4-7", "8-15", "16+"], "by": 0.1, "where": RNN}}, "holds"),
        ({"declines": {"along": "distance", "over": ["4-7", "8-15", "16+"], "by": 0.1, "where": LSTM}}, "fails"),
        ({"declines": {"along": "model", "over": ["lstm", "gru", "rnn"], "by": 0.2}}, "holds"),
        ({"converges": {"where": LSTM, "at_least": 0.35}}, "holds"),
        ({"converges": {"where": LSTM, "at_least": 0.6}}, "open"),
        ({"better": {"where": GRU | {"distance": "16+"}, "than": RNN | {"distance": "16+"}}}, "holds"),
        ({"better": {"where": GRU, "than": RNN, "metric": "test/accuracy/distance=16+"}}, "holds"),
        ({"below": {"where": LSTM, "metric": "speed/tokens_per_s", "value": 5000}}, "holds"),
        ({"better": {"where": LSTM, "than": GRU, "metric": SPEED, "margin": 0.3, "relative": True}}, "holds"),
        ({"better": {"where": LSTM, "than": GRU, "metric": SPEED, "margin": 0.4, "relative": True}}, "fails"),
        ({"at_least": {"where": LSTM, "metric": "parameters/total", "value": 4000}}, "holds"),
        ({"below": {"where": LSTM, "metric": "parameters/total", "value": 4000}}, "fails"),
        ({"better": {"where": RNN, "than": LSTM, "metric": "parameters/total", "margin": 1000}}, "holds"),
    ],
)  # fmt: skip
def test_rules(home: Path, rule: dict[str, Any], outcome: str) -> None:
    found = first(judged(home, [rule]))
    assert found.outcome == outcome, found
    assert all(part.value is not None for part in found.parts)


def test_the_outcome_and_its_numbers(home: Path) -> None:
    ahead, behind = ({"better": {"where": a, "than": b}} for a, b in ((LSTM, GRU), (GRU, LSTM)))
    supported, refuted = judged(home, [ahead], [behind]), judged(home, [behind], [ahead])
    assert (supported.outcome, refuted.outcome) == ("supported", "refuted")
    assert (
        judged(home, [ahead], [ahead]).outcome == "undecided"
        and judged(home, [behind], [behind]).outcome == "undecided"
    )
    (part,) = first(supported).parts
    assert part.low is not None and part.value is not None and 0 < part.low < part.value
    assert supported.reason.startswith("model lstm better than model gru: ") and "against 0" in supported.reason
    assert (supported.claim, supported.source, first(supported).text) == (
        "C.", "S", "better: {where: {model: lstm}, than: {model: gru}}",
    )  # fmt: skip


def test_rules_are_corrected_together(home: Path) -> None:
    rule = {"better": {"where": LSTM, "than": GRU, "margin": 0.1}}
    alone = first(judged(home, [rule]))
    many = judged(home, [rule, *({"at_least": {"where": LSTM, "value": 0.9 + k / 1e4}} for k in range(5))])
    assert alone.p == pytest.approx(first(many).p) and first(many).adjusted > alone.adjusted


def test_two_sides_of_one_question_count_once(home: Path) -> None:
    ahead, behind = ({"better": {"where": a, "than": b}} for a, b in ((LSTM, GRU), (GRU, LSTM)))
    other = {"better": {"where": LSTM, "than": RNN}}
    both, one_side = judged(home, [ahead, other], [behind]), judged(home, [ahead, other], [other])
    assert [rule.adjusted for rule in both.rules[:2]] == [rule.adjusted for rule in one_side.rules[:2]]
    assert both.rules[2].adjusted == first(both).adjusted
    assert first(both).adjusted <= 2 * first(both).p


def test_other_questions_with_the_same_p_are_counted_each(tmp_path: Path) -> None:
    """Two exact copies of a model give every rule on them the same p, and are two chances to be wrong all the same."""
    for seed in (1, 2, 3, 4):
        correct = np.random.default_rng([seed, 1]).random(N) < 0.85
        for model in ("lstm", "gru"):
            make(tmp_path, model, seed, correct=correct)
    one, other = ({"at_least": {"where": where, "value": 0.8}} for where in (LSTM, GRU))
    twice = judged(tmp_path, [one, other])
    assert twice.rules[0].p == twice.rules[1].p and first(twice).adjusted == pytest.approx(2 * first(twice).p)
    assert first(judged(tmp_path, [one, one])).adjusted == first(judged(tmp_path, [one])).adjusted


def test_several_groups_at_a_point_leave_a_rule_open(tmp_path: Path) -> None:
    """Options beside the grid were changed half way: nobody may pick the half that suits."""
    for seed in (1, 2, 3, 4):
        make(tmp_path, "lstm", seed, 0.9)
        make(tmp_path, "lstm", seed + 4, 0.5, name=f"lstm-more{seed}", options={"dropout": 0.5})
        make(tmp_path, "gru", seed, 0.7)
    found = first(judged(tmp_path, [{"better": {"where": LSTM, "than": GRU}}]))
    assert found.outcome == "open" and "there are several groups at model lstm: lstm" in found.parts[0].note


def test_a_group_without_results_or_set_apart_leaves_no_rule_open(tmp_path: Path) -> None:
    for seed in (1, 2, 3, 4):
        make(tmp_path, "lstm", seed, 0.9)
        make(tmp_path, "gru", seed, 0.7)
    for seed in (1, 2, 3):
        make(tmp_path, "lstm", seed, 0.5, name=f"old{seed}", code={"commit": "old", "dirty": False})
        make(tmp_path, "lstm", seed, 0.4, name=f"older{seed}", code={"commit": "old", "dirty": False}, options={"a": 1})
    make(tmp_path, "lstm", 9, None, name="stray", options={"dropout": 0.5}, status="interrupted", cost={})
    assert first(judged(tmp_path, [{"better": {"where": LSTM, "than": GRU}}])).outcome == "holds"


def test_a_rule_that_names_not_all_keys_is_meant_at_each_combination(home: Path) -> None:
    found = first(judged(home, [{"at_least": {"where": {}, "value": 0.5}}]))
    assert len(found.parts) == 3 and found.outcome == "holds"
    assert first(judged(home, [{"at_least": {"where": {}, "value": 0.8}}])).outcome == "fails"


def test_what_is_missing_leaves_a_rule_open(home: Path, tmp_path: Path) -> None:
    rule = [{"better": {"where": LSTM, "than": {"model": "transformer"}}}]
    grid = {"model": ["lstm", "transformer"], "seed": [1, 2, 3]}
    found = first(judged(home, rule, **grid))
    assert found.outcome == "open" and found.parts[0].note == "there is no run at model transformer"
    told = "model lstm better than model transformer: open, there is no run at model transformer"
    assert judged(home, rule, **grid).reason == told
    for seed in (1, 2):
        make(tmp_path, "lstm", seed, 0.9)
        make(tmp_path, "gru", seed, 0.6)
    two = first(judged(tmp_path, [{"better": {"where": LSTM, "than": GRU}}]))
    assert two.outcome == "open" and two.parts[0].note == "lstm needs 3 seeds, has 2"
    make(tmp_path, "lstm", 3, None, status="running", cost={})
    assert (
        "1 runs of lstm are missing"
        in first(judged(tmp_path, [{"better": {"where": LSTM, "than": GRU}}])).parts[0].note
    )


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"better": {"where": LSTM, "than": {"model": "x"}, "margin": 0.02}}, "model lstm better than model x by 0.02"),
        ({"better": {"where": {"model": "x"}, "than": LSTM, "metric": "test/loss", "margin": 1, "relative": True}},
         "model lstm − 2 × model x above 0"),
        ({"better": {"where": {"model": "x"}, "than": LSTM, "metric": SPEED, "margin": 1, "relative": True}},
         "model x more than 2 times model lstm"),
        ({"equal": {"where": LSTM, "than": {"model": "x"}, "within": 0.1}},
         "model lstm at most 0.1 above model x and model lstm at most 0.1 below model x"),
        ({"falls": {"along": "distance", "from": "4-7", "to": "16+", "by": 0.1, "where": {"model": "x"}}},
         "from model x, distance 4-7 to model x, distance 16+ it falls by 0.1"),
        ({"converges": {"where": {"model": "x"}, "at_least": 0.6}}, "model x converges"),
    ],
)  # fmt: skip
def test_an_open_rule_is_told_in_the_words_of_a_decided_one(home: Path, rule: dict[str, Any], text: str) -> None:
    told = judged(home, [rule], model=["lstm", "x"], seed=[1, 2, 3])
    assert told.reason == f"{text}: open, there is no run at model x"


def test_a_diverged_run_keeps_a_rule_open_unless_both_analyses_agree(tmp_path: Path) -> None:
    for seed in (1, 2, 3, 4, 5):
        make(tmp_path, "lstm", seed, 0.9)
        make(tmp_path, "gru", seed, None if seed == 5 else 0.88, status="diverged" if seed == 5 else "done")
    found = first(judged(tmp_path, [{"better": {"where": LSTM, "than": GRU}}]))
    assert found.outcome == "open" and found.parts[0].note == "1 of 10 runs diverged"
    told = judged(tmp_path, [{"better": {"where": LSTM, "than": GRU}}], [{"better": {"where": GRU, "than": LSTM}}])
    assert told.reason.count("; diverged: no number, a crash, or validation no better than a constant answer") == 1
    for seed in (1, 2, 3, 4, 5):
        make(tmp_path, "rnn", seed, 0.51 if seed == 5 else 0.55, status="done" if seed < 5 else "diverged")
    assert first(judged(tmp_path, [{"better": {"where": LSTM, "than": RNN}}])).outcome == "holds"


def test_values_are_the_same_however_they_are_spelled(tmp_path: Path) -> None:
    for scaled, share in ((True, 0.9), (False, 0.6)):
        for seed in (1, 2, 3):
            make(tmp_path, "transformer", seed, share, options={"scaled": scaled})
    rule = {"better": {"where": {"model.scaled": True}, "than": {"model.scaled": False}}}
    grid = {"model.scaled": [True, False], "seed": [1, 2, 3]}
    assert first(judged(tmp_path, [rule], **grid)).outcome == "holds"


def test_runs_that_are_set_apart_decide_nothing(tmp_path: Path) -> None:
    for model, commit in (("lstm", "a"), ("gru", "b")):
        for seed in (1, 2, 3):
            make(tmp_path, model, seed, 0.9 if model == "lstm" else 0.6, code={"commit": commit, "dirty": False})
    found = first(judged(tmp_path, [{"better": {"where": LSTM, "than": GRU}}]))
    assert found.outcome == "open" and "set apart" in found.parts[0].note
