"""Prepared examples as batches of a DataLoader, and the options that say how."""

from dataclasses import dataclass

import lightning as L
import numpy as np
import torch
from torch.utils.data import DataLoader

from seqarena.data.augmentation import Noise, Reading
from seqarena.data.batching import TokenBatches
from seqarena.data.examples import Examples
from seqarena.errors import InputError

AUTO = "auto"
START = 4096
"""What a batch holds at most, in tokens, while `auto` is not settled yet (seqarena.budget.batch)."""
SAMPLING = ("all", "oversample")
"""Every training example once an epoch; or those of the rarer classes repeated until all classes are as frequent."""


@dataclass(frozen=True)
class BatchOptions:
    """How batches are made, and how much each example counts in training.

    Sizes are limits a batch; `seed` orders the training batches and draws their noise, of which word dropout and word
    swap are shares of the source tokens. `class_weights` makes every class count as much as any other in the loss.
    Without `bucketing` training batches hold examples of any length, always as many as the limits allow of the longest.
    """

    tokens: int
    examples: int | None
    workers: int
    seed: int
    sampling: str = "all"
    class_weights: bool = False
    word_dropout: float = 0.0
    word_swap: float = 0.0
    bucketing: bool = True

    def __post_init__(self) -> None:
        if self.sampling not in SAMPLING:
            raise InputError(f"data.sampling={self.sampling} is not known: choose one of {', '.join(SAMPLING)}")
        if self.sampling == "oversample" and self.class_weights:
            raise InputError(
                "data.sampling=oversample and data.class_weights=true would make up for rare classes twice: "
                "write one of them"
            )

    def refuse_unfit(self, examples: Examples) -> None:
        """InputError if texts are to have classes that have none, or labelled tokens are to change their places."""
        for option, chosen in (
            ("sampling=oversample", self.sampling == "oversample"),
            ("class_weights=true", self.class_weights),
        ):
            if chosen and examples.classes_N is None:
                raise InputError(f"data.{option} needs a class for each text, as a classification has: leave it out")
        if self.word_swap and examples.tags is not None:
            raise InputError(f"data.word_swap={self.word_swap} would move tokens away from their labels: leave it out")

    def planned(self, examples: Examples) -> np.ndarray:
        """The lengths that training batches are planned by: without bucketing all alike, so that they stay shuffled."""
        lengths_N = examples.lengths()
        return lengths_N if self.bucketing else np.full_like(lengths_N, lengths_N.max(initial=0))

    def noise(self) -> Noise:
        """What training does to source tokens."""
        return Noise(self.word_dropout, self.word_swap)


def pins(trainer: L.Trainer | None) -> bool:
    """Whether batches go to a CUDA GPU: from pinned memory it takes them while it works."""
    return trainer is not None and trainer.strategy.root_device.type == "cuda"


def loader(
    examples: Examples, options: BatchOptions, seed: int | None, rank: int, ranks: int, pinned: bool = False
) -> DataLoader:
    """Batches of `examples` for one rank: for training with a `seed`; without one as they are, in plan order."""
    training = seed is not None
    if training:
        options.refuse_unfit(examples)
    classes_N = examples.classes_N if training and options.sampling == "oversample" else None
    lengths_N = options.planned(examples) if training else examples.lengths()
    noise = options.noise() if training else Noise()
    return DataLoader(
        Reading(examples, noise, seed or 0),  # type: ignore[arg-type]
        sampler=TokenBatches(lengths_N, options.tokens, options.examples, seed, rank, ranks, classes_N),
        batch_size=None,
        num_workers=options.workers,
        pin_memory=pinned,
        generator=torch.Generator(),  # a loader draws a number for its workers, which must not come out of the model's
        persistent_workers=options.workers > 0,
    )
