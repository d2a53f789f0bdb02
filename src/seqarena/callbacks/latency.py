"""How long one text waits for its answer: after the test, texts one by one, as a service would send them."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import lightning as L
import torch

from seqarena.ranks import is_first

TEXTS = 20
"""At most so many are timed, evenly spaced over the test set ..."""
SECONDS = 2.0
"""... and no more once they have taken this long together, but three at least."""
WARM = 2
"""Texts before the clock starts."""


class Latency(L.Callback):
    """Adds `latency_ms` to the speed of the test's evaluation: the median over texts in batches of one.

    From token ids on the device to the answer (probabilities, or a translation by the search of the config); reading
    and tokenizing are left out. The first rank alone measures.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock

    @torch.inference_mode()
    def on_test_end(self, trainer: L.Trainer, pl_module: Any) -> None:
        """Time the answers."""
        if not is_first():
            return
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        count = data.table("test").num_rows
        places = range(0, count, max(1, count // TEXTS))[:TEXTS]
        with trainer.precision_plugin.forward_context():
            for place in places[:WARM]:
                self._seconds(pl_module, data.single("test", place))
            taken: list[float] = []
            for place in places:
                taken.append(self._seconds(pl_module, data.single("test", place)))
                if len(taken) >= 3 and sum(taken) > SECONDS:
                    break
        pl_module.evaluations["test"].speed["latency_ms"] = 1000 * median(taken)

    def _seconds(self, module: Any, batch: Any) -> float:
        source_1S, mask_1S = batch.source_BS.to(module.device), batch.mask_BS.to(module.device)
        self._wait(module.device)
        began = self._clock()
        module.answer(source_1S, mask_1S)
        self._wait(module.device)
        return self._clock() - began

    def _wait(self, device: torch.device) -> None:
        if device.type != "cpu":
            torch.accelerator.synchronize(device)
