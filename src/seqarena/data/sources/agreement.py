"""Subject-verb agreement in generated English: is the verb that comes next singular or plural?

After Linzen, Dupoux and Goldberg 2016, "Assessing the Ability of LSTMs to Learn Syntax-Sensitive Dependencies". They
took sentences from Wikipedia, where rules of thumb do well; here a small grammar makes them, so that distance is exact
and the rules of thumb are at chance. Its templates hold upper-case slots among the words.
"""

from collections.abc import Sequence
from functools import cache
from random import Random

from seqarena.data.source import Row
from seqarena.data.sources.english import Template, count_nouns, linked, spell, templates
from seqarena.data.sources.generated import Generated, listed

NUMBERS = ("singular", "plural")
PLAIN = 0.2
"""Share of sentences that open with their subject; the others open with a fronted phrase."""
FIRST = (0.5 - PLAIN) / (1 - PLAIN)
"""How often the first fronted noun shares the subject's number, so that the first noun is right half of the time."""
SHORTEST_LINK = 3
"""Tokens of the shortest modifier that holds a noun, "near the door"."""

SUBJECTS = templates("the NOUN | the ADJ NOUN | the ORIGIN NOUN | the ADJ ORIGIN NOUN")
FRONTS = {
    1: templates("PREP the NOUN , | PREP the ADJ NOUN , | when the PERSON CAME , | because the ADJ PERSON CAME ,"),
    2: templates(
        "PREP the NOUN PREP the NOUN , | PREP the ADJ NOUN PREP the NOUN , | PREP the NOUN that FACED the ADJ NOUN , |"
        "while the PERSON ADMIRED the NOUN , | because the PERSON ADMIRED the ADJ NOUN , |"
        "after the PERSON PREP the NOUN CAME ,"
    ),
}
"""By the number of nouns they hold."""
LINKS = templates(
    "PREP the NOUN | PREP the ADJ NOUN | PREP the ORIGIN NOUN | PREP the ADJ ORIGIN NOUN |"
    "that FACED the NOUN | that FACED the ADJ NOUN | that FACED the ADJ ORIGIN NOUN | that PLEASED the PERSON |"
    "that PLEASED the ADJ PERSON | that CAME PREP the NOUN | that the PERSON ADMIRED | that the ADJ PERSON ADMIRED |"
    "that the ADJ ORIGIN PERSON ADMIRED | that the PERSON PREP the NOUN ADMIRED |"
    "that the PERSON PREP the ADJ NOUN ADMIRED | that the ADJ PERSON PREP the ORIGIN NOUN ADMIRED"
)
ENDINGS = templates(
    "ADVERB | ALSO ADVERB | , ASIDE , | , as expected , | , it seemed , | , as it happened , | , as it turned out , |"
    ", as far as anyone knew ,"
)
SHORT = (((),), templates("ADVERB"), templates("ALSO ADVERB | that CAME"))
"""By distance: what can follow the subject where there is no room for a noun."""


class Agreement(Generated):
    """Classification: everything before the verb is the text, the number of its subject the label.

        near the old tables , the key that the pilots admired usually ...
                                  ---  1    2    3      4       5     ^
                                subject                           the verb's place: distance 5, one attractor

    `distance` counts the tokens after the subject; `attractors` counts the nouns among them of the other number. Each
    split cycles through `distances` (one listed twice comes twice as often), with both labels as often at each.

    Three rules of thumb are scored beside the model. `first_noun` and `majority_noun` (ties: a fair coin) are right
    half of the time at every distance. A fifth of the sentences open with the subject, so the first fronted noun of the
    others agrees in 3/8 (1/5 + 4/5 x 3/8 = 1/2); the rate of the nouns that are neither first nor last is solved for.
    `last_noun` is always right at distances 0 to 2, which hold no noun. If those are a share q of `distances`, the last
    noun agrees in (1/2 - q) / (1 - q) of the other sentences: right half of the time over the split, and less at the
    longer distances. It is at chance at every distance if all are at least 3, and above it overall if q > 1/2.
    """

    name = "agreement"
    strata: tuple[str, ...] = ("distance", "attractors")
    shortcuts: tuple[str, ...] = ("first_noun", "last_noun", "majority_noun")

    def __init__(
        self,
        train: int,
        val: int,
        test: int,
        distances: Sequence[int],
        seed: int,
        test_distances: Sequence[int] | None = None,
    ):
        """Sizes are numbers of sentences; 0 leaves a split out. `test_distances` are those of the test, if others.

        InputError names a bad option and the cure.
        """
        self.distances = listed(self.name, "distances", distances, test_distances, 0, "[4, 8, 16]")
        super().__init__((train, val, test), seed, self.distances)

    def draw(self, rng: Random, split: str, index: int) -> Row:
        """A sentence at the distance whose turn it is."""
        distances = self.distances[split]
        turn, place = divmod(index, len(distances))
        return sentence(rng, distances[place], turn % 2, last_noun_rate(distances))


