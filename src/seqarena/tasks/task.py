"""What all tasks share: exact gradients over uneven batches, optimizer and schedule, evaluation over a whole split."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import lightning as L
import torch
import torch.distributed as dist
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from seqarena.data.batch import Batch
from seqarena.device import fuse
from seqarena.errors import Diverged
from seqarena.evaluation import Evaluation
from seqarena.tasks.sharding import mine, share_out

B = TypeVar("B", bound=Batch)

LOST = 1e4
"""A mean loss beyond this, in nats, is no longer learning: a uniform guess among a million tokens costs 14."""

LOSS_UNIT = 1024
"""Of several ranks, backward passes run on sum/LOSS_UNIT, so that half precision neither over- nor underflows."""


ENDLESS = 10**9
"""Stands for the number of steps of a run that only time ends."""


class Answer(NamedTuple):
    """A label with the probability of every label; or a translation, or a label a token, with none."""

    text: str
    probabilities: dict[str, float]


Finding = dict[str, list[Any]]
"""Results of a batch by column, `id` among them: one entry an example, in tagging one a query."""


class SequenceTask(L.LightningModule, Generic[B]):
    """Training and evaluation that know neither the architecture nor the loss.

    A subclass gives `loss` (the sum over a batch, and how many tokens or examples it sums), `examine` (one finding an
    example, in tagging one a query) and `score` (metrics of findings joined with the data). Gradients are those of the
    sum of all losses over the count of all tokens (or examples) of the step, whatever the batches, the accumulation and
    the number of ranks.
    """

    monitor: str
    """The validation metric that selects."""
    mode: str
    """Whether more of it is better (`max`) or less (`min`)."""

    def __init__(
        self,
        optimizer: Callable[..., Optimizer],
        schedule: Callable[..., LRScheduler | ReduceLROnPlateau],
        log_every: int,
    ) -> None:
        super().__init__()
        self._optimizer, self._schedule, self._log_every = optimizer, schedule, log_every
        self.lr: float | None = None
        """Overrides the optimizer's rate, for the learning-rate finder."""
        self.evaluations: dict[str, Evaluation] = {}
        self.logged: dict[str, float] = {}
        """The newest value of every key that was logged."""
        self.validated_step = -1
        """The optimizer step of the last validation."""
        self._validated: list[float] = []
        self._plateau: ReduceLROnPlateau | None = None
        self._resumed: dict[str, Any] | None = None
        self._findings: list[Finding] = []
        self._targets = 0
        self._unit = LOSS_UNIT
        """What the sums of this step's losses are divided by; when it is over, their gradients are set right."""
        self._recent: list[tuple[Tensor, Tensor]] = []
        """Mean loss and ids of each batch since the last look at the loss; they stay on the device until then."""
        self._loss_since: Tensor | float = 0.0
        self._targets_since = self._logged = 0

    def configure_model(self) -> None:
        """Share the weights out over the ranks, where the strategy does (`trainer=fsdp`)."""
        if self._device_mesh is not None:
            share_out(self, self._device_mesh["data_parallel"])

    def loss(self, batch: B) -> Tensor:
        """Sum of the losses of `batch.targets` tokens, examples or queries."""
        raise NotImplementedError

    def examine(self, batch: B) -> Finding:
        """Predictions and score statistics of a batch, in evaluation mode."""
        raise NotImplementedError

    def score(self, split: str, findings: Finding) -> Evaluation:
        """Metrics from the findings of a whole split, which are sorted by id."""
        raise NotImplementedError

    def answer(self, source_BS: Tensor, mask_BS: Tensor) -> list[Answer]:
        """What the task says to each text."""
        raise NotImplementedError

    def training_step(self, batch: B, batch_index: int) -> Tensor:
        """The batch's share of the step's loss; a step of one batch alone gets its mean, and nothing to set right."""
        total = self.loss(batch)
        if self.trainer.world_size == 1 and not self._targets:
            self._unit = max(1, batch.targets)  # texts may have nothing to label
        self._targets += batch.targets
        self._loss_since = self._loss_since + total.detach()
        self._recent.append((total.detach() / max(1, batch.targets), batch.id_B))
        self._targets_since += batch.targets
        return total / self._unit * self.trainer.accumulate_grad_batches

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Turn summed gradients into those of the mean over everything this step has seen, before clipping."""
        ranks = self.trainer.world_size
        share: float | Tensor = self._unit / max(1, self._targets)
        if ranks > 1:  # the sum is made and stays on the device, which nobody waits for
            targets = torch.full((), float(self._targets), device=self.device)
            dist.all_reduce(targets)
            share = self._unit * ranks / targets.clamp(min=1)
        if ranks > 1 or share != 1:
            each = (p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None)
            torch._foreach_mul_([mine(gradient) for gradient in each], share)
        self._targets = 0

    def on_train_batch_end(self, outputs: Any, batch: B, batch_index: int) -> None:
        """Log the mean loss since the last time, every few optimizer steps."""
        step = self.trainer.global_step
        if step == self._logged or step % self._log_every:
            return
        self._logged = step
        total, targets = self._summed(float(self._loss_since), self._targets_since)
        self._loss_since, self._targets_since = 0.0, 0
        loss = total / targets
        rate = self.optimizers().param_groups[0]["lr"]  # type: ignore[union-attr]
        self.logger_metrics({"train/loss": loss, "train/lr": rate})
        self._require_sane("train/loss")
        self._recent.clear()

    def _summed(self, *numbers: float) -> list[float]:
        """Each of them summed over the ranks."""
        sums = torch.tensor(numbers, dtype=torch.float64)
        if self.trainer.world_size > 1:
            sums = sums.to(self.trainer.strategy.root_device)  # after training the module itself is back on the CPU
            dist.all_reduce(sums)
        return sums.tolist()

    def logger_metrics(self, metrics: dict[str, float]) -> None:
        """Send metrics to every logger, on the axis of optimizer steps."""
        self.logged |= metrics
        for logger in self.trainer.loggers:
            logger.log_metrics(metrics, step=self.trainer.global_step)

    def _require_sane(self, key: str) -> None:
        if not self.logged[key] < LOST:  # also false for NaN
            raise Diverged(
                f"training has diverged: {key} is {self.logged[key]} at step {self.trainer.global_step}; "
                "try a smaller model.lr, a longer schedule.warmup or a smaller trainer.clip",
                next((ids_B.tolist() for mean, ids_B in self._recent if not mean < LOST), []),
            )

    def validation_step(self, batch: B, batch_index: int) -> None:
        """Gather findings."""
        if batch.examples:  # a rank may have none, where there are fewer examples than ranks
            self._findings.append(self.examine(batch))

    def test_step(self, batch: B, batch_index: int) -> None:
        """Gather findings."""
        if batch.examples:  # a rank may have none, where there are fewer examples than ranks
            self._findings.append(self.examine(batch))

    def on_validation_epoch_end(self) -> None:
        """Score the validation split."""
        self._conclude("val")
        self.validated_step = self.trainer.global_step
        self._validated.append(self.evaluations["val"].metrics[self.monitor])
        self._require_sane("val/loss")
        if self._plateau is not None and self.trainer.state.fn == "fit":
            self._plateau.step(self._validated[-1])

    def is_best(self) -> bool:
        """Whether the last validation was better than all before it."""
        *before, last = (value if self.mode == "max" else -value for value in self._validated)
        return not before or last > max(before)

    def on_test_epoch_end(self) -> None:
        """Score the test split."""
        self._conclude("test")

    def _conclude(self, split: str) -> None:
        findings = sorted_by_id(_gathered(self._findings))
        self._findings = []
        evaluation = self.score(split, findings)
        self.evaluations[split] = evaluation
        self.log(f"{split}/{self.monitor}", evaluation.metrics[self.monitor], logger=False, batch_size=1)
        if split != "val" or self.trainer.global_step != self.validated_step:  # each step has each key once
            self.logger_metrics(evaluation.keys())

    def total_steps(self) -> int:
        """Optimizer steps of the run; where nothing but time ends it, more than it can take."""
        return int(min(self.trainer.estimated_stepping_batches, ENDLESS))

    def configure_optimizers(self) -> Any:
        """The optimizer, and its schedule stepped per optimizer step (or per validation, for plateau)."""
        optimizer = self._optimizer(self.parameters())
        fuse(optimizer, self.device)
        if self.lr is not None:
            for group in optimizer.param_groups:
                group["lr"] = self.lr
        schedule = self._schedule(optimizer, total_steps=self.total_steps())
        if isinstance(schedule, ReduceLROnPlateau):  # Lightning counts batches of an epoch, not validations: ours
            self._plateau = schedule
            return optimizer
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step", "frequency": 1}}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep what has been validated, what is not logged yet, and what plateau has seen."""
        loss, targets = self._summed(float(self._loss_since), self._targets_since)
        checkpoint["task"] = {
            "validated": self._validated,
            "validated_step": self.validated_step,
            "logged": self.logged,
            "logged_step": self._logged,
            "loss_since": loss,
            "targets_since": targets,
            "plateau": None if self._plateau is None else self._plateau.state_dict(),
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep it until training starts: the optimizers are made after this."""
        self._resumed = checkpoint["task"]

    def on_train_start(self) -> None:
        """Go on from what was kept."""
        if self._resumed is None:
            return
        kept, self._resumed = self._resumed, None
        self._validated, self.validated_step = list(kept["validated"]), kept["validated_step"]
        self.logged, self._logged = dict(kept["logged"]), kept["logged_step"]
        if self.trainer.is_global_zero:  # what was kept is the sum over the ranks
            self._loss_since, self._targets_since = kept["loss_since"], kept["targets_since"]
        if self._plateau is not None:
            self._plateau.load_state_dict(kept["plateau"])


def _gathered(findings: list[Finding]) -> list[Finding]:
    """The findings of all ranks."""
    if not (dist.is_available() and dist.is_initialized()):
        return findings
    ranks: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, findings)
    return [finding for rank in ranks for finding in rank]


def sorted_by_id(findings: list[Finding]) -> Finding:
    """One finding in input order; an example that came twice is an error."""
    columns = {name: [value for finding in findings for value in finding[name]] for name in findings[0]}
    order = sorted(range(len(columns["id"])), key=columns["id"].__getitem__)
    if len(set(columns["id"])) != len(order):
        raise RuntimeError("an example was evaluated twice")
    return {name: [values[place] for place in order] for name, values in columns.items()}
