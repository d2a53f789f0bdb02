"""Sweeps whose jobs are a script of a few lines: what is started, resumed, retried, stopped, and left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from composing import composed
from omegaconf import OmegaConf
from rich.console import Console

from seqarena.errors import InputError
from seqarena.record import config_hash
from seqarena.sweep import ledger
from seqarena.sweep.job import Job, refuse_twins
from seqarena.sweep.naming import job_name, named, sweep_name, varied
from seqarena.sweep.runner import Manner
from seqarena.sweep.shares import shares
from seqarena.sweep.sweep import check_manner, make_job, run_sweep

SCRIPT = """
import json, os, sys, time
from pathlib import Path
given = dict(one.split("=", 1) for one in sys.argv[1:])
folder = Path(given["hydra.run.dir"].strip("'"))
with (folder.parent / "started.txt").open("a") as file: file.write(folder.name + "\\n")
told = dict(run=folder.name, sweep="s", model="m", data="d", task="t", seed=1, config={}, overrides=[], code=None,
            versions={}, machine={}, started="", status="running", schema=1, hashes={"config": given["hash"]},
            metrics={}, error=None)
def write(status, **more):
    (folder / "record.json").write_text(json.dumps({**told, **more, "status": status}))
threads, gpus = os.environ["OMP_NUM_THREADS"], os.environ.get("CUDA_VISIBLE_DEVICES")
print("cores", sorted(os.sched_getaffinity(0)), threads, gpus, flush=True)
act = Path(given["acts"]).read_text().split()[int(given["number"])]
if act == "early": sys.exit("error: no data")
write("running")
try:
    if act == "sleep": time.sleep(600)
    if act == "short": time.sleep(0.4)
except KeyboardInterrupt:
    write("interrupted", error={"type": "KeyboardInterrupt", "message": ""}); sys.exit(1)
if act == "die": os.kill(os.getpid(), 9)
if act == "fail": write("failed", error={"type": "InputError", "message": "no such [file]"}); sys.exit(2)
if act == "diverge": write("diverged", error={"type": "Diverged", "message": "loss is nan"}); sys.exit(2)
write("done", metrics={"val/accuracy": 0.5 + int(given["number"]) / 10})
"""

NOW = {"jobs": 2, "retry": None, "fail_fast": False, "time_limit": None}


class Sweep:
    """A folder with the script, and as many jobs as there are acts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.script, self.acts = folder / "sweep", folder / "script.py", folder / "acts.txt"
        self.script.write_text(SCRIPT)

    def composed(self, acts: str) -> list:
        self.acts.write_text(acts)
        jobs = []
        for number, _ in enumerate(acts.split()):
            plain = {"seed": number, "data": {}, "trainer": {"devices": 1}}
            overrides = [f"number={number}", f"acts={self.acts}", f"hash={config_hash(plain)}"]
            config = OmegaConf.create(plain)
            jobs.append((overrides, config, f"job{number}"))
        return jobs

    def run(self, acts: str, **options: object) -> tuple[list[str], int]:
        ended, code = run_sweep(self.folder, self.script, self.composed(acts), {**NOW, **options}, [])
        told = json.loads((self.folder / ledger.FILE).read_text())
        assert [one["status"] for one in told["jobs"]] == [job.status for job, _ in ended]
        return [job.status for job, _ in ended], code

    def started(self) -> Counter[str]:
        return Counter((self.folder / "started.txt").read_text().split())


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    return Sweep(tmp_path)


