"""Our training and bare loops by turns at every step: python benchmarks/beside.py WORK SIDE[,SIDE] [options]

A run of train.py gets one callback more: whenever a batch is done, each SIDE (loop.py: `bare`, our own model; `tight`,
the same by hand) takes a batch from a loader of its own, which deals them in the same order, and makes its update. A
machine that other programs share slows all of them alike, so their ratio means more than that of runs one after
another. Prints JSON: of each, its size, and real tokens and examples a second in blocks of WARM steps.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import lightning as L
from loop import SIDES, size, updating
from omegaconf import DictConfig
from works import WARM, composed, timed_options

from seqarena.data.batch import Batch
from seqarena.training import make_trainer, train

OURS = "ours"


def turning(batches: Iterator[Batch], update: Callable[[Batch], None]) -> Callable[[], Batch]:
    """What takes the next batch, makes an update by it, and says which it was."""

    def turn() -> Batch:
        batch = next(batches)
        update(batch)
        return batch

    return turn


class Beside(L.Callback):
    """Takes the time of our steps, the last of all callbacks, and those of others in between."""

    def __init__(self, work: str, sides: Sequence[str], config: DictConfig) -> None:
        self._work, self._sides, self._config = work, sides, config
        self._turns: dict[str, Callable[[], Batch]] = {}
        self._mark: float | None = None
        self.parameters: dict[str, int] = {}
        self.steps: dict[str, list[tuple[float, int, int]]] = {side: [] for side in (OURS, *sides)}
        """Of each step: seconds, waiting for the batch included, real tokens and examples."""

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Build what trains beside."""
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        self.parameters[OURS] = size(pl_module)
        for side in self._sides:
            model, loss = SIDES[side](self._work, self._config, data.vocabulary)
            self.parameters[side] = size(model)
            self._turns[side] = turning(cycle(data.train_dataloader()), updating(model, loss, self._config))

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        """Everybody else's turn; ours lasts from the end of this to the next time."""
        if self._mark is not None:
            self._note(OURS, self._mark, batch)
        for side, turn in self._turns.items():
            began = time.perf_counter()
            taken = turn()
            if self._mark is not None:  # our first step is not timed either
                self._note(side, began, taken)
        self._mark = time.perf_counter()

    def _note(self, side: str, began: float, batch: Batch) -> None:
        """A step that ends now."""
        self.steps[side].append((time.perf_counter() - began, batch.tokens, batch.examples))


def speeds(steps: list[tuple[float, int, int]]) -> list[dict[str, float]]:
    """Tokens and examples a second of every block of WARM steps behind the first WARM; `steps` lack the very first."""
    blocks = [steps[a:b] for a, b in pairwise(range(WARM - 1, len(steps) + 1, WARM))]
    sums = [[sum(column) for column in zip(*block, strict=True)] for block in blocks]
    return [{"tokens": tokens / seconds, "examples": examples / seconds} for seconds, tokens, examples in sums]


def main(work: str, sides: list[str], options: list[str]) -> None:
    """Train as train.py does, with one callback more."""
    with tempfile.TemporaryDirectory() as folder:
        config = composed([*timed_options(work, options), f"hydra.run.dir={folder}"])
        beside = Beside(work, sides, config)

        def with_beside(config: DictConfig, folder: Path, callbacks: list[Any], watchers: list[Any]) -> L.Trainer:
            return make_trainer(config, folder, [*callbacks, beside], watchers)

        with mock.patch("seqarena.training.make_trainer", with_beside):
            train(config, Path(folder), [])
    found = {side: {"parameters": beside.parameters[side], "blocks": speeds(of)} for side, of in beside.steps.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2].split(","), sys.argv[3:])
