"""How large a model is, and how much arithmetic it costs: counted by torch on one sentence of average length.

Convention: two operations a multiply-add; matrix products, convolutions and recurrences count, element-wise work,
softmax, normalisation and look-ups do not. A token is what speed counts: source and target tokens together, marks
included. The backward pass costs twice the forward pass, so training is three forward passes over all tokens seen.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from seqarena.data.batch import UNKNOWN, Batch, ClassificationBatch, TranslationBatch
from seqarena.data.examples import classification_batch, tagging_batch, translation_batch

FORWARD_AND_BACKWARD = 3


def parameters(task: nn.Module) -> dict[str, int]:
    """How many numbers are trained: in token embeddings (with an output layer tied to one), elsewhere, in all."""
    sizes = {name: parameter.numel() for name, parameter in task.named_parameters()}
    embedding = sum(size for name, size in sizes.items() if name.endswith("embedding.table.weight"))
    total = sum(sizes.values())
    return {"total": total, "embedding": embedding, "other": total - embedding}


def flops_per_token(task: nn.Module, batch: Batch) -> float:
    """Operations of a forward pass, output layer included, per real token of `batch`; the task lies on the CPU.

    torch counts nothing inside oneDNN's recurrences, so they are switched off meanwhile.
    """
    training = task.training
    task.eval()
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
        _logits(task, batch)
    task.train(training)
    return counter.get_total_flops() / batch.tokens


def _logits(task: nn.Module, batch: Batch) -> Tensor:
    if isinstance(batch, TranslationBatch):
        y_BTD, _ = task(batch)
        return task.output(y_BTD)  # type: ignore[operator]
    return task(batch.source_BS, batch.mask_BS) if isinstance(batch, ClassificationBatch) else task(batch)


def training_flops(forward_per_token: float, tokens: float) -> float:
    """Operations of training on `tokens`."""
    return FORWARD_AND_BACKWARD * forward_per_token * tokens


def average_batch(table: pa.Table, max_length: int | None) -> Batch:
    """One example of unknown words, as long as the prepared examples of `table` are on average; texts are cut there.

    It has as many labelled tokens, too.
    """
    source = _words(table["source_ids"], max_length)
    if "target_ids" in table.column_names:
        return translation_batch([0], [source], [_words(table["target_ids"], None)])
    if "places" in table.column_names:
        places = np.arange(len(_words(table["places"], len(source))))
        return tagging_batch([0], [source], [places], [np.zeros_like(places)], np.zeros(1, np.int64))
    return classification_batch([0], [source], torch.zeros(1, dtype=torch.long))


def _words(ids: pa.ChunkedArray, max_length: int | None) -> np.ndarray:
    lengths = pc.list_value_length(ids).to_numpy()
    return np.full(max(1, round(lengths.clip(max=max_length).mean())), UNKNOWN, np.int64)