def test_one_failed_job_costs_one_job(sweep: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    found, code = sweep.run("done fail early die diverge done")
    assert found == ["done", "failed", "failed", "interrupted", "diverged", "done"] and code == 1
    out = capsys.readouterr().out
    assert "no such [file]" in out and "error: no data" in out and "exit code -9" in out
    assert "2 failed" in out and "best val/accuracy 1 (job5)" in out
    assert (sweep.folder / "job2" / "job.log").read_text().endswith("error: no data\n")


def test_the_same_command_resumes_and_nothing_is_run_twice(sweep: Sweep) -> None:
    assert sweep.run("done fail die diverge")[1] == 1
    assert sweep.run("done done done done") == (["done", "failed", "done", "diverged"], 1)
    assert sweep.started() == {"job0": 1, "job1": 1, "job2": 2, "job3": 1}
    assert sweep.run("done done done done", retry="failed") == (["done", "done", "done", "diverged"], 0)
    assert sweep.started() == {"job0": 1, "job1": 2, "job2": 2, "job3": 1}
    assert sorted(path.name for path in (sweep.folder / "superseded").iterdir()) == ["job1-1", "job2-1"]


def test_a_job_of_another_config_makes_way_and_is_kept(sweep: Sweep) -> None:
    sweep.run("done done")
    record = sweep.folder / "job0" / "record.json"
    record.write_text(record.read_text().replace('"config": "', '"config": "0'))
    assert sweep.run("done done") == (["done", "done"], 0)
    assert (
        sweep.started() == {"job0": 2, "job1": 1} and (sweep.folder / "superseded" / "job0-1" / "record.json").exists()
    )


def test_fail_fast_stops_the_others_with_their_records(sweep: Sweep) -> None:
    started = time.time()
    found, code = sweep.run("sleep fail done", fail_fast=True)
    assert found == ["interrupted", "failed", "queued"] and code == 1 and time.time() - started < 60
    assert json.loads((sweep.folder / "job0" / "record.json").read_text())["status"] == "interrupted"


def test_a_job_over_its_time_is_stopped_and_the_rest_go_on(sweep: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    found, code = sweep.run("sleep done done", time_limit=0.05)
    assert found == ["interrupted", "done", "done"] and code == 1
    assert "time_limit=0.05" in capsys.readouterr().out


def driver(sweep: Sweep, acts: str, errors: int = subprocess.DEVNULL) -> subprocess.Popen:
    """The sweep in a process of its own, which can be killed; its errors go there."""
    sweep.composed(acts)
    code = (
        "import sys; sys.path[:0] = sys.argv[1:3]; from test_sweep import *\n"
        "s = Sweep(Path(sys.argv[3])); sys.exit(s.run(s.acts.read_text())[1])"
    )
    here = Path(__file__).parent
    command = [sys.executable, "-c", code, str(here), str(here.parent), str(sweep.script.parent)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)


def wait_for(sweep: Sweep, **statuses: str) -> None:
    """Until the record of each job named has its status; a minute at the most."""
    begun = time.time()
    for name, status in statuses.items():
        record = sweep.folder / name / "record.json"
        while not record.exists() or f'"status": "{status}"' not in record.read_text():
            assert time.time() - begun < 60, f"{name} is not {status}"
            time.sleep(0.05)


def alive(sweep: Sweep) -> list[str]:
    listed = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(sweep.script) in line and "-c" not in line.split()]


def test_a_killed_sweep_leaves_no_process_and_is_finished_by_the_same_command(sweep: Sweep) -> None:
    process = driver(sweep, "done sleep sleep done")
    wait_for(sweep, job0="done", job1="running")
    process.kill()
    process.wait()
    ends = time.time() + 60
    while alive(sweep) and time.time() < ends:
        time.sleep(0.05)
    assert alive(sweep) == []
    before = sweep.started()
    assert sweep.run("done done done done") == (["done"] * 4, 0)
    assert sweep.started()["job0"] == before["job0"] == 1 and sweep.started()["job1"] == 2


def test_ctrl_c_stops_cleanly_and_the_lock_keeps_others_out(sweep: Sweep) -> None:
    process = driver(sweep, "sleep sleep sleep", subprocess.PIPE)
    wait_for(sweep, job0="running", job1="running")
    with pytest.raises(InputError, match="in use by another command"):
        sweep.run("sleep sleep sleep")
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None and process.stderr.read().endswith(b"interrupted: the same command goes on\n")
    assert process.wait(60) == 130 and alive(sweep) == []
    told = json.loads((sweep.folder / ledger.FILE).read_text())
    assert told["counts"] == {"interrupted": 2, "queued": 1}
    assert all("interrupted" in one["message"] for one in told["jobs"][:2])


def test_each_job_has_its_share_of_the_cores(sweep: Sweep) -> None:
    cores = sorted(os.sched_getaffinity(0))
    sweep.run("short short", jobs=2)
    told = {(sweep.folder / f"job{number}" / "job.log").read_text() for number in range(2)}
    half = cores[: max(1, len(cores) // 2)]
    assert len(told) == min(2, len(cores)) and f"cores {half} {len(half)} None" in "".join(told)


def test_gpus_are_dealt_out_and_too_few_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3, 4})
    dealt = shares(2, 1)
    assert [one.environment()["CUDA_VISIBLE_DEVICES"] for one in dealt] == ["3", "5"]
    assert sorted(core for one in dealt for core in one.cores) == [0, 1, 2, 3, 4]
    assert shares(1, 2)[0].gpus == ("3", "5")
    with pytest.raises(InputError, match="write jobs=1"):
        shares(2, 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert [one.environment()["OMP_NUM_THREADS"] for one in shares(2, 1)] == ["2", "3"]
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")  # joblib counts no more, as under a container's quota
    assert [one.environment()["OMP_NUM_THREADS"] for one in shares(2, 1)] == ["1", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert [one.cores for one in shares(8, 1)] == [(0,), (0,), (1,), (1,), (2,), (3,), (3,), (4,)]


@pytest.mark.parametrize(("together", "asked", "devices"), [(1, "auto", 2), (2, "auto", 1), (4, "auto", 1), (2, 2, 2)])
def test_all_devices_means_those_of_a_jobs_share(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, together: int, asked: object, devices: int
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert make_job(tmp_path, together, [], composed(f"trainer.devices={asked}"), "job").devices == devices


@pytest.mark.parametrize(
    "option,value,told",
    [
        ("jobs", 0, "jobs=0"), ("jobs", "two", "jobs=two"), ("jobs", True, "jobs=True"),
        ("retry", "all", "retry=failed"), ("fail_fast", "yes", "true or false"),
        ("time_limit", 0, "minutes above 0"), ("time_limit", "1h", "minutes above 0"),
    ],
)  # fmt: skip
def test_options_that_mean_nothing_are_refused(option: str, value: object, told: str) -> None:
    with pytest.raises(InputError, match=told):
        check_manner({**NOW, option: value})
    assert check_manner(NOW) == Manner(2, None, False, None)


def test_two_points_that_are_one_run_are_refused() -> None:
    one, other = Job(Path("a"), ["seed=1"], "x"), Job(Path("b"), ["seed=01"], "x")
    with pytest.raises(InputError, match="seed=1; and seed=01"):
        refuse_twins([one, other])


def test_names_are_the_same_for_the_same_command_and_can_be_pasted() -> None:
    command = ["-m", "model=lstm,gru", "seed=1,2", "data.reader.distances=[4,8]"]
    assert sweep_name(command) == sweep_name([*command, "jobs=2", "retry=failed", "logger=none"])
    assert sweep_name(command).startswith("model-seed-") and sweep_name(command) != sweep_name(
        [*command, "model.dim=8"]
    )
    assert not set(sweep_name(["-m", "model.lr=1e-3,1e-2", "+x={a:1}"])) & set("=, /{}[]'")
    assert named(command)[-1] == f"sweep={sweep_name(command)}" and named(command[1:]) == command[1:]
    assert named([*command, "sweep=mine"]) == [*command, "sweep=mine"]
    late = named(["-m", "model=rnn,lstm", "model.bidirectional=false", "+model.x=[1,2]", "data.path=a", "sweep=mine"])
    assert late[2:5] == ["model.bidirectional=choice(false)", "+model.x=choice([1,2])", "data.path=a"]
    assert job_name("model=lstm,seed=1,jobs=2") == job_name("model=lstm,seed=1") != job_name("model=lstm,seed=2")


def test_a_ledger_that_is_damaged_costs_only_the_times(sweep: Sweep) -> None:
    sweep.run("done")
    assert set(ledger.times(sweep.folder)) == {"job0"}
    (sweep.folder / ledger.FILE).write_text("{")
    assert ledger.times(sweep.folder) == {} and sweep.run("done") == (["done"], 0)


@pytest.mark.parametrize(("width", "folders"), [(120, True), (60, False)])
def test_tables_tell_jobs_apart_by_what_varies_between_them(width: int, folders: bool) -> None:
    from seqarena.sweep.board import Board

    jobs = [
        Job(Path(f"transformer-digits-seed{seed}-5384bcc{place}"),
            ["data=digits", f"schedule.warmup={warmup}", f"seed={seed}", f"logger=x{place}"], str(place),
            status="done" if place else "interrupted")
        for place, (warmup, seed) in enumerate([(1, 1), (1, 2), (50, 1)])
    ]  # fmt: skip
    console = Console(width=width, record=True)
    Board(jobs, 1, console).close()
    told = console.export_text()
    table, _, below = told.partition("interrupted transformer")
    for apart in ("warmup=1 seed=1", "warmup=1 seed=2", "warmup=50 seed=1"):
        assert table.count(apart) == 1
    assert ("5384bcc2" in table) == folders and "digits " not in table and "logger" not in told
    assert below.startswith("-digits-seed1-5384bcc0 (warmup=1 seed=1)\n"), "no message, no colon"


def test_the_same_last_part_of_two_keys_is_told_in_full() -> None:
    jobs = [["model.layers=2", "probe.layers=1", "x=1"], ["model.layers=4", "probe.layers=3"]]
    assert varied(jobs) == ["model.layers=2 probe.layers=1 x=1", "model.layers=4 probe.layers=3"]
    assert varied([["model=lstm", "seed=1"]]) == [""]


def test_the_live_table_shows_names_as_they_are() -> None:
    from seqarena.sweep.board import Board

    console = Console(force_terminal=True, width=100, record=True)
    jobs = [Job(Path("a[red]b"), [], "x", status="failed", message="[bold]no[/]"), Job(Path("c"), [], "y")]
    board = Board(jobs, 1, console)
    with board:
        board.update()
    board.close()
    told = console.export_text()
    assert "a[red]b" in told and "[bold]no[/]" in told and "1 queued, 1 failed" in told
