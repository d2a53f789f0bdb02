"""What the command itself does around a multirun that is not all our own launcher's: checks before, the table after."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf, open_dict
from rich.console import Console

from seqarena.claim import claim
from seqarena.errors import InputError, explained
from seqarena.record import Record, now
from seqarena.sweep import ledger
from seqarena.sweep.board import Board
from seqarena.sweep.job import Job
from seqarena.sweep.process import LOG, last_line
from seqarena.sweep.sweep import exit_code

OVERRIDES = Path(".hydra") / "overrides.yaml"

Marks = dict[Path, list[int]]
"""Folders of jobs, with the times at which Hydra or a launcher last wrote there."""


class Attendant(Callback):
    """Called by Hydra in the command, not in workers. Ends it with exit code 1 after a sweep with a failed job."""

    def __init__(self) -> None:
        self._before: Marks = {}

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Refuse what cannot work with the chosen launcher and sweeper; call a search like its sweep."""
        with explained(InputError):
            check_launcher(config)
            check_sweeper(config)
            claim(_folder(config), "hydra.sweep.dir")
        name_study(config)
        self._before = marks(_folder(config))

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """The table of all jobs that were run or found finished, in the ledger too."""
        ours = _launcher(config) == "processes"
        if ours and config.hydra.runtime.choices["hydra/sweeper"] == "basic":
            return  # our launcher has said it all
        folder = _folder(config)
        jobs = [look(job) for job, mark in marks(folder).items() if self._before.get(job) != mark]
        if not jobs:
            sys.exit(f"error: no job has left anything in {folder}")
        if not ours:
            ledger.write(folder, {"sweep": folder.name, "started": now()}, jobs)
        Board(jobs, 1, Console()).close()
        if code := exit_code(jobs, interrupted=False):
            sys.exit(code)


def check_launcher(config: DictConfig) -> None:
    """InputError: an option of our launcher that another does not take."""
    launcher = _launcher(config)
    for option, default in (("jobs", 1), ("fail_fast", False)):
        if launcher != "processes" and config[option] != default:
            raise InputError(
                f"{option}={config[option]} is an option of hydra/launcher=processes; of {launcher} it is "
                "hydra.launcher.n_jobs (joblib), hydra.launcher.array_parallelism (submitit_slurm) or "
                "+hydra.launcher.ray.init.num_cpus (ray) that says how many jobs run at a time, and none stops early"
            )


def check_sweeper(config: DictConfig) -> None:
    """InputError: a search for the worst model, which is what the Optuna sweeper does if nothing is said."""
    direction = OmegaConf.select(config, "hydra.sweeper.direction")
    if direction is not None and getattr(direction, "name", direction) != "maximize":
        raise InputError(
            "what a search is told is the validation metric (accuracy, BLEU), better the larger it is: "
            "write hydra.sweeper.direction=maximize"
        )


def name_study(config: DictConfig) -> None:
    """Call a search of Optuna like its sweep, so that the same command with the same storage goes on with it."""
    sweeper = config.hydra.sweeper
    if "study_name" in sweeper and sweeper.study_name is None:
        with open_dict(sweeper):
            sweeper.study_name = config.sweep


def marks(folder: Path) -> Marks:
    """The folders of jobs in a sweep's, and when they were last written to."""
    found: Marks = {}
    for name in (OVERRIDES, Path(LOG)):
        for path in sorted(folder.glob(f"*/{name}")):
            found.setdefault(folder / path.relative_to(folder).parts[0], []).append(path.stat().st_mtime_ns)
    return found


def look(folder: Path) -> Job:
    """A job as its folder tells of it."""
    overrides = list(OmegaConf.load(folder / OVERRIDES)) if (folder / OVERRIDES).exists() else []
    job = Job(folder, [str(one) for one in overrides], "")
    job.look()
    if job.status == "queued":  # it ended before its record began
        job.status, job.message = "failed", last_line(folder / LOG)
        return job
    record = Record.read(folder)
    job.config_hash, job.started = record.hashes.get("config", ""), _seconds(record.started)
    if record.finished is None:
        job.status, job.message = "interrupted", last_line(folder / LOG)
    else:
        job.finished = _seconds(record.finished)
    return job


def _seconds(told: str) -> float:
    return datetime.fromisoformat(told).timestamp()


def _folder(config: DictConfig) -> Path:
    return Path(str(config.hydra.sweep.dir)).absolute()


def _launcher(config: DictConfig) -> str:
    return str(config.hydra.runtime.choices["hydra/launcher"])
