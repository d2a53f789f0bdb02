"""Where a user says the files are: one place for all splits, or one for each. Nothing is opened here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from seqarena.data.source import SPLITS
from seqarena.data.sources.wording import listing
from seqarena.errors import InputError


@dataclass(frozen=True)
class Places:
    """`path` for everything, or a place for each split; each may be a pattern such as `part-*.csv`."""

    path: str | None = None
    train: str | None = None
    val: str | None = None
    test: str | None = None

    def by_split(self, expected: str) -> Mapping[str, str]:
        """The places by split, nothing if `path` is given. InputError: both are given, or neither."""
        places = {split: place for split in SPLITS if (place := getattr(self, split))}
        if self.path and places:
            raise InputError(f"data.path={self.path} and data.{next(iter(places))}= are both given: leave one out.")
        if not self.path and not places:
            raise InputError(
                "No files given: write data.path=..., or data.train=... with data.val= and data.test= where there are "
                f"such files. Expected: {expected}."
            )
        return places


def matching(option: str, place: str, expected: str) -> list[Path]:
    """The files that a name or a pattern means, sorted. InputError: none, or something that is no file."""
    files = called(place)
    if not files:
        raise nothing_there(option, place, expected)
    for file in files:
        if not file.is_file():
            raise InputError(f"{file}: {what_is(file)}, where {option} needs a file. Expected: {expected}.")
    return files


def called(place: str) -> list[Path]:
    """Everything that has the name, or whose name fits the pattern, sorted."""
    return [Path(place)] if Path(place).exists() else sorted(map(Path, glob(place, recursive=True)))  # noqa: PTH207


def nothing_there(option: str, place: str, expected: str) -> InputError:
    """The message for a place where nothing is, with what lies beside it."""
    problem = "no file matches" if has_magic(place) else "no such file or folder"
    problem = what_is(Path(place)) if Path(place).exists() else problem
    parent = next((folder for folder in Path(place).absolute().parents if folder.is_dir()), Path("/"))
    return InputError(f"{option}={place}: {problem}. In {parent} there is {content(parent)}. Expected: {expected}.")


def what_is(path: Path) -> str:
    """What lies at a path, for messages."""
    if path.is_file():
        return "a file"
    if path.is_dir():
        return "a folder"
    return "a link to nothing" if path.is_symlink() else "no file"


def content(folder: Path) -> str:
    """What lies in a folder, for messages."""
    return listing(entry.name for entry in entries(folder))


def entries(folder: Path) -> list[Path]:
    """Everything in a folder, sorted. InputError: it cannot be looked into."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder}: cannot be looked into ({error.strerror}). Name a folder that can.") from error


def refuse_twice(files: Mapping[str, Iterable[Path]]) -> None:
    """InputError if one file (by itself or by a link) is read twice, in one split or in two."""
    seen: dict[tuple[int, int], str] = {}
    for split, each in files.items():
        for file in each:
            found = file.stat()
            named = f"{file} ({split})"
            before = seen.setdefault((found.st_dev, found.st_ino), named)
            if before is not named:
                raise InputError(f"{before} and {named} are one file. Give every split files of its own.")
