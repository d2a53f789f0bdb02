"""Plain text files by class: `train/pos/1.txt` is a training text of class `pos`."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from seqarena.data.source import Row
from seqarena.data.sources import values
from seqarena.data.sources.compression import inner_name
from seqarena.data.sources.contents import content_hash
from seqarena.data.sources.layout import NAME_THEM, SPELLINGS
from seqarena.data.sources.lines import lines, without_end
from seqarena.data.sources.places import Places, content, entries, nothing_there, refuse_twice, what_is
from seqarena.data.sources.wording import listing
from seqarena.errors import InputError

EXPECTED = "a folder with train/<class>/*.txt, and val and test like it; or with <class>/*.txt alone"
TEXTS = "*.txt"

Classes: TypeAlias = Mapping[str, Sequence[Path]]
"""The files of each class, sorted."""


class TextFolders:
    """Classification: the text is what a file holds (without its last line end), the label is its folder's name.

    `path` holds a folder for each split, or those of the classes, which are all training then; `train`, `val` and
    `test` hold those of the classes. `classes` names the ones that are read (nothing: all). `files` is the pattern of
    those that are read; without one they are *.txt, and another file among them is an InputError. Names may have .gz or
    .zst on top. What lies beside the classes' folders has no class and is not read, nor what starts with a dot.
    """

    strata: tuple[str, ...] = ()
    shortcuts: tuple[str, ...] = ()

    def __init__(
        self,
        path: str | None = None,
        train: str | None = None,
        val: str | None = None,
        test: str | None = None,
        classes: Sequence[str] | None = None,
        files: str | None = None,
        encoding: str = "utf-8",
    ) -> None:
        self.places = Places(path, train, val, test)
        self.classes = (classes,) if isinstance(classes, str) else tuple(classes or ())
        self.pattern, self.encoding = files, encoding

    def splits(self) -> tuple[str, ...]:
        """Which of train, val and test lie there. InputError: folders that cannot be used."""
        return tuple(self._found)

    def rows(self, split: str) -> Iterator[Row]:
        """`text` and `label` of each file, by class and then by name. InputError: the split is not there."""
        if split not in self._found:
            raise InputError(f"{self.places.path}: no {split} split, only {', '.join(self._found)}.")
        for name, files in self._found[split].items():
            for file in files:
                text = without_end("".join(lines(file, self.encoding)))
                yield {"text": values.text(str(file), "text", text), "label": name}

    def fingerprint(self) -> str:
        """SHA-256 over the encoding, the classes and every file's content."""
        return self._hash()

    def stamp(self) -> str:
        """The same with training files that are not read: by their names, sizes and times of change."""
        return self._hash("train")

    def _hash(self, *stamped: str) -> str:
        contents = {f"{split}/{name}": files for split, each in self._found.items() for name, files in each.items()}
        options = {"format": type(self).__name__, "encoding": self.encoding}
        return content_hash(options, contents, [place for place in contents if place.split("/")[0] in stamped])

    @cached_property
    def _found(self) -> Mapping[str, Classes]:
        places = self.places.by_split(EXPECTED)
        folders = {split: Path(place) for split, place in places.items()} or _split_folders(Path(str(self.places.path)))
        found = {split: self._classes(f"data.{split if places else 'path'}", path) for split, path in folders.items()}
        refuse_twice({split: [file for files in each.values() for file in files] for split, each in found.items()})
        return found

    def _classes(self, option: str, folder: Path) -> Classes:
        there = _folders(option, folder)
        names = self.classes or there
        if not names or set(names) - set(there):
            wanted = f"not all of data.classes={list(names)} are here" if names else "no folder of a class"
            raise InputError(f"{folder}: {wanted}. There is {content(folder)}. Expected: {EXPECTED}.")
        return {values.label(str(folder), "folder", name): self._texts(folder / name) for name in sorted(names)}

    def _texts(self, folder: Path) -> Sequence[Path]:
        files: list[Path] = []
        others: list[Path] = []
        for entry in entries(folder):
            if not entry.name.startswith("."):
                fits = entry.is_file() and fnmatch(inner_name(entry), self.pattern or TEXTS)
                (files if fits else others).append(entry)
        if others and (self.pattern is None or not files):
            raise InputError(
                f"{others[0]}: {what_is(others[0])}, where {self.pattern or TEXTS} is read. Take it out of the folder, "
                "or write data.files='*' to read all files of a class, data.files='*.txt' to pass over the others."
            )
        if not files:
            raise InputError(f"{folder}: an empty folder, and so a class without a text. Delete it, or fill it.")
        return files


def _split_folders(path: Path) -> Mapping[str, Path]:
    """The folder of each split, or all as training where there is none. InputError: a split twice, or a mixture."""
    there = _folders("data.path", path)
    found = {split: [name for name in names if name in there] for split, names in SPELLINGS.items()}
    named = [name for names in found.values() for name in names]
    for split, names in found.items():
        if len(names) > 1:
            raise InputError(f"{path}: the {split} split is there twice, as {listing(names)}. Keep one of them.")
    others = [name for name in there if name not in named]
    if named and others:
        raise InputError(
            f"{path}: {listing(others)} beside the splits {listing(named)}: classes or splits? "
            f"Take them out of the folder, or {NAME_THEM}."
        )
    return {split: path / names[0] for split, names in found.items() if names} or {"train": path}


def _folders(option: str, path: Path) -> list[str]:
    """The names of the folders in a folder."""
    if not path.exists():
        raise nothing_there(option, str(path), EXPECTED)
    if not path.is_dir():
        raise InputError(f"{path}: {what_is(path)}, where {option} needs a folder. Expected: {EXPECTED}.")
    return [entry.name for entry in entries(path) if entry.is_dir() and not entry.name.startswith(".")]
