"""A multirun through Hydra and the launcher, with real jobs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import AGREEMENT, ROOT, SMALL

from seqarena.record import Record


def multirun(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "train.py"), "-m", *SMALL, f"hydra.sweep.dir={folder}/sweep", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)


def records(folder: Path) -> dict[str, Record]:
    return {path.parent.name: Record.read(path.parent) for path in (folder / "sweep").glob("*/record.json")}


@pytest.mark.slow
def test_jobs_run_in_processes_of_their_own_one_on_two_ranks_and_are_not_run_again(tmp_path: Path) -> None:
    where = ["trainer.accelerator=cpu", "trainer.devices=1,2", "trainer.strategy=ddp"]
    options = ["model=textcnn", *AGREEMENT, *where, "sweep=mine"]
    done = multirun(tmp_path, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    found = records(tmp_path)
    assert sorted(record.machine["ranks"] for record in found.values()) == [1, 2]
    assert {record.sweep for record in found.values()} == {"mine"} and len(found) == 2
    assert not any(sign in name for name in found for sign in "=, /")
    again = multirun(tmp_path, *options)
    assert again.returncode == 0 and "2 are finished already" in again.stdout
    assert {name: one.started for name, one in records(tmp_path).items()} == {
        name: one.started for name, one in found.items()
    }
    told = json.loads((tmp_path / "sweep" / "sweep.json").read_text())
    assert told["counts"] == {"done": 2} and all(one["finished"] > one["started"] for one in told["jobs"])


@pytest.mark.parametrize(
    "options,told",
    [
        (["model=textcnn,transfomer"], "transfomer"),
        (["model=textcnn", "model.dropout=0.1,1.5"], "model.dropout=1.5 must be"),
        (["model=textcnn", "seed=1,1"], "two points of the grid are the same run"),
        (["model=textcnn", "seed=1,2", "jobs=0"], "jobs=0 must be"),
        (["data=parallel_text", "seed=1,2"], "data=parallel_text needs data."),
    ],
)
def test_what_is_wrong_with_a_job_is_said_before_any_runs(tmp_path: Path, options: list[str], told: str) -> None:
    done = multirun(tmp_path, *options)
    assert done.returncode != 0 and told in done.stderr and records(tmp_path) == {}
