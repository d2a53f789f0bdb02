"""Agreement across clauses inside clauses: of several subjects, which is the verb that comes next for?

After Gulordava et al. 2018, "Colorless Green Recurrent Networks Dream Hierarchically", and Lakretz et al. 2021,
"Mechanisms for Handling Nested Dependencies in Neural-Network Language Models and Humans": in "the key that the men
admired ..." the verb is the key's. Such sentences are read with a stack: the last subject without a verb is served
first. The words are those of `agreement`.
"""

from collections.abc import Sequence
from random import Random

from seqarena.data.source import Row
from seqarena.data.sources.english import Template, count_nouns, spell, templates
from seqarena.data.sources.generated import Generated, listed

NUMBERS = ("singular", "plural")

OUTER = templates("the NOUN | the ADJ NOUN | the ORIGIN NOUN | the NOUN PREP the NOUN | the ADJ NOUN PREP the ADJ NOUN")
INNER = templates("that the PERSON | that the ADJ PERSON | that the PERSON PREP the NOUN | that the ADJ PERSON")
"""Subjects, the first noun of each: of the sentence, and of a clause about the subject before."""
VERBS = templates("ADMIRED | ADVERB ADMIRED | ADMIRED | ADMIRED ADVERB")


class NestedAgreement(Generated):
    """Classification: a sentence before a verb is the text, the number of that verb's subject the label.

        the key that the men that the dancer saw ...   ->  plural      depth 2, distance 4, one attractor
                         ---                     ^
                       subject           the verb's place

    A sentence has `depth` clauses inside each other, of which each stands between the subject of the one around it and
    that subject's verb; it ends before one of the verbs, each as likely, those of the clauses inside being written.
    `distance` counts the tokens after the subject whose verb is due, `attractors` the nouns among them of the other
    number. Each split cycles through `depths`, with both labels as often at each.

    The shortcuts `first_noun` and `last_noun` are right half of the time at every depth. A subject is the one in
    question 1 time in depth + 1; otherwise it agrees in (depth - 1) / (2 depth) of the sentences, and 1/(d+1) +
    d/(d+1) x (d-1)/(2d) = 1/2. `majority_noun` (ties: a fair coin) is right a little less often than that.
    """

    name = "nested_agreement"
    strata: tuple[str, ...] = ("depth", "distance", "attractors")
    shortcuts: tuple[str, ...] = ("first_noun", "last_noun", "majority_noun")

    def __init__(
        self,
        train: int,
        val: int,
        test: int,
        depths: Sequence[int],
        seed: int,
        test_depths: Sequence[int] | None = None,
    ):
        """Sizes are numbers of sentences; 0 leaves a split out. `test_depths` are those of the test, if others.

        InputError names a bad option and the cure.
        """
        self.depths = listed(self.name, "depths", depths, test_depths, 1, "[1, 2, 3]")
        super().__init__((train, val, test), seed, self.depths)

    def draw(self, rng: Random, split: str, index: int) -> Row:
        """A sentence of the depth whose turn it is."""
        turn, place = divmod(index, len(self.depths[split]))
        depth, label = self.depths[split][place], turn % 2
        due = rng.randrange(depth + 1)
        subjects = [rng.choice(OUTER), *(rng.choice(INNER) for _ in range(depth))]
        verbs = [rng.choice(VERBS) for _ in range(depth - due)]
        numbers = [_numbers(rng, subject, label, at == due, depth) for at, subject in enumerate(subjects)]
        every, since = sum(numbers, ()), sum(numbers[due:], ())
        lead = 2 * sum(every) - len(every)
        return {
            "text": " ".join(spell(rng, sum((*subjects, *verbs), ()), every)),
            "label": NUMBERS[label],
            "depth": depth,
            "distance": sum(map(len, (*subjects[due:], *verbs))) - 1 - _noun_place(subjects[due]),
            "attractors": sum(number != label for number in since),
            "first_noun": NUMBERS[every[0]],
            "last_noun": NUMBERS[every[-1]],
            "majority_noun": NUMBERS[int(lead > 0) if lead else rng.randrange(2)],
        }


def _numbers(rng: Random, subject: Template, label: int, due: bool, depth: int) -> tuple[int, ...]:
    """Of a subject and of the nouns that belong to it, which agree with the label half of the time."""
    rates = [1.0 if due else (depth - 1) / (2 * depth), *[0.5] * (count_nouns(subject) - 1)]
    return tuple(label if rng.random() < rate else 1 - label for rate in rates)


def _noun_place(subject: Template) -> int:
    return next(place for place, token in enumerate(subject) if token in ("NOUN", "PERSON"))
