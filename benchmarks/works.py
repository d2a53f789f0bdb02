"""The work that training benchmarks measure: what `train.py` is asked for, and the same model by hand."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from torch import nn

ROOT = Path(__file__).resolve().parents[1]

WARM = 8
"""Optimizer steps of a run that come before the clock."""
SHORT = "-1024"
"""Ends the name of a work with batches of 1,024 tokens, both sides together; others have 4,096."""


def composed(options: Sequence[str]) -> DictConfig:
    """The config of train.py with these options."""
    os.environ["SEQARENA_ROOT"] = str(ROOT)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("train", list(options))


class Work(NamedTuple):
    """`options` for train.py; `model` is made of the vocabulary's size and the number of classes.

    `steps` are timed: a multiple of WARM.
    """

    options: Sequence[str]
    model: Callable[[int, int], nn.Module]
    steps: int


def works() -> dict[str, Work]:
    """By name. Hand-written models are of the same sizes, but for the scales of their last norms."""
    from tight import classifiers, lstm, transformer

    wide = ["model.dim=256", "model.dropout=0.1", "task.label_smoothing=0.1"]
    narrow = ["model.dropout=0.1", "task.head_dropout=0.5"]
    large = Work(
        ["model=transformer", *wide, "model.layers=3", "model.feedforward=1024"],
        lambda words, _: transformer.Translator(words, 256, 3, 4, 1024, 0.1),
        32,
    )
    return {
        "transformer-translation": large,
        f"transformer-translation{SHORT}": large._replace(steps=120),
        "lstm-translation": Work(
            ["model=lstm", *wide, "model.input_feeding=false"],
            lambda words, _: lstm.Translator(words, 256, False, 0.1),
            48,
        ),
        "lstm-feeding-translation": Work(
            ["model=lstm", *wide, "model.input_feeding=true"],
            lambda words, _: lstm.Translator(words, 256, True, 0.1),
            32,
        ),
        "textcnn-classification": Work(
            ["model=textcnn", *narrow, "model.dim=300"], lambda words, n: classifiers.TextCNN(words, 300, n, 0.1), 152
        ),
        "lstm-classification": Work(
            ["model=lstm", *narrow, "model.dim=256"], lambda words, n: classifiers.Recurrent(words, 256, n, 0.1), 152
        ),
        "transformer-classification": Work(
            ["model=transformer", *narrow, "model.dim=256", "model.feedforward=1024"],
            lambda words, n: classifiers.Transformer(words, 256, n, 0.1),
            152,
        ),
    }


def timed_options(name: str, options: Sequence[str]) -> list[str]:
    """`options` for a run of train.py that is measured: the work's steps and a log every WARM of them, nothing else."""
    asked = ["trainer.max_epochs=null", f"trainer.max_steps={WARM + works()[name].steps}", "logger=none"]
    asked += [f"trainer.log_every={WARM}", "trainer.validate_every=1000000"]
    asked += ["task.decoding.ratio=0", "task.decoding.extra=1"] if "translation" in name else []
    return [*options, *asked]


def data_options(name: str, translation: str | None, classification: str | None) -> list[str]:
    """Where the work's data comes from: your folders, or generated stand-ins of about the same lengths."""
    if "translation" in name:
        of = ["data=multi30k", f"data.path={translation}"] if translation else ["data=numbers"]
        tokens = f"data.batch_tokens={512 if name.endswith(SHORT) else 2048}"  # of the longer side
        return [*of, "data.source=en", "data.target=de", "data.tokenizer.vocabulary=8000", tokens]
    of = ["data=csv", f"data.path={classification}"] if classification else ["data=agreement"]
    return [*of, "data.batch_examples=50"]
