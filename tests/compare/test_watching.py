"""Following a sweep: the page is made at each change, reloads itself meanwhile, and is final when the last job ends."""

import json
from pathlib import Path

import pytest
from made import make
from test_verb import asked

from seqarena.compare import watching
from seqarena.compare.verb import run
from seqarena.errors import InputError

JOBS = [(model, seed) for seed in (1, 2, 3) for model in ("lstm", "gru")]


class Sweep:
    """A sweep that gets on by one job whenever somebody waits."""

    def __init__(self, root: Path) -> None:
        self.folder, self.done, self.pages = root / "outputs/sweeps/s", 0, list[str]()
        self.page = root / "outputs/compare/s/index.html"

    def goes_on(self, seconds: float) -> None:
        self.pages.append(self.page.read_text() if self.page.exists() else "")
        self.folder.mkdir(parents=True, exist_ok=True)
        model, seed = JOBS[self.done]
        make(self.folder, model, seed, 0.9 if model == "lstm" else 0.6)
        self.done += 1
        jobs = [{"folder": f"{m}-seed{s}", "overrides": [f"model={m}", f"seed={s}"]} for m, s in JOBS]
        for place, job in enumerate(jobs):
            job["status"] = "done" if place < self.done else "queued"  # type: ignore[assignment]
        (self.folder / "sweep.json").write_text(json.dumps({"jobs": jobs}), encoding="utf-8")


def test_a_page_follows_its_sweep_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = Sweep(tmp_path)
    monkeypatch.setattr(watching.time, "sleep", sweep.goes_on)
    run(asked(sweep="s", watch=True), tmp_path, "python compare.py sweep=s watch=true")
    told = capsys.readouterr().out
    assert told.startswith("waiting for the first run of ") and told.count(" to come: ") == len(JOBS) - 1
    assert "1 results, 5 to come" in told and "5 results, 1 to come" in told
    assert "decisions corrected over 1 comparison" in told
    first, *later = sweep.pages
    assert not first and all('http-equiv="refresh"' in page and "still running" in page for page in later)
    assert "refresh" not in sweep.page.read_text().split("<style>")[0] and "still running" not in sweep.page.read_text()
    assert len(json.loads((tmp_path / "outputs/compare/s/looks.json").read_text())) == 1, "watching is no look"


def test_only_a_sweep_can_be_followed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="write sweep=NAME"):
        run(asked(runs="x", watch=True), tmp_path, "")
    with pytest.raises(InputError, match="must be the name of a folder"):
        run(asked(sweep="../x", watch=True), tmp_path, "")
    with pytest.raises(InputError, match="watch=yes please must be true or false"):
        run(asked(sweep="s", watch="yes please"), tmp_path, "")


def test_without_a_ledger_nothing_says_that_it_is_over(tmp_path: Path) -> None:
    assert watching.ahead(tmp_path) is None
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        watching.ahead(tmp_path)


def test_following_without_a_ledger_is_no_look_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(seconds: float) -> None:
        raise KeyboardInterrupt

    for model, seed in JOBS:
        make(tmp_path / "outputs/sweeps/s", model, seed, 0.9)
    monkeypatch.setattr(watching.time, "sleep", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(asked(sweep="s", watch=True), tmp_path, "")
    made = {path.name for path in (tmp_path / "outputs/compare/s").iterdir()}
    assert "index.html" in made and "looks.json" not in made
