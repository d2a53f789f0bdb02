"""Three splits from any source: what it lacks is cut from its training rows, by a seed, never by what the rows say."""

import random
from collections.abc import Iterator

from seqarena.data.source import SPLITS, Row, Source
from seqarena.errors import InputError

SHARE = 0.1


class Splits:
    """A source that has train, val and test. Each missing one takes a tenth of the training rows."""

    def __init__(self, source: Source, seed: int) -> None:
        self._source, self._seed = source, seed
        present = source.splits()
        if "train" not in present:
            raise InputError(f"there is no training split, only {', '.join(present)}: add a train file")
        self.cut = tuple(split for split in SPLITS if split not in present)
        """The splits that are cut from train."""

    def _home(self, index: int) -> str:
        place = random.Random(f"{self._seed} {index}").random() / SHARE
        return self.cut[int(place)] if place < len(self.cut) else "train"

    def rows(self, split: str) -> Iterator[Row]:
        """Rows of a split, in file order."""
        if not self.cut or (split not in self.cut and split != "train"):
            yield from self._source.rows(split)
            return
        for index, row in enumerate(self._source.rows("train")):
            if self._home(index) == split:
                yield row
