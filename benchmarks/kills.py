"""Runs killed at random moments until they end by themselves: python benchmarks/kills.py [kills] [seed]

Each round draws a training by the seed (a model, a task, workers, accumulation, averaging), runs it once to its end and
once more in another folder, where its whole process group gets SIGTERM, SIGINT and SIGKILL by turns, each time at a
random moment, and the same command again. Then both must agree: the examples of every batch, the history with each
step once, the scores, and the weights bit by bit. The table has a line a round; any difference makes the exit code 1.

Every attempt is a process of its own, forked from one that has imported everything, so that a start takes a second.
"""

import json
import multiprocessing
import os
import random
import runpy
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
MODELS = sorted(path.stem for path in (ROOT / "conf" / "model").glob("*.yaml"))
TASKS = {
    "classification": ("data=agreement", "data.reader.distances=[4]"),
    "tagging": ("data=recall",),
    "translation": ("data=numbers", "data.tokenizer.vocabulary=120", "task.decoding.beam=1"),
}
SIZE = ("data.reader.train=300", "data.reader.val=24", "data.reader.test=24", "data.batch_examples=10", "model.dim=24")
ALWAYS = ("logger=none", "trainer.log_every=1", "trainer.max_epochs=4", "data.word_dropout=0.1", *SIZE)
MOST = 4
"""Kills of one run; after them it is left alone."""
ENDS = 60.0
"""Seconds in which a process must be gone after its signal."""
ORDER = "order.jsonl"
WHOLE, BROKEN = "whole", "broken"

IMPORTED = [*(f"seqarena.{name}" for name in ("training", "sweep.question", "runs")), "sklearn.linear_model"]

context = multiprocessing.get_context("forkserver")


@dataclass
class Round:
    """What became of one training: by signal how often it was killed, and what differs from the uninterrupted one."""

    options: tuple[str, ...]
    kills: Counter[str] = field(default_factory=Counter)
    resumes: int = 0
    differences: list[str] = field(default_factory=list)


def draw(chance: random.Random) -> tuple[str, ...]:
    """The options of a training."""
    accumulate, average = chance.choice((1, 2, 3)), chance.choice((0, 2))
    return (
        f"model={chance.choice(MODELS)}",
        *TASKS[chance.choice(list(TASKS))],
        f"data.workers={chance.choice((0, 2))}",
        f"trainer.accumulate={accumulate}",
        f"trainer.average={average}",
        f"trainer.validate_every={chance.choice((3, 5, 10))}",
        f"seed={chance.randrange(1000)}",
    )


# one attempt, in a process of its own ---------------------------------------------------------------------------------


def train(options: Sequence[str], folder: str) -> None:
    """What `python train.py` does, in a process group of its own, with the examples of each batch noted beside it."""
    os.setsid()
    multiprocessing.set_start_method("fork", force=True)  # of data workers, as where nothing was preloaded
    with Path(f"{folder}.log").open("a") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    note_batches(Path(f"{folder}-{ORDER}"))
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


def started(options: Sequence[str], folder: Path) -> BaseProcess:
    """A process that trains."""
    process = context.Process(target=train, args=(options, str(folder)))
    process.start()
    return process


def ended(process: BaseProcess, seconds: float | None = None) -> bool:
    """Whether the process has ended by then."""
    process.join(seconds)
    return process.exitcode is not None


def kill(process: BaseProcess, number: signal.Signals) -> bool:
    """Send the signal to the whole group; False if it had to be killed in the end."""
    try:
        os.killpg(process.pid or 0, number)
    except ProcessLookupError:
        process.kill()  # it has no group of its own yet: nothing has begun
    if ended(process, ENDS):
        return True
    os.killpg(process.pid or 0, signal.SIGKILL)
    process.join()
    return False


# a round --------------------------------------------------------------------------------------------------------------


def play(options: tuple[str, ...], home: Path, chance: random.Random, left: int) -> Round:
    """Train once without and once with kills, at most `left` of them."""
    found, began = Round(options), time.perf_counter()
    whole = started(options, home / WHOLE)
    whole.join()
    seconds = time.perf_counter() - began
    if whole.exitcode:
        told = (home / f"{WHOLE}.log").read_text()[-300:]
        return Round(options, differences=[f"the uninterrupted run failed: {told}"])
    interrupted(found, home / BROKEN, chance, seconds, min(MOST, left))
    if not found.differences:
        found.differences += differences(home / WHOLE, home / BROKEN)
    return found


