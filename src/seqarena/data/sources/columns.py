"""Columns of a file: those that are there against those that are wanted."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from seqarena.data.sources.wording import listing, nearest
from seqarena.errors import InputError

Record: TypeAlias = tuple[str, Mapping[str, object]]
"""Where it stands (`file:line` or `file:row N`, for messages), and its fields by name."""


def require(where: str, kind: str, found: Collection[str], wanted: Mapping[str, str], hint: str = "") -> None:
    """InputError if a wanted name is not among those found; `kind` says what they are (column, key)."""
    for name, option in wanted.items():
        if name not in found:
            guess = nearest(name, found)
            cure = f"Did you mean {option}={guess}?" if guess is not None else f"Name one with {option}=<{kind}>."
            raise InputError(
                f"{where}: no {kind} {name!r} (asked for by {option}); found {listing(found)}. {hint or cure}"
            )


def refuse_twice(where: str, names: Sequence[str]) -> None:
    """InputError if two columns have the same name: which one is meant cannot be said."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"{where}: the header has {listing(twice)} more than once. Rename or delete one.")
