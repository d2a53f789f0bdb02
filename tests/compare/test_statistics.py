"""The statistics against numbers worked out beforehand, scipy and sacreBLEU, and against what must hold always."""

import os

import numpy as np
import pytest
from draws import golden
from hypothesis import given, settings
from hypothesis import strategies as some
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest
from scipy import stats

from seqarena.compare.forecast import forecast, power
from seqarena.compare.statistics import (
    Group,
    accuracy,
    bleu,
    bleu_score,
    clopper_pearson,
    clustered,
    contrast,
    holm,
    paired,
    unscored,
)
from seqarena.compare.trends import one_number, trend, widened

IDS = np.arange(400)
WEIGHTS = (1.0, -1.0)


@pytest.mark.parametrize(
    ("base", "wanted"),
    [
        (0.57, [0.091875, 1.66015625e-4, 9.369941782e-5, 1.578320802e-4, 2.51531498e-4, 18.2132933, 0.037775996,
                7.1370173e-5]),
        (0.605, [0.021875, 1.22265625e-4, None, 1.400845865e-4, None, 17.59971674, 0.034084676, 0.19395409]),
    ],
)  # fmt: skip
def test_golden_numbers(base: float, wanted: list[float | None]) -> None:
    a, b = accuracy(golden(0, 3, 0.62), IDS), accuracy(golden(1, 4, base), IDS)
    e = contrast([a, b], WEIGHTS)
    found = [e.value, e.seeds, e.interaction, e.examples, e.these_runs, e.df, e.half(), e.p()]
    for number, one in zip(found, wanted, strict=True):
        assert one is None or number == pytest.approx(one, rel=1e-6)


def test_golden_forecast_and_single_number() -> None:
    groups = [accuracy(golden(0, 3, 0.62), IDS), accuracy(golden(1, 4, 0.605), IDS)]
    e = contrast(groups, WEIGHTS)
    found = [power(groups, WEIGHTS, e, seeds) for seeds in (3, 5, 10, 20)]
    assert found == pytest.approx([0.235571, 0.302977, 0.366975, 0.406423], rel=5e-6)
    assert forecast(groups, WEIGHTS, e).startswith("no number of seeds will do")
    raw, low, high = one_number(golden(0, 3, 0.62))
    assert raw == pytest.approx(golden(0, 3, 0.62).mean())
    assert (low + high) / 2 == pytest.approx(0.74257426, rel=1e-6)
    assert (high - low) / 2 == pytest.approx(0.04054884, rel=1e-6)


def test_without_examples_it_is_welch_or_the_paired_t_test() -> None:
    draw = np.random.default_rng(1)
    a, b = draw.normal(3, 1, 4), draw.normal(2, 3, 6)
    found, wanted = contrast([unscored(a), unscored(b)], WEIGHTS), stats.ttest_ind(a, b, equal_var=False)
    assert found.p() == pytest.approx(wanted.pvalue, abs=1e-12)
    assert found.interval() == pytest.approx(tuple(wanted.confidence_interval()), abs=1e-12)
    b = b[:4]
    found = contrast([paired(unscored(a), unscored(b))], [1.0])
    assert found.p() == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=1e-12)


def test_one_run_a_side_is_the_standard_error_over_examples() -> None:
    a, b = golden(0, 1, 0.62), golden(1, 1, 0.57)
    groups = [Group(g.theta, g.psi, g.ids, fixed=True) for g in (accuracy(a, IDS), accuracy(b, IDS))]
    assert contrast(groups, WEIGHTS).these_runs == pytest.approx(float(stats.sem((a - b)[:, 0]) ** 2), abs=1e-12)


@pytest.mark.parametrize(("successes", "trials"), [(0, 3), (3, 3), (5, 5), (10, 10), (3, 5), (7, 10)])
def test_clopper_pearson(successes: int, trials: int) -> None:
    wanted = stats.binomtest(successes, trials).proportion_ci(method="exact")
    assert clopper_pearson(successes, trials) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02], abs=1e-12)
    assert holm([]) == []


SENTENCES = [
    "the cat sat on the mat .",
    "a man rides a red bicycle down the street .",
    "two dogs play in deep snow today .",
]


def sentence_statistics(said: list[str], meant: list[str]) -> np.ndarray:
    scorer = BLEU(effective_order=True)
    scores = [scorer.sentence_score(a, [b]) for a, b in zip(said, meant, strict=True)]
    return np.array([[s.sys_len, s.ref_len, *s.counts, *s.totals] for s in scores], float)


@pytest.mark.parametrize(
    "said", [SENTENCES, ["the mat ."] * 3, ["", "", ""], ["xyz"] * 3, ["a man rides", "", "two dogs play in"]]
)
def test_bleu_is_sacrebleu(said: list[str]) -> None:
    meant = [one.replace("red", "blue") for one in SENTENCES]
    found = bleu_score(sentence_statistics(said, meant).sum(0))
    assert float(found) == pytest.approx(BLEU().corpus_score(said, [meant]).score, abs=1e-9)


def noised(random: np.random.Generator, texts: list[str], share: float) -> list[str]:
    words = sorted({word for text in texts for word in text.split()})
    return [
        " ".join(str(random.choice(words)) if random.random() < share else word for word in text.split())
        for text in texts
    ]


def texts(random: np.random.Generator, n: int) -> list[str]:
    words = list("abcdefghijklmnopqr")
    return [" ".join(random.choice(words, random.integers(6, 16))) + " ." for _ in range(n)]


