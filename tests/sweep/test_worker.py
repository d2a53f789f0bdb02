"""A job in the worker of another launcher, what the command does around such a sweep, and W&B's sweeps."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from conftest import AGREEMENT, ROOT, SMALL
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from seqarena.errors import InputError
from seqarena.record import Record, config_hash
from seqarena.sweep import ledger
from seqarena.sweep.attendant import Attendant, check_launcher, check_sweeper, look, marks, name_study
from seqarena.sweep.job import Job
from seqarena.sweep.overrides import for_a_job
from seqarena.sweep.sweep import WORST, exit_code, value
from seqarena.sweep.worker import LOCKS, run_in_worker

WANDB = ROOT / "sweeps" / "wandb" / "learning_rate.yaml"


def composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("train", list(overrides), return_hydra_config=True)


# The worker, with a script of a few lines in place of a training run

SCRIPT = """
import json, sys
from pathlib import Path
given = dict(one.split("=", 1) for one in sys.argv[1:])
folder = Path(given["hydra.run.dir"].strip("'"))
told = dict(run=folder.name, sweep="s", model="m", data="d", task="t", seed=1, config={}, overrides=[], code=None,
            versions={}, machine={}, started="2026-01-01T00:00:00+00:00", schema=1, hashes={"config": given["hash"]})
def write(status, **more):
    (folder / "record.json").write_text(json.dumps({**told, **more, "status": status}))
with (folder.parent / "started.txt").open("a") as file: file.write(given["act"] + "\\n")
if given["act"] == "early": sys.exit("error: no such file")
error = {"type": "E", "message": "told"}
if given["act"] == "die": write("running"); import os; os.kill(os.getpid(), 9)
if given["act"] != "done": write(given["act"], error=error, finished=told["started"]); sys.exit(2)
write("done", metrics={"val/accuracy": 0.75}, finished=told["started"])
"""


class Worker:
    """What a launcher's worker does with one job after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._script = folder / "sweep", folder / "script.py"
        self._script.write_text(SCRIPT)
        self.folder.mkdir()

    def run(self, act: str, retry: str | None = None) -> float:
        plain = {"seed": 1, "data": {}}
        overrides = SimpleNamespace(task=[f"act={act}", f"hash={config_hash(plain)}"], hydra=["hydra.sweep.dir=x"])
        about = SimpleNamespace(runtime=SimpleNamespace(output_dir=str(self.folder / "job")), overrides=overrides)
        options = {"jobs": 1, "retry": retry, "fail_fast": False, "time_limit": None}
        (self.folder / "job" / ".hydra").mkdir(parents=True, exist_ok=True)  # which Hydra makes before the job
        (self.folder / "job" / ".hydra" / "overrides.yaml").write_text("[seed=1]")
        return run_in_worker(self._script, OmegaConf.create({**plain, **options}), about)

    def started(self) -> list[str]:
        return (self.folder / "started.txt").read_text().split()


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    return Worker(tmp_path)


def test_a_worker_runs_a_job_once_and_tells_its_metric(worker: Worker) -> None:
    assert worker.run("done") == 0.75 and worker.run("done") == 0.75
    assert worker.started() == ["done"] and not (worker.folder / "superseded").exists()
    job = look(worker.folder / "job")
    assert (job.status, job.overrides, job.seconds) == ("done", ["seed=1"], 0)


@pytest.mark.parametrize(
    "act,status,code",
    [("failed", "failed", 1), ("diverged", "diverged", 0), ("early", "failed", 1), ("die", "interrupted", 1)],
)
def test_a_job_that_fails_leaves_its_worker_alive_and_is_never_the_best(
    worker: Worker, act: str, status: str, code: int
) -> None:
    assert worker.run(act) == WORST == float("-inf")
    job = look(worker.folder / "job")
    assert job.status == status and exit_code([job], False) == code
    assert job.message == {"early": "error: no such file", "die": "nothing was printed"}.get(act, "told")
    worker.run(act)
    assert len(worker.started()) == (1 if act in ("failed", "diverged") else 2)


def test_a_worker_retries_on_request_and_keeps_what_it_replaces(worker: Worker) -> None:
    worker.run("failed")
    assert worker.run("done") == WORST and worker.run("done", retry="failed") == 0.75
    record = worker.folder / "job" / "record.json"
    record.write_text(record.read_text().replace('"config": "', '"config": "0'))  # a default has changed
    assert worker.run("done") == 0.75
    assert worker.started() == ["failed", "done", "done"]
    assert sorted(path.name for path in (worker.folder / "superseded").iterdir()) == ["job-1", "job-2"]


def test_a_job_that_another_worker_is_running_is_waited_for(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys, time, filelock\n"
        "with filelock.FileLock(sys.argv[1]), open(sys.argv[2], 'a') as started:\n"
        "    print(flush=True), sys.stdin.read(), time.sleep(0.5), started.write('ended ')\n"
    )
    (worker.folder / LOCKS).mkdir()
    command = [sys.executable, "-c", code, worker.folder / LOCKS / "job", worker.folder / "started.txt"]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdin is not None and other.stdout is not None and other.stdout.readline()
    told, end = list[str](), other.stdin.close
    monkeypatch.setattr("seqarena.sweep.worker._say", lambda line: (told.append(line), end()))
    assert worker.run("done") == 0.75 and worker.started() == ["ended", "done"]
    assert told == ["job is being run by another worker: waiting for it"] and other.wait() == 0


# What the command itself does before and after


