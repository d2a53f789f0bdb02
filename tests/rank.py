"""Several ranks, each a process forked from a server that has imported everything: seconds saved for each."""

import os
import runpy
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context, set_start_method
from multiprocessing.context import ForkServerProcess
from pathlib import Path

ROOT = Path(__file__).parents[1]
SERVER = get_context("forkserver")
OURS = ("training", "replaying", "data_report", "runs", "sweep.question")
LATE = ("sklearn.feature_extraction.text", "sklearn.linear_model", "sklearn.multiclass")  # by the baselines
SERVER.set_forkserver_preload([*(f"seqarena.{name}" for name in OURS), *LATE])

Work = Callable[[int], None]
"""What a process does, given its rank: a function of a module, perhaps with arguments filled in."""


@dataclass
class Ranks:
    """The processes of one job, in their order; what they say goes beside its folder."""

    folder: Path
    processes: list[ForkServerProcess]

    def join(self, seconds: float = 300) -> list[int | None]:
        """Their exit codes; None for one that has not ended by then, and is ended now."""
        for process in self.processes:
            process.join(seconds)
        codes = [process.exitcode for process in self.processes]
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        return codes

    def said(self, rank: int = 0) -> str:
        """What one of them said."""
        return spoken(self.folder, rank).read_text()

    def succeed(self) -> None:
        """Wait for the end of all, and show what was said where that is not the end of their work."""
        assert self.join() == [0] * len(self.processes), "\n".join(map(self.said, range(len(self.processes))))


def spoken(folder: Path, rank: int) -> Path:
    """Where a rank's words go."""
    return folder.parent / "said" / f"{folder.name}-{rank}.txt"


def forked(folder: Path, ranks: int, work: Work) -> Ranks:
    """So many processes at work, beside `folder`."""
    spoken(folder, 0).parent.mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        told = {"NODE_RANK": 0, "WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free.getsockname()[1]}
    processes = [
        SERVER.Process(target=begin, args=(folder, rank, told | {"LOCAL_RANK": rank}, work)) for rank in range(ranks)
    ]
    for process in processes:
        process.start()
    return Ranks(folder, processes)


def begin(folder: Path, rank: int, told: dict[str, object], work: Work) -> None:
    """Work, told by the environment what Lightning tells the processes that it starts."""
    from lightning.pytorch.utilities import rank_zero_only

    output = os.open(spoken(folder, rank), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.chdir(folder.parent)
    set_start_method("fork", force=True)  # for data workers, as elsewhere
    if told["WORLD_SIZE"] != 1:
        os.environ |= {name: str(value) for name, value in told.items()}
    rank_zero_only.rank = rank  # as if the environment had said so when it was imported
    work(rank)


def started(folder: Path, options: Sequence[str], ranks: int, before: Work | None = None) -> Ranks:
    """train.py in `folder`, with a cache for all runs beside it, as so many processes, each of which does `before`."""
    command = [*options, f"cache={folder.parent / 'cache'}", f"hydra.run.dir={folder}"]
    if ranks > 1:
        command += ["trainer.accelerator=cpu", f"trainer.devices={ranks}"]
    return forked(folder, ranks, partial(train, command, before))


def train(command: Sequence[str], before: Work | None, rank: int) -> None:
    """Run train.py."""
    if before is not None:
        before(rank)
    sys.argv = ["train.py", *command]
    runpy.run_path(str(ROOT / "train.py"), run_name="__main__")
