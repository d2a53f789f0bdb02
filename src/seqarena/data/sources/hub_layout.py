"""Which files of a dataset repository make up each split: by their names, unless its README.md declares them.

The layouts in which the Hub's sets come (its documentation: "File names and splits"):

    data/train-00000-of-00002-1a2b3c.parquet    shards; `data/` is the same as no folder
    de-en/train-00000-of-00001.parquet          a folder for each config
    de-en/train/0000.parquet                    the branch refs/convert/parquet
    train.jsonl  validation.csv.gz              plain names
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

from seqarena.data.source import SPLITS
from seqarena.data.sources.compression import UNPACKERS
from seqarena.data.sources.hub_card import Card, matched
from seqarena.data.sources.layout import SPELLINGS
from seqarena.data.sources.records import FORMATS
from seqarena.data.sources.wording import listing, nearest
from seqarena.errors import InputError

DEFAULT = "default"
"""The config of files that lie in no folder, or in `data/`."""

Files: TypeAlias = Mapping[str, Sequence[str]]
"""Names of files by split, in reading order."""

_DATA = re.compile(rf"(.+)\.((?:{'|'.join(FORMATS)})(?:{'|'.join(map(re.escape, UNPACKERS))})?)")
_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})(?:-[0-9a-f]+)?")
_NUMBER = re.compile(r"\d{4,}")
_PARTIAL = "partial-"


class Layout(NamedTuple):
    """The config, its files by train, val and test, and its further splits, which are left out."""

    config: str
    files: Files
    left_out: tuple[str, ...]


class Name(NamedTuple):
    """What a name says: `de-en/train-00001-of-00003.parquet` is config de-en, split train, shard 1 of 3."""

    config: str
    split: str
    shard: int | None
    shards: int | None
    format: str


def find(place: str, names: Collection[str], card: Card, config: str | None) -> Layout:
    """The files of `config` among `names` (relative, with slashes); None is the only config, or the default one.

    `place` is what messages call the repository. InputError: no data, a config that is not there or has to be chosen,
    a shard that is missing, a split that is there twice, or converted in part.
    """
    configs: Mapping[str, Files] = card.configs or _named(names)
    if not configs:
        raise InputError(
            f"{place}: no train, validation or test files that can be read ({', '.join(FORMATS)}); there is "
            f"{listing(sorted(names))}. Of a set that has only a script, the Hub may keep a copy in files: write "
            "data.revision=refs/convert/parquet"
        )
    chosen = _choose(place, configs, config, card.default)
    splits = configs[chosen]
    found = {split: files for split in SPLITS if (files := _files(place, names, card, splits, split))}
    if not found:
        raise InputError(f"{place}: config {chosen!r} has no train, validation or test, only {listing(splits)}.")
    return Layout(chosen, found, tuple(sorted(split for split in splits if not _home(split))))


def parse(name: str) -> Name | None:
    """What the name of a file says; None where it is no data file."""
    data = _DATA.fullmatch(name)
    if data is None:
        return None
    *folders, stem = PurePosixPath(data[1]).parts
    shard = _SHARD.fullmatch(stem)
    split, number, total = (shard[1], int(shard[2]), int(shard[3])) if shard else (stem, None, None)
    if folders and _NUMBER.fullmatch(stem):
        split, number = folders.pop(), int(stem)
    config = "/".join(folders)
    return Name(DEFAULT if config in ("", "data") else config, split, number, total, data[2])


def _home(split: str) -> str | None:
    """Which of train, val and test a split of that name is, or is a part of; None for all others."""
    bare = split.lower().removeprefix(_PARTIAL)
    return next((ours for ours, spellings in SPELLINGS.items() if bare in spellings), None)


def _named(names: Iterable[str]) -> dict[str, Files]:
    """Files by config and split as their names tell, of each config that has train, validation or test."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in sorted(names):
        if told := parse(name):
            found[told.config][told.split].append(name)
    return {config: splits for config, splits in found.items() if any(map(_home, splits))}


def _choose(place: str, configs: Collection[str], wanted: str | None, marked: str | None) -> str:
    there = listing(sorted(configs))
    if wanted is not None and wanted not in configs:
        guess = nearest(wanted, configs)
        cure = "Take one of them with data.config=<name>." if guess is None else f"Did you mean data.config={guess}?"
        raise InputError(f"{place}: no config {wanted!r} (asked for by data.config); there is {there}. {cure}")
    only = next(iter(configs)) if len(configs) == 1 else None
    chosen = wanted or only or marked or (DEFAULT if DEFAULT in configs else None)
    if chosen is None:
        raise InputError(f"{place}: several configs: {there}. Choose one with data.config=<name>.")
    return chosen


def _files(place: str, names: Collection[str], card: Card, splits: Files, split: str) -> Sequence[str]:
    """The files of train, val or test, whole and in order; none where the split is not there."""
    spelled = [name for name in splits if _home(name) == split]
    if not spelled:
        return ()
    if len(spelled) > 1:
        raise InputError(f"{place}: the {split} split is there twice, as {listing(spelled)}. Keep one of them.")
    files = splits[spelled[0]]
    if spelled[0].startswith(_PARTIAL):
        raise InputError(
            f"{place}: {files[0]} holds only a part of the {split} split: the Hub did not convert the whole of it. "
            "Take another data.revision, or download the original and give data.path=<folder>."
        )
    if card.configs:
        files = matched(place, names, split, files)
    _refuse_gaps(place, files, declared=bool(card.configs))
    return files


def _refuse_gaps(place: str, files: Sequence[str], declared: bool) -> None:
    """Shards are all there, each once, in one format. Without shards there is one file, if README.md names no more."""
    told = [name for name in map(parse, files) if name is not None]
    if declared and not any(name.shards for name in told):
        return
    numbers = [name.shard or 0 for name in told]
    total = told[0].shards or max(numbers) + 1
    if len({(name.format, name.shards, name.shard is None) for name in told}) > 1 or len(set(numbers)) < len(numbers):
        raise InputError(f"{place}: the same split is there more than once, as {listing(files)}. Keep one copy.")
    missing = sorted(set(range(total)) - set(numbers))
    if missing:
        name = f"{missing[0]:05}-of-{total:05}" if told[0].shards else f"{missing[0]:04}"
        raise InputError(
            f"{place}: {len(missing)} of {total} shards are missing, the first is {told[0].split}-{name}; there is "
            f"{listing(files)}. Download them again."
        )