def test_only_what_was_run_is_told_and_failures_end_the_command(
    worker: Worker, capsys: pytest.CaptureFixture[str]
) -> None:
    config = OmegaConf.create({
        "hydra": {"sweep": {"dir": str(worker.folder)}, "sweeper": {"_target_": "x"},
                  "runtime": {"choices": {"hydra/launcher": "joblib", "hydra/sweeper": "basic"}}},
        "jobs": 1, "fail_fast": False, "sweep": "s",
    })  # fmt: skip
    (worker.folder / "old" / ".hydra").mkdir(parents=True)
    (worker.folder / "old" / ".hydra" / "overrides.yaml").write_text("[seed=1]")
    attendant = Attendant()
    attendant.on_multirun_start(config)
    worker.run("early")
    with pytest.raises(SystemExit, match="1"):
        attendant.on_multirun_end(config)
    out = capsys.readouterr().out
    assert "failed job: error: no such file" in out and "1 failed" in out and "old" not in out
    told = json.loads((worker.folder / ledger.FILE).read_text())
    assert [one["folder"] for one in told["jobs"]] == ["job"] and told["counts"] == {"failed": 1}
    assert set(marks(worker.folder)) == {worker.folder / "old", worker.folder / "job"}


def test_a_later_batch_keeps_the_earlier_in_the_ledger(tmp_path: Path) -> None:
    for number, status in enumerate(("done", "failed", "queued")):
        job = Job(tmp_path / f"job{number}", [], "x", status=status)
        job.folder.mkdir()
        ledger.write(tmp_path, {}, [job])
    (tmp_path / "job1").rename(tmp_path / "gone")
    ledger.write(tmp_path, {}, [Job(tmp_path / "job3", [], "x", status="done")])
    told = json.loads((tmp_path / ledger.FILE).read_text())
    assert [one["folder"] for one in told["jobs"]] == ["job0", "job3"] and told["counts"] == {"done": 2}


def test_a_metric_that_is_no_number_is_the_worst() -> None:
    metrics = {"val/accuracy": float("nan")}
    assert value(Job(Path("a"), [], "x", status="done", metrics=metrics)) == WORST
    assert exit_code([Job(Path("a"), [], "x", status="done")], interrupted=True) == 130


def test_options_of_our_launcher_are_refused_with_another() -> None:
    with pytest.raises(InputError, match=r"jobs=2 .* of basic it is hydra\.launcher\.n_jobs"):
        check_launcher(composed("hydra/launcher=basic", "jobs=2", "sweep=s"))
    with pytest.raises(InputError, match="fail_fast=True"):
        check_launcher(composed("hydra/launcher=basic", "fail_fast=true", "sweep=s"))
    check_launcher(composed("jobs=2", "sweep=s"))


def test_a_search_is_called_like_its_sweep_and_looks_for_the_best() -> None:
    config = OmegaConf.create({"sweep": "mine", "hydra": {"sweeper": {"study_name": None, "direction": "minimize"}}})
    with pytest.raises(InputError, match=r"hydra\.sweeper\.direction=maximize"):
        check_sweeper(config)
    config.hydra.sweeper.direction = "maximize"
    check_sweeper(config)
    name_study(config)
    assert config.hydra.sweeper.study_name == "mine"


def test_what_is_the_sweeps_own_does_not_reach_a_job() -> None:
    given = [
        "hydra/launcher=ray",
        "+hydra.launcher.ray.init.num_cpus=2",
        "hydra.sweeper.n_trials=4",
        "hydra.verbose=true",
    ]
    assert for_a_job(given) == ["hydra.verbose=true"]


# W&B's own sweeps


def wandb_sweep() -> dict:
    return yaml.safe_load(WANDB.read_text(encoding="utf-8"))


def test_a_sweep_of_wandb_says_what_train_py_takes() -> None:
    from wandb.sdk.launch.sweeps.utils import create_sweep_command_args

    sweep = wandb_sweep()
    chosen = {"model.lr": {"value": 0.003}, "model.dropout": {"value": 0.3}}
    assert set(sweep["parameters"]) == set(chosen) and (ROOT / sweep["program"]).exists()
    fixed = [one for one in sweep["command"] if not one.startswith("${")]
    config = composed(*fixed, *create_sweep_command_args({"args": chosen})["args_no_hyphens"])
    assert (config.model.lr, config.model.dropout, config.logger.mode) == (0.003, 0.3, "online")
    assert sweep["metric"] == {"name": "val/accuracy", "goal": "maximize"}


@pytest.mark.slow
def test_the_agent_of_wandb_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wandb.wandb_agent import Agent

    sweep = wandb_sweep()
    offline = [one.replace("mode=online", "mode=offline") for one in sweep["command"]]
    more = [one for one in SMALL if one != "logger=none"]
    agent = Agent.__new__(Agent)  # without the server that it takes its orders from
    agent._sweep_command = [*offline, *more, *AGREEMENT, f"hydra.run.dir={tmp_path}/run"]
    agent._function, agent._in_jupyter, agent._forward_signals, agent._run_processes = None, False, False, {}
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("WANDB_SWEEP_ID", "a-sweep")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_RUN_ID", "first")
    monkeypatch.setenv("WANDB_SWEEP_PARAM_PATH", "")
    monkeypatch.chdir(tmp_path)
    chosen = {"model.lr": {"value": 0.003}, "model.dropout": {"value": 0.3}}
    agent._command_run({"run_id": "first", "program": str(ROOT / sweep["program"]), "args": chosen})
    assert agent._run_processes["first"].wait() == 0
    record = Record.read(tmp_path / "run")
    assert record.status == "done" and record.config["model"]["lr"] == 0.003
    assert len(list((tmp_path / "run" / "wandb").glob("offline-run-*-first"))) == 1
