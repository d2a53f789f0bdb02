"""The same grid through Hydra's other launchers, and searches by its sweepers: equal results, resumed, told alike."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import AGREEMENT, ROOT, SMALL
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from seqarena.errors import InputError
from seqarena.record import Record
from seqarena.sweep import extras, ledger
from seqarena.sweep.attendant import check_sweeper, name_study
from seqarena.sweep.sweep import WORST

NODES = {"joblib": "JoblibLauncher", "submitit_local": "LocalLauncher", "submitit_slurm": "SlurmLauncher",
         "ray": "RayLauncher", "processes": "ProcessLauncher", "basic": "BasicLauncher"}  # fmt: skip


def needs(override: str) -> pytest.MarkDecorator:
    """Skips a test of a launcher or sweeper that is not installed."""
    plugin = extras.NEEDED.get(override, ("",))[0]
    found = not plugin or importlib.util.find_spec(f"hydra_plugins.{plugin}") is not None
    return pytest.mark.skipif(not found, reason=f"{override}: {extras.missing(override)}")


def through(launcher: str) -> object:
    return pytest.param(launcher, marks=needs(f"hydra/launcher={launcher}"))


def composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("train", list(overrides), return_hydra_config=True)


@pytest.mark.parametrize("launcher", [through(name) for name in NODES])
def test_every_launcher_composes(launcher: str) -> None:
    config = composed(f"hydra/launcher={launcher}", "sweep=s", "seed=2")
    assert config.hydra.launcher._target_.endswith(NODES[launcher])
    assert config.hydra.sweep.subdir.startswith("transformer-agreement-seed2-")
    assert "attendant" in config.hydra.callbacks


@needs("hydra/sweeper=optuna")
def test_the_search_composes() -> None:
    config = composed("hydra/sweeper=optuna", "hydra.sweeper.direction=maximize", "sweep=s")
    check_sweeper(config)
    name_study(config)
    assert config.hydra.sweeper.study_name == "s"


def test_what_is_not_installed_is_said_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    for override, (_, command) in extras.NEEDED.items():
        with pytest.raises(InputError) as raised:
            extras.refuse_missing_plugins(["-m", override])
        assert override in str(raised.value) and command in str(raised.value)
        extra = command.split("[")[1].split("]")[0]
        assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text()
        assert (ROOT / command.split()[3]).exists()
    extras.refuse_missing_plugins(["-m", "hydra/launcher=basic", "model=lstm"])


def multirun(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    small = [one for one in SMALL if one.split("=")[0] not in {other.split("=")[0] for other in options}]
    command = [sys.executable, str(ROOT / "train.py"), "-m", *small, *AGREEMENT, f"hydra.sweep.dir={folder}", *options]
    told = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0", **environment}
    return subprocess.run(
        command, cwd=folder.parent, capture_output=True, text=True, env=told, check=False, timeout=600
    )


def records(folder: Path) -> dict[str, Record]:
    return {path.parent.name: Record.read(path.parent) for path in folder.glob("*/record.json")}


GRID = ("model=textcnn,lstm", "seed=1,2", "sweep=grid")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    """The grid through our own launcher."""
    folder = tmp_path_factory.mktemp("expected") / "sweep"
    done = multirun(folder, *GRID)
    assert done.returncode == 0, done.stdout + done.stderr
    return records(folder)


SLURM = {
    "sbatch": """
place=$(dirname $0)
echo >> $place/submissions
id=$((41 + $(wc -l < $place/submissions)))
cp $1 $place/submitted.sh
last=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\).*/\\1/p' $1)
export SLURM_JOB_ID=$id SLURM_JOB_NAME=train SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0
export SLURM_NTASKS=1 SLURM_NTASKS_PER_NODE=1 SLURM_JOB_NUM_NODES=1 SLURM_JOB_NODELIST=localhost
for index in $(seq 0 ${last:-0}); do
  [ -z "$last" ] || export SLURM_ARRAY_JOB_ID=$id SLURM_ARRAY_TASK_ID=$index
  (sleep 1; bash $place/submitted.sh; touch $place/${id}_$index) > /dev/null 2>&1 &
done
echo Submitted batch job $id""",
    "srun": 'while [[ $1 != *python* ]]; do shift; done\nexec "$@"',
    "sacct": """
