"""The verb from options to files, and the sweep file that belongs to a folder."""

from pathlib import Path
from typing import Any

import pytest
from made import make
from omegaconf import OmegaConf

from seqarena.compare.comparing import question_of
from seqarena.compare.records import of_sweep
from seqarena.compare.verb import run
from seqarena.errors import InputError

ROOT = Path(__file__).parents[2]


def asked(**options: Any) -> Any:
    return OmegaConf.merge(OmegaConf.load(ROOT / "conf" / "compare.yaml"), {"runs": None, **options})


def sweep(root: Path, name: str = "s") -> None:
    for model, share in (("lstm", 0.9), ("gru", 0.6)):
        for seed in (1, 2, 3):
            make(root / "outputs/sweeps" / name, model, seed, share)


def test_a_sweep_leaves_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep(tmp_path)
    run(asked(sweep="s"), tmp_path, "python compare.py sweep=s")
    told = capsys.readouterr().out
    assert "decisions corrected over 1 comparison (Holm)" in told and "better" in told
    assert (
        "converged: lstm 3 of 3 (at least 29 % of such runs, with 95 % confidence), gru 3 of 3 (at least 29 %)" in told
    )
    made = {path.name for path in (tmp_path / "outputs/compare/s").iterdir()}
    assert made >= {"index.html", "results.csv", "table.md", "table.tex", "looks.json"}


def test_runs_have_a_folder_by_name_or_by_digest(tmp_path: Path) -> None:
    sweep(tmp_path)
    runs = str(tmp_path / "outputs/sweeps/s/lstm*") + "," + str(tmp_path / "outputs/sweeps/s/gru-seed1")
    run(asked(runs=runs), tmp_path, "")
    run(asked(runs=runs, name="mine"), tmp_path, "")
    names = sorted(one.name for one in (tmp_path / "outputs/compare").iterdir() if one.is_dir())
    assert names[0] == "mine" and names[1].startswith("runs-") and len(names) == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "write sweep=NAME, or runs="),
        ({"sweep": "s", "runs": "x"}, "one of them"),
        ({"sweep": "t"}, "sweep=t is not in outputs/sweeps: there are s"),
        ({"sweep": "s", "name": "../x"}, "must be the name of a folder"),
        ({"sweep": "s", "limits": {"parameters": 3}}, "write advise=true"),
        ({"sweep": "s", "metric": "test/accuracy/distance=4-7"}, "its strata are shown beside it"),
    ],
)
def test_what_cannot_be_compared_is_told_and_writes_nothing(tmp_path: Path, options: dict[str, Any], told: str) -> None:
    sweep(tmp_path)
    with pytest.raises(InputError, match=told):
        run(asked(**options), tmp_path, "")
    assert not list((tmp_path / "outputs").glob("compare/**/*.csv"))


def test_a_folder_finds_its_sweep_file_by_name_and_scale(tmp_path: Path) -> None:
    sweep(tmp_path, "attention_scaling-small")
    found = question_of(ROOT, of_sweep(tmp_path, "attention_scaling-small"))
    assert found is not None and (found.name, found.scale) == ("attention_scaling", "small")
    sweep(tmp_path, "other")
    assert question_of(ROOT, of_sweep(tmp_path, "other")) is None
