"""Tables as they are printed and written: the layout, numbers as people read them, hostile texts."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made import make
from omegaconf import OmegaConf
from rich.console import Console

from seqarena.compare import page, tables
from seqarena.compare.comparing import Options, compare
from seqarena.compare.comparison import Comparison
from seqarena.compare.records import of_folders
from seqarena.compare.rows import decimals, fixed, leaderboard, legend, p_value, pairs
from seqarena.compare.verb import options_of
from seqarena.errors import InputError

ROOT = Path(__file__).parents[2]
EVIL = "=[red]a|b_1 & 100 %\u202e<script>"


def compared(home: Path, *models: str, seeds: int = 3) -> Comparison:
    for place, model in enumerate(models):
        for seed in range(seeds):
            make(home, model, seed, 0.9 - 0.1 * place, name=f"run{place}{seed}", error={"type": "E", "message": "=1+1"})
    return compare(of_folders(str(home)), Options())


@pytest.mark.parametrize(
    ("half", "digits"), [(2.2, 1), (0.3, 2), (12.0, 0), (0.034, 3), (120.0, 0), (0.0, 1), (1.0, 1)]
)
def test_numbers_have_the_decimals_that_their_interval_needs(half: float, digits: int) -> None:
    assert decimals(half) == digits


def test_numbers_in_words() -> None:
    assert (fixed(-0.001, 1, sign=True), fixed(3.14, 1, sign=True), fixed(-2.5, 1)) == ("0.0", "+3.1", "-2.5")
    assert (p_value(0.0004), p_value(0.0436)) == ("<0.001", "0.044")


def test_the_layout(tmp_path: Path) -> None:
    (block,) = compared(tmp_path, "lstm", "gru", "rnn").blocks
    rows = pairs(block)
    assert rows.title == (
        "accuracy on 240 examples; intervals are per pair, decisions corrected over 3 comparisons (Holm)"
    )
    assert rows.heads[4:] == ("diff", "95 % interval", "seeds ±", "examples ±", "p", "decision")
    first = rows.cells[0]
    assert first[:2] == ("lstm", "gru") and first[4].startswith("+") and first[-1] == "better"
    assert [row[0] for row in leaderboard(block).cells] == ["lstm", "gru", "rnn"]


def test_what_diverged_means_is_said_once_where_something_did(tmp_path: Path) -> None:
    meant = "diverged: no number, a crash, or validation no better than a constant answer"
    for seed in (1, 2, 3):
        make(tmp_path / "runs", "lstm", seed, 0.9)
        make(tmp_path / "runs", "gru", seed, 0.6, metrics={"val/accuracy": 0.5, "val/accuracy/baseline=majority": 0.5})
    found = compare(of_folders(str(tmp_path / "runs")), Options())
    file = io.StringIO()
    tables.show(found, Console(file=file, width=150))
    assert "3 (3 diverged)" in file.getvalue()
    made = page.write(found, tmp_path / "compare" / "x", "").read_text(encoding="utf-8")
    for told in (file.getvalue(), tables.markdown(found), tables.latex(found)):
        assert told.count(meant) == 1
    assert meant[1:] in made.partition('id="records"')[0]
    fine = compare(of_folders(str(tmp_path / "runs/lstm*")), Options())
    assert meant not in tables.markdown(fine) + tables.latex(fine)


@pytest.mark.parametrize(
    ("lacking", "head", "told"), [(False, "train MiB", ("60", "103")), (True, "peak MiB", ("572", "610"))]
)
def test_tables_and_page_show_the_same_memory(tmp_path: Path, lacking: bool, head: str, told: tuple[str, str]) -> None:
    for model, peak, training in (("lstm", 572.0, 60.0), ("gru", 610.0, 103.0)):
        memory = {"peak_mib": peak} | ({} if lacking and model == "gru" else {"training_mib": training})
        make(tmp_path, model, 1, 0.9 if model == "lstm" else 0.8, memory=memory)
    found = compare(of_folders(str(tmp_path)), Options())
    rows = leaderboard(found.blocks[0])
    assert tuple(row[rows.heads.index(head)] for row in rows.cells) == told
    assert [one for one in rows.heads if "MiB" in one] == [head]
    (drawn,) = page.page_data(found, tmp_path / "x")["blocks"]
    assert tuple(f"{row['cost']['memory']:.0f}" for row in drawn["rows"]) == told
    assert drawn["costs"]["memory"]["short"].split()[0].lower() == head.split()[0]


def test_a_failure_without_a_message_is_told_by_its_status_or_type(tmp_path: Path) -> None:
    make(tmp_path, "lstm", 1, 0.9)
    for seed, status, kind in ((2, "interrupted", "KeyboardInterrupt"), (3, "failed", "AssertionError")):
        make(tmp_path, "lstm", seed, None, status=status, error={"type": kind, "message": ""})
    found = compare(of_folders(str(tmp_path)), Options())
    file = io.StringIO()
    bare = [*found.failures, replace(found.failures[0], name="x", message="")]
    tables.show(replace(found, failures=bare), Console(file=file, width=150))
    told = file.getvalue()
    assert (
        "interrupted  lstm-seed2: stopped before its end\n" in told and "failed  lstm-seed3: AssertionError\n" in told
    )
    assert "interrupted  x\n" in told


def test_a_part_of_the_interval_that_cannot_be_told_from_0_is_no_number(tmp_path: Path) -> None:
    """Answers by a coin of their own: the examples say nothing beyond what the seeds say already."""
    for model in ("lstm", "gru"):
        for seed in (1, 2, 3):
            make(tmp_path, model, seed, correct=np.random.default_rng([seed, len(model)]).random(240) < 0.5)
    (block,) = compare(of_folders(str(tmp_path)), Options()).blocks
    (row,) = pairs(block).cells
    assert (row[7], legend(block)[0]) == ("–", "examples –: what they share over seeds is too little to tell from 0")
    assert float(row[6]) > 0
    assert pairs(replace(block, pairs=[replace(block.pairs[0], examples_half=1e-5)])).cells[0][7] == "<1"
    (told,) = compared(tmp_path / "other", "lstm", "gru").blocks
    assert float(pairs(told).cells[0][7]) > 0 and not legend(told)
    (speed,) = compare(of_folders(str(tmp_path)), Options(metric="speed/tokens_per_s")).blocks
    assert pairs(speed).cells[0][7] == "" and not any("examples" in line for line in legend(speed))


def test_hostile_texts_stay_text(tmp_path: Path) -> None:
    found = compared(tmp_path, EVIL, "lstm")
    file = io.StringIO()
    tables.show(found, Console(file=file, width=300))
    assert "=[red]a|b_1 & 100 %U+202E<script>" in file.getvalue()
    assert r"=\[red\]a\|b\_1 & 100 %U+202E\<script\>" in tables.markdown(found)
    assert r"=[red]a|b\_1 \& 100 \%U+202E$<$script$>$" in tables.latex(found)
    rows = list(csv.DictReader(io.StringIO(tables.results(found))))
    assert len(rows) == 6 and rows[0]["group"] == "'=[red]a|b_1 & 100 %U+202E<script>" and rows[0]["message"] == "'=1+1"
    assert all(0 < float(row["score"]) < 1 and row["parameters/total"].isdigit() for row in rows)


def test_the_same_bytes_twice(tmp_path: Path) -> None:
    compared(tmp_path / "runs", "lstm", "gru")
    for place in ("a", "b"):
        tables.write(compare(of_folders(str(tmp_path / "runs")), Options()), tmp_path / place)
    for name in (tables.CSV, tables.MARKDOWN, tables.LATEX):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["results.csv", "table.md", "table.tex"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seeds": {"looks": 0}}, "seeds.looks=0"),
        ({"seeds": {"paired": "x"}}, "seeds.paired=x"),
        ({"margin": -1}, "margin=-1"),
        ({"detect": "much"}, "detect=much"),
        ({"limits": {"parameters": 0}}, "limits.parameters=0"),
        ({"advise": 3}, "advise=3"),
    ],
)
def test_options_that_mean_nothing_are_refused(change: dict[str, object], told: str) -> None:
    known = OmegaConf.load(ROOT / "conf" / "compare.yaml")
    with pytest.raises(InputError, match=told):
        options_of(OmegaConf.merge(known, change))


def test_a_measure_called_like_a_formula_is_text_to_a_spreadsheet(tmp_path: Path) -> None:
    make(tmp_path / "runs", "lstm", 1, 0.9, metrics={"test/accuracy": 0.9, '=HYPERLINK("x")': 1.0})
    found = compare(of_folders(str(tmp_path / "runs")), Options())
    heads = next(csv.reader(io.StringIO(tables.results(found))))
    assert '\'=HYPERLINK("x")' in heads and not any(one.startswith("=") for one in heads)
