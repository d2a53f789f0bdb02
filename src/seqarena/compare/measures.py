"""Scores that are functions of sums over test examples: what each needs of an example, and how sums make the score."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from seqarena.compare.statistics import bleu_score

Columns = list[pa.ChunkedArray]
Rows = Callable[[Columns], np.ndarray]


@dataclass(frozen=True)
class Measure:
    """How a score comes from examples.

    `rows` turns `columns` of n examples into statistics (n, K); `score` turns their sums (..., K), over a number of
    examples, into scores (...). `trivial` turns the columns `beside` of a run into the statistics of the trivial
    answer, which every example of a diverged run without results gets. An example that a run left out gets those of
    `left_out`, the trivial answer where that is None. `binary`: statistics are 0 or 1.
    """

    columns: tuple[str, ...]
    rows: Rows
    score: Callable[[np.ndarray, int], np.ndarray]
    trivial: Rows | None = None
    beside: tuple[str, ...] = ()
    left_out: Rows | None = None
    binary: bool = False


def _mean(sums: np.ndarray, n: int) -> np.ndarray:
    mean: np.ndarray = sums[..., 0] / n
    return mean


def _ratio(sums: np.ndarray, n: int) -> np.ndarray:
    ratio: np.ndarray = sums[..., 0] / sums[..., 1]
    return ratio


def _numbers(columns: Columns) -> np.ndarray:
    return np.stack([column.to_numpy().astype(float) for column in columns], axis=1)


def _vectors(columns: Columns) -> np.ndarray:
    """A column of lists that are all of the same length."""
    (column,) = columns
    values = column.combine_chunks().flatten().to_numpy()
    return values.astype(float).reshape(len(column), -1)


def _lengths(columns: Columns) -> np.ndarray:
    """Of hypothesis and reference."""
    return _vectors(columns)[:, :2]


def _equal(columns: Columns) -> np.ndarray:
    """Whether two columns of text agree."""
    return pa.compute.equal(*columns).to_numpy().astype(float)[:, None]


def _all_wrong(columns: Columns) -> np.ndarray:
    return np.zeros((len(columns[0]), 1))


def _empty_translation(columns: Columns) -> np.ndarray:
    """Only the reference has a length."""
    statistics = _vectors(columns)
    return statistics * (np.arange(statistics.shape[1]) == 1)


def _empty(columns: Columns) -> np.ndarray:
    trimmed = pa.compute.utf8_trim_whitespace(columns[0])
    return pa.compute.equal(trimmed, "").to_numpy().astype(float)[:, None]


def _one(columns: Columns) -> np.ndarray:
    return np.ones((len(columns[0]), 1))


def _class_counts(columns: Columns) -> np.ndarray:
    """Of each class, in order of names, whether the example is of it, was called it, and both: (n, 3C)."""
    truth, called = (column.to_numpy(zero_copy_only=False).astype(str) for column in columns)
    classes = np.unique(truth)
    is_it, said = truth[:, None] == classes, called[:, None] == classes
    return np.concatenate([is_it, said, is_it & said], axis=1).astype(float)


def _f1(sums: np.ndarray, n: int) -> np.ndarray:
    """Macro-F1 over the classes that the examples have."""
    truth, called, hits = np.split(sums, 3, axis=-1)
    f1 = 2 * hits / np.maximum(truth + called, 1)
    mean: np.ndarray = (f1 * (truth > 0)).sum(-1) / np.maximum((truth > 0).sum(-1), 1)
    return mean


BLEU = ("bleu_statistics",)

LABELS: Mapping[str, Measure] = {
    "accuracy": Measure(("correct",), _numbers, _mean, _equal, ("label", "majority"), _all_wrong, binary=True),
    "f1_macro": Measure(("label", "prediction"), _class_counts, _f1, _class_counts, ("label", "majority")),
    "loss": Measure(("loss",), _numbers, _mean),
}

MEASURES: Mapping[str, Mapping[str, Measure]] = {
    "classification": LABELS,
    "tagging": LABELS,
    "translation": {
        "bleu": Measure(BLEU, _vectors, lambda sums, n: bleu_score(sums), _empty_translation, BLEU),
        "loss": Measure(("loss", "tokens"), _numbers, _ratio),
        "length_ratio": Measure(BLEU, _lengths, _ratio, lambda columns: _lengths(columns) * (0.0, 1.0), BLEU),
        "empty_outputs": Measure(("prediction",), _empty, _mean, _one, ("prediction",), binary=True),
    },
}
"""By task and metric; others, such as chrF, are known of each run as one number only."""

ALL_WRONG = replace(LABELS["accuracy"], trivial=_all_wrong, beside=("label",))
"""Accuracy where the data declares no trivial baseline."""
