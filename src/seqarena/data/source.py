"""What a source is: raw rows by split, exactly as they were written."""

from collections.abc import Iterator, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

Row: TypeAlias = Mapping[str, str | int]
"""One raw example: `text` and `label` (classification), `source` and `target` (translation) or `text` and `labels`
(tagging: see `seqarena.data.queries`), all strings, then the source's strata (integers) and shortcuts (strings) by
their names; in tagging these may be strings with one entry a label. Further columns are kept beside the example: a
lookup baseline can answer by them."""

SPLITS = ("train", "val", "test")


class Source(Protocol):
    """Yields raw rows. It filters nothing and fits nothing: dropping, counting and tokenizing come after it."""

    strata: tuple[str, ...]
    """Integer columns, such as `distance`, by which every metric is shown."""

    shortcuts: tuple[str, ...]
    """Columns that hold what a rule of thumb would answer (a label each): scored beside the model."""

    def splits(self) -> tuple[str, ...]:
        """Which of train, val and test exist; what is missing is cut from train."""

    def rows(self, split: str) -> Iterator[Row]:
        """The rows of a split, in file order; bad input raises InputError naming file and line."""

    def fingerprint(self) -> str:
        """A hash of everything `rows` depends on: file contents, or a generator's options and version."""


@runtime_checkable
class Streamable(Source, Protocol):
    """A source whose training rows may be more than one wants to read before training."""

    def stamp(self) -> str:
        """What `fingerprint` is, but training files are not read: their names, sizes and times of change count."""
