"""One job as a fresh process: started in its share of the machine, ended with all its children."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from seqarena.sweep.job import Job
from seqarena.sweep.shares import Share

LOG = "job.log"
"""What the job printed, beside its record."""
_SET_PARENT_DEATH_SIGNAL = 1


class JobProcess:
    """A running job. It is a group of its own: Ctrl+C reaches it through `stop` only, and then all its ranks."""

    def __init__(self, script: Path, job: Job, share: Share, hydra_overrides: list[str]) -> None:
        self.job, self.share = job, share
        job.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(script), *job.overrides, *hydra_overrides]
        command += ["hydra.mode=RUN", f"hydra.run.dir='{job.folder}'"]
        with (job.folder / LOG).open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **share.environment()},
                start_new_session=True,
                preexec_fn=lambda: _settle(share.cores),
            )
        self.stopped_at: float | None = None
        """When it was asked to end; like `began` by a clock that nobody sets."""
        self.began = time.monotonic()
        job.started, job.status, job.ran = time.time(), "running", True

    def ended(self) -> bool:
        """Whether it is over; then the job knows how it ended."""
        code = self._process.poll()
        if code is None:
            return False
        self.job.finished = time.time()
        told = self.job.message
        self.job.look()
        if self.job.status in ("queued", "running"):  # it died without a word: killed, or before its record began
            self.job.status = "interrupted" if code < 0 else "failed"
            self.job.message = told or f"ended with exit code {code}: {last_line(self.job.folder / LOG)}"
        elif told:
            self.job.message = told
        return True

    def stop(self, reason: str, kind: signal.Signals = signal.SIGINT) -> None:
        """Ask it to end; why is kept as its message."""
        self.job.message, self.stopped_at = reason, time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, kind)


def _settle(cores: tuple[int, ...]) -> None:
    """In the new process: keep to the cores, listen to Ctrl+C, and die with the parent, however that ends."""
    os.sched_setaffinity(0, cores)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs are told to ignore it
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def last_line(path: Path) -> str:
    """The last thing that a log says."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n") if path.exists() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "nothing was printed")
