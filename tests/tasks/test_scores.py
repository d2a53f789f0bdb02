"""Metrics against the libraries that define them."""

import subprocess
import sys

import pytest
from sacrebleu.metrics import BLEU, CHRF
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support

from seqarena.evaluation import by_bucket
from seqarena.tasks.labelling import classification_scores
from seqarena.tasks.translation import TranslationScores

SAID = ["Ein Mann läuft.", "", "Zwei Hunde spielen im Schnee .", "Eine Frau", "Ein Kind lacht laut heute!"]
MEANT = ["Ein Mann rennt.", "Ein Auto.", "Zwei Hunde spielen im Schnee.", "Eine Frau singt", "Ein Kind lacht laut."]
TRUTH = [0, 0, 1, 1, 1, 2, 0, 2]
CALLED = [0, 1, 1, 1, 3, 2, 3, 0]


def scored(said: list[str], meant: list[str], language: str = "de") -> dict[str, float]:
    scores = TranslationScores(language)
    return scores.corpus(said, meant, scores.statistics(said, meant))


def test_bleu_and_chrf_are_sacrebleus_to_the_last_digit() -> None:
    found = scored(SAID, MEANT)
    assert found["bleu"] == BLEU().corpus_score(SAID, [MEANT]).score
    assert found["chrf"] == CHRF().corpus_score(SAID, [MEANT]).score
    assert found["empty_outputs"] == 0.2


def test_the_command_prints_the_same_bleu(tmp_path) -> None:
    (tmp_path / "said").write_text("".join(f"{line}\n" for line in SAID))
    (tmp_path / "meant").write_text("".join(f"{line}\n" for line in MEANT))
    command = [sys.executable, "-m", "sacrebleu", "meant", "-i", "said", "-b", "-w", "6"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert float(printed) == round(scored(SAID, MEANT)["bleu"], 6)


def test_chinese_is_scored_by_characters_and_japanese_by_words() -> None:
    assert scored(["我爱编程。"], ["我爱编程。"], "zh")["bleu"] == pytest.approx(100.0)
    assert scored(["我爱编程"], ["我爱编程。"], "en")["bleu"] < 1 < scored(["我爱编程"], ["我爱编程。"], "zh")["bleu"]
    assert "tok:zh" in TranslationScores("zh-CN").signature()["bleu"]
    assert "tok:ja-mecab" in TranslationScores("ja").signature()["bleu"]
    assert "tok:char" in TranslationScores("th").signature()["bleu"]
    assert "tok:13a" in TranslationScores("de").signature()["bleu"]


def test_wholly_empty_and_wrong_outputs_are_scored() -> None:
    assert scored([""], ["a b"])["bleu"] == 0.0
    assert scored(["x"] * 3, ["a b c d e"] * 3)["bleu"] < 5


def test_classification_scores_are_scikit_learns_over_the_classes_present() -> None:
    metrics, confusion, per_class = classification_scores(TRUTH, CALLED, [0.5] * 8, ["a", "b", "c", "d"])
    assert metrics["accuracy"] == accuracy_score(TRUTH, CALLED)
    assert metrics["f1_macro"] == pytest.approx(f1_score(TRUTH, CALLED, labels=[0, 1, 2], average="macro"))
    precision, recall, f1, n = precision_recall_fscore_support(TRUTH, CALLED, labels=[0, 1, 2, 3], zero_division=0)
    for place, row in enumerate(per_class):
        assert (row["precision"], row["recall"], row["f1"]) == pytest.approx(
            (precision[place], recall[place], f1[place])
        )
        assert row["n"] == n[place]
    assert confusion[0] == [1, 1, 0, 1] and sum(map(sum, confusion)) == 8


def test_a_class_absent_from_the_reference_changes_nothing() -> None:
    with_class, _, _ = classification_scores([0, 1, 1], [0, 1, 0], [1.0] * 3, ["a", "b", "c"])
    without, _, _ = classification_scores([0, 1, 1], [0, 1, 0], [1.0] * 3, ["a", "b"])
    assert with_class == without


def test_buckets_hold_every_value_once_and_say_what_they_hold() -> None:
    edges = [0, 10, 11, 20]
    assert by_bucket([5, 10, 99, 0, 15, 20, -1], edges) == [
        ("under 0", [6]),
        ("0-9", [0, 3]),
        ("10", [1]),
        ("11-19", [4]),
        ("20+", [2, 5]),
    ]
