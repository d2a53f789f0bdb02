"""Probes of a run: the model looked at before its first step and, with its best weights, after its last."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lightning as L
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from seqarena.callbacks.probed import subject_of
from seqarena.data.module import DataModule
from seqarena.probing.attention_maps import Map, maps
from seqarena.probing.page import draw
from seqarena.probing.probes import ATTENTION, ProbeOptions, probed
from seqarena.probing.subject import Subject
from seqarena.ranks import is_first
from seqarena.record import Record

MAPS, PAGE = "attention.parquet", "probes.html"
START, END = "start", "end"

log = logging.getLogger(__name__)


class Probes(L.Callback):
    """Fills `record.probes`, and `record.metrics` with the numbers at the end; logs all; leaves maps and a page.

    Nothing of it reaches the training: the weights at the end are those of a run without probes, bit for bit, and its
    clock stands still meanwhile. On a CPU `memory/training_mib` is what training takes beyond the probes before it.
    Every rank measures the same, the first one writes.
    """

    def __init__(self, options: ProbeOptions, data: DataModule, record: Record, folder: Path) -> None:
        self._options, self._data, self._record, self._folder = options, data, record, folder

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Before anything is trained; a run that goes on has been looked at already."""
        if START not in self._record.probes and trainer.ckpt_path is None:
            self._look(trainer, pl_module, START)

    def on_test_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The weights that are tested; what is measured is validation all the same, and maps are of test texts."""
        numbers = self._look(trainer, pl_module, END)
        self._record.metrics |= {f"probe/{name}": value for name, value in numbers.items()}
        shown = self._maps(trainer, pl_module) if ATTENTION in self._record.probes[END] else []
        if is_first():
            self._show(shown)

    def _subject(self, trainer: L.Trainer, module: Any, split: str) -> Subject:
        return subject_of(trainer, module, self._data, self._options.examples, self._record.seed, split)

    def _maps(self, trainer: L.Trainer, module: Any) -> list[Map]:
        """Of a few test texts, for people to look at beside the answers to them."""
        with untouched(module):
            return maps(self._subject(trainer, module, "test"))

    def _look(self, trainer: L.Trainer, module: Any, when: str) -> dict[str, float]:
        """All probes: what they find goes to record and loggers; their numbers."""
        with untouched(module):
            found = probed(self._subject(trainer, module, "val"), self._options.kinds)
        self._record.probes[when] = {kind: finding.plain() for kind, finding in found.items()}
        if is_first():  # at once: a run that is killed and goes on is not looked at as if it had not begun
            self._record.write(self._folder)
        module.logger_metrics({key: value for finding in found.values() for key, value in finding.keys().items()})
        numbers = {name: one.value for finding in found.values() for name, one in finding.numbers.items()}
        if silent := [kind for kind in self._options.kinds if kind not in found]:
            log.info("nothing to see in this model for: %s", ", ".join(silent))
        log.info("probes at the %s: %s", when, ", ".join(f"{name} {value:.4g}" for name, value in numbers.items()))
        return numbers

    def _show(self, shown: Sequence[Map]) -> None:
        """The maps as a table, and the page."""
        tokenizer = self._data.vocabulary.source
        words = [[tokenizer.decode([token]) for token in one.source_n.tolist()] for one in shown]
        if shown:
            write(shown, words, self._folder / MAPS)
        draw(self._record.run, self._record.probes, shown, words, self._folder / PAGE)


@contextmanager
def untouched(module: torch.nn.Module) -> Iterator[None]:
    """The module in evaluation mode; afterwards every mode and all random states are as they were.

    Lightning tests in inference mode, which knows no gradients: it is left meanwhile.
    """
    modes = [(part, part.training) for part in module.modules()]
    device = next(module.parameters()).device
    module.eval()
    with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.inference_mode(False):
        yield
    for part, mode in modes:
        part.training = mode


def write(shown: Sequence[Map], words: Sequence[Sequence[str]], path: Path) -> None:
    """A row a head and text: the id of the test example, its tokens, the weights row by row."""
    table = pa.table(
        {
            "id": [one.example for one in shown],
            "tokens": words,
            "layer": pa.array([one.layer for one in shown], pa.int16()),
            "head": pa.array([one.head for one in shown], pa.int16()),
            "weights": pa.array([one.weights_nn.flatten().half().numpy() for one in shown], pa.list_(pa.float16())),
        }
    )
    part = path.with_name(f".{path.name}.part")
    pq.write_table(table, part, compression="zstd")
    part.replace(path)
