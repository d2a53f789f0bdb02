"""Lines of a UTF-8 file, split at `\\n` alone: every other separator stays inside its line."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from seqarena.errors import InputError

BOM = b"\xef\xbb\xbf"


def lines(path: Path) -> Iterator[str]:
    """Each line as text with its end (`\\n`, `\\r\\n`) still on it; a byte order mark at the start is removed.

    InputError: bytes that are not UTF-8 (file, line, offset in the file counted from 0), NUL bytes (file, line).
    """
    with path.open("rb") as file:
        yield from lines_of(file, str(path))


def lines_of(file: BinaryIO, name: str) -> Iterator[str]:
    """The same from an open file or pipe that messages call `name`."""
    for number, (offset, raw) in enumerate(_raw_lines(file), 1):
        yield _decoded(raw, f"{name}:{number}", offset)


def count_lines(path: Path) -> int:
    """How many lines `lines` yields, without decoding any."""
    with path.open("rb") as file:
        return sum(1 for _ in _raw_lines(file))


def without_end(line: str) -> str:
    """The line without its `\\n` or `\\r\\n`; a carriage return at the very end of a file belongs to the text."""
    return line[:-1].removesuffix("\r") if line.endswith("\n") else line


def _raw_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Each line's offset in bytes and its bytes: what stands after the last `\\n` is a line too, if not empty."""
    offset = 0
    for raw in file:
        text = raw.removeprefix(BOM) if offset == 0 else raw
        if text:
            yield offset + len(raw) - len(text), text
        offset += len(raw)


def _decoded(raw: bytes, where: str, offset: int) -> str:
    if b"\0" in raw:
        raise InputError(f"{where}: a NUL byte. Is this a text file? UTF-16 has to be saved as UTF-8; else delete it.")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        raise InputError(
            f"{where}: not UTF-8 (byte 0x{byte:02x} at offset {offset + error.start}). "
            "Save the file as UTF-8, for example with: iconv -f <its encoding> -t UTF-8"
        ) from error
