"""Runs the jobs of a sweep, so many at a time, and survives whatever becomes of each."""

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from seqarena.sweep.board import Board
from seqarena.sweep.job import Job
from seqarena.sweep.process import JobProcess
from seqarena.sweep.shares import Share

POLL = 0.2
"""Seconds between two looks at the running jobs."""
GRACE = 60
"""Seconds that a stopped job has to write its record before it is killed."""


@dataclass(frozen=True)
class Manner:
    """How a sweep is run. `time_limit` is in minutes a job; `retry` is null or `failed`."""

    jobs: int
    retry: str | None
    fail_fast: bool
    time_limit: float | None


class Runner:
    """Starts queued jobs in free shares of the machine, and keeps the ledger by `written` at each change."""

    def __init__(
        self,
        script: Path,
        jobs: Sequence[Job],
        shares: Sequence[Share],
        manner: Manner,
        hydra_overrides: list[str],
        written: Callable[[], None],
    ) -> None:
        self._script, self._jobs, self._manner, self._written = script, jobs, manner, written
        self._hydra_overrides = hydra_overrides
        self._free = list(shares)
        self._queue = [job for job in jobs if job.status == "queued"]
        self._running: list[JobProcess] = []
        self.stopped = False
        """Whether Ctrl+C, SIGTERM or a failure under fail_fast ended the sweep early."""
        self.interrupted = False
        """Whether it was Ctrl+C or SIGTERM."""

    def run(self, board: Board) -> None:
        """Until nothing is queued or running. A first Ctrl+C (or SIGTERM) stops the jobs, each with its record."""
        before = {kind: signal.signal(kind, self._asked_to_stop) for kind in (signal.SIGINT, signal.SIGTERM)}
        try:
            with board:
                while self._running or (self._queue and not self.stopped):
                    if self._step():
                        self._written()
                    board.update()
                    time.sleep(POLL)
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)
            for process in self._running:
                process.stop("the sweep ended", signal.SIGKILL)

    def _step(self) -> bool:
        """Start what can be started, conclude what has ended; whether anything changed."""
        changed = False
        while self._free and self._queue and not self.stopped:
            process = JobProcess(self._script, self._queue.pop(0), self._free.pop(0), self._hydra_overrides)
            self._running.append(process)
            changed = True
        for process in list(self._running):
            if process.ended():
                self._running.remove(process)
                self._free.append(process.share)
                changed = True
                if self._manner.fail_fast and process.job.status == "failed":
                    self._stop_all(f"stopped, as {process.job.name} has failed and fail_fast=true")
            else:
                self._hurry(process)
        return changed

    def _hurry(self, process: JobProcess) -> None:
        """Stop a job that is over its time, and kill one that does not stop."""
        limit = self._manner.time_limit
        now = time.monotonic()
        if process.stopped_at is not None:
            if now - process.stopped_at > GRACE:
                process.stop(process.job.message, signal.SIGKILL)
        elif limit is not None and now - process.began > 60 * limit:
            process.stop(f"stopped after {limit:g} minutes, as time_limit={limit:g} asks")

    def _asked_to_stop(self, kind: int, frame: FrameType | None) -> None:
        self.interrupted = True
        self._stop_all("the sweep was interrupted")

    def _stop_all(self, reason: str) -> None:
        self.stopped = True
        for process in self._running:
            if process.stopped_at is None:
                process.stop(reason)
