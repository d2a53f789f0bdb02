"""A bare training loop on the batches that the framework makes: python benchmarks/loop.py SIDE WORK [options]

SIDE is `bare` (our model), `tight` (the same by hand) or `huggingface` (Marian as transformers ships it). Prints
real tokens and examples a second as JSON. What may be left out is left out: no trainer, no log, no checkpoint, no
check of the loss; only forward, backward, clipping and AdamW.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice

import torch
from marian import marian
from omegaconf import DictConfig
from torch import Tensor, nn
from works import WARM, composed, works

from seqarena.callbacks.peak import dtype
from seqarena.data.batch import Batch, ClassificationBatch
from seqarena.data.vocabulary import Vocabulary
from seqarena.device import available_cores, prepare_cpu
from seqarena.runs import build_data, build_task

Loss = Callable[[Batch], Tensor]
"""The mean loss of a batch."""


def bare(work: str, config: DictConfig, vocabulary: Vocabulary) -> tuple[nn.Module, Loss]:
    """Our own model: what is left of the time is what Lightning, callbacks and logs take."""
    task = build_task(config, vocabulary).train()
    return task, lambda batch: task.loss(batch) / batch.targets


def tight(work: str, config: DictConfig, vocabulary: Vocabulary) -> tuple[nn.Module, Loss]:
    """The model by hand."""
    model = works()[work].model(len(vocabulary.source), len(vocabulary.labels or ()))

    def loss(batch: Batch) -> Tensor:
        if isinstance(batch, ClassificationBatch):
            return model(batch.source_BS, batch.label_B) / batch.targets
        return model(batch.source_BS, batch.given_BT, batch.wanted_BT, 0.1) / batch.targets

    return model, loss


def huggingface(work: str, config: DictConfig, vocabulary: Vocabulary) -> tuple[nn.Module, Loss]:
    """Marian of the size of `transformer-translation`, with its own loss (without label smoothing)."""
    model = marian(len(vocabulary.source)).train()

    def loss(batch: Batch) -> Tensor:
        return model(
            input_ids=batch.source_BS,
            attention_mask=batch.mask_BS.long(),
            decoder_input_ids=batch.given_BT,
            labels=batch.wanted_BT.masked_fill(batch.wanted_BT == 0, -100),
        ).loss

    return model, loss


SIDES = {"bare": bare, "tight": tight, "huggingface": huggingface}


def updating(model: nn.Module, loss: Loss, config: DictConfig) -> Callable[[Batch], None]:
    """What makes one update of the model by a batch, in the config's precision."""
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, betas=(0.9, 0.98))
    kind = dtype(config.trainer.precision)

    def update(batch: Batch) -> None:
        with torch.autocast("cpu", kind, enabled=kind != torch.float32):
            mean = loss(batch)
        mean.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return update


def size(model: nn.Module) -> int:
    """The number of its weights."""
    return sum(one.numel() for one in model.parameters())


def speed(batches: Iterator[Batch], update: Callable[[Batch], None], steps: int) -> dict[str, float]:
    """Real tokens and examples a second of so many steps behind the first WARM."""
    for batch in islice(batches, WARM):
        update(batch)
    tokens = examples = 0
    began = time.perf_counter()
    for batch in islice(batches, steps):
        update(batch)
        tokens, examples = tokens + batch.tokens, examples + batch.examples
    seconds = time.perf_counter() - began
    return {"tokens": tokens / seconds, "examples": examples / seconds}


def main(side: str, work: str, options: list[str]) -> None:
    """Train for the work's steps."""
    config = composed(options)
    if side == "huggingface":
        torch.set_num_threads(available_cores())
    else:
        prepare_cpu()
    data = build_data(config)
    data.prepare_data()
    data.setup()
    model, loss = SIDES[side](work, config, data.vocabulary)
    found = speed(cycle(data.train_dataloader()), updating(model, loss, config), works()[work].steps)
    print(json.dumps({**found, "parameters": size(model)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
