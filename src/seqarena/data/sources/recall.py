"""Multi-query associative recall: pairs of keys and values, then some of the keys again. Which value had each?

After Arora, Eyuboglu, Timalsina, Johnson, Poli, Zou, Rudra and Ré 2023, "Zoology: Measuring and Improving Recall in
Efficient Language Models", appendix E.1. Attention solves it at every width; what has a state of fixed size can hold
only so many pairs. Their settings are (length, pairs) = (64, 4), (128, 8), (256, 16), (512, 64) with 4,096 keys and as
many values, 100,000 texts, loss at the queries alone, blanks between them.
"""

from collections.abc import Sequence
from heapq import nsmallest
from random import Random

from seqarena.data.source import Row
from seqarena.data.sources.generated import Generated, listed, turn
from seqarena.data.sources.memory import BLANK, row, whole
from seqarena.errors import InputError


class Recall(Generated):
    """Tagging: at each key that comes again, the value that followed it is the label.

        k7 v2  k1 v9  blank blank  k1  blank  k7  blank
                                   v9         v2
                                   2          6           distance

    Keys and values differ within a text. After the pairs every second token may be a query: those of the pairs, from
    the first on, get free ones among them, the i-th of which has a weight of i^(power - 1), so most gaps are short.
    The stratum `distance` counts the tokens between a value and its query. The shortcut `last_value` answers with the
    value of the last pair, which is right for one query of each text.

    A text depends on (seed, split, index) alone; see `Generated`.
    """

    name = "recall"
    strata: tuple[str, ...] = ("distance",)
    shortcuts: tuple[str, ...] = ("last_value",)

    def __init__(
        self,
        train: int,
        val: int,
        test: int,
        length: int,
        pairs: int,
        keys: int,
        values: int,
        power: float,
        seed: int,
        test_lengths: Sequence[int] | None = None,
    ):
        """`length` is in tokens, `keys` and `values` are how many there are to choose from.

        The test cycles through `test_lengths`, if it has its own. InputError names a bad option and the cure.
        """
        self.pairs = whole(self.name, "pairs", pairs, 1)
        self.keys = whole(self.name, "keys", keys, pairs)
        self.values = whole(self.name, "values", values, pairs)
        shortest = 4 * pairs  # so that there is a free place for each query
        usual = whole(self.name, "length", length, shortest)
        self.lengths = listed(self.name, "lengths", [usual], test_lengths, shortest, f"[{shortest}]")
        if not isinstance(power, float | int) or not 0 <= power <= 10:
            raise InputError(f"{self.name}: power={power} is not a number from 0 to 10")
        self.power = power
        super().__init__((train, val, test), seed, self.lengths, pairs, keys, values, power)

    def draw(self, rng: Random, split: str, index: int) -> Row:
        """A text of the length whose turn it is."""
        length, begin = turn(self.lengths[split], index), 2 * self.pairs
        keys = [f"k{key}" for key in rng.sample(range(self.keys), self.pairs)]
        values = [f"v{value}" for value in rng.sample(range(self.values), self.pairs)]
        tokens = [word for pair in zip(keys, values, strict=True) for word in pair] + [BLANK] * (length - begin)
        origins = {}
        for number, slot in enumerate(self._slots(rng, (length - begin) // 2)):
            tokens[begin + 2 * slot] = keys[number]
            origins[begin + 2 * slot] = 2 * number + 1
        return {**row(tokens, origins), "last_value": " ".join([values[-1]] * self.pairs)}

    def _slots(self, rng: Random, count: int) -> list[int]:
        """A slot for each pair's query, drawn one after the other without replacement.

        Clocks that ring at rates equal to the weights ring in just that order (Efraimidis and Spirakis 2006).
        """
        rings = [rng.expovariate((slot + 1) ** (self.power - 1)) for slot in range(count)]
        return nsmallest(self.pairs, range(count), key=rings.__getitem__)
