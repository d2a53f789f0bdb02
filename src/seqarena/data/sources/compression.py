"""Files as bytes: what is compressed is unpacked on the way, as the ending says (`.gz`, `.zst`)."""

import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

from seqarena.errors import InputError

CHUNK = 1 << 16
"""Compressed bytes unpacked at a time."""
LARGEST_WINDOW = 1 << 31
"""Of zstd, so that archives of `zstd --long=31` are read too."""

UNPACKERS: dict[str, Callable[[], Any]] = {
    ".gz": lambda: zlib.decompressobj(wbits=31),
    ".zst": lambda: zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW).decompressobj(),
}
"""By ending, what unpacks one member of an archive: `decompress`, `eof` and `unused_data` as zlib has them."""


@contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked. InputError: it cannot be opened, or (while reading) the archive is damaged."""
    with _open(file) as stream:
        unpacker = UNPACKERS.get(file.suffix.lower())
        if unpacker is None:
            yield stream
        else:
            yield cast(BinaryIO, io.BufferedReader(_Chunks(_unpacked(file, stream, unpacker))))


def inner_name(file: Path) -> str:
    """The name without the ending that says how it is compressed, in lower case: `a.csv` of `a.csv.GZ`."""
    name = file.name.lower()
    return Path(name).stem if Path(name).suffix in UNPACKERS else name


def _open(file: Path) -> BinaryIO:
    try:
        return file.open("rb")
    except OSError as error:
        cure = "Allow it to be read (chmod u+r)." if isinstance(error, PermissionError) else "Name a file that can be."
        raise InputError(f"{file}: cannot be read ({error.strerror}). {cure}") from error


def _unpacked(file: Path, stream: BinaryIO, unpacker: Callable[[], Any]) -> Iterator[bytes]:
    """The content of every member of the archive, one after the other."""
    member = unpacker()
    try:
        while chunk := stream.read(CHUNK):
            while chunk:
                member = unpacker() if member.eof else member
                yield member.decompress(chunk)
                chunk = member.unused_data if member.eof else b""
    except (zlib.error, zstandard.ZstdError) as error:
        raise InputError(
            f"{file}: not a sound {file.suffix} archive ({error}). Pack it again, or take the ending off."
        ) from error
    if not member.eof:
        raise InputError(f"{file}: the {file.suffix} archive is cut off. Copy or download it again.")


class _Chunks(io.RawIOBase):
    """Chunks of bytes as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count
