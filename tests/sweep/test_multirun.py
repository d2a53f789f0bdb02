"""A multirun through Hydra and the launcher, with real jobs."""

import json
from pathlib import Path

import pytest
from conftest import AGREEMENT, SMALL, Verb

from seqarena.record import Record


def multirun(verb: Verb, *options: str) -> tuple[int, str, str]:
    """The command in this process; each of its jobs is a process of its own."""
    return verb("train", "-m", *SMALL, "hydra.sweep.dir=sweep", *options)


def records() -> dict[str, Record]:
    return {path.parent.name: Record.read(path.parent) for path in Path("sweep").glob("*/record.json")}


@pytest.mark.slow
def test_jobs_run_in_processes_of_their_own_one_on_two_ranks_and_are_not_run_again(verb: Verb) -> None:
    where = ["trainer.accelerator=cpu", "trainer.devices=1,2", "trainer.strategy=ddp"]
    options = ["model=textcnn", *AGREEMENT, *where, "sweep=mine"]
    code, out, err = multirun(verb, *options)
    assert code == 0, out + err
    found = records()
    assert sorted(record.machine["ranks"] for record in found.values()) == [1, 2]
    assert {record.sweep for record in found.values()} == {"mine"} and len(found) == 2
    assert not any(sign in name for name in found for sign in "=, /")
    code, out, err = multirun(verb, *options)
    assert code == 0 and "2 are finished already" in out, out + err
    assert {name: one.started for name, one in records().items()} == {name: one.started for name, one in found.items()}
    told = json.loads(Path("sweep/sweep.json").read_text())
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
def test_what_is_wrong_with_a_job_is_said_before_any_runs(verb: Verb, options: list[str], told: str) -> None:
    code, _, err = multirun(verb, *options)
    assert code != 0 and told in err and records() == {}
