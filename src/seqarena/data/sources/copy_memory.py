"""Copy memory: symbols are held over a delay, then written again. For how long does a network remember?

After Hochreiter and Schmidhuber 1997, "Long Short-Term Memory", in the form of Arjovsky, Shah and Bengio 2016, "Unitary
Evolution Recurrent Neural Networks", section 4.1: ten out of eight symbols. They mark the end of the delay once and
count the loss at every step; here each symbol has its own mark, and what is said elsewhere does not count.
"""

from collections.abc import Sequence
from random import Random

from seqarena.data.source import Row
from seqarena.data.sources.generated import Generated, listed, turn
from seqarena.data.sources.memory import BLANK, MARK, row, symbols, whole


class CopyMemory(Generated):
    """Tagging: at the first mark the first symbol is the label, at the second the second, and so on.

        c a f  blank blank blank blank  recall recall recall
                                        c      a      f          distance 4

    Each split cycles through `distances`, the numbers of blanks; they are the stratum `distance`.

    A text depends on (seed, split, index) alone; see `Generated`.
    """

    name = "copy_memory"
    strata: tuple[str, ...] = ("distance",)

    def __init__(
        self,
        train: int,
        val: int,
        test: int,
        items: int,
        symbols: int,
        distances: Sequence[int],
        seed: int,
        test_distances: Sequence[int] | None = None,
    ):
        """`items` symbols are to be held, out of `symbols` that there are; `test_distances` are the test's, if others.

        InputError names a bad option and the cure.
        """
        self.items = whole(self.name, "items", items, 1)
        self.alphabet = whole(self.name, "symbols", symbols, 2)
        self.distances = listed(self.name, "distances", distances, test_distances, 0, "[8, 16, 32]")
        super().__init__((train, val, test), seed, self.distances, items, symbols)

    def draw(self, rng: Random, split: str, index: int) -> Row:
        """A text of the delay whose turn it is."""
        delay = turn(self.distances[split], index)
        tokens = [*symbols(rng, self.alphabet, self.items), *[BLANK] * delay, *[MARK] * self.items]
        origins = {self.items + delay + item: item for item in range(self.items)}
        return {**row(tokens, origins), "distance": delay}
