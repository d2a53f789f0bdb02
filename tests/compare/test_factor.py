"""The score over an option that was given several numbers: which lines there are, and that the page draws them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from browser import CHROMIUM, browser
from invented import comparison
from test_page import HOSTILE, written

from seqarena.compare.comparison import Comparison
from seqarena.compare.factor_view import number, scaling

Asked = Sequence[tuple[str, dict[str, str]]]


def asked(root: Path, groups: Asked) -> Comparison:
    """A comparison whose groups have these models and options; every further one is ten points worse."""
    found = comparison(root, [f"group{place}" for place in range(len(groups))])
    block = found.blocks[0]
    made = [
        replace(group, model=model, factors={"model": model, **factors})
        for group, (model, factors) in zip(block.groups, groups, strict=True)
    ]
    return replace(found, blocks=[replace(block, groups=made)])


def split(found: Comparison) -> Comparison:
    """The same with each group in a block of its own, as runs on other test sets are."""
    block = found.blocks[0]
    return replace(found, blocks=[replace(block, groups=[group]) for group in block.groups])


DELAYS: Asked = [
    ("lstm", {"data.reader.distances": "[16]"}),
    ("lstm", {"data.reader.distances": "[64]"}),
    ("gru", {"data.reader.distances": "[64]"}),
    ("gru", {"data.reader.distances": "[16]"}),
]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("16", 16),
        ("[16]", 16),
        ("2e-3", 0.002),
        ("[512, 512]", 512),
        ("[16,64]", None),
        ("[]", None),
        ("dot", None),
        ("nan", None),
    ],
)
def test_a_number_is_one_alone(value: str, said: float | None) -> None:
    assert number(value) == said


@pytest.mark.parametrize("apart", [False, True])
def test_a_line_goes_through_the_blocks(tmp_path: Path, apart: bool) -> None:
    found = asked(tmp_path, DELAYS)
    told = scaling(split(found) if apart else found)
    line = told["factors"]["data.reader.distances"]
    assert line["x"] == [16, 64]
    names = {key: one["name"] for key, one in told["models"].items()}
    values = {names[key]: [point[0] for point in points] for key, points in line["series"].items()}
    assert values == {"lstm": pytest.approx([90, 80]), "gru": pytest.approx([60, 70])}
    assert told["metric"] == "Accuracy" and told["unit"] == "%"


def test_of_two_options_the_other_one_names_the_lines(tmp_path: Path) -> None:
    groups = [("lstm", {"model.dim": dim, "model.layers": layers}) for dim in ("64", "128") for layers in ("1", "2")]
    told = scaling(asked(tmp_path, groups))
    assert list(told["factors"]) == ["model.dim", "model.layers"]
    named = {name: [told["models"][key]["name"] for key in one["series"]] for name, one in told["factors"].items()}
    assert named == {"model.dim": ["lstm layers=1", "lstm layers=2"], "model.layers": ["lstm dim=64", "lstm dim=128"]}


@pytest.mark.parametrize(
    "groups",
    [
        [("lstm", {"model.attention": "dot"}), ("lstm", {"model.attention": "none"})],
        [("lstm", {"model.dim": "64"}), ("gru", {"model.dim": "128"})],  # a point each
        [("lstm", {}), ("gru", {})],
    ],
)
def test_no_line_of_two_points_is_no_figure(tmp_path: Path, groups: Asked) -> None:
    assert scaling(asked(tmp_path, groups))["factors"] == {}


def test_a_comparison_of_nothing_has_none(tmp_path: Path) -> None:
    assert scaling(replace(asked(tmp_path, DELAYS), blocks=[]))["factors"] == {}


def test_the_page_draws_it(tmp_path: Path) -> None:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    groups = [
        (model, {"model.dim": dim, "model.layers": layers, "model.note": HOSTILE[0]})
        for model in ("lstm", HOSTILE[1]) for dim in ("64", "128") for layers in ("1", "2")
    ]  # fmt: skip
    with browser(tmp_path / "profile") as chromium:
        chromium.open(written(tmp_path, asked(tmp_path / "runs", groups)))
        shown = "document.querySelector('#fig-factor .plot-title').textContent"
        assert chromium.run(shown) == "Accuracy by dim"
        assert chromium.run("document.querySelectorAll('#fig-factor .scatterlayer .trace').length") >= 4
        assert chromium.run("document.querySelectorAll('#fig-factor .names .swatch').length") == 4
        chromium.run(
            "(()=>{const s=document.querySelector('#factor-name'); s.value='model.layers';"
            " s.dispatchEvent(new Event('change',{bubbles:true}))})()"
        )
        chromium.settle()
        assert chromium.run(shown) == "Accuracy by layers" and "factor=model.layers" in chromium.run("location.hash")
        rows = "[...document.querySelectorAll('#fig-factor [data-slot=table] tbody tr')].map(r => r.cells.length)"
        assert chromium.run(rows) == [5, 5]
        assert chromium.errors == [] and chromium.run("window.hit") is None
