"""Look for a learning rate (Smith 2017, "Cyclical Learning Rates", section 3.3): raise it step by step, watch the loss.

The rate grows by a constant factor each optimizer step, in the very loop that trains: same batches, clipping and
precision. The suggestion is where the smoothed loss falls fastest over the logarithm of the rate.
"""

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
from lightning.pytorch.loggers.logger import Logger
from omegaconf import DictConfig, OmegaConf

from seqarena.errors import Diverged, InputError

LOWEST, HIGHEST, STEPS = 1e-6, 1.0, 100
WIDTH = 4.0
"""Of the bell curve that smooths the losses, in steps (one standard deviation)."""
FIRST = 10
"""Steps at the start that are not looked at, as few losses are averaged there."""
JSON, PAGE = "lr_find.json", "lr_find.html"


def sweep_config(config: DictConfig) -> DictConfig:
    """The same run with a rising rate, STEPS steps long, never validated, each step logged."""
    asked = OmegaConf.to_container(config)
    assert isinstance(asked, dict)
    asked["schedule"] = {
        "_target_": "seqarena.tasks.schedules.rising",
        "_partial_": True,
        "lowest": LOWEST,
        "highest": HIGHEST,
    }
    asked["trainer"] |= {"max_steps": STEPS, "max_epochs": -1, "validate_every": None, "log_every": 1}
    return OmegaConf.create(asked)


class Losses(Logger):
    """Keeps the training loss of each step in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []

    @property
    def name(self) -> str:
        """Lightning wants one."""
        return "losses"

    @property
    def version(self) -> str:
        """Lightning wants one."""
        return ""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """One loss more, unless it is no number."""
        if math.isfinite(metrics.get("train/loss", math.nan)):
            self.losses.append(metrics["train/loss"])

    def log_hyperparams(self, *arguments: Any, **named: Any) -> None:
        """Nothing."""


def find(trainer: L.Trainer, task: L.LightningModule, data: L.LightningDataModule, kept: Losses, folder: Path) -> float:
    """Run the sweep, leave its numbers and its plot in `folder`, and return the suggested rate."""
    with suppress(Diverged):  # then the sweep has gone far enough
        trainer.fit(task, datamodule=data)
    losses = before_divergence(np.array(kept.losses))
    rates = LOWEST * (HIGHEST / LOWEST) ** (np.arange(len(losses)) / (STEPS - 1))
    smooth = smoothed(losses)
    rate = suggestion(rates, smooth)
    found = {"suggestion": rate, "rates": rates.tolist(), "losses": losses.tolist(), "smoothed": smooth.tolist()}
    if trainer.is_global_zero:
        (folder / JSON).write_text(json.dumps(found, indent=1), encoding="utf-8")
        draw(rates, losses, smooth, rate, folder / PAGE)
    return rate


def smoothed(losses: np.ndarray) -> np.ndarray:
    """Weighted means of neighbouring losses, without the lag of a running mean."""
    steps = np.arange(len(losses))
    weights = np.exp(-0.5 * ((steps[:, None] - steps[None, :]) / WIDTH) ** 2)
    return weights @ losses / weights.sum(1)


def before_divergence(losses: np.ndarray) -> np.ndarray:
    """The losses until one is half again as high as at the start."""
    too_high = losses > 1.5 * losses[:FIRST].mean()
    return losses[: int(too_high.argmax())] if too_high.any() else losses


def suggestion(rates: np.ndarray, smooth: np.ndarray) -> float:
    """The rate of steepest descent before the lowest smoothed loss, to two digits. InputError: the loss never falls."""
    lowest = int(smooth.argmin())
    if lowest <= FIRST + 1:
        raise InputError("the loss falls at no learning rate: look at the data, or at the model's initialisation")
    slope = np.gradient(smooth, np.log(rates))[FIRST:lowest]
    return float(f"{rates[FIRST + int(slope.argmin())]:.1e}")


def draw(rates: np.ndarray, losses: np.ndarray, smooth: np.ndarray, rate: float, path: Path) -> None:
    """A page with the curve, complete in itself."""
    import plotly.graph_objects as go

    top = float(losses[0] + 0.5 * (losses[0] - smooth.min()))
    figure = go.Figure()
    figure.add_scatter(x=rates, y=losses, name="loss", mode="lines", line={"color": "lightgray"})
    figure.add_scatter(x=rates, y=smooth, name="smoothed", mode="lines", line={"color": "#1f5fa8"})
    mark = f"model.lr={rate:.1e}"
    figure.add_scatter(x=[rate, rate], y=[float(smooth.min()), top], name=mark, mode="lines", line={"dash": "dot"})
    figure.update_layout(title="Training loss while the learning rate rises", template="simple_white", hovermode="x")
    figure.update_xaxes(title="learning rate", type="log")
    figure.update_yaxes(title="loss", range=[float(losses.min()) * 0.95, top])
    figure.write_html(path, include_plotlyjs=True)
