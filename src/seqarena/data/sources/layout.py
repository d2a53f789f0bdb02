"""Which file belongs to which split: by the options, or as files in a folder are called."""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TypeAlias

from seqarena.data.source import SPLITS
from seqarena.data.sources.compression import UNPACKERS
from seqarena.data.sources.places import (
    Places,
    called,
    content,
    entries,
    matching,
    nothing_there,
    refuse_twice,
    what_is,
)
from seqarena.data.sources.wording import listing
from seqarena.errors import InputError

SPELLINGS = {"train": ("train",), "val": ("val", "valid", "validation", "dev"), "test": ("test",)}
"""The names a split's files may have in front of the first dot."""

PACKINGS = ("", *UNPACKERS)

NAME_THEM = "name the files with data.train=, data.val= and data.test="

Unit: TypeAlias = tuple[Path, ...]
"""Files that are read side by side: one of records, or two that are aligned line by line."""


class Layout:
    """How files are called: `sides` are the endings that each of the files read side by side may have."""

    def __init__(self, *sides: Sequence[str]) -> None:
        self._sides = [[f".{ending}{packing}" for ending in side for packing in PACKINGS] for side in sides]
        self._shown = ["." + (side[0] if len(side) == 1 else f"<{'|'.join(side)}>") for side in sides]

    def find(self, places: Places) -> dict[str, tuple[Unit, ...]]:
        """The files of each split that is named, or that lies in the folder.

        A folder holds `<split>.<ending>` files. Anything else is a name or a pattern; of files read side by side it is
        what stands in front of their endings. InputError: nothing there, half a pair, two spellings of one split,
        a split that lies there in another format only (it would be cut from train without a word), one file twice.
        """
        named = places.by_split(self.expected())
        path = Path(str(places.path))
        if named:
            found = {split: self._named(f"data.{split}", place) for split, place in named.items()}
        elif path.is_dir():
            found = self._folder(path)
        else:
            found = {"train": self._named("data.path", str(path))}
            _refuse_splits_in_one(str(path), found["train"])
        refuse_twice({split: [file for unit in units for file in unit] for split, units in found.items()})
        return found

    def expected(self) -> str:
        """What may be given, in words."""
        folder = f"a folder with {'; '.join(map(self._files, SPLITS))}"
        if len(self._sides) == 1:
            return f"{folder}, one file, or a pattern in quotes such as 'part-*{self._shown[0]}'"
        return f"{folder}, or what stands before these endings, such as corpus/train"

    def _files(self, split: str) -> str:
        return " and ".join(split + ending for ending in self._shown)

    def _named(self, option: str, place: str) -> tuple[Unit, ...]:
        if len(self._sides) == 1:
            return tuple((file,) for file in matching(option, place, self.expected()))
        halves = [_by_stem(place, side) for side in self._sides]
        stems = sorted({stem for half in halves for stem in half})
        if not stems:
            raise nothing_there(option, place, self.expected())
        for stem, (half, ending) in product(stems, zip(halves, self._shown, strict=True)):
            if stem not in half:
                raise InputError(f"{stem}{ending}: missing, while the other half of {option}={place} is there. Add it.")
        return tuple(tuple(half[stem] for half in halves) for stem in stems)

    def _folder(self, folder: Path) -> dict[str, tuple[Unit, ...]]:
        found: dict[str, tuple[Unit, ...]] = {
            split: (unit,) for split in SPLITS if (unit := self._split(folder, split))
        }
        if not found:
            raise InputError(
                f"{folder}: no files to read. Expected: {self.expected()}; else {NAME_THEM}. "
                f"There is {content(folder)}."
            )
        return found

    def _split(self, folder: Path, split: str) -> Unit:
        """The files of one split; empty when it is not there."""
        names = [[stem + ending for stem, ending in product(SPELLINGS[split], side)] for side in self._sides]
        there = [[name for name in side if (folder / name).is_file()] for side in names]
        every = [name for side in there for name in side]
        if not every:
            self._refuse_other_format(folder, split)
        elif any(len(side) > 1 for side in there) or len({name.split(".")[0] for name in every}) > 1:
            raise InputError(f"{folder}: the {split} split is there twice, as {listing(every)}. Keep one of them.")
        elif not all(there):
            missing = every[0].split(".")[0] + self._shown[there.index([])]
            raise InputError(f"{folder / missing}: missing, while its other half is there. There is {content(folder)}.")
        return tuple(folder / name for name in every)

    def _refuse_other_format(self, folder: Path, split: str) -> None:
        for entry in entries(folder):
            if entry.name.split(".")[0].lower() in SPELLINGS[split]:
                raise InputError(
                    f"{entry}: {what_is(entry)} that looks like the {split} split, but files called "
                    f"{self._files(split)} are what is read here. Convert or rename it, take it out of the folder, or "
                    f"{NAME_THEM}."
                )


def _by_stem(place: str, endings: Sequence[str]) -> Mapping[str, Path]:
    """The files of one side by what stands before their endings. InputError: packed and plain, both are there."""
    found: dict[str, Path] = {}
    for ending in endings:
        for file in called(place + ending):
            before = found.setdefault(str(file).removesuffix(ending), file)
            if before is not file:
                raise InputError(f"{before} and {file}: the same twice, packed and not. Keep one of them.")
    return found


def _refuse_splits_in_one(pattern: str, units: Sequence[Unit]) -> None:
    """InputError if a pattern for everything matches what looks like several splits: all would be trained on."""
    heads = {re.split("[^a-z]", unit[0].name.lower())[0] for unit in units}
    looks = {next((split for split, names in SPELLINGS.items() if head in names), None) for head in heads}
    if len(looks) > 1 and looks & {"val", "test"}:
        raise InputError(
            f"data.path={pattern}: matches {listing(sorted(unit[0].name for unit in units))}, which look like several "
            f"splits, and all would be trained on. Instead {NAME_THEM}."
        )
