"""The adding problem as a text: a row of digits of which two are marked; what is their sum?

After Hochreiter and Schmidhuber 1997, "Long Short-Term Memory", experiment 4, in the form of Le, Jaitly and Hinton
2015, "A Simple Way to Initialize Recurrent Networks of Rectified Linear Units". It departs from both: theirs are real
numbers from 0 to 1 with a second channel that marks two of them, and the sum is regressed (a constant answer has a
squared error of 0.167). Here numbers are the ten digits, a marked one is a token of its own, and the sum is one of 19
classes, so that the task is a text with a label; the accuracy of a constant answer is 10 %.
"""

from collections.abc import Sequence
from random import Random

from seqarena.data.source import Row
from seqarena.data.sources.generated import Generated, listed, turn

MARK = "x"
"""What follows a marked digit, without a space."""


class Adding(Generated):
    """Classification: digits are the text, the sum of the two marked ones the label.

        4 0 7x 1 9 3 8 2x 5 6  ->  9        distance 7

    One mark is in the first half and one in the second, each place as likely. `distance` counts the tokens after the
    first marked one. Each split cycles through `lengths`.

    The shortcut `nine` answers 9, the most likely sum: right one time in ten, and still so for a reader who forgot
    either of the two digits (whatever the other is, nine is one of ten sums as likely).
    """

    name = "adding"
    strata: tuple[str, ...] = ("distance",)
    shortcuts: tuple[str, ...] = ("nine",)

    def __init__(
        self,
        train: int,
        val: int,
        test: int,
        lengths: Sequence[int],
        seed: int,
        test_lengths: Sequence[int] | None = None,
    ):
        """Sizes are numbers of examples, 0 leaves a split out; `lengths` are in digits.

        `test_lengths` are those of the test, if others. InputError names a bad option and the cure.
        """
        self.lengths = listed(self.name, "lengths", lengths, test_lengths, 2, "[50, 100]")
        super().__init__((train, val, test), seed, self.lengths)

    def draw(self, rng: Random, split: str, index: int) -> Row:
        """Digits of the length whose turn it is."""
        length = turn(self.lengths[split], index)
        digits = rng.choices(range(10), k=length)
        first, second = rng.randrange(length // 2), rng.randrange(length // 2, length)
        marked = [f"{digit}{MARK}" if place in (first, second) else str(digit) for place, digit in enumerate(digits)]
        return {
            "text": " ".join(marked),
            "label": str(digits[first] + digits[second]),
            "distance": length - 1 - first,
            "nine": "9",
        }
