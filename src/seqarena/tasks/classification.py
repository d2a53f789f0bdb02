"""Classification: one label a text, read off the encoder's summary."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torchmetrics.functional.classification import multiclass_confusion_matrix

from seqarena.data.batch import ClassificationBatch
from seqarena.evaluation import Bucket, Evaluation, by_bucket
from seqarena.models.contract import Encoder
from seqarena.models.dropout import Dropout
from seqarena.tasks.embedding import EmbeddingOptions, TokenEmbedding
from seqarena.tasks.task import Answer, Finding, SequenceTask


class Classification(SequenceTask[ClassificationBatch]):
    """Embedding, encoder, dropout, linear layer; cross-entropy. Selected by validation accuracy.

    `max_norm` bounds the length of each class's weight vector after every step (Kim 2014, section 2.1), or is null.
    In training the data may weigh the classes; validation and test never do.
    """

    monitor, mode = "accuracy", "max"

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
        super().__init__(optimizer, schedule, log_every)
        self.classes, self.label_smoothing, self.max_norm = list(classes), label_smoothing, max_norm
        self._weight_C: Tensor | None = None
        self.embedding = TokenEmbedding(vocabulary, encoder.dim, embedding)
        self.encoder = encoder
        self.dropout = Dropout(head_dropout)
        self.head = nn.Linear(encoder.dim, len(classes))
        nn.init.xavier_uniform_(self.head.weight)
        nn.init.zeros_(self.head.bias)

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
        logits_BC = self(batch.source_BS, batch.mask_BS).float()
        loss_B = nn.functional.cross_entropy(
            logits_BC, batch.label_B, reduction="none", label_smoothing=self.label_smoothing
        )
        return loss_B.sum() if self._weight_C is None else loss_B @ self._weight_C[batch.label_B]

    def on_train_batch_end(self, outputs: Any, batch: ClassificationBatch, batch_index: int) -> None:
        """Log, and hold the weights of the head within `max_norm`."""
        super().on_train_batch_end(outputs, batch, batch_index)
        if self.max_norm is not None:
            with torch.no_grad():
                self.head.weight.renorm_(2, 0, self.max_norm)

    def examine(self, batch: ClassificationBatch) -> Finding:
        """The predicted class, its probability, and the loss of the true one."""
        log_BC = self(batch.source_BS, batch.mask_BS).float().log_softmax(-1)
        best = log_BC.max(-1)
        loss_B = -log_BC.gather(1, batch.label_B[:, None])[:, 0]
        return {
            "id": batch.id_B.tolist(),
            "predicted": best.indices.tolist(),
            "confidence": best.values.exp().tolist(),
            "loss": loss_B.tolist(),
        }

    def answer(self, source_BS: Tensor, mask_BS: Tensor) -> list[Answer]:
        """The most probable label of each text, and the probability of all, highest first."""
        order = self(source_BS, mask_BS).float().softmax(-1).sort(descending=True)
        named = [
            {self.classes[place]: value for value, place in zip(values, places, strict=True)}
            for values, places in zip(order.values.tolist(), order.indices.tolist(), strict=True)
        ]
        return [Answer(next(iter(probabilities)), probabilities) for probabilities in named]

    def score(self, split: str, findings: Finding) -> Evaluation:
        """Accuracy, macro-F1 and loss: over all, by stratum, by class; the data's baselines beside them."""
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        table = data.table(split).take(findings["id"])
        truth, predicted, loss = table["class"].to_pylist(), findings["predicted"], findings["loss"]
        metrics, confusion, per_class = classification_scores(truth, predicted, loss, self.classes)
        labels = table["label"].to_pylist()
        for name in data.baselines:
            right = sum(a == b for a, b in zip(table[name].to_pylist(), labels, strict=True))
            metrics[f"accuracy/baseline={name}"] = right / len(labels)
        return Evaluation(
            split,
            metrics,
            {
                axis: [
                    _bucket(
                        name, [truth[i] for i in at], [predicted[i] for i in at], [loss[i] for i in at], self.classes
                    )
                    for name, at in by_bucket(table[axis].to_pylist(), edges)
                ]
                for axis, edges in data.buckets.items()
                if axis in table.column_names
            },
            self._examples(table, findings),
            confusion=confusion,
            classes=self.classes,
            per_class=per_class,
        )

    def _examples(self, table: pa.Table, findings: Finding) -> pa.Table:
        examples = table.drop_columns(["source_ids", "class"])
        predictions = [self.classes[number] for number in findings["predicted"]]
        correct = [a == b for a, b in zip(predictions, table["label"].to_pylist(), strict=True)]
        for name, column in (
            ("prediction", predictions),
            ("correct", correct),
            ("confidence", findings["confidence"]),
            ("loss", findings["loss"]),
        ):
            examples = examples.append_column(name, pa.array(column))
        return examples


def _bucket(name: str, truth: list[int], predicted: list[int], loss: list[float], classes: list[str]) -> Bucket:
    metrics, _, _ = classification_scores(truth, predicted, loss, classes)
    return {"bucket": name, "n": len(truth), **metrics}


def classification_scores(
    truth: list[int], predicted: list[int], loss: list[float], classes: list[str]
) -> tuple[dict[str, float], list[list[int]], list[Bucket]]:
    """Accuracy, macro-F1 and mean loss; the confusion matrix (rows: truth); precision, recall and F1 of each class.

    Macro-F1 is the mean over the classes that the reference holds: a class absent from it changes nothing.
    """
    counts_CC = multiclass_confusion_matrix(torch.tensor(predicted), torch.tensor(truth), len(classes)).double()
    hits_C, true_C, called_C = counts_CC.diag(), counts_CC.sum(1), counts_CC.sum(0)
    recall_C, precision_C = hits_C / true_C.clamp(min=1), hits_C / called_C.clamp(min=1)
    f1_C = 2 * hits_C / (true_C + called_C).clamp(min=1)
    metrics = {
        "accuracy": (hits_C.sum() / counts_CC.sum()).item(),
        "f1_macro": f1_C[true_C > 0].mean().item(),
        "loss": sum(loss) / len(loss),
    }
    per_class: list[Bucket] = [
        {
            "bucket": name,
            "n": int(true_C[place]),
            "precision": precision_C[place].item(),
            "recall": recall_C[place].item(),
            "f1": f1_C[place].item(),
        }
        for place, name in enumerate(classes)
    ]
    return metrics, counts_CC.long().tolist(), per_class