def interrupted(found: Round, folder: Path, chance: random.Random, seconds: float, most: int) -> None:
    """Kill and start again, the kills at moments between the start and the time a whole run takes."""
    while True:
        process = started(found.options, folder)
        alone = found.kills.total() >= most
        if ended(process, None if alone else chance.uniform(0.05, 0.95) * seconds):
            break
        number = SIGNALS[found.kills.total() % len(SIGNALS)]
        found.kills[number.name] += 1
        if not kill(process, number):
            found.differences.append(f"did not end within {ENDS:.0f} s of {number.name}")
    if process.exitcode:
        told = Path(f"{folder}.log").read_text()[-300:]
        found.differences.append(f"failed with {process.exitcode}: {told}")
    log = folder / "train.log"
    found.resumes = log.read_text().count("going on from") if log.exists() else 0


# what must agree ------------------------------------------------------------------------------------------------------


def differences(one: Path, other: Path) -> Iterator[str]:
    """What differs between the runs of two folders, in words."""
    from seqarena.record import Record

    for name, read in (("order", order), ("history", history), ("last.ckpt", weights), ("best.ckpt", weights)):
        left, right = (read(folder, name) for folder in (one, other))
        if left != right:
            yield f"{name} differs ({len(left)} and {len(right)} entries)"
    before, after = Record.read(one), Record.read(other)
    if after.status != "done" or str(after.metrics) != str(before.metrics):
        yield f"the record is {after.status}, with {after.metrics} for {before.metrics}"
    if odd := [path.name for path in (other / "checkpoints").iterdir() if path.name not in ("best.ckpt", "last.ckpt")]:
        yield f"left behind: {', '.join(odd)}"


def order(folder: Path, name: str) -> dict[tuple[int, int], str]:
    """The examples of each batch, by epoch and place; those of every attempt, where they are not the same."""
    found: dict[tuple[int, int], set[str]] = {}
    for line in Path(f"{folder}-{ORDER}").read_bytes().splitlines():
        if line.endswith(b"]]"):
            epoch, place, ids = json.loads(line)
            found.setdefault((epoch, place), set()).add(str(ids))
    return {key: " or ".join(sorted(ids)) for key, ids in found.items()}


def history(folder: Path, name: str) -> list[dict[str, Any]]:
    """The lines of the history without what a clock measured."""
    from seqarena.history import read

    timed = ("speed", "memory", "cost", "energy")
    lines = [{key: value for key, value in line.items() if not key.startswith(timed)} for line in read(folder)]
    return [line for line in lines if len(line) > 1]


def weights(folder: Path, name: str) -> dict[str, tuple[str, bytes]]:
    """Type and bytes of each weight."""
    import torch

    state = torch.load(folder / "checkpoints" / name, weights_only=True)["state_dict"]
    return {key: (str(value.dtype), value.numpy().tobytes()) for key, value in state.items()}


def main(kills: int, seed: int) -> int:
    """Rounds until there were so many kills; the table as they come. The exit code: 1 if anything differs."""
    context.set_forkserver_preload(IMPORTED)
    chance, rounds = random.Random(seed), list[Round]()
    print(f"{'kills':>30}{'resumes':>9}  differences  options", flush=True)
    while (left := kills - sum(one.kills.total() for one in rounds)) > 0:
        with tempfile.TemporaryDirectory() as home:
            options = (*draw(chance), *ALWAYS, f"cache={home}/cache")
            rounds.append(found := play(options, Path(home), chance, left))
        told = ", ".join(f"{number} {name}" for name, number in found.kills.items())
        shown = " ".join(options[: -len(ALWAYS) - 1])
        print(f"{told:>30}{found.resumes:>9}  {'; '.join(found.differences) or 'none':11}  {shown}", flush=True)
    wrong = sum(bool(one.differences) for one in rounds)
    resumes = sum(one.resumes for one in rounds)
    print(f"{kills} kills of {len(rounds)} runs, {resumes} resumes, {wrong} runs that differ")
    return int(wrong > 0)


if __name__ == "__main__":
    os.environ["SEQARENA_ROOT"] = str(ROOT)
    given = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(*(*given, *(20, 1)[len(given) :])))
