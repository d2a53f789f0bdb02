"""Selective copying: symbols lie at random places among blanks and are written again in their order.

After Gu and Dao 2023, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces", section 3.1 and appendix E.1
(there 16 out of 16 symbols in 4,096 tokens). In copy memory the places are known beforehand; here it takes a look at
the tokens to know which of them to hold.
"""

from collections.abc import Sequence
from random import Random

from seqarena.data.source import Row
from seqarena.data.sources.generated import Generated, listed, turn
from seqarena.data.sources.memory import BLANK, MARK, row, symbols, whole


class SelectiveCopy(Generated):
    """Tagging: at the first mark the first symbol is the label, at the second the second, and so on.

        blank c blank blank a blank  recall recall
                                     c      a
                                     4      2         distance

    The symbols lie anywhere in the tokens before the marks, every choice of places as likely; each split cycles through
    `lengths`, the numbers of those tokens. The stratum `distance` counts the tokens between a symbol and its mark.

    A text depends on (seed, split, index) alone; see `Generated`.
    """

    name = "selective_copy"
    strata: tuple[str, ...] = ("distance",)

    def __init__(
        self,
        train: int,
        val: int,
        test: int,
        items: int,
        symbols: int,
        lengths: Sequence[int],
        seed: int,
        test_lengths: Sequence[int] | None = None,
    ):
        """`items` symbols are to be held, out of `symbols` that there are; `test_lengths` are the test's, if others.

        InputError names a bad option and the cure.
        """
        self.items = whole(self.name, "items", items, 1)
        self.alphabet = whole(self.name, "symbols", symbols, 2)
        self.lengths = listed(self.name, "lengths", lengths, test_lengths, items, f"[{2 * items}, {4 * items}]")
        super().__init__((train, val, test), seed, self.lengths, items, symbols)

    def draw(self, rng: Random, split: str, index: int) -> Row:
        """A text of the length whose turn it is."""
        length = turn(self.lengths[split], index)
        tokens = [BLANK] * length + [MARK] * self.items
        places = sorted(rng.sample(range(length), self.items))
        for place, symbol in zip(places, symbols(rng, self.alphabet, self.items), strict=True):
            tokens[place] = symbol
        return row(tokens, {length + number: place for number, place in enumerate(places)})
