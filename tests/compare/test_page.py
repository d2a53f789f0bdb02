"""The page of a comparison: its numbers, its links, hostile names, and that it works in a browser."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from browser import CHROMIUM, Browser, browser
from invented import comparison

from seqarena.compare import findings, page, plot_view, views, wording
from seqarena.compare.attention import received
from seqarena.compare.comparison import Advice, Comparison, Score
from seqarena.compare.disagreement import examples
from seqarena.compare.palette import OWN, styles
from seqarena.errors import InputError

WHEN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
MODELS = ("lstm", "transformer", "rnn")
HOSTILE = (
    "<script>window.hit=1</script><img src=x onerror='window.hit=2'>",
    "\"'>&amp; {{ 7*7 }} </script><svg onload=window.hit=3>",
    "abc\u202etxt.exe\u2028\u2029\u0000 javascript:window.hit=4 " + "long" * 60,
)


def written(tmp_path: Path, found: Comparison) -> Path:
    return page.write(found, tmp_path / "compare" / "invented", "python compare.py sweep=invented", WHEN)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plain")
    return written(root, comparison(root / "runs", MODELS))


# numbers and words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "digits", "sign", "said"),
    [(-0.04, 1, True, "0.0"), (-1234.5, 1, False, "−1\u202f234.5"), (2, 0, True, "+2"), (0.96, 1, False, "1.0")],
)
def test_numbers_for_people(value: float, digits: int, sign: bool, said: str) -> None:
    assert wording.num(value, digits, sign) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"),
        (3530.4, "3\u202f530"),
        (13972, "14k"),
        (0.44, "0.44"),
        (80.0, "80"),
        (4.4e6, "4.4\u00a0M"),
        (33.13, "33.1"),
    ],
)
def test_short_numbers(value: float | None, said: str) -> None:
    assert wording.short(value) == said


def test_no_two_models_look_alike_and_each_keeps_its_style() -> None:
    names = [*OWN, "transformer", "mine", *(f"m{number}" for number in range(12))]
    found = styles(names)
    assert found[: len(OWN)] == list(OWN.values())
    assert len({(one.light, one.symbol) for one in found}) == len(names)
    assert styles(["lstm"]) == styles(["lstm", "gru"])[:1]


def test_a_pair_is_seen_from_both_sides(tmp_path: Path) -> None:
    block = comparison(tmp_path, MODELS).blocks[0]
    first, last = views.rows(block, tmp_path)[0], views.rows(block, tmp_path)[-1]
    assert first["versus"]["g2"]["word"] == "better" and last["versus"]["g0"]["word"] == "worse"
    assert (last["versus"]["g0"]["low"], last["versus"]["g0"]["high"]) == pytest.approx((-15, -5))
    turned = views.rows(replace(block, ratio=True), tmp_path)[-1]["versus"]["g0"]
    assert (turned["difference"], turned["low"]) == pytest.approx((10, 1 / 0.15))


def test_settings_of_one_model_are_named_by_what_sets_them_apart(tmp_path: Path) -> None:
    block = comparison(tmp_path, MODELS[:2]).blocks[0]
    groups = [replace(one, label=f"lstm heads={n}", model="lstm") for n, one in enumerate(block.groups)]
    assert [one["name"] for one in views.models(replace(block, groups=groups)).values()] == ["heads=0", "heads=1"]
    assert [one["name"] for one in views.models(block).values()] == ["lstm", "transformer"]


@pytest.mark.parametrize(("same", "ends"), [(1.0, (99.95, 100.0)), (0.5, (49.95, 50.0))])
def test_an_axis_has_two_ends_where_all_scores_are_alike(
    tmp_path: Path, same: float, ends: tuple[float, float]
) -> None:
    block = comparison(tmp_path, MODELS).blocks[0]
    alike = [replace(one, score=Score(same, same, same, 200, 3)) for one in block.groups]
    runs = [replace(one, score=same) for one in block.runs]
    block = replace(block, groups=alike, runs=runs)
    found = views.axis(block, views.rows(block, tmp_path))
    assert (found["low"], found["high"]) == pytest.approx(ends)


def test_less_is_better_ranks_the_other_way(tmp_path: Path) -> None:
    block = replace(comparison(tmp_path, MODELS).blocks[0], more_is_better=False)
    assert [row["model"] for row in views.rows(block, tmp_path)] == ["g2", "g1", "g0"]


def test_buckets_with_few_examples_have_no_score(tmp_path: Path) -> None:
    found = plot_view.strata(comparison(tmp_path, MODELS).blocks[0])
    assert list(found) == ["length", "distance"]
    assert found["distance"]["series"]["g0"][-1] is None and found["length"]["series"]["g0"][-1] is not None
    assert found["length"]["boundary"] == 3  # training goes up to 29 tokens


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["better", "better"], "a is first, and clear of the rest"),
        (["not distinguishable", "better"], "a is first, but cannot be told apart from b"),
        (["equal", "not distinguishable"], "No model can be told apart from a, the first"),
        (["undecided", "better"], "a is first in these runs; more are needed to say more"),
    ],
)
def test_the_heading_says_no_more_than_was_decided(words: list[str], said: str) -> None:
    versus = {key: {"word": word} for key, word in zip("bc", words, strict=True)}
    rows = [{"model": "a", "mean": 3.0, "versus": versus}, *({"model": key, "mean": 1.0, "versus": {}} for key in "bc")]
    assert findings.leaderboard(rows, {key: key for key in "abc"}) == said


# the file -------------------------------------------------------------------------------------------------------------


def test_every_number_leads_to_its_record_and_nothing_to_the_network(plain: Path) -> None:
    text = plain.read_text(encoding="utf-8")
    links = re.findall(r'href="([^"#]+/record.json)"', text)
    assert len(links) >= 9
    assert all((plain.parent / link).resolve().exists() for link in links if "/x/" not in link)
    markup = re.sub(r"<script.*?</script>|<style>.*?</style>", "", text, flags=re.S)
    assert not re.findall(r"(?:src|href)=\"(?:https?:|//)", markup)
    assert len(text.encode()) < 6e6 and (plain.parents[1] / page.PLOTLY).exists()
    assert "90.0" in text and "88.0 to 92.0" in text and "Refuted" in text


def test_the_index_lists_every_comparison(plain: Path) -> None:
    text = (plain.parents[1] / "index.html").read_text(encoding="utf-8")
    assert "./invented/index.html" in text and "Is a text enough?" in text and "9 runs" in text and "2026-01-02" in text


def test_without_a_question_there_is_no_verdict(tmp_path: Path) -> None:
    text = written(tmp_path, comparison(tmp_path / "runs", MODELS, verdict=False)).read_text(encoding="utf-8")
    assert 'class="verdict is-' not in text and "Comparison of invented" in text


def test_what_the_records_lack_is_not_on_the_page(tmp_path: Path) -> None:
    found = comparison(tmp_path / "runs", MODELS)
    bare = replace(found.blocks[0], strata={}, trends={}, curves=[], data_report={}, ledger={}, baselines={}, runs=[])
    text = written(tmp_path, replace(found, blocks=[bare], failures=[])).read_text(encoding="utf-8")
    for section in ("strata", "curves", "examples", "failures"):
        assert f'id="{section}"' not in text
    assert "no finished run" in written(tmp_path, replace(found, blocks=[])).read_text(encoding="utf-8")


def test_two_calls_write_the_same_bytes(tmp_path: Path) -> None:
    found = comparison(tmp_path / "runs", MODELS)
    assert written(tmp_path, found).read_bytes() == written(tmp_path, found).read_bytes()


@pytest.mark.parametrize("task", ["classification", "translation"])
def test_examples_with_the_most_disagreement_come_first(tmp_path: Path, task: str) -> None:
    block = comparison(tmp_path, MODELS, task).blocks[0]
    folders = {
        key: [Path(run.folder) for run in block.runs if run.group == label] for label, key in views.keys(block).items()
    }
    found = examples(folders, shown=5)
    apart = [one["disagreement"] for one in found]
    assert len(found) == 5 and apart == sorted(apart, reverse=True)
    assert set(found[0]["guess" if task == "classification" else "hypotheses"]) == {"g0", "g1", "g2"}
    shown = [one["id"] for one in found]
    last = next(number for number in range(100) if number not in shown)
    attended(folders["g1"][0], {last: ["a", "b"], shown[0]: ["c", "d"], 10**6: ["no", "such"]})
    again = examples(folders, shown=5)
    assert [one["id"] for one in again[:5]] == shown and len(again) == 6
    assert again[0]["attention"] == {"g1": {"tokens": ["c", "d"], "share": [0.3, 0.7]}}
    assert {one["id"] for one in again if "attention" in one} == {shown[0], last}


def attended(folder: Path, tokens: dict[int, list[str]]) -> None:
    """Maps of two layers with two heads: of the second layer one head looks at itself, the other at the last token."""
    own, final, first = [1.0, 0.0, 0.0, 1.0], [0.2, 0.8, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]
    rows = [
        {"id": example, "tokens": words, "layer": layer, "head": head, "weights": weights}
        for example, words in tokens.items()
        for layer, head, weights in ((1, 1, first), (1, 2, first), (2, 1, own), (2, 2, final))
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "attention.parquet")


@pytest.mark.parametrize("damage", ["cut", "shape", "nan", "missing"])
def test_maps_that_are_damaged_are_refused_and_older_ones_passed_over(tmp_path: Path, damage: str) -> None:
    attended(tmp_path, {3: ["a", "b"]})
    path = tmp_path / "attention.parquet"
    rows = pq.read_table(path).to_pylist()
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:100])
    else:
        changed = {"shape": {"weights": [0.5]}, "nan": {"weights": [float("nan")] * 4}, "missing": {}}[damage]
        kept = [{**row, **changed} for row in rows]
        table = pa.Table.from_pylist(kept)
        pq.write_table(table.drop_columns(["weights"]) if damage == "missing" else table, path)
    with pytest.raises(InputError, match=r"attention.parquet is damaged.*probe=all"):
        received([tmp_path])
    pq.write_table(pa.Table.from_pylist([{"example": 3, "layer": 1}]), path)
    assert received([tmp_path]) == {}


# in a browser ---------------------------------------------------------------------------------------------------------


def column(chromium: Browser, part: str) -> list[str]:
    found: list[str] = chromium.run(
        f"[...document.querySelectorAll('.board tbody tr')].map(r => r.querySelector({part!r}).textContent.trim())"
    )
    return found


def press(chromium: Browser, selector: str) -> None:
    chromium.run(f"document.querySelector({selector!r}).click()")
    chromium.settle()


def change(chromium: Browser, selector: str, value: Any) -> None:
    told = f"const e = document.querySelector({selector!r}); e.value = {json.dumps(value)}"
    chromium.run(
        f"{{ {told}; for (const k of ['input', 'change']) e.dispatchEvent(new Event(k, {{bubbles: true}})); }}"
    )
    chromium.settle()


def test_the_page_works(chromium: Browser, plain: Path) -> None:
    chromium.open(plain)
    plots = chromium.run(
        "[...document.querySelectorAll('.canvas')].map(c => c.querySelectorAll('.trace, .scatterlayer path').length)"
    )
    assert len(plots) == 4 and min(plots) > 0
    assert column(chromium, ".name") == ["lstm", "transformer", "rnn"]
    press(chromium, '[data-sort="mean"]')
    assert column(chromium, ".name") == ["rnn", "transformer", "lstm"]
    assert chromium.run("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == "ascending"
    change(chromium, "#baseline", "g2")
    assert [one[:8] for one in column(chromium, ".c-diff")] == ["baseline", "better+1", "better+1"]
    change(chromium, "#ex-find", "number 7")
    assert chromium.run("document.querySelectorAll('.ex').length") == 1
    change(chromium, "#lim-parameters", 0)
    assert "No model fits" in chromium.run("document.querySelector('#answer').textContent")
    change(chromium, "#axis", "distance")
    assert "distance" in chromium.run("document.querySelector('#fig-strata .plot-title').textContent")
    press(chromium, '#fig-strata [data-act="table"]')
    cells = chromium.run("[...document.querySelectorAll('#fig-strata tbody tr')].at(-1).textContent")
    assert cells.startswith("30+––")
    press(chromium, '.chip[data-model="g0"]')
    assert chromium.run("document.querySelector('.board tr.dim').dataset.model") == "g0"
    assert "hide=g0" in chromium.run("location.hash") and "baseline=g2" in chromium.run("location.hash")
    assert chromium.errors == []


@pytest.mark.parametrize(
    ("word", "told"),
    [("not distinguishable", "Use transformer"), ("undecided", "lstm, for now"), ("worse", "Use lstm")],
)
def test_the_advice_takes_the_cheaper_only_where_a_tie_was_decided(
    chromium: Browser, tmp_path: Path, word: str, told: str
) -> None:
    found = comparison(tmp_path / "runs", MODELS[:2])
    block = found.blocks[0]
    first, second = block.groups
    groups = [replace(first, costs=second.costs), replace(second, costs=first.costs)]
    pairs = [replace(one, word=word, decision=word) for one in block.pairs]
    chromium.open(written(tmp_path, replace(found, blocks=[replace(block, groups=groups, pairs=pairs)])))
    press(chromium, 'input[name="cost"][value="parameters"]')
    assert chromium.run("document.querySelector('#answer .lead').textContent") == told


def test_sliders_stand_where_the_command_had_its_limits(chromium: Browser, tmp_path: Path) -> None:
    found = comparison(tmp_path / "runs", MODELS)
    limits = {"parameters": 900_000.0, "tokens_per_s": 1000.0}
    advice = [Advice(found.blocks[0].title, limits, "lstm", ["lstm"], ["lstm"], "Use lstm.")]
    chromium.open(written(tmp_path, replace(found, advice=advice)))
    text = "document.querySelector({!r}).textContent"
    assert chromium.run(text.format("#out-parameters")) == "0.90\u00a0M"
    assert 0 < int(chromium.run("document.querySelector('#lim-parameters').value")) < 100
    assert chromium.run(text.format("#out-flops")) == "no limit"
    told = chromium.run(text.format("#answer"))
    assert "with at most 0.90\u00a0M parameters" in told and "no limit on tokens_per_s is kept" in told
    assert chromium.errors == []


def test_the_name_of_the_trivial_score_lies_on_no_curve(chromium: Browser, plain: Path) -> None:
    """Below the curves, and above the bars with their counts."""
    chromium.open(plain)
    box = "(n => { const r = n.getBoundingClientRect(); return [r.top, r.bottom]; })"
    named = (
        "[...document.querySelectorAll('#fig-strata .annotation')].find(n => n.textContent.includes('most frequent'))"
    )
    top, bottom = chromium.run(f"{box}({named})")
    plot = "document.querySelector('#fig-strata .canvas')"
    foot = chromium.run(
        f"{plot}.getBoundingClientRect().top + {plot}._fullLayout.yaxis._offset + {plot}._fullLayout.yaxis._length"
    )
    bars = chromium.run(
        f"Math.min(...[...{plot}.querySelectorAll('.barlayer text')].map(n => n.getBoundingClientRect().top))"
    )
    assert foot <= top + 1 and bottom <= bars + 1


def test_long_settings_are_drawn_by_their_values(chromium: Browser, tmp_path: Path) -> None:
    settings = [f"layers={n} norm=post warmup=0.{n}" for n in (2, 6)]
    chromium.open(written(tmp_path, comparison(tmp_path / "runs", settings)))
    legend = "[...document.querySelectorAll('#fig-curves .names li')].map(one => one.textContent)"
    assert chromium.run(legend) == ["2 post 0.2", "6 post 0.6"]
    assert chromium.run("document.querySelector('.board .name').textContent") == settings[0]


def test_reach_is_drawn_with_its_numbers(chromium: Browser, plain: Path) -> None:
    chromium.open(plain)
    title = "document.querySelector('#fig-reach .plot-title').textContent"
    assert chromium.run(title) == "Gradient, as a share of that at the end"
    press(chromium, '#fig-reach [data-act="table"]')
    rows = "[...document.querySelectorAll('#fig-reach tbody tr')].map(r => r.textContent)"
    assert [row[:2] for row in chromium.run(rows)] == ["01", "20", "40", "80", "16"]
    assert chromium.run(rows)[-1].endswith("0 (0 to 0)")
    change(chromium, "#curve", "permutation_accuracy")
    assert "Accuracy lost" in chromium.run(title) and "curve=permutation_accuracy" in chromium.run("location.hash")
    assert "25+ (20 to 30)" in chromium.run("document.querySelector('[aria-label^=Reach] table').textContent")
    assert chromium.errors == []


def test_where_models_look_is_shown_beside_their_answers(chromium: Browser, tmp_path: Path) -> None:
    found = comparison(tmp_path / "runs", MODELS)
    run = next(run for run in found.blocks[0].runs if run.group == "transformer")
    attended(Path(run.folder), {7: [HOSTILE[0], "b\u202e"]})
    chromium.open(written(tmp_path, found))
    change(chromium, "#ex-order", "attention")
    assert chromium.run("document.querySelectorAll('.ex').length") == 1
    words = "[...document.querySelectorAll('.looks span[style]')]"
    assert chromium.run(f"{words}.map(w => w.textContent)") == [HOSTILE[0], "bU+202E"]
    assert chromium.run(f"{words}.map(w => w.title)") == ["30.0\u00a0%", "70.0\u00a0%"]
    assert chromium.run(f"new Set({words}.map(w => getComputedStyle(w).backgroundColor)).size") == 2
    assert "transformer looks" in chromium.run("document.querySelector('.looks summary').textContent")
    assert chromium.errors == [] and chromium.run("window.hit") is None


def test_it_fits_every_width(chromium: Browser, plain: Path) -> None:
    chromium.open(plain, 380)
    for width, dark in ((380, False), (820, True), (1440, False)):
        chromium.look(width, 1000, dark)
        assert chromium.run("document.documentElement.scrollWidth") == width
        light = chromium.run("getComputedStyle(document.body).backgroundColor") == "rgb(250, 249, 246)"
        assert light != dark and chromium.errors == []


@pytest.mark.parametrize("task", ["classification", "translation"])
def test_hostile_names_stay_text(chromium: Browser, tmp_path: Path, task: str) -> None:
    path = written(tmp_path, comparison(tmp_path / "runs", HOSTILE, task, text=HOSTILE[0] + HOSTILE[2]))
    chromium.open(path, 380)
    assert chromium.errors == []
    assert chromium.run("window.hit") is None
    assert chromium.run("document.querySelectorAll('img, script').length") == 3  # data, plotly, the page's own
    assert chromium.run("document.querySelector('.board .name').textContent") == HOSTILE[0]
    assert not chromium.run("/[\\u202e\\u2028]/.test(document.querySelector('main').innerText)")
    assert chromium.run("document.documentElement.scrollWidth") == 380
    assert chromium.run("document.querySelector('#ex-list').textContent.includes('U+202E')")
    assert chromium.run("[...document.links].every(a => a.protocol === 'file:')")
    chromium.open(path.parents[1] / "index.html", 380)
    assert chromium.errors == [] and chromium.run("document.querySelectorAll('img, script').length") == 0


def test_without_plotly_every_plot_still_has_its_table(chromium: Browser, tmp_path: Path) -> None:
    path = written(tmp_path, comparison(tmp_path / "runs", MODELS))
    (path.parents[1] / page.PLOTLY).unlink()
    chromium.open(path)
    press(chromium, '#fig-curves [data-act="table"]')
    assert "lstm" in chromium.run("document.querySelector('#fig-curves table').textContent")
    assert all("ERR_FILE_NOT_FOUND" in one for one in chromium.errors)
