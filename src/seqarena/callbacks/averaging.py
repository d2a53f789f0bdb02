"""Keeps the weights of the last epochs and averages them at the end (Vaswani et al. 2017, section 6.1)."""

from pathlib import Path

import lightning as L
import torch
from torch import Tensor

from seqarena.checkpoints import write


class LastWeights(L.Callback):
    """After each epoch the weights go to `folder`; the newest `count` stay."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self._count = folder, count

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Save and forget the oldest; only rank 0 writes."""
        weights = trainer.strategy.lightning_module_state_dict()  # put together by all ranks, where each has a slice
        if not trainer.is_global_zero:
            return
        path = self._folder / f"step-{trainer.global_step:08d}.ckpt"
        write(weights, path)
        for old in self.kept()[: -self._count]:
            old.unlink()

    def kept(self) -> list[Path]:
        """The files, oldest first."""
        return sorted(self._folder.glob("step-*.ckpt"))

    def average(self) -> dict[str, Tensor]:
        """The mean of the kept weights, in double precision while summing."""
        paths = self.kept()
        first = torch.load(paths[0], weights_only=True, map_location="cpu")
        total = {name: value.double() for name, value in first.items()}
        for path in paths[1:]:
            for name, value in torch.load(path, weights_only=True, map_location="cpu").items():
                total[name] += value
        return {name: (value / len(paths)).to(first[name].dtype) for name, value in total.items()}
