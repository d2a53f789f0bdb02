"""A job in a worker of one of Hydra's other launchers (SLURM, Ray, joblib): a fresh process there too.

A worker may run one job after the other. Each is started as our own launcher starts it, so that no memory, no random
state and no W&B run reaches the next, several ranks never repeat the sweep, and a job that dies leaves its worker.
"""

import os
from pathlib import Path

from filelock import FileLock, Timeout
from hydra.conf import HydraConf
from omegaconf import DictConfig
from rich.console import Console

from seqarena.errors import InputError
from seqarena.limits import plain
from seqarena.record import FILE, config_hash
from seqarena.sweep.board import Board
from seqarena.sweep.job import Job
from seqarena.sweep.overrides import for_a_job
from seqarena.sweep.runner import Runner
from seqarena.sweep.shares import Inherited
from seqarena.sweep.sweep import check_manner, value

LOCKS = ".locks"
"""Folder of a sweep with a lock for each job: it is run by one worker at a time, also if two commands run the sweep."""
OPTIONS = ("jobs", "retry", "fail_fast", "time_limit")


def run_in_worker(script: Path, config: DictConfig, about: HydraConf) -> float:
    """Run the job that Hydra has composed, unless its folder holds it finished; what a sweeper is to be told of it.

    A job that fails is told by its record and its log. One that another worker is running is waited for: a search may
    ask twice for the same, and two commands may run the same sweep.
    """
    folder = Path(about.runtime.output_dir)
    job = Job(folder, list(about.overrides.task), _hash(config))
    locks = folder.parent / LOCKS
    locks.mkdir(exist_ok=True)
    lock = FileLock(locks / job.name)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        _say(f"{job.name} is being run by another worker: waiting for it")
        lock.acquire()
    try:
        _run(script, job, config, for_a_job(about.overrides.hydra))
    finally:
        lock.release()
    return value(job)


def _say(line: str) -> None:
    _console().print(line, highlight=False, markup=False, soft_wrap=True)


def _console() -> Console:
    """No live table: several workers may share the terminal."""
    return Console(force_terminal=False)


def _run(script: Path, job: Job, config: DictConfig, hydra_overrides: list[str]) -> None:
    manner = check_manner({name: config[name] for name in OPTIONS})
    if (job.folder / FILE).exists():  # without one, what lies there is what Hydra has just written for this job
        job.resume(manner.retry)
    if job.status != "queued":
        _say(f"{job.name} is finished already: {job.status}")
        return
    everything = Inherited(tuple(sorted(os.sched_getaffinity(0))), None)
    runner = Runner(script, [job], [everything], manner, hydra_overrides, lambda: None)
    runner.run(Board([job], 1, _console()))
    if runner.interrupted:
        raise KeyboardInterrupt


def _hash(config: DictConfig) -> str:
    try:
        return config_hash(plain(config))
    except InputError:
        return ""  # no run has it; the job's own process says what is wrong
