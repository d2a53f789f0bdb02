"""From bytes to text: in the encoding that was named, or the one that a byte order mark declares, never another."""

import codecs
from collections.abc import Iterator
from encodings.aliases import aliases
from functools import partial
from io import BufferedReader
from itertools import chain
from typing import BinaryIO, cast

from charset_normalizer import from_bytes

from seqarena.data.sources.wording import nearest
from seqarena.errors import InputError

OPTION = "data.encoding"
"""Names the encoding of a dataset's files."""

PIECE = 1 << 16
"""Bytes decoded at a time; fewer from a pipe that has no more to give yet."""

MARKS = {  # UTF-32 first: its mark starts with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Byte order marks, and what each declares."""

SIGNATURES = {
    b"\x1f\x8b": "is packed with gzip. Let its name end in .gz",
    b"\x28\xb5\x2f\xfd": "is packed with zstd. Let its name end in .zst",
    b"PK\x03\x04": "is a zip archive or an Excel workbook. Unpack it, or save the sheet as CSV",
    b"PAR1": "is a Parquet file. Let its name end in .parquet, and read it with data=parquet or data=pairs",
}
"""First bytes of what is often mistaken for text."""

PLAUSIBLE = [
    *("utf_8", "shift_jis", "euc_jp", "iso2022_jp", "gb18030", "big5", "euc_kr", "tis_620", "koi8_r", "mac_roman"),
    *(f"cp{number}" for number in (437, 850, 866, *range(1250, 1259))),
]
"""Encodings that text files are in, from a short line of which charset-normalizer would name any that fits."""


def codec(encoding: str) -> str:
    """The codec's own name. InputError: Python has no text codec called `encoding`."""
    if found := _text_codec(str(encoding)):
        return found
    near = _text_codec(nearest(str(encoding), {*aliases, *aliases.values()}) or "")
    cure = f"Did you mean {near}?" if near else "Write for example utf-8, utf-16-le, cp1252 or gb18030."
    raise InputError(f"data.encoding={encoding}: Python knows no such text encoding. {cure}")


def _text_codec(name: str) -> str | None:
    """Its own name, if it is a codec from bytes to text that reads files (those of host names do not)."""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    return found.name if found._is_text_encoding and found.name not in ("idna", "punycode", "undefined") else None


def decoded(file: BinaryIO, name: str, encoding: str, option: str | None = OPTION) -> Iterator[str]:
    """The text in pieces; a byte order mark is no part of it. `option` names an encoding, if any does.

    InputError, with the line and what to write: bytes that are not in the encoding, NUL characters, UTF-16 or UTF-32
    of which nobody says in which order its bytes stand.
    """
    more = partial(cast(BufferedReader, file).read1, PIECE)
    wanted, first = codec(encoding), more()
    while any(mark.startswith(first) and mark != first for mark in MARKS) and (rest := more()):
        first += rest
    mark = next((mark for mark in MARKS if first.startswith(mark)), b"")
    wanted = MARKS.get(mark, wanted)
    if first and wanted in ("utf-16", "utf-32"):
        raise InputError(f"{name}: no byte order mark. Write data.encoding={wanted}-le or data.encoding={wanted}-be.")
    decoder = _Decoder(name, wanted, first[:4], len(mark), option)
    for raw in chain((first[len(mark) :],), iter(more, b"")):
        yield decoder.text(raw)
    yield decoder.text(b"")


class _Decoder:
    """Decodes pieces of a file in turn, from `offset` on, and knows where it stands. `start` is how the file starts."""

    def __init__(self, name: str, encoding: str, start: bytes, offset: int, option: str | None) -> None:
        self._name, self._encoding, self._start, self._declared = name, encoding, start, offset > 0
        self._decode = codecs.getincrementaldecoder(encoding)().decode
        self._line, self._offset, self._option = 1, offset, option

    def text(self, raw: bytes) -> str:
        """The text of one piece; nothing is the end of the file."""
        self._offset += len(raw)
        try:
            text = self._decode(raw, not raw)
        except UnicodeDecodeError as error:
            raise self._refusal(error) from error
        if "\0" in text:
            raise self._nul(text, raw)
        self._line += text.count("\n")
        return text

    def _refusal(self, error: UnicodeDecodeError) -> InputError:
        before, bad = error.object[: error.start], error.object[error.start]
        where = f"{self._name}:{self._line + before.decode(self._encoding, 'replace').count(chr(10))}"
        offset = self._offset - len(error.object) + error.start
        problem = f"not {self._encoding.upper()} (byte 0x{bad:02x} at offset {offset})"
        return self._cured(where, problem, likely(error.object, self._encoding))

    def _nul(self, text: str, raw: bytes) -> InputError:
        where = f"{self._name}:{self._line + text[: text.index(chr(0))].count(chr(10))}"
        return self._cured(where, "a NUL character", wide(raw, self._offset - len(raw)))

    def _cured(self, where: str, problem: str, guess: str | None) -> InputError:
        for signature, what in SIGNATURES.items():
            if self._start.startswith(signature):
                return InputError(f"{where}: {problem}. The file {what}.")
        if self._declared:
            cure = "Delete it, or save the file again in the encoding that its byte order mark declares."
            return InputError(f"{where}: {problem}. {cure}")
        if guess is None:
            named = f", or name the file's encoding with {self._option}=" if self._option else ""
            return InputError(f"{where}: {problem}. Delete it{named}.")
        written = f"write {self._option}={guess}, or " if self._option else ""
        return InputError(
            f"{where}: {problem}. The file is probably {guess}: look at it and {written}save it "
            f"as UTF-8, for example with: iconv -f {guess} -t UTF-8"
        )


def likely(sample: bytes, tried: str) -> str | None:
    """The encoding that `sample` is probably in; None when nothing fits. UTF-16 shows in its NULs (see `wide`)."""
    if b"\0" in sample:
        return wide(sample, 0)
    best = from_bytes(sample, cp_isolation=PLAUSIBLE, cp_exclusion=[tried]).best()
    if best is None:
        return None
    name = "cp1252" if "cp1252" in best.could_be_from_charset else best.encoding
    return name.replace("_", "-")


def wide(sample: bytes, offset: int) -> str | None:
    """Which UTF-16 the bytes from `offset` on are, if most NULs are the upper halves of Latin letters; else None."""
    nuls = [sample[(parity + offset) % 2 :: 2].count(0) for parity in (0, 1)]
    if sum(nuls) * 3 < len(sample):
        return None
    return "utf-16-be" if nuls[0] > nuls[1] else "utf-16-le"
