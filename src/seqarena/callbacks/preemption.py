"""SLURM's notice that a job is about to be stopped, and the way back into its queue.

SLURM gives notice where it was asked to: `#SBATCH --signal=USR1@120 --requeue` sends the signal two minutes before. The
job comes back under its number, so with `hydra.run.dir=outputs/runs/$SLURM_JOB_ID` the same command goes on in the same
folder.
"""

import logging
import os
import signal
import subprocess
from typing import Any

log = logging.getLogger(__name__)

SIGNAL = signal.SIGUSR1


class Notice:
    """Whether this process has been told. Lightning's own handler, which saves in mid-step, stands back then."""

    def __init__(self) -> None:
        self.given = False

    def listen(self) -> None:
        """From now on; outside SLURM nothing is listened to."""
        if "SLURM_JOB_ID" in os.environ:
            signal.signal(SIGNAL, self._take)

    def _take(self, *_: Any) -> None:
        self.given = True


def requeue() -> None:
    """Ask SLURM to run this job, or this task of an array, again; if that fails, the log says so."""
    job = os.environ["SLURM_JOB_ID"]
    if "SLURM_ARRAY_JOB_ID" in os.environ:
        job = f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ['SLURM_ARRAY_TASK_ID']}"
    try:
        subprocess.run(["scontrol", "requeue", job], check=True, capture_output=True, text=True, timeout=60)
        log.info("SLURM's job %s is back in the queue", job)
    except (OSError, subprocess.SubprocessError) as error:
        told = getattr(error, "stderr", None) or error
        log.error("scontrol requeue %s failed (%s): the same command goes on from the checkpoint", job, told)
