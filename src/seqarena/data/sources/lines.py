"""Lines of a text file, split at `\\n` alone: every other separator stays inside its line."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from seqarena.data.sources.compression import opened
from seqarena.data.sources.encodings import OPTION, decoded


def lines(path: Path, encoding: str = "utf-8", option: str | None = OPTION) -> Iterator[str]:
    """Each line as text with its end (`\\n`, `\\r\\n`) still on it; a byte order mark at the start is removed.

    InputError: a file that cannot be read or unpacked, bytes that are not in the encoding, NULs (file, line, cure;
    `option` is what names an encoding, if anything does).
    """
    with opened(path) as file:
        yield from lines_of(file, str(path), encoding, option)


def lines_of(file: BinaryIO, name: str, encoding: str = "utf-8", option: str | None = OPTION) -> Iterator[str]:
    """The same from an open file or pipe that messages call `name`; what stands after the last `\\n` is a line too."""
    start = ""
    for text in decoded(file, name, encoding, option):
        *whole, start = (start + text).split("\n")
        for line in whole:
            yield line + "\n"
    if start:
        yield start


def count_lines(path: Path, encoding: str = "utf-8") -> int:
    """How many lines `lines` yields."""
    return sum(1 for _ in lines(path, encoding))


def without_end(line: str) -> str:
    """The line without its `\\n` or `\\r\\n`; a carriage return at the very end of a file belongs to the text."""
    return line[:-1].removesuffix("\r") if line.endswith("\n") else line
