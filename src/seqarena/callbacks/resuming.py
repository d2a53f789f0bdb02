"""Points from which an interrupted run goes on exactly: the same batches, the same random numbers, the same weights.

A point is saved at the start of a batch, when nothing is half done: the last step is over, logged and scheduled, and no
gradients are gathered. Lightning's own loops go on from there as after a crash; the data begins its epoch after the
batches that are done (data/module.py), and each rank gets its own random state back.
"""

import logging
import time
from pathlib import Path
from typing import Any

import lightning as L
import torch
import torch.distributed as dist
from lightning.pytorch.utilities.exceptions import SIGTERMException
from torch import Tensor

from seqarena.callbacks.preemption import Notice, requeue
from seqarena.checkpoints import require_intact, settle
from seqarena.history import FILE as HISTORY

log = logging.getLogger(__name__)

LAST, BEFORE = "resume.ckpt", "resume-before.ckpt"
"""The newest point, and the one before it, in case the newest is damaged."""

EVERY = 600.0
"""Seconds after which a point is saved even without a validation."""

TOGETHER = 10
"""Steps between two times that ranks ask each other."""


class ResumePoints(L.Callback):
    """Saves a point after each validation, and every ten minutes; `forget` deletes them once the run is over.

    Where SLURM gives notice that it will stop the job, another is saved, the job goes back into the queue, and ends.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._due, self._saved = False, time.monotonic()
        self._notice = Notice()
        self._random: list[dict[str, Any]] = []
        self._device = torch.device("cpu")

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Listen, before Lightning sets handlers of its own."""
        self._device = trainer.strategy.root_device
        if stage == "fit":
            self._notice.listen()

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The next batch begins with a point."""
        self._due = True

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Go on with the random numbers of the point that was loaded; save another if it is time."""
        if self._random:
            _set_random_state(self._random[trainer.global_rank], trainer.strategy.root_device)
            self._random = []
        if batch_idx % trainer.accumulate_grad_batches:
            return
        late, stopping = self._pressing(trainer, batch_idx // trainer.accumulate_grad_batches)
        if self._due or late or stopping:
            self._save(trainer)
        if stopping:
            if trainer.is_global_zero:
                requeue()
            raise SIGTERMException

    def _pressing(self, trainer: L.Trainer, step: int) -> tuple[bool, bool]:
        """Whether the last point is too old, and whether SLURM is about to stop the job; the same on all ranks.

        Ranks ask each other at every TOGETHER-th step only, as a GPU has to wait for it.
        """
        late, stopping = time.monotonic() - self._saved > EVERY, self._notice.given
        if trainer.world_size == 1:
            return late, stopping
        if step % TOGETHER:
            return False, False
        mine = torch.tensor([late, stopping], dtype=torch.float32, device=trainer.strategy.root_device)
        late, stopping = trainer.strategy.reduce(mine, reduce_op="max").bool().tolist()
        return late, stopping

    def _save(self, trainer: L.Trainer) -> None:
        """Whole under another name, then renamed, with the history up to it: no crash leaves less than a good point."""
        self._due, self._saved = False, time.monotonic()
        part = self._folder / f"{LAST}.part"
        trainer.save_checkpoint(part)
        if trainer.is_global_zero:
            settle(self._folder.parent / HISTORY)
            if (self._folder / LAST).exists():
                (self._folder / LAST).replace(self._folder / BEFORE)
            part.replace(self._folder / LAST)
            settle(self._folder)

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        """The batch that is about to begin has not begun: it is read again, and is not the epoch's last one yet."""
        if "loops" in checkpoint:
            progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
            progress["is_last_batch"] = False
            for counts in (progress["total"], progress["current"]):
                counts["ready"] = counts["started"] = counts["completed"]

    def state_dict(self) -> dict[str, Any]:
        """The random state of every rank."""
        mine = _random_state(self._device)
        if not (dist.is_available() and dist.is_initialized()):
            return {"random": [mine]}
        ranks: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(ranks, mine)
        return {"random": ranks}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Kept until the first batch begins."""
        self._random = state_dict["random"]

    def forget(self) -> None:
        """A finished run does not go on, and needs no half of a checkpoint."""
        for path in (self._folder / LAST, self._folder / BEFORE, *self._folder.glob("*.part")):
            path.unlink(missing_ok=True)


def _random_state(device: torch.device) -> dict[str, Tensor]:
    """Of the processor's generator and of the one device that this process trains on; others may be gone next time."""
    found = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        found["cuda"] = torch.cuda.get_rng_state(device)
    if device.type == "mps":
        found["mps"] = torch.mps.get_rng_state()
    return found


def _set_random_state(state: dict[str, Tensor], device: torch.device) -> None:
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
    if device.type == "mps" and "mps" in state:
        torch.mps.set_rng_state(state["mps"])


def point(folder: Path) -> Path | None:
    """The newest point in `folder` that can be read; None without one."""
    for path in (folder / LAST, folder / BEFORE):
        try:
            require_intact(path)
            torch.load(path, weights_only=True, map_location="cpu", mmap=True)
        except FileNotFoundError:
            continue
        except Exception as error:  # whatever a cut-off archive makes of the reader: the one before it is tried
            log.warning("%s is damaged (%s), so it is not used", path, str(error).split("\n")[0])
            continue
        return path
    return None
