"""Which file belongs to which split: the one place that looks into a folder."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from seqarena.data.source import SPLITS
from seqarena.data.sources.wording import listing
from seqarena.errors import InputError

SPELLINGS = {"train": ("train",), "val": ("val", "valid", "validation", "dev"), "test": ("test",)}
"""The names a split's files may have in front of the first dot."""


def find(path: Path, endings: Sequence[str]) -> dict[str, tuple[Path, ...]]:
    """The files of each split that is there, one per ending and in the order of the endings.

    A folder holds `<split>.<ending>` files. A single file is the train split, where one ending is enough.
    InputError: a missing path, a folder without any of the files, half a pair, two spellings of one split,
    or a split that lies there in another format only (it would be cut from train without a word).
    """
    if path.is_file() and len(endings) == 1:
        return {"train": (path,)}
    if not path.is_dir():
        raise InputError(f"{_not_a_folder(path)} Expected: {expected(endings)}.")
    found = {split: files for split in SPLITS if (files := _files(path, split, endings))}
    if not found:
        raise InputError(f"{path}: no files to read. Expected: {expected(endings)}. There is {_content(path)}.")
    return found


def expected(endings: Sequence[str]) -> str:
    """The layout in words, for messages."""
    names = [" and ".join(f"{split}.{ending}" for ending in endings) for split in SPLITS]
    return f"a folder with {'; '.join(names)}" + (", or one file" if len(endings) == 1 else "")


def _files(folder: Path, split: str, endings: Sequence[str]) -> tuple[Path, ...]:
    """The files of one split; empty when it is not there."""
    used = [stem for stem in SPELLINGS[split] if any((folder / f"{stem}.{ending}").is_file() for ending in endings)]
    if not used:
        _refuse_other_format(folder, split, endings)
        return ()
    if len(used) > 1:
        raise InputError(f"{folder}: the {split} split is there twice, as {listing(used)}. Keep one of them.")
    files = tuple(folder / f"{used[0]}.{ending}" for ending in endings)
    for file in files:
        if not file.is_file():
            raise InputError(f"{file}: missing, while its other half is there. There is {_content(folder)}.")
    return files


def _refuse_other_format(folder: Path, split: str, endings: Sequence[str]) -> None:
    for name in _names(folder):
        if name.split(".")[0].lower() in SPELLINGS[split]:
            wanted = " and ".join(f"{split}.{ending}" for ending in endings)
            raise InputError(
                f"{folder / name}: looks like the {split} split, but {wanted} is what is read here. "
                "Convert or rename it, or take it out of the folder."
            )


def _not_a_folder(path: Path) -> str:
    if path.exists():
        return f"{path}: one file, where a folder is needed."
    parent = next((folder for folder in path.absolute().parents if folder.is_dir()), Path("/"))
    return f"{path}: no such file or folder. In {parent} there is {_content(parent)}."


def _content(folder: Path) -> str:
    return listing(_names(folder))


def _names(folder: Path) -> Iterator[str]:
    return iter(sorted(entry.name for entry in folder.iterdir()))
