"""The record: whole or absent, plain, and without secrets; the history: each step once."""

import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from seqarena.callbacks.history import History
from seqarena.errors import InputError
from seqarena.history import read as read_history
from seqarena.record import FILE, Record, begin, code, config_hash
from seqarena.secrets import redacted

CONFIG: dict[str, Any] = {
    "model": {"name": "lstm", "lr": 1e-3},
    "data": {"name": "csv", "path": "here", "batch_tokens": 10},
    "task": {"name": "classification"},
    "sweep": None,
    "seed": 3,
    "cache": "a",
    "logger": {"name": "none"},
    "lr_find": False,
}


def started(folder: Path) -> Record:
    return begin(folder, CONFIG, ["model=lstm", "seed=3"], folder, {"cpu": "x", "gpus": [], "threads": 1, "ranks": 1})


def test_what_was_written_is_read(tmp_path: Path) -> None:
    record = started(tmp_path)
    record.metrics, record.strata = {"test/accuracy": 0.5}, {"length": [{"bucket": "0-9", "n": 3, "accuracy": 0.1}]}
    record.write(tmp_path)
    assert Record.read(tmp_path) == record
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    told = json.loads((tmp_path / FILE).read_text())
    assert told["schema"] == 1 and told["status"] == "running" and told["run"] == tmp_path.name
    assert told["started"].endswith("+00:00") and told["overrides"] == ["model=lstm", "seed=3"]


def test_numbers_that_are_not_finite_are_null_on_disk_and_nan_in_memory(tmp_path: Path) -> None:
    record = started(tmp_path)
    record.metrics, record.strata = {"a": math.inf}, {"length": [{"bucket": "1", "n": 1, "loss": math.nan}]}
    record.write(tmp_path)
    assert "NaN" not in (tmp_path / FILE).read_text() and "Infinity" not in (tmp_path / FILE).read_text()
    found = Record.read(tmp_path)
    assert math.isnan(found.metrics["a"]) and math.isnan(found.strata["length"][0]["loss"])


def test_a_field_added_later_is_passed_over_and_another_schema_refused(tmp_path: Path) -> None:
    started(tmp_path).write(tmp_path)
    told = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps(told | {"mood": "good"}))
    assert Record.read(tmp_path).seed == 3
    (tmp_path / FILE).write_text(json.dumps(told | {"schema": 2}))
    with pytest.raises(InputError, match="schema 2"):
        Record.read(tmp_path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "is missing"),
        ('{"schema": 1, "ru', "damaged"),
        ("[]", "does not hold"),
        ('{"schema": 1}', "run: Field required .and 11 more"),
    ],
)
def test_a_missing_or_damaged_record_is_named(tmp_path: Path, content: str | None, told: str) -> None:
    if content is not None:
        (tmp_path / FILE).write_text(content)
    with pytest.raises(InputError, match=told):
        Record.read(tmp_path)


def test_a_failed_write_leaves_the_old_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = started(tmp_path)
    record.write(tmp_path)
    before = (tmp_path / FILE).read_text()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    record.seed = 4
    with pytest.raises(OSError, match="No space"):
        record.write(tmp_path)
    assert (tmp_path / FILE).read_text() == before and len(list(tmp_path.iterdir())) == 1


def test_secrets_stay_out_and_innocent_names_stay_in(tmp_path: Path) -> None:
    config = {"logger": {"api_key": "s3cret", "token": "t", "none": None}, "data": {"tokenizer": {"kind": "word"}}}
    config |= {"batch_tokens": 4, "list": [{"wandb-password": "p"}]}
    assert redacted(config) == {
        "logger": {"api_key": "(hidden)", "token": "(hidden)", "none": None},
        "data": {"tokenizer": {"kind": "word"}},
        "batch_tokens": 4,
        "list": [{"wandb-password": "(hidden)"}],
    }
    record = begin(tmp_path, CONFIG, ["+logger.api_key=s3cret", "data.batch_tokens=4"], tmp_path, {})
    assert record.overrides == ["+logger.api_key=(hidden)", "data.batch_tokens=4"]


def test_the_config_hash_sees_what_is_trained_and_not_where() -> None:
    same = config_hash(CONFIG | {"cache": "b", "logger": {"name": "csv"}, "sweep": "x"})
    assert config_hash(CONFIG) == same != config_hash(CONFIG | {"seed": 4})
    assert config_hash(CONFIG | {"probe": {"kinds": ["attention"]}}) != same, "its record would hold more"


def test_code_is_the_checkouts_commit_or_nothing(tmp_path: Path) -> None:
    assert code(tmp_path) is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    clean = code(tmp_path)
    assert clean is not None and len(clean["commit"]) == 40 and not clean["dirty"]
    (tmp_path / "inner").mkdir()
    assert code(tmp_path / "inner") is None
    (tmp_path / "inner" / "mine.csv").write_text("a user's own data")
    (tmp_path / "notes.txt").write_text("")
    assert code(tmp_path) == clean
    for new in ("new.py", "src/model.py", "conf/model/mine.yaml"):
        (tmp_path / new).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / new).write_text("")
        assert code(tmp_path) == clean | {"dirty": True}
        (tmp_path / new).unlink()
    subprocess.run([*git, "add", "notes.txt"], check=True)
    assert code(tmp_path) == clean | {"dirty": True}


def test_history_has_each_step_once_after_a_resume(tmp_path: Path) -> None:
    history = History(tmp_path)
    for step in (10, 20, 30):
        history.log_metrics({"train/loss": step / 10}, step)
    with (tmp_path / "history.jsonl").open("a") as file:
        file.write('{"step": 40, "tra')  # a crash
    resumed = History(tmp_path)
    resumed.rewind(20)
    resumed.log_metrics({"train/loss": math.nan, "train/lr": 0.5}, 30)
    assert read_history(tmp_path) == [
        {"step": 10, "train/loss": 1.0},
        {"step": 20, "train/loss": 2.0},
        {"step": 30, "train/loss": None, "train/lr": 0.5},
    ]
