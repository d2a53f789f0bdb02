"""What a person sees of a sweep: a live table on a terminal, a line for each change elsewhere, a closing table."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from seqarena.record import duration
from seqarena.sweep.job import Job
from seqarena.sweep.naming import varied

STYLES = {"done": "green", "failed": "red", "diverged": "yellow", "interrupted": "magenta", "running": "bold"}
SHOWN = 12
"""Finished jobs that the live table lists: the newest."""
WIDEST = 10_000
"""More columns than any table has."""
SELECTED = ("val/accuracy", "val/bleu")


class Board:
    """A context that shows how far the jobs are."""

    def __init__(self, jobs: Sequence[Job], at_a_time: int, console: Console) -> None:
        self._jobs, self._at_a_time, self._console = jobs, at_a_time, console
        live = console.is_terminal and not console.is_dumb_terminal
        self._live = Live(console=console, refresh_per_second=2, transient=True) if live else None
        self._seen = {id(job): job.status for job in jobs}
        apart = varied([job.overrides for job in jobs])
        self._apart = {id(job): one for job, one in zip(jobs, apart, strict=True)}

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
            self._live.update(Group(self._table(self._listed()), Text(summary(self._jobs, self._at_a_time))))
            return
        for job in self._jobs:
            if self._seen[id(job)] != job.status:
                self._seen[id(job)] = job.status
                told = "  ".join(part for part in (job.name, self._apart[id(job)], _told(job)) if part)
                self._console.print(f"{job.status:11} {told}", highlight=False, markup=False, soft_wrap=True)

    def _listed(self) -> list[Job]:
        ended = [job for job in self._jobs if job.ran and job.finished]
        newest = sorted(ended, key=lambda job: job.finished or 0)[-SHOWN:]
        return [*newest, *(job for job in self._jobs if job.status == "running")]

    def close(self) -> None:
        """The table of all jobs, then every failure with its message."""
        self._console.print(self._table(self._jobs))
        for job in self._jobs:
            if job.status not in ("done", "queued"):
                apart = f" ({self._apart[id(job)]})" if self._apart[id(job)] else ""
                why = f": {job.message}" if job.message else ""
                told = f"[{STYLES[job.status]}]{job.status}[/] {escape(job.name + apart + why)}"
                self._console.print(told, highlight=False, soft_wrap=True)
        self._console.print(summary(self._jobs, self._at_a_time), highlight=False)

    def _table(self, jobs: Sequence[Job]) -> Table:
        """The jobs by what sets them apart, and their folders where these fit, too."""
        folders, apart = [job.name for job in jobs], [self._apart[id(job)] for job in jobs]
        if not any(apart):
            return _table(jobs, {"job": folders})
        whole = _table(jobs, {"job": apart, "folder": folders})
        room = self._console.options.update(width=WIDEST)
        fits = self._console.measure(whole, options=room).maximum <= self._console.width
        return whole if fits else _table(jobs, {"job": apart})


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


def _table(jobs: Sequence[Job], named: Mapping[str, Sequence[str]]) -> Table:
    """A row a job: the columns that name it, then how it stands."""
    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
    for name in (*named, "status", "validation", "took"):
        table.add_column(name, justify="right" if name == "took" else "left")
    for place, job in enumerate(jobs):
        taken = "" if job.seconds is None else duration(job.seconds)
        names = [escape(column[place]) for column in named.values()]
        table.add_row(*names, Text(job.status, STYLES.get(job.status, "dim")), _score(job), taken)
    return table
