"""How fast training is, counted in real tokens, and what it has cost."""

import math
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import lightning as L
import torch
from lightning.pytorch.utilities.types import STEP_OUTPUT

from seqarena.callbacks.energy import Meter, meter
from seqarena.callbacks.peak import matmul_flops
from seqarena.data.batch import Batch
from seqarena.flops import training_flops

MIB = 2**20


@dataclass
class Tally:
    """Sums over some stretch of training; `seconds` are without validation, `waited` those of them between batches.

    `joules` is NaN, which is not above 0, where no device tells.
    """

    tokens: float = 0
    positions: float = 0
    examples: float = 0
    steps: float = 0
    seconds: float = 0
    waited: float = 0
    joules: float = 0

    def add(self, other: "Tally") -> None:
        """Another stretch."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def rates(self, ranks: int) -> dict[str, float]:
        """The `speed/` keys of a tally that is the sum over `ranks`, each of which ran for the same stretch of time."""
        seconds = self.seconds / ranks
        rates = {
            "speed/tokens_per_s": self.tokens / seconds,
            "speed/padded_tokens_per_s": self.positions / seconds,
            "speed/padding_share": 1 - self.tokens / self.positions,
            "speed/examples_per_s": self.examples / seconds,
            "speed/step_ms": 1000 * self.seconds / self.steps,
            "speed/data_wait_share": self.waited / self.seconds,
        }
        if self.joules > 0:
            rates["speed/joules_per_1000_tokens"] = 1000 * self.joules / self.tokens
        return rates if ranks == 1 else rates | {"speed/tokens_per_s_per_device": self.tokens / seconds / ranks}


class Throughput(L.Callback):
    """Logs speed every `log_every` optimizer steps and keeps that of the whole run.

    Time runs from the end of one batch to the end of the next, so it holds everything that training does, waiting for
    data included (from the end of a batch to the start of the next; on a GPU that works behind the program this is an
    upper bound). It stands still from the start of a validation to the next batch. Speed leaves the first `warmup`
    optimizer steps of the process out; cost leaves nothing out. The device is synchronised only where a stretch ends.
    """

    def __init__(
        self,
        log_every: int,
        flops_per_token: float,
        dtype: torch.dtype = torch.float32,
        warmup: int = 5,
        clock: Callable[[], float] = time.perf_counter,
        energy: Callable[[torch.device, int], Meter] = meter,
    ) -> None:
        self.flops_per_token = flops_per_token
        self._log_every, self._warmup, self._clock = log_every, warmup, clock
        self._dtype, self._make_meter = dtype, energy
        self.peak_flops = math.nan
        """Operations a second of a large matrix product in `dtype` on one device, measured as training begins."""
        self._energy: Meter = lambda: math.nan
        self._energy_mark = math.nan
        self._open = Tally()
        self._first = self._warm = self._logged = 0
        self._mark: float | None = None
        self._held = 0.0
        self._whole, self._cost = Tally(), Tally()
        self.memory: dict[str, float] = {}
        """`memory/` keys of the run so far, the largest of all ranks: in all, and beyond the most before training.

        On a CPU that most holds what preparing the data took in this process; on a GPU, the model alone.
        """
        self.speed: dict[str, float] = {}
        """`speed/` keys of the run so far, over all ranks; empty until the warm-up is over."""

    def seconds(self) -> float:
        """Training time of this process so far, up to the end of the last batch."""
        return self._cost.seconds + self._open.seconds

    def cost(self) -> dict[str, float]:
        """What training has taken so far: optimizer steps and seconds; real tokens and operations over all ranks.

        Energy in joules, over all devices, where they tell.
        """
        told = {
            "cost/steps": int(self._cost.steps),
            "cost/train_seconds": self._cost.seconds,
            "cost/tokens": int(self._cost.tokens),
            "cost/train_flops": training_flops(self.flops_per_token, self._cost.tokens),
        }
        return told | {"cost/joules": self._cost.joules} if self._cost.joules > 0 else told

    def state_dict(self) -> dict[str, Any]:
        """The cost so far, so that a resumed run goes on counting; of an open stretch, this rank's part."""
        total = Tally(**vars(self._cost))
        total.add(self._open)
        return vars(total)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what a checkpoint holds."""
        self._cost = Tally(**state)

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The run begins, perhaps in the middle."""
        self._first = self._warm = self._logged = trainer.global_step
        self._open, self._mark = Tally(), None
        self._energy = self._make_meter(pl_module.device, trainer.local_rank)
        self.peak_flops = matmul_flops(pl_module.device, self._dtype)
        if pl_module.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(pl_module.device)
        self._held = peak_mib(pl_module.device)

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """A batch has arrived: what has passed since the last one was waiting."""
        now = self._clock()
        if self._mark is not None:
            self._open.waited += now - self._mark
            self._open.seconds += now - self._mark
        else:
            self._energy_mark = self._energy()
        self._mark = now

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: STEP_OUTPUT, batch: Batch, batch_idx: int
    ) -> None:
        """Count the batch, and close the stretch where the warm-up ends or something is due to be logged."""
        step = trainer.global_step
        warming = self._first + self._warmup
        due = step != self._logged and (step == warming or step % self._log_every == 0)
        self._count(pl_module, batch, synchronised=due)
        self._open.steps = step - self._warm
        if due:
            self._logged = step
            self._close(trainer, pl_module, step)

    def _count(self, module: L.LightningModule, batch: Batch, synchronised: bool) -> None:
        assert self._mark is not None
        if synchronised:
            _synchronise(module.device)
        now = self._clock()
        self._open.add(Tally(batch.tokens, batch.positions, batch.examples, 0, now - self._mark))
        self._mark = now

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The clock stands still until the next batch."""
        self._pause(trainer, pl_module)

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Close the last stretch."""
        self._pause(trainer, pl_module)

    def _pause(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        if self._mark is None:
            return
        _synchronise(module.device)
        self._open.seconds += self._clock() - self._mark
        self._mark = None
        self._close(trainer, module, trainer.global_step)

    def _close(self, trainer: L.Trainer, module: L.LightningModule, step: int) -> None:
        """Sum the stretch over the ranks; it counts as speed if it lies behind the warm-up."""
        ranks = trainer.world_size
        joules = self._energy()
        self._open.joules, self._energy_mark = joules - self._energy_mark, joules
        numbers = torch.tensor(astuple(self._open), dtype=torch.float64, device=_exact(module.device))
        stretch = Tally(*trainer.strategy.reduce(numbers, reduce_op="sum").tolist())
        self._open, before, self._warm = Tally(), self._warm, step
        self._cost.add(_of_one(stretch, ranks))
        peak = peak_mib(module.device)
        most = torch.tensor([peak, peak - self._held], device=module.device)
        names = ("memory/peak_mib", "memory/training_mib")
        self.memory = dict(zip(names, trainer.strategy.reduce(most, reduce_op="max").tolist(), strict=True))
        if before >= self._first + self._warmup and stretch.steps:
            self._whole.add(stretch)
            self.speed = self._rates(self._whole, ranks)
            module.logger_metrics(self._rates(stretch, ranks) | self.memory | self.cost())  # type: ignore[operator]

    def _rates(self, tally: Tally, ranks: int) -> dict[str, float]:
        """A tally's rates, and the share of the devices' best that its arithmetic is (MFU)."""
        best = tally.seconds * self.peak_flops  # seconds are summed over the ranks
        return tally.rates(ranks) | {"speed/mfu": training_flops(self.flops_per_token, tally.tokens) / best}


def _of_one(total: Tally, ranks: int) -> Tally:
    """Sums over ranks with the time and the steps of one."""
    return Tally(
        total.tokens,
        total.positions,
        total.examples,
        total.steps / ranks,
        total.seconds / ranks,
        total.waited,
        total.joules,
    )


def _exact(device: torch.device) -> torch.device:
    """Where counts can be summed in double precision: not on Apple's GPUs."""
    return torch.device("cpu") if device.type == "mps" else device


def _synchronise(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def peak_mib(device: torch.device) -> float:
    """The most memory held so far: on a CUDA device by torch, elsewhere by this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / MIB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MIB if sys.platform == "darwin" else peak / 1024
