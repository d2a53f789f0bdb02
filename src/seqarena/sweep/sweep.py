"""A sweep from its composed jobs to its closing table."""

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from omegaconf import DictConfig
from rich.console import Console

from seqarena.claim import claim
from seqarena.errors import INTERRUPTED, InputError
from seqarena.limits import check_limits, plain
from seqarena.record import config_hash, now, relative
from seqarena.sweep import ledger
from seqarena.sweep.board import Board, selected
from seqarena.sweep.job import Job, refuse_twins
from seqarena.sweep.runner import Manner, Runner
from seqarena.sweep.shares import shares, visible_gpus

LOCK = ".lock"

WORST = -math.inf
"""What a sweeper is told of a job without a validation metric; every metric that selects is better the larger it is.

Not NaN: that ends a search of the Optuna sweeper.
"""

Composed = tuple[list[str], DictConfig, str]
"""A job's overrides, its config, its folder's name."""


def run_sweep(
    folder: Path, script: Path, composed: Sequence[Composed], options: dict[str, Any], hydra_overrides: list[str]
) -> tuple[list[tuple[Job, float]], int]:
    """Run what is not finished yet. Each job with its validation metric (WORST without one), and the exit code.

    InputError, before anything runs: options out of their limits, two jobs that are one, a folder in use.
    """
    manner = check_manner(options)
    jobs = [make_job(folder, manner.jobs, *one) for one in composed]
    refuse_twins(jobs)
    claim(folder, "hydra.sweep.dir")
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise InputError(
            f"{folder} is in use by another command that runs this sweep: wait for it, or stop it"
        ) from error
    try:
        return _run(folder, script, jobs, manner, hydra_overrides)
    finally:
        lock.release()


def check_manner(options: dict[str, Any]) -> Manner:
    """The launcher's options. InputError: one that means nothing."""
    jobs, retry, fail_fast, limit = (options[name] for name in ("jobs", "retry", "fail_fast", "time_limit"))
    if type(jobs) is not int or jobs < 1:
        raise InputError(f"jobs={jobs} must be a whole number from 1: so many jobs run at a time")
    if retry not in (None, "failed"):
        raise InputError(f"retry={retry} is not known: write retry=failed, or null")
    if not isinstance(fail_fast, bool):
        raise InputError(f"fail_fast={fail_fast} must be true or false")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float) or limit <= 0):
        raise InputError(f"time_limit={limit} must be a number of minutes above 0, or null")
    return Manner(jobs, retry, fail_fast, limit)


def make_job(folder: Path, together: int, overrides: list[str], config: DictConfig, name: str) -> Job:
    """A job, its options checked as far as that needs no torch.

    `trainer.devices=auto` asks for as many GPUs as there are for each of so many jobs `together`.
    """
    check_limits(config)
    devices = config.trainer.devices
    if not isinstance(devices, int):
        devices = max(1, len(visible_gpus()) // together)
    return Job(folder / name, overrides, config_hash(plain(config)), devices)


def _run(
    folder: Path, script: Path, jobs: list[Job], manner: Manner, hydra_overrides: list[str]
) -> tuple[list[tuple[Job, float]], int]:
    dealt = shares(min(manner.jobs, len(jobs)), max(job.devices for job in jobs))
    earlier = ledger.times(folder)
    for job in jobs:
        job.resume(manner.retry)
        if job.status != "queued" and job.name in earlier:
            job.started, job.finished = earlier[job.name]
    console = Console()
    found = sum(job.status != "queued" for job in jobs)
    told = f"{len(jobs)} jobs, {manner.jobs} at a time, into {relative(folder)}"
    console.print(told + (f"; {found} are finished already" if found else ""), highlight=False, soft_wrap=True)
    about = {"sweep": folder.name, "started": now()}

    def written() -> None:
        ledger.write(folder, about, jobs)

    written()
    runner = Runner(script, jobs, dealt, manner, hydra_overrides, written)
    board = Board(jobs, manner.jobs, console)
    runner.run(board)
    written()
    board.close()
    console.print(f"compare  python compare.py sweep={folder.name}", highlight=False)
    if runner.interrupted:
        print("interrupted: the same command goes on", file=sys.stderr)
    return [(job, value(job)) for job in jobs], exit_code(jobs, runner.interrupted)


def value(job: Job) -> float:
    """What a sweeper optimizes: the validation metric that chose the weights."""
    told = selected(job)
    return told[1] if told is not None and job.status == "done" and math.isfinite(told[1]) else WORST


def exit_code(jobs: Sequence[Job], interrupted: bool) -> int:
    """0 if every job is done or diverged (which is a result), INTERRUPTED after Ctrl+C, else 1."""
    if interrupted:
        return INTERRUPTED
    return 0 if all(job.status in ("done", "diverged") for job in jobs) else 1