echo "JobID|State|NodeList"
for ended in $(dirname $0)/*_[0-9]; do
  echo "$(basename $ended)|COMPLETED|localhost"
done""",
}
"""Three commands that do for one machine what those of SLURM do for a cluster."""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "slurm"
    place.mkdir()
    for name, body in SLURM.items():
        (place / name).write_text(f"#!/bin/bash\n{body}\n")
        (place / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    return place


OPTIONS = {
    "joblib": ("hydra.launcher.n_jobs=2",),
    "submitit_slurm": ("hydra.launcher.partition=gpu", "hydra.launcher.timeout_min=90", "hydra.launcher.mem_gb=16",
                       "hydra.launcher.gpus_per_node=1", "hydra.launcher.cpus_per_task=4",
                       "hydra.launcher.array_parallelism=2"),
}  # fmt: skip
OTHERS = ("joblib", "submitit_local", "submitit_slurm", "ray")


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [through(name) for name in OTHERS])
def test_the_same_grid_gives_the_same_numbers_and_is_not_run_twice(
    launcher: str, tmp_path: Path, slurm: Path, expected: dict[str, Record]
) -> None:
    options = [*GRID, f"hydra/launcher={launcher}", *OPTIONS.get(launcher, ())]
    begun = []
    for _ in range(2):
        done = multirun(tmp_path / "sweep", *options, HOME=str(tmp_path))
        assert done.returncode == 0 and "4 done; best val/accuracy" in done.stdout, done.stdout + done.stderr
        begun.append({name: (one.started, one.finished) for name, one in records(tmp_path / "sweep").items()})
    found = records(tmp_path / "sweep")
    assert len(found) == 4 and begun[0] == begun[1]
    assert {name: one.metrics for name, one in found.items()} == {name: one.metrics for name, one in expected.items()}
    assert {name: one.hashes for name, one in found.items()} == {name: one.hashes for name, one in expected.items()}
    assert json.loads((tmp_path / "sweep" / ledger.FILE).read_text())["counts"] == {"done": 4}
    assert not (tmp_path / "sweep" / "superseded").exists()
    if launcher == "submitit_slurm":
        submitted = (slurm / "submitted.sh").read_text()
        for line in ("array=0-3%2", "partition=gpu", "time=90", "gpus-per-node=1", "cpus-per-task=4", "mem=16GB",
                     "ntasks-per-node=1", "job-name=train"):  # fmt: skip
            assert f"#SBATCH --{line}\n" in submitted


@pytest.mark.slow
@needs("hydra/launcher=submitit_slurm")
def test_a_job_of_slurm_starts_its_own_ranks(tmp_path: Path, slurm: Path) -> None:
    ranks = ("trainer.accelerator=cpu", "trainer.devices=2", "trainer.strategy=ddp")
    done = multirun(tmp_path / "sweep", "model=textcnn", *ranks, "hydra/launcher=submitit_slurm")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [one.machine["ranks"] for one in records(tmp_path / "sweep").values()] == [2]


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [through(name) for name in ("basic", "joblib", "submitit_local")])
def test_one_failed_job_costs_one_job(launcher: str, tmp_path: Path) -> None:
    options = ["model=transformer", "model.dim=30,24", f"hydra/launcher={launcher}"]  # 30 does not divide into 4 heads
    done = multirun(tmp_path / "sweep", *options)
    assert done.returncode == 1 and "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    assert "1 done, 1 failed" in done.stdout and "write for example model.dim=32" in done.stdout
    assert sorted(one.status for one in records(tmp_path / "sweep").values()) == ["done", "failed"]


@pytest.mark.slow
@needs("hydra/sweeper=optuna")
@pytest.mark.parametrize("launcher", ["processes", through("joblib")])
def test_a_search_survives_failed_and_diverged_trials_and_goes_on_by_the_same_command(
    launcher: str, tmp_path: Path
) -> None:
    import optuna

    options = [
        *("hydra/sweeper=optuna", "hydra.sweeper.direction=maximize", "hydra.sweeper.n_trials=6", "sweep=search"),
        *(f"hydra.sweeper.storage=sqlite:///{tmp_path}/trials.db", "model=transformer", f"hydra/launcher={launcher}"),
        *("model.dim=choice(24,30)", "model.lr=choice(1e-3,1e11)", "hydra/sweeper/sampler=random"),
        *("hydra.sweeper.sampler.seed=11",),
    ]  # fmt: skip
    for number in (1, 2):
        done = multirun(tmp_path / "sweep", *options)
        assert done.returncode == 1, done.stdout + done.stderr  # some have failed
        study = optuna.load_study("search", f"sqlite:///{tmp_path}/trials.db")
        assert len(study.trials) == 6 * number
    values = {(one.params["model.dim"], one.params["model.lr"]): one.value for one in study.trials}
    assert len(values) == 4 and sum(one == WORST for one in values.values()) == 3
    assert study.best_params == {"model.dim": 24, "model.lr": 1e-3}
    found = [(one.status, one.config["model"]["dim"]) for one in records(tmp_path / "sweep").values()]
    assert sorted(found) == [("diverged", 24), ("done", 24), ("failed", 30), ("failed", 30)]
    told = json.loads((tmp_path / "sweep" / ledger.FILE).read_text())
    assert told["counts"] == {"done": 1, "failed": 2, "diverged": 1}
