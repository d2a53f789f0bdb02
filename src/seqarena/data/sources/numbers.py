"""Numbers and dates written out in two languages: translation that needs no data and no network, with one right answer.

The words come from num2words, the dates from babel (the CLDR's "full" format); both stay exactly as the libraries write
them: English with hyphens, commas and "and", German in compounds of up to fifty letters, Japanese without spaces.
"""

import json
from collections.abc import Iterator
from datetime import date
from hashlib import blake2b
from random import Random
from typing import TypeAlias

from babel.dates import format_date
from babel.localedata import exists
from num2words import CONVERTER_CLASSES, num2words

from seqarena.data.source import SPLITS, Row
from seqarena.errors import InputError

VERSION = 1
"""Of the drawing: raise it whenever the same options would give other pairs."""

FIRST_DAY, LAST_DAY = date(1900, 1, 1), date(2099, 12, 31)

Meaning: TypeAlias = int | date
"""What both sides of a pair say."""


class Numbers:
    """Translation of number words and dates between two languages that num2words and babel both know.

        en  twenty-one thousand and five   ->  de  einundzwanzigtausendfünf        digits 5
        en  Wednesday, March 4, 1987       ->  de  Mittwoch, 4. März 1987          digits 0

    A row is a date from 1900 to 2099 with chance `dates`, otherwise a number from 0 to `largest`: first its number of
    digits is drawn, each as likely, then the number. Nothing is repeated, so lengths of which there are few (ten
    numbers have one digit) run out and the others share the rest. The stratum `digits` is the number's length in
    digits, and 0 for dates.

    A hash of the number or the day alone selects its split, 8 : 1 : 1, whatever the seed and the languages; the drawing
    depends on (seed, split, index).
    """

    strata: tuple[str, ...] = ("digits",)
    shortcuts: tuple[str, ...] = ()

    def __init__(
        self, source: str, target: str, train: int, val: int, test: int, largest: int, dates: float, seed: int
    ):
        """Languages are codes such as "en" or "pt_BR", sizes numbers of pairs; 0 leaves a split out.

        InputError names a bad option and the cure: an unknown language, a size beyond the pairs there are.
        """
        _check_language("source", source)
        _check_language("target", target)
        if not 0.0 <= dates <= 1.0:
            raise InputError(f"numbers: dates={dates} is not a share; write a number from 0 to 1, such as 0.3")
        if largest < 0:
            raise InputError(f"numbers: largest={largest} leaves no number; write 0 or more, such as 999999")
        self.source, self.target, self.largest, self.dates, self.seed = source, target, largest, dates, seed
        self.sizes = dict(zip(SPLITS, (train, val, test), strict=True))
        self.meanings = {split: self._draw(split, size) for split, size in self.sizes.items()}

    def splits(self) -> tuple[str, ...]:
        """The splits of which pairs were asked for."""
        return tuple(split for split, size in self.sizes.items() if size)

    def rows(self, split: str) -> Iterator[Row]:
        """`sizes[split]` pairs; more of them start with the same ones."""
        for meaning in self.meanings[split]:
            yield {
                "source": write(meaning, self.source),
                "target": write(meaning, self.target),
                "digits": 0 if isinstance(meaning, date) else len(str(meaning)),
            }

    def fingerprint(self) -> str:
        """A hash of the options and the version of the drawing."""
        options = (self.source, self.target, self.sizes, self.largest, self.dates, self.seed)
        return blake2b(json.dumps(["numbers", VERSION, *options]).encode(), digest_size=16).hexdigest()

    def _draw(self, split: str, size: int) -> list[Meaning]:
        """What the split's pairs say. Only here can it show that there are too few."""
        if size < 0:
            raise InputError(f"numbers: {split}={size} is not a number of pairs; write 0 or more")
        days = _days(split, self.seed)
        lengths = [_numbers(split, digits, self.largest, self.seed) for digits in range(1, len(str(self.largest)) + 1)]
        meanings: list[Meaning] = []
        for index in range(size):
            rng = Random(f"{self.seed} {split} {index}")
            meaning = next(days, None) if rng.random() < self.dates else _next_number(rng, lengths)
            if meaning is None:
                raise InputError(
                    f"numbers: {split}={size} is more than there are: the pairs with largest={self.largest} and "
                    f"dates={self.dates} end after {index}; write {split}={index} or less, or a larger largest"
                )
            meanings.append(meaning)
        return meanings


def write(meaning: Meaning, language: str) -> str:
    """The number or date in words of the language; InputError where num2words cannot write the number."""
    if isinstance(meaning, date):
        return format_date(meaning, format="full", locale=language)
    try:
        return num2words(meaning, lang=language)
    except Exception as error:  # num2words raises whatever its tables run into: KeyError, TypeError, OverflowError
        raise InputError(
            f"numbers: num2words cannot write {meaning} in {language!r} ({error}); write a smaller largest, "
            "or another language"
        ) from error


def _check_language(option: str, language: str) -> None:
    # num2words takes "english" or "en_XY" for "en" without a word: only exact codes are let through.
    if language not in CONVERTER_CLASSES or not exists(language):
        raise InputError(
            f"numbers: {option}={language!r} is not a language of both num2words and babel; "
            "write for example en, de, fr, es, it, nl, pl, ru, tr, ja or pt_BR"
        )


def _days(split: str, seed: int) -> Iterator[Meaning]:
    first, last = FIRST_DAY.toordinal(), LAST_DAY.toordinal()
    for ordinal in _shuffled(first, last + 1, Random(f"{seed} {split} days")):
        day = date.fromordinal(ordinal)
        if _home(day) == split:
            yield day


def _numbers(split: str, digits: int, largest: int, seed: int) -> Iterator[Meaning]:
    """The split's numbers of that many digits; 0 has one digit."""
    first = 10 ** (digits - 1) if digits > 1 else 0
    numbers = _shuffled(first, min(10**digits, largest + 1), Random(f"{seed} {split} {digits}"))
    return (number for number in numbers if _home(number) == split)


def _shuffled(first: int, end: int, rng: Random) -> Iterator[int]:
    """All of first..end-1 once, in random order, without ever holding more than were taken."""
    seen: set[int] = set()
    while len(seen) < end - first:
        number = rng.randrange(first, end)
        if number not in seen:
            seen.add(number)
            yield number


def _next_number(rng: Random, lengths: list[Iterator[Meaning]]) -> Meaning | None:
    """From a length drawn at random; those that have run out leave the list; None when all have."""
    while lengths:
        length = rng.choice(lengths)
        number = next(length, None)
        if number is not None:
            return number
        lengths.remove(length)
    return None


def _home(meaning: Meaning) -> str:
    key = int.from_bytes(blake2b(str(meaning).encode(), digest_size=8).digest())
    return {8: "val", 9: "test"}.get(key % 10, "train")
