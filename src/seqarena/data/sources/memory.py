"""What the memory tasks have in common: at some tokens of a text, one that came before is to be named again."""

from collections.abc import Mapping, Sequence
from random import Random

from seqarena.data.queries import NONE
from seqarena.data.source import Row
from seqarena.data.sources.strings import name
from seqarena.errors import InputError

BLANK, MARK = "blank", "recall"
"""Words that are no symbols: nothing happens, and something is asked for."""
MOST = 10_000
"""Symbols that there may be; all their names are shorter than the words above."""


def row(tokens: Sequence[str], origins: Mapping[int, int]) -> Row:
    """A raw row: at each place in `origins` the token at that other place, before it, is the label.

    `distance` counts the tokens between the two, one number a label.
    """
    labels = [tokens[origins[place]] if place in origins else NONE for place in range(len(tokens))]
    distances = [str(place - origins[place] - 1) for place in sorted(origins)]
    return {"text": " ".join(tokens), "labels": " ".join(labels), "distance": " ".join(distances)}


def symbols(rng: Random, alphabet: int, count: int) -> list[str]:
    """So many symbols, each as likely: a to z, then aa, ab and so on."""
    return [name(symbol) for symbol in rng.choices(range(alphabet), k=count)]


def whole(task: str, option: str, told: object, least: int, most: int = MOST) -> int:
    """A whole number within these limits. InputError: it is not."""
    if not isinstance(told, int) or isinstance(told, bool) or not least <= told <= most:
        raise InputError(f"{task}: {option}={told} is not a whole number from {least} to {most:,}")
    return told
