"""Runs killed at random moments until they end by themselves: python benchmarks/kills.py [kills] [seed]

Each round draws a training by the seed (task, batches, workers, accumulation, averaging; the models by turns). It runs
once to its end, and once more in another folder, where its whole process group gets SIGTERM, SIGINT and SIGKILL by
turns, each at a random moment, or in the next step, validation or writing of a checkpoint once there is a point to go
on from; and then the same command again. Both must agree: the examples of every batch, the history with each step once,
the scores, and the weights bit by bit. The table has a line a round, then what was being done when the signals came;
any difference makes the exit code 1.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle, product
from pathlib import Path
from typing import Any

from attempt import CHECKPOINT, ENDS, ORDER, START, STEP, TEST, VALIDATION, comes, context, ended, kill, started

ROOT = Path(__file__).resolve().parents[1]
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
MODELS = sorted(path.stem for path in (ROOT / "conf" / "model").glob("*.yaml"))
TASKS = {
    "classification": ("data=agreement", "data.reader.distances=[4]"),
    "tagging": ("data=recall",),
    "translation": ("data=numbers", "data.tokenizer.vocabulary=120", "task.decoding.beam=1"),
}
SIZE = ("data.reader.train=240", "data.reader.val=24", "data.reader.test=24", "model.dim=24")
BATCHES = ("data.batch_examples=10", "data.batch_tokens=400")
ALWAYS = ("logger=none", "trainer.log_every=1", "trainer.max_epochs=3", "data.word_dropout=0.1", *SIZE)
MOST = 4
"""Kills of one run; after them it is left alone."""
WHOLE, BROKEN = "whole", "broken"

IMPORTED = [*(f"seqarena.{name}" for name in ("training", "sweep.question", "runs")), "sklearn.linear_model"]
PLAN = tuple(product((None, STEP, VALIDATION, CHECKPOINT), SIGNALS))
"""What a kill waits for once there is a point to go on from, or None: for nothing; and its signal."""

Plan = Iterator[tuple[str | None, signal.Signals]]


@dataclass
class Round:
    """What became of one training: how often it was killed, by signal and by what it was doing, and what differs."""

    options: tuple[str, ...]
    kills: Counter[str] = field(default_factory=Counter)
    phases: Counter[tuple[str, str]] = field(default_factory=Counter)
    resumes: int = 0
    differences: list[str] = field(default_factory=list)


def draw(model: str, chance: random.Random) -> tuple[str, ...]:
    """The options of a training of this model."""
    accumulate, average = chance.choice((1, 2, 3)), chance.choice((0, 2))
    return (
        f"model={model}",
        *TASKS[chance.choice(list(TASKS))],
        chance.choice(BATCHES),
        f"data.workers={chance.choice((0, 2))}",
        f"trainer.accumulate={accumulate}",
        f"trainer.average={average}",
        f"trainer.validate_every={chance.choice((4, 7, 10))}",
        f"seed={chance.randrange(1000)}",
    )


# a round --------------------------------------------------------------------------------------------------------------


def play(options: tuple[str, ...], home: Path, chance: random.Random, plan: Plan, left: int) -> Round:
    """Train once without and once with kills, at most `left` of them."""
    found, began = Round(options), time.perf_counter()
    whole = started(options, home / WHOLE)
    whole.join()
    seconds = time.perf_counter() - began
    if whole.exitcode:
        told = (home / f"{WHOLE}.log").read_text()[-300:]
        return Round(options, differences=[f"the uninterrupted run failed: {told}"])
    interrupted(found, home / BROKEN, lambda: chance.uniform(0.05, 0.7) * seconds, plan, min(MOST, left))
    if not found.differences:
        found.differences += differences(home / WHOLE, home / BROKEN)
    return found


def interrupted(found: Round, folder: Path, moment: Callable[[], float], plan: Plan, most: int) -> None:
    """Kill and start again, the kills at moments between the start and the time a whole run takes."""
    while True:
        process = started(found.options, folder)
        if found.kills.total() >= most:
            process.join()
        if ended(process, moment()):
            break
        phase, number = next(plan)
        if not comes(process, folder, phase):
            break
        phase, in_time = kill(process, number, folder)
        found.kills[number.name] += 1
        found.phases[number.name, phase] += 1
        if not in_time:
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


def shown(phases: Counter[tuple[str, str]]) -> Iterator[str]:
    """Lines that say what was being done when each signal came."""
    names = (START, STEP, VALIDATION, CHECKPOINT, TEST)
    yield "".join(f"{title:>14}" for title in ("signal during", *names))
    for number in SIGNALS:
        yield f"{number.name:>14}" + "".join(f"{phases[number.name, name]:>14}" for name in names)


def main(kills: int, seed: int) -> int:
    """Rounds until there were so many kills; the table as they come. The exit code: 1 if anything differs."""
    context.set_forkserver_preload(IMPORTED)
    chance, rounds, plan = random.Random(seed), list[Round](), cycle(PLAN)
    models = cycle(chance.sample(MODELS, len(MODELS)))
    print(f"{'kills':>30}{'resumes':>9}  differences  options", flush=True)
    while (left := kills - sum(one.kills.total() for one in rounds)) > 0:
        with tempfile.TemporaryDirectory() as home:
            options = (*draw(next(models), chance), *ALWAYS, f"cache={home}/cache")
            rounds.append(found := play(options, Path(home), chance, plan, left))
        told = ", ".join(f"{number} {name}" for name, number in found.kills.items())
        asked = " ".join(options[: -len(ALWAYS) - 1])
        print(f"{told:>30}{found.resumes:>9}  {'; '.join(found.differences) or 'none':11}  {asked}", flush=True)
    wrong = sum(bool(one.differences) for one in rounds)
    resumes = sum(one.resumes for one in rounds)
    print(*shown(sum((one.phases for one in rounds), Counter())), sep="\n")
    print(f"{kills} kills of {len(rounds)} runs, {resumes} resumes, {wrong} runs that differ")
    return int(wrong > 0)


if __name__ == "__main__":
    os.environ["SEQARENA_ROOT"] = str(ROOT)
    given = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(*(*given, *(20, 1)[len(given) :])))
