"""What others print is out of the way; what a person has to know is not."""

import logging
import warnings
from pathlib import Path

import pytest
from composing import composed
from omegaconf import DictConfig

from seqarena.quiet import LAUNCHER, quiet
from seqarena.soundness.card import Card, report_model


class Ear(logging.Handler):
    """Keeps what it hears."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append((record.levelname, record.getMessage()))


def test_the_death_of_a_rank_is_a_warning_and_other_notes_are_not_heard() -> None:
    quiet()
    fabric, ear = logging.getLogger("lightning.fabric"), Ear()
    fabric.addHandler(ear)
    logging.getLogger("lightning.fabric.utilities.seed").info("Seed set to 1")
    logging.getLogger(LAUNCHER).info("process 7 has ended")
    fabric.removeHandler(ear)
    assert ear.heard == [("WARNING", "process 7 has ended")]


def test_a_card_of_a_model_is_quiet_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def examined(model: DictConfig) -> Card:
        warnings.warn("TF32 acceleration on top of oneDNN is available for Intel GPUs.", stacklevel=1)
        return Card("lstm", "key", [])

    monkeypatch.setattr("seqarena.soundness.card.examine", examined)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        report_model(composed("model=lstm", f"cache={tmp_path}"))
    assert not heard
