"""What a run has to beat: the most frequent class, a linear model over TF-IDF weighted words, a table of one column."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from seqarena.errors import InputError

Labelled: TypeAlias = tuple[Sequence[str], Sequence[str]]
"""Texts, and the label of each."""

LOOKUP = "lookup_"
"""Begins the name of a baseline that answers by the column whose name follows."""

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0)
"""Values of C (the inverse of the L2 penalty) tried on validation."""


class Baseline(NamedTuple):
    """The predicted label of each test text, and the C chosen on validation (None where nothing was fitted)."""

    predictions: list[str]
    strength: float | None


def predictions(name: str, train: pa.Table, val: pa.Table, test: pa.Table) -> list[str]:
    """What the baseline called `name` answers to each row of `test`. InputError: no such baseline, no such column."""
    labels = train["label"].to_pylist()
    if name == "majority":
        return [majority(labels)] * len(test)
    if name == "tfidf":
        return tfidf(_labelled(train), _labelled(val), test["text"].to_pylist()).predictions
    key = name.removeprefix(LOOKUP)
    if key == name:
        raise InputError(f"data.baselines: {name!r} is not known; write majority, tfidf or {LOOKUP}<a column>")
    if key not in train.column_names:
        raise InputError(f"data.baselines: {name} needs a column {key}; there are {', '.join(train.column_names)}")
    return lookup(train[key].to_pylist(), labels, test[key].to_pylist())


def _labelled(table: pa.Table) -> Labelled:
    return table["text"].to_pylist(), table["label"].to_pylist()


def majority(labels: Sequence[str]) -> str:
    """The most frequent label, the first in alphabetical order among equals; at least one is needed."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def lookup(known: Sequence[Hashable], labels: Sequence[str], keys: Sequence[Hashable]) -> list[str]:
    """The most frequent label of each of `keys` among the `known` ones; the majority where it was never known."""
    by_key = defaultdict(list)
    for key, label in zip(known, labels, strict=True):
        by_key[key].append(label)
    table, other = {key: majority(found) for key, found in by_key.items()}, majority(labels)
    return [table.get(key, other) for key in keys]


def tfidf(train: Labelled, val: Labelled, texts: Sequence[str]) -> Baseline:
    """Logistic regression on single words and pairs of them (sublinear TF-IDF), fitted on train alone.

    One classifier a class, against all others: several times faster than a joint one, and as good. The C with the most
    correct validation labels is taken, the smallest among equals; validation is never fitted on. With one class in
    train, no word in any of its texts, or no validation to choose by, the answer is the majority class. A word is a run
    of letters, digits and underscores of any script, one character long or more, in lower case.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    labels = train[1]
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+")
    if len(set(labels)) < 2 or not any(map(words.build_analyzer(), train[0])) or not val[0] or not texts:
        return Baseline([majority(labels)] * len(texts), None)
    known, unseen = words.fit_transform(train[0]), words.transform(val[0])
    each = [LogisticRegression(C=strength, solver="liblinear", max_iter=1000) for strength in STRENGTHS]
    models = [OneVsRestClassifier(one).fit(known, labels) for one in each]
    correct = [sum(a == b for a, b in zip(model.predict(unseen), val[1], strict=True)) for model in models]
    best = correct.index(max(correct))
    return Baseline(models[best].predict(words.transform(texts)).tolist(), STRENGTHS[best])
