"""The linear baseline: right where words decide, never a crash where they cannot, fitted on train alone."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from seqarena.data.baselines import STRENGTHS, Baseline, lookup, majority, predictions, tfidf
from seqarena.errors import InputError

COLOURS = {"warm": ["red", "orange", "amber"], "cold": ["blue", "cyan", "navy"], "none": ["grey", "black", "white"]}


def captions(count: int, seed: int, classes: int = 3) -> tuple[list[str], list[str]]:
    """Sentences of noise words in which one colour decides the label."""
    random = np.random.default_rng(seed)
    labels = [list(COLOURS)[i % classes] for i in range(count)]
    noise = [random.integers(0, 50, 4) for _ in labels]
    words = [
        [f"w{n}" for n in row] + [str(random.choice(COLOURS[one]))] for row, one in zip(noise, labels, strict=True)
    ]
    return [" ".join(random.permutation(row)) for row in words], labels


@pytest.mark.parametrize("classes", [2, 3])
def test_learns_which_words_decide(classes: int) -> None:
    texts, labels = captions(60, 3, classes)
    found = tfidf(captions(150, 1, classes), captions(40, 2, classes), texts)
    assert np.mean(np.array(found.predictions) == labels) > 0.9
    assert found.strength in STRENGTHS
    assert all(type(label) is str for label in found.predictions)


def test_agrees_with_a_plain_fit_at_the_chosen_strength() -> None:
    train, val, (texts, _) = captions(80, 1, 2), captions(30, 2, 2), captions(40, 3, 2)
    found = tfidf(train, val, texts)
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+").fit(train[0])
    plain = LogisticRegression(C=found.strength, solver="liblinear").fit(words.transform(train[0]), train[1])
    assert found.predictions == plain.predict(words.transform(texts)).tolist()


def test_validation_chooses_and_is_not_fitted_on() -> None:
    train = (["good", "bad"] * 5, ["pos", "neg"] * 5)
    assert tfidf(train, (["good", "bad"], ["neg", "pos"]), ["good", "bad"]).predictions == ["pos", "neg"]
    assert tfidf(train, (["good"], ["pos"]), ["good"]).strength == STRENGTHS[0]


@pytest.mark.parametrize(
    ("train", "text", "answer"),
    [
        ((["a", "b"], ["x", "x"]), "a", "x"),
        ((["?!", "", "..."], ["x", "y", "y"]), "?!", "y"),
        ((["?!", "..."], ["y", "x"]), "?", "x"),
    ],
    ids=["one class", "no word", "no word, a tie"],
)
def test_majority_where_nothing_can_be_fitted(train: tuple[list[str], list[str]], text: str, answer: str) -> None:
    assert tfidf(train, (["a"], ["x"]), [text]) == Baseline([answer], None)


@pytest.mark.parametrize("pair", ["a b", "1 2", "是 否", "да нет", "نعم لا"])
def test_words_of_one_character_and_any_script_count(pair: str) -> None:
    yes, no = pair.split()
    train = ([f"{yes}!", f"{no}?"] * 4, ["yes", "no"] * 4)
    assert tfidf(train, train, [yes, no]).predictions == ["yes", "no"]


def test_empty_validation_and_empty_test() -> None:
    train = (["good", "bad", "bad"], ["pos", "neg", "neg"])
    assert tfidf(train, ([], []), ["good"]) == Baseline(["neg"], None)
    assert tfidf(train, train, []).predictions == []


def test_majority_breaks_ties_by_alphabet() -> None:
    assert majority(["b", "a", "b", "a", "c"]) == "a"
    assert majority(["b", "a", "b"]) == "b"


@pytest.mark.parametrize("keys", [["k", "k", "k", "l", "l", "m"], [1, 1, 1, 2, 2, 3]], ids=["words", "numbers"])
def test_a_lookup_answers_each_key_s_most_frequent_label_and_the_majority_where_it_knows_no_key(keys: list) -> None:
    labels = ["a", "b", "b", "c", "c", "c"]
    assert lookup(keys, labels, [keys[0], keys[3], keys[5], "other", keys[0]]) == ["b", "c", "c", "c", "b"]
    assert lookup([1, 1], ["b", "a"], [1, 2]) == ["a", "a"]  # ties by alphabet


def test_a_baseline_by_name_sees_training_and_the_column_it_is_named_after() -> None:
    train = pa.table({"text": ["p", "q", "r"], "label": ["x", "x", "y"], "key": ["1", "2", "3"], "depth": [1, 1, 2]})
    test = pa.table({"text": ["q", "r"], "label": ["y", "y"], "key": ["3", "9"], "depth": [2, 1]})
    assert predictions("majority", train, train, test) == ["x", "x"]
    assert predictions("lookup_key", train, train, test) == ["y", "x"]
    assert predictions("lookup_depth", train, train, test) == ["y", "x"]
    assert predictions("tfidf", train, train, test) == ["x", "y"]
    with pytest.raises(InputError, match=r"lookup_keys needs a column keys; there are text, label, key, depth"):
        predictions("lookup_keys", train, train, test)
    with pytest.raises(InputError, match="'bayes' is not known; write majority, tfidf or lookup_<a column>"):
        predictions("bayes", train, train, test)
