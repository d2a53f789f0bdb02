"""Labelling: what choosing among classes needs, whether it is texts or their tokens that get a label."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torchmetrics.functional.classification import multiclass_confusion_matrix

from seqarena.evaluation import Bucket, Evaluation, by_bucket
from seqarena.models.contract import Encoder
from seqarena.models.dropout import Dropout
from seqarena.tasks.embedding import EmbeddingOptions, TokenEmbedding
from seqarena.tasks.task import B, Finding, SequenceTask

MOST = 256
"""Classes up to which a confusion matrix is kept: it has the square of their number in entries."""


class Labelling(SequenceTask[B]):
    """Embedding, encoder, dropout, linear layer. Selected by validation accuracy.

    What gets a label are the `items` of the datamodule, numbered in their order: that is the `id` of a finding.
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
        optimizer: Callable[..., Optimizer],
        schedule: Callable[..., Any],
        log_every: int,
    ) -> None:
        super().__init__(optimizer, schedule, log_every)
        self.classes, self.label_smoothing = list(classes), label_smoothing
        self.embedding = TokenEmbedding(vocabulary, encoder.dim, embedding)
        self.encoder = encoder
        self.dropout = Dropout(head_dropout)
        self.head = nn.Linear(encoder.dim, len(classes))
        nn.init.xavier_uniform_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def score(self, split: str, findings: Finding) -> Evaluation:
        """Accuracy, macro-F1 and loss: over all, by stratum, by class; the data's baselines beside them."""
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        table = data.items(split).take(findings["id"])
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
            confusion=confusion if len(self.classes) <= MOST else None,
            classes=self.classes,
            per_class=per_class,
        )

    def _examples(self, table: pa.Table, findings: Finding) -> pa.Table:
        examples = table.drop_columns([name for name in ("source_ids", "class") if name in table.column_names])
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


def judged(id_N: Tensor, logits_NC: Tensor, label_N: Tensor) -> Finding:
    """The predicted class of each item, its probability, and the loss of the true one."""
    log_NC = logits_NC.float().log_softmax(-1)
    best = log_NC.max(-1)
    return {
        "id": id_N.tolist(),
        "predicted": best.indices.tolist(),
        "confidence": best.values.exp().tolist(),
        "loss": (-log_NC.gather(1, label_N[:, None])[:, 0]).tolist(),
    }


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
