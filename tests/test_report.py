"""The closing tables: what they show, within 100 columns, whatever texts are called."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from test_record import started

from seqarena.record import Record, relative
from seqarena.report import announce, duration, number, show, si


def finished(folder: Path) -> Record:
    record = started(folder)
    record.metrics = {
        "val/accuracy": 0.75, "val/accuracy/baseline=tfidf": 0.5, "val/loss": 12.3456,
        "test/accuracy": 0.7, "test/accuracy/baseline=tfidf": 0.45, "test/loss": 1234.5,
    }  # fmt: skip
    record.strata = {"[red]axis[/]": [{"bucket": "0-9", "n": 1200, "accuracy": 0.5, "loss": 1.0}]}
    record.parameters = {"total": 12345, "embedding": 345, "other": 12000}
    record.flops = {"per_token_forward": 7.2e5, "training_total": 1.5e12}
    record.cost = {"train_seconds": 3723.0, "steps": 20, "tokens": 5000, "train_flops": 1.5e12}
    record.memory = {"peak_mib": 812.4}
    record.signature = {"bleu": "nrefs:1|case:mixed"}
    return record


def printed(record: Record, folder: Path) -> str:
    out = io.StringIO()
    show(record, folder, Console(file=out))
    return out.getvalue()


def test_scores_baselines_strata_and_costs_are_shown(tmp_path: Path) -> None:
    text = printed(finished(tmp_path), tmp_path)
    lines = {line.split("  ")[0].strip(): line.split() for line in text.splitlines() if line.strip()}
    assert lines["accuracy"][-2:] == ["0.7500", "0.7000"] and lines["loss"][-2:] == ["12.35", "1,234"]
    assert lines["accuracy of tfidf"][-2:] == ["0.5000", "0.4500"]
    assert "test by [red]axis[/]" in text and lines["0-9"] == ["0-9", "1,200", "0.5000", "1.000"]
    for told in ("12,345", "720 kFLOP", "1.5 TFLOP", "812 MiB", "1 h 02 min", "nrefs:1|case:mixed", str(tmp_path)):
        assert told in text
    assert "not measured" in text and max(map(len, text.splitlines())) <= max(100, len(str(tmp_path)) + 50)


def test_another_search_in_validation_than_in_the_test_is_said(tmp_path: Path) -> None:
    record = finished(tmp_path)
    for beam, said in ((5, True), (1, False)):
        record.config = {**record.config, "task": {"name": "translation", "decoding": {"beam": beam}}}
        assert ("validation searches greedily, the test with a beam of 5" in printed(record, tmp_path)) is said


def announced(record: Record, folder: Path) -> str:
    out = io.StringIO()
    announce(record, folder, Console(file=out))
    return out.getvalue()


def test_what_became_of_the_rows_and_how_many_processes_there_are_is_said_at_the_start(tmp_path: Path) -> None:
    record = finished(tmp_path)
    whole = {"read": 12, "kept": 12}
    record.ledger = {"train": {"read": 1401, "kept": 1400, "empty": 1, "truncated": 20}, "val": whole, "test": whole}
    record.machine = {"cpu": "x", "gpus": [], "threads": 1, "precision": "32-true", "ranks": 2}
    text = announced(record, tmp_path)
    rows = "train 1,401 read, 1,400 kept, 1 empty, 20 truncated; val 12 read, 12 kept; test 12 read, 12 kept"
    assert f"rows  {rows}\n" in text and "2 processes of 1 thread, 32-true" in text
    record.ledger["train"], record.machine["ranks"], record.machine["threads"] = whole, 1, 4
    text = announced(record, tmp_path)
    assert "rows  " not in text and "process" not in text and ", 4 threads, " in text
    record.ledger["train"] = {}
    assert "rows  " not in announced(record, tmp_path)


def test_how_far_a_model_reaches_is_shown_with_intervals(tmp_path: Path) -> None:
    record = finished(tmp_path)
    half = {"value": 11.5, "low": 9.25, "high": 14.0, "reached": True}
    lasting = {"value": 32.0, "low": 16.0, "high": 32.0, "reached": False}
    near = {"bucket": "4-7", "at": 4.0, "n": 600, "accuracy": 0.56}
    record.reach = {
        "distance": {"effective_length": lasting, "half_life": half},
        "ink": {"effective_length": None, "half_life": None},
        "noise": {"effective_length": lasting, "half_life": half, "chance": 0.5, "buckets": [near]},
    }
    finding = {"numbers": {"gradient_half_life": half}, "curves": {}}
    record.probes = {"start": {"gradient_reach": finding}, "end": {}}
    text = printed(record, tmp_path)
    assert "32.00+ (16.00 to 32.00)" in text and text.count("11.50 (9.250 to 14.00)") == 2
    assert "gradient half life" in text and "at the end" in text and "ink" not in text and "noise" not in text
    assert "how far" not in printed(finished(tmp_path), tmp_path)


def test_a_place_inside_is_shown_as_one_would_type_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert relative(tmp_path / "a" / "b") == "a/b" and relative(Path("/elsewhere")) == "/elsewhere"


@pytest.mark.parametrize(
    ("value", "told"), [(0, "0"), (0.04123, "0.0412"), (1, "1.000"), (37.25, "37.25"), (123456, "123,456")]
)
def test_numbers(value: float, told: str) -> None:
    assert number(value) == told


def test_amounts_and_times() -> None:
    assert [si(value) for value in (12, 1234, 5.5e9)] == ["12 ", "1.23 k", "5.5 G"]
    assert [duration(seconds) for seconds in (4.66, 61, 3723)] == ["4.7 s", "1 min 01 s", "1 h 02 min"]
