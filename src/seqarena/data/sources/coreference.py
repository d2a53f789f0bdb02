"""Which of two nouns does "it" mean, when the last word of the sentence decides?

After the pair of sentences with which the Transformer's attention was shown (Uszkoreit 2017, "Transformer: A Novel
Neural Network Architecture for Language Understanding"): "The animal didn't cross the street because it was too tired"
and "... because it was too wide"; such pairs are Winograd schemas (Levesque, Davis and Morgenstern 2012). Here a small
grammar makes them, with people, who are never "it", in between. No punctuation, so that the tokens are the words.
"""

from collections.abc import Sequence
from random import Random

from seqarena.data.source import Row
from seqarena.data.sources.english import any_numbers, linked, spell, templates, words
from seqarena.data.sources.generated import Generated, listed

ANIMALS = words("animal dog cat horse cow goat fox bear donkey camel rabbit pony")
WAYS = words("street road river bridge field canal path lane bog valley meadow stream")
TIRED = words("tired hungry thirsty sleepy scared lazy stubborn sick")
WIDE = words("wide steep slippery muddy crowded flooded icy bumpy")
"""What an animal is in the way, and what a way is."""
VERBS = words("crossed reached entered followed used approached avoided left")

PEOPLE = templates(
    "PREP the PERSON | PREP the ADJ PERSON | PREP the ORIGIN PERSON | PREP the ADJ ORIGIN PERSON |"
    "that the PERSON ADMIRED | that the ADJ PERSON ADMIRED | that the ADJ ORIGIN PERSON ADMIRED |"
    "that PLEASED the PERSON | that PLEASED the ADJ PERSON | that FACED the ADJ ORIGIN PERSON |"
    "that the PERSON PREP the ADJ PERSON ADMIRED"
)
RESTS = {1: ("yesterday",), 2: ("last", "night")}
"""What fills a room too small for a person."""

PLACES = ("first", "second")


class Coreference(Generated):
    """Classification: a sentence is the text; the label says whether "it" is the noun that came first or second.

        the animal never crossed the street near the old pilots because it was too tired  ->  first       distance 5
        the animal never crossed the street near the old pilots because it was too wide   ->  second      distance 5
        the street was never crossed by the animal near the old pilots because it was too wide  ->  first

    An adjective of animals or of ways says which of the two "it" is, an active or a passive verb says where it stood;
    all four cases are as frequent. Either alone says nothing about the label, so no word does, and it takes both ends
    of the sentence to answer. (Were the label the noun itself, the adjective and the only noun of its kind would tell
    it without any order.) `distance` counts the tokens between the second of the two nouns and "it"; each split cycles
    through `distances`.

    The shortcuts `first_noun` and `last_noun` always answer first or second, `animal` the place of the animal: all are
    right half of the time at every distance.
    """

    name = "coreference"
    strata: tuple[str, ...] = ("distance",)
    shortcuts: tuple[str, ...] = ("first_noun", "last_noun", "animal")

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
        self.distances = listed(self.name, "distances", distances, test_distances, 1, "[4, 8, 16]")
        super().__init__((train, val, test), seed, self.distances)

    def draw(self, rng: Random, split: str, index: int) -> Row:
        """A sentence at the distance whose turn it is."""
        turn, place = divmod(index, len(self.distances[split]))
        distance = self.distances[split][place]
        label, passive = turn % 2, turn // 2 % 2
        animal, way, verb = rng.choice(ANIMALS), rng.choice(WAYS), rng.choice(VERBS)
        main = f"the {way} was never {verb} by the {animal}" if passive else f"the {animal} never {verb} the {way}"
        adjective = rng.choice(TIRED if label == passive else WIDE)
        room = distance - 1  # for "because"
        between = RESTS[room] if room in RESTS else sum(linked(rng, PEOPLE, room), ())
        return {
            "text": " ".join((main, *spell(rng, between, any_numbers(rng)), f"because it was too {adjective}")),
            "label": PLACES[label],
            "distance": distance,
            "first_noun": PLACES[0],
            "last_noun": PLACES[1],
            "animal": PLACES[passive],
        }
