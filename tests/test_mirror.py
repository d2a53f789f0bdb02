"""What W&B would be sent, read back from its offline log; and that its failures stop nothing."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import AGREEMENT, SMALL, Verb
from test_record import started

from seqarena.callbacks.history import read
from seqarena.callbacks.loggers import loggers
from seqarena.callbacks.mirror import STEP, samples
from seqarena.evaluation import Evaluation
from seqarena.record import Record

WANDB: dict[str, Any] = {"name": "wandb", "mode": "offline", "project": "p", "entity": None, "tags": ["mine"]}


def sent(folder: Path) -> list[dict[str, Any]]:
    """The records of the one W&B run in `folder`."""
    (log,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    from wandb.util import get_core_path

    inspect = [get_core_path(), "leet", "inspect"]  # as `wandb leet inspect` does
    command = [*inspect, "--json", "--no-observability", "--run-file", str(log), str(log.parent.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_type(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record[kind] for record in records if record["type"] == kind]


def test_a_run_is_mirrored(verb: Verb) -> None:
    code, out, err = verb(
        "train", *(one for one in SMALL if not one.startswith("logger")), *AGREEMENT, "model=textcnn", "sweep=depth",
        "logger.tags=[mine]", "hydra.run.dir=run", "trainer.max_steps=8", "trainer.validate_every=4",
    )  # fmt: skip
    assert code == 0, err
    assert out.count("wandb sync") == 1 and "wandb:" not in out + err
    records, folder = sent(Path("run")), Path("run")
    (run,) = of_type(records, "run")
    assert run["run_group"] == "depth" and run["job_type"] == "train" and run["display_name"] == "run"
    assert set(run["tags"]) == {"textcnn", "agreement", "classification", "mine"}
    assert run["config"]["update"]["model"]["dim"] == Record.read(folder).config["model"]["dim"] == 24
    rows = [row["item"] for row in of_type(records, "history")]
    points = [(row[STEP], key, value) for row in rows if STEP in row for key, value in row.items()]
    mirrored = {(step, key): value for step, key, value in points if key[0] != "_" and key != STEP and "." not in key}
    local = {(line["step"], key): line[key] for line in read(folder) for key in line if key != "step"}
    assert mirrored == local and {step for step, _ in local} >= {4, 8}
    tables = {path.name.rsplit("_", 2)[0]: json.loads(path.read_text()) for path in folder.rglob("media/table/test/*")}
    assert set(tables) == {"samples", "by_length", "by_distance", "by_attractors", "by_class", "confusion"}
    assert len(tables["samples"]["data"]) == 12 and "prediction" in tables["samples"]["columns"]
    summary = {key for update in of_type(records, "summary") for key in update.get("update", {})}
    assert {"parameters/total", "speed/tokens_per_s", "memory/peak_mib", "flops/training_total"} <= summary
    assert of_type(records, "exit")[0].get("exit_code", 0) == 0


def test_it_is_closed_after_a_failure_and_each_run_is_its_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with pytest.raises(RuntimeError), loggers(WANDB, tmp_path / name, started(tmp_path / name)) as watchers:
            watchers[1].log_metrics({"train/loss": 1.0}, 5)
            raise RuntimeError("lost")
        records = sent(tmp_path / name)
        assert of_type(records, "run")[0]["display_name"] == name
        assert of_type(records, "exit")[0]["exit_code"] == 1


def test_online_without_a_key_stays_offline_and_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with loggers(WANDB | {"mode": "online"}, tmp_path, started(tmp_path)) as watchers:
        watchers[1].log_metrics({"train/loss": 1.0}, 5)
    assert caplog.text.count("no API key") == 1 and len(of_type(sent(tmp_path), "history")) == 1


@pytest.mark.parametrize("broken", ["init", "log"])
def test_a_failure_of_wandb_is_said_once_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    import wandb

    def fail(*arguments: Any, **named: Any) -> None:
        raise wandb.errors.CommError("the server is on fire")

    monkeypatch.setattr(*((wandb, "init", fail) if broken == "init" else (wandb.Run, "log", fail)))
    with loggers(WANDB, tmp_path, started(tmp_path)) as watchers:
        for step in range(3):
            for logger in watchers:
                logger.log_metrics({"train/loss": 1.0}, step)
    assert caplog.text.count("on fire") == 1 and len(read(tmp_path)) == 3


def test_samples_are_spread_over_the_split_and_leave_lists_out() -> None:
    table = pa.table({"id": range(100), "text": ["x"] * 100, "bleu_statistics": [[1, 2]] * 100})
    found = Evaluation("test", {}, {}, table)
    names, rows = samples(found)
    assert names == ["id", "text"] and [row[0] for row in rows] == list(range(0, 100, 5))
