"""What a person sees of a sweep: a live table on a terminal, a line for each change elsewhere, a closing table."""

import math
from collections import Counter
from collections.abc import Sequence
from types import TracebackType

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from seqarena.record import duration
from seqarena.sweep.job import Job

STYLES = {"done": "green", "failed": "red", "diverged": "yellow", "interrupted": "magenta", "running": "bold"}
SHOWN = 12
"""Finished jobs that the live table lists: the newest."""
SELECTED = ("val/accuracy", "val/bleu")


class Board:
    """A context that shows how far the jobs are."""

    def __init__(self, jobs: Sequence[Job], at_a_time: int, console: Console) -> None:
        self._jobs, self._at_a_time, self._console = jobs, at_a_time, console
        live = console.is_terminal and not console.is_dumb_terminal
        self._live = Live(console=console, refresh_per_second=2, transient=True) if live else None
        self._seen = {id(job): job.status for job in jobs}

    def __enter__(self) -> "Board":
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def update(self) -> None:
        """Show where the jobs stand now."""
        if self._live:
            self._live.update(Group(_table(self._listed()), Text(summary(self._jobs, self._at_a_time))))
            return
        for job in self._jobs:
            if self._seen[id(job)] != job.status:
                self._seen[id(job)] = job.status
                self._console.print(
                    f"{job.status:11} {job.name}  {_told(job)}", highlight=False, markup=False, soft_wrap=True
                )

    def _listed(self) -> list[Job]:
        ended = [job for job in self._jobs if job.ran and job.finished]
        newest = sorted(ended, key=lambda job: job.finished or 0)[-SHOWN:]
        return [*newest, *(job for job in self._jobs if job.status == "running")]

    def close(self) -> None:
        """The table of all jobs, then every failure with its message."""
        self._console.print(_table(self._jobs))
        for job in self._jobs:
            if job.status not in ("done", "queued"):
                told = f"[{STYLES[job.status]}]{job.status}[/] {escape(job.name)}: {escape(job.message)}"
                self._console.print(told, highlight=False, soft_wrap=True)
        self._console.print(summary(self._jobs, self._at_a_time), highlight=False)


def summary(jobs: Sequence[Job], at_a_time: int) -> str:
    """`3 queued, 1 running, 2 done; best val/accuracy 0.91 (lstm-...); about 4 min left`."""
    counts = Counter(job.status for job in jobs)
    parts = [", ".join(f"{counts[status]} {status}" for status in ("queued", *STYLES) if counts[status])]
    if (best := best_job(jobs)) is not None:
        parts.append(f"best {_score(best)} ({best.name})")
    if (left := time_left(jobs, at_a_time)) is not None:
        parts.append(f"about {duration(left)} left")
    return "; ".join(parts)


def selected(job: Job) -> tuple[str, float] | None:
    """The validation metric that chose the job's weights."""
    return next(((key, job.metrics[key]) for key in SELECTED if key in job.metrics), None)


def best_job(jobs: Sequence[Job]) -> Job | None:
    """The job with the best validation so far; None where jobs have different tasks or nothing is known yet."""
    found = [(told, job) for job in jobs if (told := selected(job)) is not None and math.isfinite(told[1])]
    if not found or len({key for (key, _), _ in found}) > 1:
        return None
    return max(found, key=lambda one: one[0][1])[1]


def time_left(jobs: Sequence[Job], at_a_time: int) -> float | None:
    """Seconds until the last job will have ended, by the mean of those that have."""
    taken = [job.seconds for job in jobs if job.seconds is not None and job.status in ("done", "diverged")]
    waiting = sum(job.status in ("queued", "running") for job in jobs)
    return waiting * sum(taken) / len(taken) / at_a_time if taken and waiting else None


def _score(job: Job) -> str:
    told = selected(job)
    return "" if told is None else f"{told[0]} {told[1]:.4g}"


def _told(job: Job) -> str:
    taken = "" if job.seconds is None else duration(job.seconds)
    return "  ".join(part for part in (_score(job), taken, job.message if job.status != "done" else "") if part)


def _table(jobs: Sequence[Job]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
    for name in ("job", "status", "validation", "took"):
        table.add_column(name, justify="right" if name == "took" else "left")
    for job in jobs:
        taken = "" if job.seconds is None else duration(job.seconds)
        table.add_row(escape(job.name), Text(job.status, STYLES.get(job.status, "dim")), _score(job), taken)
    return table