def test_bleu_resampled_is_sacrebleus_paired_bootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    meant = texts(random, 200)
    a, b = noised(random, meant, 0.25), noised(random, meant, 0.27)
    monkeypatch.setitem(os.environ, "SACREBLEU_SEED", "12345")
    _, results = PairedTest([("A", a), ("B", b)], {"BLEU": BLEU()}, [meant], test_type="bs", n_samples=1000)()
    theirs = results["BLEU"][1]

    sa, sb = (sentence_statistics(said, meant) for said in (a, b))
    drawn = np.random.default_rng(12345).choice(len(meant), (1000, len(meant)))
    ra, rb = (bleu_score(s[drawn].sum(1)) for s in (sa, sb))
    real = abs(bleu_score(sa.sum(0)) - bleu_score(sb.sum(0)))
    apart = np.abs(ra - rb)
    p = (np.sum(apart - apart.mean() > real) + 1) / (len(apart) + 1)
    assert p == theirs.p_value
    assert rb.mean() == pytest.approx(theirs.mean, abs=1e-4)

    one_run = (bleu(of[:, None], np.arange(200)) for of in (sa, sb))
    groups = [Group(g.theta, g.psi, g.ids, fixed=True) for g in one_run]
    assert np.sqrt(contrast(groups, WEIGHTS).these_runs) == pytest.approx((ra - rb).std(ddof=1), rel=0.08)


def test_influences_sum_to_zero_and_the_jackknife_of_a_mean_is_the_deviation() -> None:
    random = np.random.default_rng(3)
    x = (random.random((50, 3)) < 0.7).astype(float)
    mean_without = (x.sum(0) - x) / 49
    assert accuracy(x, IDS[:50]).psi == pytest.approx(49 * (mean_without.mean(0) - mean_without), abs=1e-12)
    meant = texts(random, 40)
    s = np.stack([sentence_statistics(noised(random, meant, 0.3), meant) for _ in range(3)], axis=1)
    for group in (accuracy(x, IDS[:50]), bleu(s, IDS[:40]), clustered(accuracy(x, IDS[:50]), IDS[:50] // 7)):
        assert group.psi.sum(0) == pytest.approx(np.zeros(3), abs=1e-9)


tables = some.builds(
    lambda seed, n, ja, jb, share: [
        (np.random.default_rng(seed + k).random((n, j)) < share).astype(float) for k, j in ((0, ja), (1, jb))
    ],
    some.integers(0, 10**6), some.integers(2, 60), some.integers(3, 6), some.integers(3, 6), some.floats(0.05, 0.95),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(tables)
def test_what_always_holds(table: list[np.ndarray]) -> None:
    a, b = table
    ids = np.arange(len(a))
    e = contrast([accuracy(a, ids), accuracy(b, ids)], WEIGHTS)
    assert e.half() >= stats.norm.isf(0.025) * np.sqrt(e.these_runs) * (1 - 1e-12)
    swapped = contrast([accuracy(b, ids), accuracy(a, ids)], WEIGHTS)
    assert (swapped.value, swapped.half(), swapped.p()) == pytest.approx((-e.value, e.half(), e.p()))
    raised = contrast([accuracy(a + 5, ids), accuracy(b + 5, ids)], WEIGHTS)
    assert (raised.value, raised.half()) == pytest.approx((e.value, e.half()), abs=1e-9)
    order, runs = np.random.default_rng(1).permutation(len(a)), np.random.default_rng(2).permutation(a.shape[1])
    mixed = contrast([accuracy(a[order][:, runs], ids[order]), accuracy(b, ids)], WEIGHTS)
    assert (mixed.value, mixed.half(), mixed.p()) == pytest.approx((e.value, e.half(), e.p()))
    low, high = e.interval()
    if high > low:
        for bound in (low - 1e-6, low + 1e-6, high - 1e-6, high + 1e-6, 0.0):
            assert (e.p(bound) < 0.05) == (bound < low or bound > high)


def test_a_trend_over_buckets_is_the_slope_run_by_run() -> None:
    random = np.random.default_rng(8)
    points = [
        ((random.random((n, 4)) < share).astype(float), np.arange(n) + start)
        for n, share, start in ((30, 0.9, 0), (50, 0.8, 100), (40, 0.5, 200))
    ]
    means = np.array([x.mean(0) for x, _ in points])
    slopes = [np.polyfit([0, 1, 2], means[:, run], 1)[0] for run in range(4)]
    found = trend([accuracy(x, ids) for x, ids in points])
    assert found.value == pytest.approx(2 * np.mean(slopes))
    assert found.seeds == pytest.approx(4 * np.var(slopes, ddof=1) / 4)


def test_artificial_rows() -> None:
    perfect = np.ones((20, 3))
    raw, low, high = one_number(perfect)
    assert (raw, high) == (1.0, 1.0) and 0.7 < low < 0.95
    a, b = widened(perfect, perfect)
    assert (
        a.shape == (22, 3) and contrast([accuracy(a, np.arange(22)), accuracy(b, np.arange(22))], WEIGHTS).half() > 0.1
    )
    large = np.ones((200, 3))
    assert widened(large, large)[0] is large


def test_a_ratio_is_welch_on_logarithms() -> None:
    fast, slow = unscored(np.log([990.0, 1000.0, 1010.0])), unscored(np.log([490.0, 500.0, 510.0]))
    low, high = np.exp(contrast([fast, slow], WEIGHTS).interval())
    assert 1.9 < low < 2 < high < 2.1
