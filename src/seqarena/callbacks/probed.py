"""A task as probes see it: its encoder between embedded tokens and one output, on some examples."""

from collections.abc import Iterator
from typing import Any

import lightning as L
import numpy as np
import pyarrow.compute as pc
import torch
from torch import Tensor

from seqarena.data.batch import BEGIN, END, PAD, UNKNOWN, Batch, ClassificationBatch, TaggingBatch, TranslationBatch
from seqarena.data.batching import Drawn, plan
from seqarena.data.module import DataModule
from seqarena.probing.subject import Subject, Texts, last

TOKENS = 4096
"""The most padded tokens that are read at once: attention over them, with its gradients, is to fit beside a model."""
WORDS = 1 + max(PAD, UNKNOWN, BEGIN, END)
"""The first id that is a word."""


def subject_of(
    trainer: L.Trainer, task: Any, data: DataModule, examples: int, seed: int, split: str = "val"
) -> Subject:
    """`task` on so many examples of a split, on its device.

    What is read is what the task reads: a classification the summary of the text; elsewhere, where the state of every
    token counts, that of the last one.
    """
    drawn = [(indices, trainer.strategy.batch_to_device(batch)) for indices, batch in spaced(data, split, examples)]
    classifies = all(isinstance(batch, ClassificationBatch) for _, batch in drawn)
    parts = dict(task.named_children())

    def read(x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        encoded = task.encoder(x_BSD, mask_BS)
        return encoded.summary_BD if classifies else last(encoded.states_BSD, mask_BS)

    return Subject(
        embed=parts["source_embedding" if "source_embedding" in parts else "embedding"],
        read=read,
        decide=(lambda y_BD: task.head(y_BD).argmax(-1)) if "head" in parts else None,
        score=lambda number, source_BS: scores(task, drawn[number][1]._replace(source_BS=source_BS)),
        words=(WORDS, len(data.vocabulary.source)),
        texts=[texts_of(indices, batch) for indices, batch in drawn],
        seed=seed,
    )


def spaced(data: DataModule, split: str, examples: int) -> Iterator[tuple[list[int], Batch]]:
    """Evenly spaced examples of a split, or all of a smaller one: their numbers, and them as batches."""
    lengths_N = pc.list_value_length(data.table(split)["source_ids"]).to_numpy()
    chosen_n = np.linspace(0, len(lengths_N), min(examples, len(lengths_N)), endpoint=False).astype(int)
    dataset = {"val": data.val_dataloader, "test": data.test_dataloader}[split]().dataset
    for places in plan(lengths_N[chosen_n] + 1, TOKENS, None, 1, None):  # one more, as an end mark may be added
        indices = chosen_n[places].tolist()
        yield indices, dataset[Drawn(0, indices)]


def texts_of(indices: list[int], batch: Batch) -> Texts:
    """The side that the encoder reads. Marks have to stay where they are, and so do labelled tokens."""
    source_BS = batch.source_BS
    fixed_BS = (source_BS == BEGIN) | (source_BS == END)
    if isinstance(batch, TaggingBatch):
        fixed_BS[batch.row_Q, batch.place_Q] = True
    return Texts(torch.tensor(indices), source_BS, batch.mask_BS, fixed_BS)


def scores(task: Any, batch: Batch) -> dict[str, Tensor]:
    """Of each text (B,): the loss, and where there are classes, whether it is right; means over a text's own tokens."""
    if isinstance(batch, TranslationBatch):
        return {"loss": token_loss(task, batch)}
    found = task.examine(batch)
    labels = batch.label_Q if isinstance(batch, TaggingBatch) else batch.label_B
    rows = batch.row_Q if isinstance(batch, TaggingBatch) else torch.arange(batch.examples)
    right = torch.tensor(found["predicted"]) == labels.cpu()
    return {
        name: _by_text(values.double(), rows.cpu(), batch.examples)
        for name, values in (("accuracy", right), ("loss", torch.tensor(found["loss"])))
    }


def _by_text(values_N: Tensor, rows_N: Tensor, texts: int) -> Tensor:
    """The mean of each text's values; NaN where it has none."""
    sums_B, counts_B = torch.zeros(2, texts, dtype=torch.double)
    return sums_B.index_add(0, rows_N, values_N) / counts_B.index_add(0, rows_N, torch.ones_like(values_N))


def token_loss(task: Any, batch: TranslationBatch) -> Tensor:
    """The mean loss of each reference's tokens (B,), end marks among them."""
    y_BTD, _ = task(batch)
    loss_BT = torch.nn.functional.cross_entropy(
        task.output(y_BTD).float().transpose(1, 2), batch.wanted_BT, ignore_index=PAD, reduction="none"
    )
    return loss_BT.sum(1) / (batch.wanted_BT != PAD).sum(1)
