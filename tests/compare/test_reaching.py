"""What probes and strata of a group's runs say about reach, side by side."""

from pathlib import Path

from made import make

from seqarena.compare import page
from seqarena.compare.comparing import Options, compare
from seqarena.compare.reaching import reach
from seqarena.compare.records import of_folders
from seqarena.record import Record


def probed(home: Path, seed: int, values: dict[int, float | None], effective: tuple[float, bool] | None) -> Record:
    buckets = [
        {"bucket": str(at), "at": at, "n": 9, "value": value, "low": 0.0, "high": 1.0} for at, value in values.items()
    ]
    maps = {"axis": "head", "buckets": buckets}
    curves = {"gradient": {"axis": "distance", "buckets": buckets}, "attention_distance": maps}
    told = None if effective is None else {"value": effective[0], "low": 1.0, "high": 9.0, "reached": effective[1]}
    folder = make(
        home, "lstm", seed,
        probes={"start": {}, "end": {"gradient_reach": {"numbers": {}, "curves": curves}}},
        reach={"distance": {"effective_length": told, "half_life": None}},
    )  # fmt: skip
    return Record.read(folder)


def test_runs_are_gathered_place_by_place(tmp_path: Path) -> None:
    records = [
        probed(tmp_path, 1, {0: 1.0, 4: 0.5}, (8.0, True)),
        probed(tmp_path, 2, {4: 0.7, 0: 1.2, 8: None}, (16.0, False)),
        Record.read(make(tmp_path, "lstm", 3)),
    ]
    found = reach(records)
    assert found.curves == {"gradient": {0.0: [1.0, 1.2], 4.0: [0.5, 0.7]}}, "heads have no distance"
    assert found.numbers == {"distance": {"effective_length": [(8.0, True), (16.0, False)]}}


def test_runs_without_probes_have_none(tmp_path: Path) -> None:
    found = reach([Record.read(make(tmp_path, "lstm", 1))])
    assert found.curves == {} and found.numbers == {}


def along(accuracy: float, n: int = 600) -> dict[str, dict[str, object]]:
    """What a record says of an axis whose nearest bucket has this accuracy, chance being a half."""
    buckets = [{"bucket": str(at), "at": at, "n": n, "accuracy": accuracy - at / 100} for at in (0, 1, 5)]
    told = {"value": 1.0, "low": 0.5, "high": 5.0, "reached": True}
    return {"attractors": {"effective_length": told, "half_life": told, "chance": 0.5, "buckets": buckets}}


def test_who_is_not_clear_of_chance_near_by_has_no_numbers_and_the_page_says_so(tmp_path: Path) -> None:
    """Six points above a half on 600 examples may be noise, or next to nothing; thirty are not."""
    for seed in (1, 2, 3):
        make(tmp_path / "runs", "lstm", seed, 0.9, reach=along(0.8 if seed < 3 else 0.52))
        make(tmp_path / "runs", "gru", seed, 0.6, reach=along(0.56))
    found = compare(of_folders(str(tmp_path / "runs")), Options())
    told = {label: (one.numbers, one.unclear) for label, one in found.blocks[0].reach.items()}
    assert told["gru"] == ({}, {"attractors": 3}) and len(told["lstm"][0]["attractors"]["half_life"]) == 2
    text = page.write(found, tmp_path / "compare" / "x", "").read_text(encoding="utf-8")
    assert "without 1\u00a0run: not clear of chance near by" in text and "none: not clear of chance near by" in text
    only = page.page_data(compare(of_folders(str(tmp_path / "runs/gru*")), Options()), tmp_path)
    assert only["blocks"][0]["reaches"] == [], "nobody has any: there is no table"
