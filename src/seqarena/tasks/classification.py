"""Classification: one label a text, read off the encoder's summary."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from seqarena.data.batch import ClassificationBatch
from seqarena.models.contract import Encoder
from seqarena.tasks.embedding import EmbeddingOptions
from seqarena.tasks.labelling import Labelling, judged
from seqarena.tasks.sharding import mine
from seqarena.tasks.task import Answer, Finding


class Classification(Labelling[ClassificationBatch]):
    """One label a text, from the encoder's summary; cross-entropy.

    `max_norm` bounds the length of each class's weight vector after every step (Kim 2014, section 2.1), or is null.
    In training the data may weigh the classes; validation and test never do.
    """

    def __init__(
        self,
        encoder: Encoder,
        vocabulary: int,
        classes: Sequence[str],
        embedding: EmbeddingOptions,
        head_dropout: float,
        label_smoothing: float,
        max_norm: float | None,
        optimizer: Callable[..., Optimizer],
        schedule: Callable[..., Any],
        log_every: int,
    ) -> None:
        super().__init__(
            encoder, vocabulary, classes, embedding, head_dropout, label_smoothing, optimizer, schedule, log_every
        )
        self.max_norm = max_norm
        self._weight_C: Tensor | None = None

    def forward(self, source_BS: Tensor, mask_BS: Tensor) -> Tensor:
        """Logits (B, classes)."""
        return self.head(self.dropout(self.encoder(self.embedding(source_BS), mask_BS).summary_BD))

    def on_fit_start(self) -> None:
        """Take over what each class counts."""
        weights = self.trainer.datamodule.class_weights()  # type: ignore[attr-defined]
        self._weight_C = None if weights is None else torch.tensor(weights, device=self.device)

    def loss(self, batch: ClassificationBatch) -> Tensor:
        """Summed cross-entropy, each example times the weight of its class.

        The weights are 1 on average over the training examples, so the number of examples is what it is a mean over.
        """
        logits_BC = self.forward(batch.source_BS, batch.mask_BS).float()
        loss_B = nn.functional.cross_entropy(
            logits_BC, batch.label_B, reduction="none", label_smoothing=self.label_smoothing
        )
        weighted_B = loss_B if self._weight_C is None else loss_B * self._weight_C[batch.label_B]
        return weighted_B.sum()  # autocast would round a product of vectors

    def optimizer_step(self, epoch: int, batch_idx: int, optimizer: Any, optimizer_closure: Any = None) -> None:
        """Take it, and hold the weights of the head within `max_norm`: not between the batches of a step."""
        super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)
        if self.max_norm is not None:
            with torch.no_grad():
                mine(self.head.weight).renorm_(2, 0, self.max_norm)

    def examine(self, batch: ClassificationBatch) -> Finding:
        """The predicted class, its probability, and the loss of the true one."""
        return judged(batch.id_B, self.forward(batch.source_BS, batch.mask_BS), batch.label_B)

    def answer(self, source_BS: Tensor, mask_BS: Tensor) -> list[Answer]:
        """The most probable label of each text, and the probability of all, highest first."""
        order = self.forward(source_BS, mask_BS).float().softmax(-1).sort(descending=True)
        named = [
            {self.classes[place]: value for value, place in zip(values, places, strict=True)}
            for values, places in zip(order.values.tolist(), order.indices.tolist(), strict=True)
        ]
        return [Answer(next(iter(probabilities)), probabilities) for probabilities in named]
