"""Runs that end after so much time: when they stop, and where their learning-rate schedule stands."""

import logging
from typing import Any

import lightning as L
import torch
from omegaconf import DictConfig

from seqarena.budget.options import with_options
from seqarena.callbacks.resuming import TOGETHER
from seqarena.callbacks.throughput import Throughput
from seqarena.errors import InputError

log = logging.getLogger(__name__)


def timed(config: DictConfig) -> tuple[DictConfig, dict[str, Any]]:
    """The config without an end by epochs, and the record's account so far; as it is for budgets of other kinds."""
    if config.budget.kind != "time":
        return config, {}
    return with_options(config, {"trainer.max_epochs": -1}), {"kind": "time", "target": config.budget.minutes}


def check_schedule(config: DictConfig) -> None:
    """Refuse schedules that count optimizer steps where nobody knows how many there will be."""
    if config.budget.kind != "time":
        return
    if str(config.schedule._target_).endswith(".noam"):
        raise InputError("schedule=noam counts steps, which budget=time does not know: write schedule=inverse_sqrt")
    if (warmup := config.schedule.get("warmup", 0)) >= 1:
        raise InputError(
            f"schedule.warmup={warmup:g} counts steps, which budget=time does not know: "
            "write a share of the time, such as schedule.warmup=0.1"
        )


class TimeLimit(L.Callback):
    """Stops training at the first optimizer step after `minutes`, and keeps the schedule where the clock is.

    Time is the training time that `Throughput` counts, which must come before this among the callbacks: waiting for
    data is in it, start-up, validation and test are not. A schedule goes by the share of the time that is used, or of
    trainer.max_steps, whichever is further. Ranks go by the slowest clock, for which they ask each other at every
    TOGETHER-th step only. `account` is the record's.
    """

    def __init__(self, minutes: float, throughput: Throughput, account: dict[str, Any]) -> None:
        self._seconds, self._throughput, self._account = 60 * minutes, throughput, account
        self._step, self._share, self._asked = -1, 0.0, -TOGETHER

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: Any, *batch: Any) -> None:
        """Look at the clock after each optimizer step."""
        if trainer.global_step == self._step:
            return
        self._step = trainer.global_step
        used = self._used(trainer, pl_module)
        move_schedules(trainer, max(self._step, int(used * pl_module.total_steps())))
        trainer.should_stop = trainer.should_stop or used >= 1

    def _used(self, trainer: L.Trainer, module: L.LightningModule) -> float:
        """The share of the time, the same on all ranks."""
        share = self._throughput.seconds() / self._seconds
        if trainer.world_size == 1:
            return share
        if self._step - self._asked >= TOGETHER:
            self._asked = self._step
            self._share = float(trainer.strategy.reduce(torch.tensor(share, device=module.device), reduce_op="max"))
        return self._share

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Tell the record how far training came."""
        minutes = self._throughput.seconds() / 60
        self._account |= {"reached": minutes, "steps": trainer.global_step}
        if minutes < self._account["target"] and trainer.is_global_zero:
            log.warning(
                "training ended after %.2f of %g minutes, at step %d: trainer.max_steps or early stopping came first",
                *(minutes, self._account["target"], trainer.global_step),
            )


def move_schedules(trainer: L.Trainer, step: int) -> None:
    """Give the next optimizer step the rate of `step`."""
    for config in trainer.lr_scheduler_configs:
        config.scheduler.last_epoch = step - 1  # torch's word for the steps taken
        config.scheduler.step()  # type: ignore[call-arg]
