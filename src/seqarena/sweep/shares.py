"""A share of the machine for each job that runs at a time: its own GPUs and its own cores."""

import math
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from seqarena.errors import InputError


@dataclass(frozen=True)
class Share:
    """Cores by number, and GPUs by the names that CUDA_VISIBLE_DEVICES takes (None: there are none to deal out).

    `threads` are as many as it has cores, or fewer where a container's quota leaves less time than there are cores.
    """

    cores: tuple[int, ...]
    gpus: tuple[str, ...] | None
    threads: int = 1

    def environment(self) -> dict[str, str]:
        """What a job's process is told."""
        told = {"OMP_NUM_THREADS": str(self.threads)}
        return told if self.gpus is None else {**told, "CUDA_VISIBLE_DEVICES": ",".join(self.gpus)}


class Inherited(Share):
    """What another launcher has left to this process, its number of threads included."""

    def environment(self) -> dict[str, str]:
        """A name by which Lightning leaves SLURM alone, and starts the ranks of a job itself as it does elsewhere."""
        return {"SLURM_JOB_NAME": "bash"}


def shares(jobs: int, devices: int) -> list[Share]:
    """`jobs` shares of the cores and GPUs of this process; each job asks for `devices` GPUs.

    Where there are more jobs than cores, several share one. InputError: GPUs that do not suffice.
    """
    from joblib import cpu_count  # it takes a while, and only sweeps need it

    available, cores, gpus = cpu_count(), sorted(os.sched_getaffinity(0)), visible_gpus()
    if gpus and jobs * devices > len(gpus):
        raise InputError(
            f"jobs={jobs} with {devices} GPUs each need {jobs * devices}, but there are {len(gpus)}: "
            f"write jobs={max(1, len(gpus) // devices)}"
        )
    bounds = [place * len(cores) // jobs for place in range(jobs + 1)]
    dealt = [tuple(cores[begin : max(end, begin + 1)]) for begin, end in pairwise(bounds)]
    most = math.ceil(available / jobs)
    return [
        Share(mine, tuple(gpus[place * devices : (place + 1) * devices]) if gpus else None, min(len(mine), most))
        for place, mine in enumerate(dealt)
    ]


def visible_gpus() -> list[str]:
    """The GPUs of this process, without asking torch: the environment's, or those that the driver lists."""
    told = os.environ.get("CUDA_VISIBLE_DEVICES")
    if told is not None:
        return [one.strip() for one in told.split(",") if one.strip()]
    listed = Path("/proc/driver/nvidia/gpus")
    return [str(number) for number, _ in enumerate(listed.iterdir())] if listed.is_dir() else []
