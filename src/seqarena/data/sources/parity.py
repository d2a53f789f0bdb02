"""Is the number of ones in a string of zeros and ones odd or even?

The smallest task in which every symbol counts: to change any one of them changes the answer, and no part of a string
says anything about the whole. Hahn 2020, "Theoretical Limitations of Self-Attention in Neural Sequence Models", proves
that attention of a fixed size cannot do it at every length; a recurrent network needs one bit of state.
"""

from collections.abc import Sequence
from random import Random

from seqarena.data.source import Row
from seqarena.data.sources.generated import Generated, ends

PARITIES = ("even", "odd")


class Parity(Generated):
    """Classification: zeros and ones are the text, whether the ones are `odd` or `even` the label.

        1 0 0 1 1  ->  odd

    The length is drawn between the two `lengths`, each as likely; the labels take turns. Of short lengths there are few
    strings. Training repeats them, for without many of them hardly any network finds the task (Delétang et al. 2023,
    "Neural Networks and the Chomsky Hierarchy", draw alike); in the other splits they run out, and the others share the
    rest.

    The shortcut `last_symbol` answers odd where the last symbol is 1, and is right half of the time from length 2 on.
    """

    name = "parity"
    repeats = True
    shortcuts: tuple[str, ...] = ("last_symbol",)

    def __init__(
        self,
        train: int,
        val: int,
        test: int,
        lengths: Sequence[int],
        seed: int,
        test_lengths: Sequence[int] | None = None,
    ):
        """Sizes are numbers of strings, 0 leaves a split out; `lengths` are the shortest and the longest in symbols.

        `test_lengths` are those of the test, if others. InputError names a bad option and the cure.
        """
        self.lengths = ends(self.name, "lengths", lengths, test_lengths, 1, "[2, 16]")
        super().__init__((train, val, test), seed, self.lengths)

    def draw(self, rng: Random, split: str, index: int) -> Row:
        """Any string with the parity whose turn it is: all symbols but the last are free."""
        length = rng.randint(*self.lengths[split])
        symbols = [rng.randrange(2) for _ in range(length - 1)]
        symbols.append((index + sum(symbols)) % 2)
        return {
            "text": " ".join(map(str, symbols)),
            "label": PARITIES[index % 2],
            "last_symbol": PARITIES[symbols[-1]],
        }
