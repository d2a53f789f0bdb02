"""What a person sees while a run goes on: bars on a terminal, a line for each validation elsewhere."""

import math
from typing import Any

import lightning as L
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from seqarena.ranks import is_first

STAGES = {"val": "validation", "test": "test"}


class Bars(L.Callback):
    """A bar of optimizer steps with speed, loss and score, and one of batches for each evaluation.

    The module it watches keeps the newest value of every key in `logged`, and names its `monitor` and `mode`.
    """

    def __init__(self, console: Console) -> None:
        self._bars = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[told]}"),
            TextColumn("[dim]left"),
            TimeRemainingColumn(compact=True),
            console=console,
            refresh_per_second=2,
        )
        self._train: TaskID | None = None
        self._evaluation: TaskID | None = None
        self._best: float | None = None

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Show the bar of the whole run."""
        tell_resumed(trainer, self._bars.console)
        total = trainer.estimated_stepping_batches
        self._train = self._bars.add_task(
            "train", total=int(total) if total != float("inf") else None, completed=trainer.global_step, told=""
        )
        self._bars.start()

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: Any, *batch: Any) -> None:
        """Move on by an optimizer step."""
        if self._train is not None:
            self._bars.update(self._train, completed=trainer.global_step, told=told(trainer, pl_module, self._best))

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """A bar for the validation."""
        self._start(STAGES["val"], sum(trainer.num_val_batches))

    def on_test_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """A bar for the test."""
        self._start(STAGES["test"], sum(trainer.num_test_batches))

    def _start(self, name: str, batches: float) -> None:
        self._evaluation = self._bars.add_task(name, total=batches, told="")
        self._bars.start()

    def on_validation_batch_end(self, *arguments: Any) -> None:
        """Move on by a batch."""
        self._advance()

    def on_test_batch_end(self, *arguments: Any) -> None:
        """Move on by a batch."""
        self._advance()

    def _advance(self) -> None:
        if self._evaluation is not None:
            self._bars.advance(self._evaluation)

    def on_validation_end(self, trainer: L.Trainer, pl_module: Any) -> None:
        """Back to training."""
        self._best = better(self._best, pl_module)
        if self._train is not None:
            self._bars.update(self._train, told=told(trainer, pl_module, self._best))
        self._finish(trainer)

    def on_test_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The end."""
        self._finish(trainer)

    def _finish(self, trainer: L.Trainer) -> None:
        if self._evaluation is not None:
            self._bars.remove_task(self._evaluation)
            self._evaluation = None
        if not trainer.training:
            self._bars.stop()

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The run's bar stays on the screen as it is."""
        self._bars.stop()

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        """Give the terminal back."""
        self._bars.stop()


class Lines(L.Callback):
    """One plain line for each validation, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._best: float | None = None
        self._total: float = 0

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The length of the run, asked for here, where no rank has to wait for the others to answer."""
        tell_resumed(trainer, self._console)
        self._total = trainer.estimated_stepping_batches

    def on_validation_end(self, trainer: L.Trainer, pl_module: Any) -> None:
        """Say where the run stands."""
        self._best = better(self._best, pl_module)
        place = f"step {trainer.global_step}" + (f"/{self._total}" if math.isfinite(self._total) else "")
        line = f"{place}  {told(trainer, pl_module, self._best)}"
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)


def progress(console: Console) -> L.Callback:
    """Bars on a terminal, lines elsewhere, nothing on all ranks but the first."""
    if not is_first():
        return L.Callback()
    return Bars(console) if console.is_terminal and not console.is_dumb_terminal else Lines(console)


def tell_resumed(trainer: L.Trainer, console: Console) -> None:
    """Say where a run goes on that was interrupted."""
    if trainer.global_step:
        console.print(f"going on from step {trainer.global_step}", highlight=False)


def better(best: float | None, module: Any) -> float:
    """The better of `best` and the last validation."""
    last = module.logged[f"val/{module.monitor}"]
    return last if best is None else (max if module.mode == "max" else min)(best, last)


def told(trainer: L.Trainer, module: Any, best: float | None) -> str:
    """Epoch, speed, the last loss, the last and the best score: as much of it as there is."""
    logged, monitor = module.logged, f"val/{module.monitor}"
    begun = trainer.fit_loop.epoch_progress.current.ready  # Lightning's current_epoch counts on when training ends
    parts = [f"epoch {begun}"] if math.isfinite(trainer.num_training_batches) else []
    if "speed/tokens_per_s" in logged:
        parts.append(f"{logged['speed/tokens_per_s']:,.0f} tokens/s")
    if "train/loss" in logged:
        parts.append(f"loss {logged['train/loss']:.3f}")
    if best is not None:
        parts.append(f"{monitor} {logged[monitor]:.4g} (best {best:.4g})")
    return "  ".join(parts)
