"""Induction: a special token comes twice in a random string. What came after the first, and so comes after the second?

After Olsson et al. 2022, "In-context Learning and Induction Heads", in the form of Fu et al. 2022, "Hungry Hungry
Hippos: Towards Language Modeling with State Space Models", section 3.1, and of Gu and Dao 2023, "Mamba", section 4.1.2.
"""

from collections.abc import Sequence
from random import Random

from seqarena.data.source import Row
from seqarena.data.sources.generated import Generated, listed, turn
from seqarena.data.sources.memory import MARK, row, symbols, whole


class Induction(Generated):
    """Tagging: at the last token, which is the special one, the symbol after the special one before is the label.

        c a f  recall  e  b d a c  recall
                                   e          distance 4

    Up to `lead` symbols, each number as likely, come before the first special token, so its place is not the same in
    all texts. Each split cycles through `distances`; the stratum `distance` counts the tokens between the symbol asked
    for and the last token.

    A text depends on (seed, split, index) alone; see `Generated`.
    """

    name = "induction"
    strata: tuple[str, ...] = ("distance",)

    def __init__(
        self,
        train: int,
        val: int,
        test: int,
        symbols: int,
        lead: int,
        distances: Sequence[int],
        seed: int,
        test_distances: Sequence[int] | None = None,
    ):
        """`symbols` are how many there are to choose from; `test_distances` those of the test, if others.

        InputError names a bad option and the cure.
        """
        self.alphabet = whole(self.name, "symbols", symbols, 2)
        self.lead = whole(self.name, "lead", lead, 0)
        self.distances = listed(self.name, "distances", distances, test_distances, 0, "[8, 16, 32]")
        super().__init__((train, val, test), seed, self.distances, symbols, lead)

    def draw(self, rng: Random, split: str, index: int) -> Row:
        """A text of the distance whose turn it is."""
        distance = turn(self.distances[split], index)
        lead = symbols(rng, self.alphabet, rng.randint(0, self.lead))
        tokens = [*lead, MARK, *symbols(rng, self.alphabet, 1 + distance), MARK]
        return row(tokens, {len(tokens) - 1: len(lead) + 1})