@cache
def last_noun_rate(distances: tuple[int, ...]) -> float:
    """How often the last noun agrees where there is one, so that it is right half of the time over all `distances`."""
    bare = sum(distance < SHORTEST_LINK for distance in distances) / len(distances)
    return max(0.0, 0.5 - bare) / (1 - bare) if bare < 1 else 0.0


def sentence(rng: Random, distance: int, number: int, last: float) -> Row:
    """One row: a subject of that number (an index of NUMBERS), `distance` tokens before the verb's place.

    `last` is how often the last noun after the subject shares the subject's number.
    """
    after = _modifiers(rng, distance)
    between = count_nouns(after)
    front = _front(rng, between)
    subject = count_nouns(front)
    rates = agreement_rates(subject, between, last)
    numbers = [number if rng.random() < rate else 1 - number for rate in rates]
    attractors = sum(other != number for other in numbers[subject:])
    numbers.insert(subject, number)
    ones = 2 * sum(numbers) - len(numbers)
    majority = int(ones > 0) if ones else rng.randrange(2)
    return {
        "text": " ".join(spell(rng, (*front, *rng.choice(SUBJECTS), *after), numbers)),
        "label": NUMBERS[number],
        "distance": distance,
        "attractors": attractors,
        "first_noun": NUMBERS[numbers[0]],
        "last_noun": NUMBERS[numbers[-1]],
        "majority_noun": NUMBERS[majority],
    }


@cache
def agreement_rates(fronted: int, between: int, last: float) -> tuple[float, ...]:
    """How often each noun but the subject shares its number, in the order of the sentence.

    The first fronted noun and the last one after the subject have their fixed rates; the rate of the others is found by
    bisection so that, over plain and fronted sentences together, the majority is right half of the time.
    """
    target = 0.5
    if fronted:
        target = (0.5 - PLAIN * majority_right(agreement_rates(0, between, last))) / (1 - PLAIN)
    low, high = 0.0, 1.0
    for _ in range(40):
        free = (low + high) / 2
        before = (FIRST, *[free] * (fronted - 1)) if fronted else ()
        rates = before + ((*[free] * (between - 1), last) if between else ())
        low, high = (low, free) if majority_right(rates) > target else (free, high)
    return rates


def majority_right(rates: Sequence[float]) -> float:
    """The chance that most nouns have the subject's number, itself one of them; a tie counts half."""
    chances = [1.0]  # chances[k]: k of the nouns seen so far agree
    for rate in rates:
        stay, agree = [*chances, 0.0], [0.0, *chances]
        chances = [(1 - rate) * s + rate * a for s, a in zip(stay, agree, strict=True)]
    lead = [2 * (count + 1) - (len(rates) + 1) for count in range(len(chances))]
    return sum(chance * (0.5 if ahead == 0 else float(ahead > 0)) for chance, ahead in zip(chances, lead, strict=True))


def _front(rng: Random, between: int) -> Template:
    """A fronted phrase or none. It holds two nouns where so few follow that one could not balance the majority."""
    if rng.random() < PLAIN:
        return ()
    return rng.choice(FRONTS[2 if between < 2 else rng.choice((1, 2))])


def _modifiers(rng: Random, distance: int) -> Template:
    """Exactly `distance` tokens: modifiers of which each holds a noun, then in half of the cases an adverbial."""
    if distance < SHORTEST_LINK:
        return rng.choice(SHORT[distance])
    endings = [ending for ending in ENDINGS if len(ending) <= distance - SHORTEST_LINK]
    ending = rng.choice(endings) if endings and rng.random() < 0.5 else ()
    return (*sum(linked(rng, LINKS, distance - len(ending)), ()), *ending)
