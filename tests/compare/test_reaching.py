"""What probes and strata of a group's runs say about reach, side by side."""

from pathlib import Path

from made import make

from seqarena.compare.reaching import reach
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
