"""A fact that is stated once among many sentences, and asked for at the end.

After the single supporting fact of Weston et al. 2015, "Towards AI-Complete Question Answering: A Set of Prerequisite
Toy Tasks", and the needle in a haystack by which long-context language models are tested (Kamradt 2023), small enough
to be learned from scratch. A text has no punctuation, so that its tokens are its words.
"""

from collections.abc import Sequence
from random import Random

from seqarena.data.source import Row
from seqarena.data.sources.english import Template, any_numbers, linked, spell, templates, words
from seqarena.data.sources.generated import Generated, listed
from seqarena.errors import InputError

CODES = words("one two three four five six seven eight nine ten")
COLOURS = words("red blue green black white yellow")
THINGS = words("box bag basket bottle")
BOXES = tuple(f"{colour} {thing}" for colour in COLOURS for thing in THINGS)
FACT = 9
"""Tokens of "the code of the red box is seven and"."""

SENTENCES = templates(
    "the PERSON CAME and | the ADJ PERSON CAME and | the PERSON ALSO CAME and | the PERSON ADMIRED the PERSON and |"
    "the ADJ ORIGIN PERSON CAME and | the ADJ PERSON ADMIRED the PERSON and | the PERSON that FACED the PERSON CAME and"
)
"""Their lengths are four and all that follow, so that they fill any room from four on."""
RESTS = {1: ("later",), 2: ("much", "later"), 3: ("some", "time", "later")}
"""What fills a room of fewer tokens, before the question."""


class Needle(Generated):
    """Classification: sentences and a question are the text, the code that is asked for the label.

        the code of the red box is two and the tall pilot fell and the code of the blue bag is one and
        the doctor also moved and what is the code of the red box  ->  two        distance 20

    `distance` counts the tokens between the code and the question. Each split cycles through `distances`. A text states
    the codes of `facts` boxes, each of the first so many numbers once, so that which numbers it holds says nothing, and
    the labels are as many and as frequent. The fact that is asked for is the first, the second or another, each as
    likely: the rest stand before it or between it and the question.

    The shortcuts `first_fact` and `last_fact` answer the code that is stated first or last: right 1 time in `facts` at
    every distance, as is any guess.
    """

    name = "needle"
    strata: tuple[str, ...] = ("distance",)
    shortcuts: tuple[str, ...] = ("first_fact", "last_fact")

    def __init__(
        self,
        train: int,
        val: int,
        test: int,
        distances: Sequence[int],
        facts: int,
        seed: int,
        test_distances: Sequence[int] | None = None,
    ):
        """Sizes are numbers of texts; 0 leaves a split out. `test_distances` are those of the test, if others.

        InputError names a bad option and the cure: among them a distance that does not hold the other facts.
        """
        if not isinstance(facts, int) or not 2 <= facts <= len(CODES):
            raise InputError(f"needle: facts={facts} is not a number of facts; write 2 to {len(CODES)}")
        least = 1 + (facts - 1) * FACT
        self.distances = listed(self.name, "distances", distances, test_distances, least, f"[{least}, {2 * least}]")
        self.facts = facts
        super().__init__((train, val, test), seed, facts, self.distances)

    def draw(self, rng: Random, split: str, index: int) -> Row:
        """A text at the distance whose turn it is."""
        turn, place = divmod(index, len(self.distances[split]))
        distance, label = self.distances[split][place], turn % self.facts
        boxes = rng.sample(BOXES, self.facts)
        codes = [label, *rng.sample([code for code in range(self.facts) if code != label], self.facts - 1)]
        facts = [words(f"the code of the {box} is {CODES[code]} and") for box, code in zip(boxes, codes, strict=True)]
        earlier = rng.randrange(self.facts)  # of the other facts
        before = _mixed(rng, facts[1 : 1 + earlier], 4 * rng.randrange(8))
        after = _mixed(rng, facts[1 + earlier :], distance - 1 - FACT * (self.facts - 1 - earlier))
        question = words(f"what is the code of the {boxes[0]}")
        text = " ".join(spell(rng, [*before, *facts[0], *after, *question], any_numbers(rng)))
        stated = [word for word in text.split(" ") if word in CODES]
        return {
            "text": text,
            "label": CODES[label],
            "distance": distance,
            "first_fact": stated[0],
            "last_fact": stated[-1],
        }


def _mixed(rng: Random, facts: Sequence[Template], room: int) -> Template:
    """The facts among other sentences of `room` tokens, in any order."""
    short = room if room in RESTS else 0
    sentences = [*facts, *linked(rng, SENTENCES, room - short)]
    rng.shuffle(sentences)
    return (*sum(sentences, ()), *RESTS.get(short, ()))
