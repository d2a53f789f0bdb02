"""train.py as one rank of several, forked from a server that has imported everything: a second saved for each."""

import os
import runpy
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

ROOT = Path(__file__).parents[1]
SERVER = get_context("forkserver")
SERVER.set_forkserver_preload(["seqarena.training", "seqarena.replaying", "seqarena.data_report", "rank"])


@dataclass
class Ranks:
    """The processes of one run, first rank first; what they say goes into files `<folder>-<rank>.txt`."""

    folder: Path
    processes: list[BaseProcess]

    def join(self) -> list[int | None]:
        """Their exit codes, once all have ended."""
        for process in self.processes:
            process.join()
        return [process.exitcode for process in self.processes]

    def kill(self) -> None:
        """All of them at once."""
        for process in self.processes:
            assert process.pid is not None
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        self.join()

    def said(self) -> str:
        """All that they said."""
        return "\n".join(path.read_text() for path in sorted(self.folder.parent.glob(f"{self.folder.name}-*.txt")))


def started(folder: Path, options: Sequence[str], ranks: int) -> Ranks:
    """A run in `folder`, one cache for all runs beside it, as so many processes."""
    command = [*options, f"cache={folder.parent / 'cache'}", f"hydra.run.dir={folder}"]
    if ranks > 1:
        command += ["trainer.accelerator=cpu", f"trainer.devices={ranks}"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [SERVER.Process(target=train, args=(folder, command, rank, ranks, port)) for rank in range(ranks)]
    for process in processes:
        process.start()
    return Ranks(folder, processes)


def train(folder: Path, command: Sequence[str], rank: int, ranks: int, port: int) -> None:
    """Run train.py with what Lightning tells the processes that it starts."""
    from lightning.pytorch.utilities import rank_zero_only

    output = os.open(folder.parent / f"{folder.name}-{rank}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(folder.parent)
    told = {"LOCAL_RANK": rank, "NODE_RANK": 0, "WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    if ranks > 1:
        os.environ |= {name: str(value) for name, value in told.items()}
    rank_zero_only.rank = rank  # read from the environment when it was imported
    if "TRACE" in os.environ:
        import faulthandler
        import seqarena.mishaps
        seqarena.mishaps._told = lambda *a: None
        faulthandler.dump_traceback_later(int(os.environ["TRACE"]), file=os.fdopen(os.dup(2), "w"))
    sys.argv = ["train.py", *command]
    runpy.run_path(str(ROOT / "train.py"), run_name="__main__")
