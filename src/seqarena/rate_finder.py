"""Look for a learning rate (Smith 2017, "Cyclical Learning Rates", section 3.3): raise it step by step, watch the loss.

The rate grows by a constant factor each optimizer step, in the very loop that trains: same batches, clipping and
precision. The suggestion is where the smoothed loss falls fastest over the logarithm of the rate, on its way from where
it began to its lowest: if that is clearly farther than the noise of batches alone can carry it, else there is none.
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

from seqarena.errors import Diverged

LOWEST, HIGHEST, STEPS = 1e-6, 1.0, 100
WIDTH = 4.0
"""Of the bell curve that smooths the losses, in steps (one standard deviation)."""
FIRST = 10
"""Steps at the start that are not looked at, as few losses are averaged there."""
LEVEL = 20
"""Steps whose mean loss is where it began: at rates so low nothing is learned in them."""
CLEAR = 5.0
"""A fall of so many of its standard errors is one: noise alone reaches 4.3 in one curve of a thousand, as simulated."""
NO_FALL = (
    "no learning rate is suggested: the loss shows no clear fall beyond the noise of its batches; larger ones have less"
)
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


def find(
    trainer: L.Trainer, task: L.LightningModule, data: L.LightningDataModule, kept: Losses, folder: Path
) -> float | None:
    """Run the sweep, leave its numbers and its plot in `folder`, and return the suggested rate; None without one."""
    with suppress(Diverged):  # then the sweep has gone far enough
        trainer.fit(task, datamodule=data)
    losses = before_divergence(np.array(kept.losses))
    rates = LOWEST * (HIGHEST / LOWEST) ** (np.arange(len(losses)) / (STEPS - 1))
    smooth = smoothed(losses)
    rate = suggestion(rates, losses)
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


def suggestion(rates: np.ndarray, losses: np.ndarray) -> float | None:
    """The rate of steepest descent within the fall of the smoothed loss, to two digits; None without a clear fall.

    It is looked for in the middle half of the fall, as beside a shallow one noise may be steeper.
    """
    if len(losses) <= LEVEL:
        return None
    smooth, level = smoothed(losses), losses[:LEVEL].mean()
    lowest = FIRST + int(smooth[FIRST:].argmin())
    size = level - smooth[lowest]
    if size <= CLEAR * standard_error(losses[: max(lowest, LEVEL) + 1]):
        return None
    begin = int(max([FIRST, *np.flatnonzero(smooth[:lowest] >= level - size / 4)]))
    end = begin + int(np.argmax(smooth[begin:] <= level - 3 * size / 4))
    slope = np.gradient(smooth, np.log(rates))[begin : end + 1]
    return float(f"{rates[begin + int(slope.argmin())]:.1e}")


def standard_error(losses: np.ndarray) -> float:
    """Of a smoothed loss against the mean of the first ones, by what neighbours differ in beyond a steady trend."""
    noise = np.diff(losses).std() / math.sqrt(2)
    return float(noise * math.sqrt(1 / LEVEL + 1 / (2 * math.sqrt(math.pi) * WIDTH)))


def draw(rates: np.ndarray, losses: np.ndarray, smooth: np.ndarray, rate: float | None, path: Path) -> None:
    """A page with the curve, complete in itself."""
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.add_scatter(x=rates, y=losses, name="loss", mode="lines", line={"color": "lightgray"})
    figure.add_scatter(x=rates, y=smooth, name="smoothed", mode="lines", line={"color": "#1f5fa8"})
    if rate is not None:
        ends, mark = [float(losses.min()), float(losses.max())], f"model.lr={rate:.1e}"
        figure.add_scatter(x=[rate, rate], y=ends, name=mark, mode="lines", line={"dash": "dot"})
    figure.update_layout(title="Training loss while the learning rate rises", template="simple_white", hovermode="x")
    figure.update_xaxes(title="learning rate", type="log")
    figure.update_yaxes(title="loss")
    figure.write_html(path, include_plotlyjs=True)
