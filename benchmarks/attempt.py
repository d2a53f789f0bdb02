"""One training in a process of its own, which writes down what it is doing, and can be killed (benchmarks/kills.py).

Every attempt is forked from a process that has imported everything, so that a start takes a second.
"""

import json
import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ENDS = 60.0
"""Seconds in which a process must be gone after its signal."""
ORDER, PHASE = "order.jsonl", "phase"
START, STEP, VALIDATION, CHECKPOINT, TEST = "start or end", "training", "validation", "checkpoint", "test"

context = multiprocessing.get_context("forkserver")


def train(options: Sequence[str], folder: str) -> None:
    """What `python train.py` does, in a process group of its own, with the examples of each batch noted beside it."""
    os.setsid()
    multiprocessing.set_start_method("fork", force=True)  # of data workers, as where nothing was preloaded
    with Path(f"{folder}.log").open("a") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    note_batches(Path(f"{folder}-{ORDER}"))
    note_phases(Path(f"{folder}-{PHASE}"))
    sys.argv = ["train.py", *options, f"hydra.run.dir={folder}"]
    runpy.run_path(str(ROOT / "train.py"), run_name="__main__")


def note_batches(path: Path) -> None:
    """Each batch adds a line: its epoch, its place in it, the ids of its examples."""
    from seqarena.tasks.task import SequenceTask

    step, order = SequenceTask.training_step, path.open("ab", buffering=0)
    order.write(b"\n")  # the last line of a killed process may be cut off

    def noted(self: Any, batch: Any, batch_index: int) -> Any:
        line = [self.current_epoch, batch_index, batch.id_B.tolist()]
        order.write(json.dumps(line).encode() + b"\n")
        return step(self, batch, batch_index)

    SequenceTask.training_step = noted  # type: ignore[method-assign]


def note_phases(path: Path) -> None:
    """What the process is doing stands in a file, as long as it does it."""
    import lightning as L
    from lightning.pytorch.loops.evaluation_loop import _EvaluationLoop

    from seqarena.callbacks.averaging import LastWeights

    file, doing = os.open(path, os.O_CREAT | os.O_WRONLY), [START]

    def enter(phase: str) -> None:
        os.pwrite(file, f"{phase:20}".encode(), 0)

    def during(owner: type, name: str, phase: str) -> None:
        whole: Callable[..., Any] = getattr(owner, name)

        def noted(*arguments: Any, **named: Any) -> Any:
            doing.append(TEST if doing[-1] == TEST else phase)
            enter(doing[-1])
            try:
                return whole(*arguments, **named)
            finally:
                doing.pop()
                enter(doing[-1])

        setattr(owner, name, noted)

    enter(START)
    during(L.Trainer, "fit", STEP)
    during(L.Trainer, "test", TEST)
    during(_EvaluationLoop, "run", VALIDATION)
    during(L.Trainer, "save_checkpoint", CHECKPOINT)
    during(LastWeights, "on_train_epoch_end", CHECKPOINT)


def started(options: Sequence[str], folder: Path) -> BaseProcess:
    """A process that trains."""
    process = context.Process(target=train, args=(options, str(folder)))
    process.start()
    return process


def ended(process: BaseProcess, seconds: float | None = None) -> bool:
    """Whether the process has ended by then."""
    process.join(seconds)
    return process.exitcode is not None


def doing(folder: Path) -> str:
    """What the process of this folder is doing."""
    path = Path(f"{folder}-{PHASE}")
    return path.read_text().strip() if path.exists() else START


def comes(process: BaseProcess, folder: Path, phase: str | None) -> bool:
    """Wait until the process does this, if anything, and has a point to go on from; False if it ends before."""
    point = folder / "checkpoints" / "resume.ckpt"
    while phase is not None and not (doing(folder) == phase and point.exists()):
        if ended(process, 0.001):
            return False
    return True


def kill(process: BaseProcess, number: signal.Signals, folder: Path) -> tuple[str, bool]:
    """Send the signal to the whole group: what it was doing, and False if it had to be killed in the end."""
    group, phase = process.pid or 0, START
    try:
        os.killpg(group, signal.SIGSTOP)  # it stands still while it is looked at
        phase = doing(folder)
        os.killpg(group, number)
        os.killpg(group, signal.SIGCONT)
    except ProcessLookupError:
        process.kill()  # it has no group of its own yet: nothing has begun
    if ended(process, ENDS):
        return phase, True
    os.killpg(group, signal.SIGKILL)
    process.join()
    return phase, False
