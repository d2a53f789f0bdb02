"""Words for generated English, and how templates are put together and filled with them.

A template is a tuple of tokens, with upper-case slots among the words. Verbs are in the past, so that no word but a
noun shows a number.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from random import Random
from typing import TypeAlias, TypeVar

Template: TypeAlias = tuple[str, ...]
Word = TypeVar("Word")


def templates(lines: str) -> tuple[Template, ...]:
    """Several, written with | between them."""
    return tuple(tuple(line.split()) for line in lines.split("|"))


def words(line: str) -> tuple[str, ...]:
    """Those of a line."""
    return tuple(line.split())


def nouns(line: str) -> tuple[tuple[str, str], ...]:
    """(singular, plural) pairs: the plural follows a slash, or is the singular and an s."""
    pairs = (word.partition("/") for word in line.split())
    return tuple((one, many or one + "s") for one, _, many in pairs)


PEOPLE = nouns(
    "doctor artist farmer pilot teacher singer author baker lawyer dancer sailor painter soldier visitor driver "
    "banker hunter cousin student gardener captain friend child/children man/men woman/women policeman/policemen "
    "lady/ladies secretary/secretaries thief/thieves wife/wives coach/coaches"
)
THINGS = nouns(
    "key door table window garden river bridge tower car boat train book letter house dog horse church/churches "
    "box/boxes bench/benches watch/watches city/cities library/libraries factory/factories berry/berries story/stories "
    "knife/knives leaf/leaves shelf/shelves loaf/loaves wolf/wolves calf/calves foot/feet tooth/teeth goose/geese "
    "mouse/mice ox/oxen"
)
NOUNS = {"NOUN": PEOPLE + THINGS, "PERSON": PEOPLE}
"""The slots that take a number; the others follow."""

WORDS = {
    "ADJ": "old young small tall quiet strange famous lonely pretty ugly clean dirty heavy calm gentle lovely curious "
    "unusual remarkable ordinary beautiful mysterious little big",
    "ORIGIN": "french italian dutch german polish irish swedish russian local foreign northern southern western",
    "PREP": "near behind beside opposite above below around beyond under beneath alongside",
    "PLEASED": "pleased impressed surprised amused delighted annoyed worried inspired puzzled frightened fascinated",
    "FACED": "faced followed touched resembled preceded reached passed approached",
    "ADMIRED": "admired praised noticed described mentioned photographed remembered watched visited painted found "
    "recognized ignored liked sketched missed",
    "CAME": "came vanished fell moved waited appeared remained survived disappeared returned arrived",
    "ADVERB": "usually often always never clearly probably certainly rarely sometimes obviously generally normally "
    "typically surely apparently frequently evidently",
    "ALSO": "also still now then perhaps",
    "ASIDE": "however moreover perhaps therefore apparently meanwhile nevertheless admittedly unfortunately luckily",
}
CHOICES = {slot: words(line) for slot, line in WORDS.items()}


def count_nouns(template: Template) -> int:
    """Its slots that take a number."""
    return sum(token in NOUNS for token in template)


def linked(rng: Random, links: tuple[Template, ...], room: int) -> list[Template]:
    """Some of `links` in a row, `room` tokens in all: 0, or the shortest link's or more, since all lengths follow."""
    chosen: list[Template] = []
    while room:
        chosen.append(rng.choice(_fitting(links, room, bool(chosen) and chosen[-1][-1] == "ADMIRED")))
        room -= len(chosen[-1])
    return chosen


@cache
def _fitting(links: tuple[Template, ...], room: int, after_verb: bool) -> tuple[Template, ...]:
    """Those that leave no rest or one that can be filled; no relative clause right after another's verb."""
    rests = (0, *range(min(map(len, links)), room))
    return tuple(link for link in links if room - len(link) in rests and not (after_verb and link[0] == "that"))


def spell(rng: Random, template: Iterable[str], numbers: Iterable[int]) -> Iterator[str]:
    """Fills the slots, the nouns with these numbers (0 singular); no slot gets the same word twice running."""
    number = iter(numbers)
    before: dict[str, object] = {}
    for token in template:
        if token in NOUNS:
            noun = _other(rng, NOUNS[token], before.get("noun"))
            before["noun"] = noun
            yield noun[next(number)]
        elif token in CHOICES:
            before[token] = word = _other(rng, CHOICES[token], before.get(token))
            yield word
        else:
            yield token


def any_numbers(rng: Random) -> Iterator[int]:
    """Singular or plural, as often, without end."""
    while True:
        yield rng.randrange(2)


def _other(rng: Random, choices: Sequence[Word], before: object) -> Word:
    while (word := rng.choice(choices)) == before:
        pass
    return word
