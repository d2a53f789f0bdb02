"""Units of a TMX translation memory (Translation Memory eXchange 1.1 to 1.4b), read as a stream.

Expat reads, in the encoding that the file declares. It loads nothing from outside: a DOCTYPE may name the DTD, but one
that declares anything itself (entities can grow without bound, or name other files) is refused.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import TypeAlias
from xml.parsers import expat

from seqarena.data.sources.compression import opened
from seqarena.data.sources.wording import listing
from seqarena.errors import InputError

CHUNK = 1 << 16
"""Bytes parsed at a time."""

CODES = ("bpt", "ept", "it", "ph", "ut")
"""Elements inside a segment that hold a format's own codes; what stands between them, and in `hi`, is text."""

Segments: TypeAlias = list[tuple[str, str]]
"""The language of each segment of a unit, as written, and its text."""


def tmx_pairs(file: Path, languages: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Where each unit stands and its texts in `languages` (by the options that name them), as many as there are.

    `en` means `en`, `EN-US` and `en_GB`; `en-US` that alone. A language that a unit lacks gives an empty text. A unit
    with several segments in a language gives each pair of them. InputError: not sound XML, not TMX, a DOCTYPE with
    declarations; at the end, a language in which there is no segment at all.
    """
    tags: set[str] = set()
    for where, segments in _Units(file).read():
        tags.update(tag for tag, _ in segments)
        texts = [[text for tag, text in segments if speaks(tag, language)] for language in languages.values()]
        yield from ((where, pair) for pair in product(*(found or [""] for found in texts)))
    for option, language in languages.items():
        if tags and not any(speaks(tag, language) for tag in tags):
            raise InputError(
                f"{file}: no segment in {language!r} (asked for by {option}); found {listing(sorted(tags))}. "
                f"Name one with {option}=<language>."
            )


def speaks(tag: str, language: str) -> bool:
    """Whether a language tag is the language asked for, or that language of some country."""
    tag, language = (name.lower().replace("_", "-") for name in (tag, language))
    return tag == language or tag.startswith(f"{language}-")


class _Units:
    """Expat's events, gathered into translation units."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler, parser.SkippedEntityHandler = self._doctype, self._skipped
        self._whole: list[tuple[str, Segments]] = []
        self._root, self._where, self._language = "", "", ""
        self._segments: Segments = []
        self._text: list[str] | None = None
        self._codes = 0

    def read(self) -> Iterator[tuple[str, Segments]]:
        """Each unit of the file: where it starts, and its segments."""
        with opened(self._file) as stream:
            while chunk := stream.read(CHUNK):
                self._parse(chunk)
                yield from self._whole
                self._whole.clear()
        self._parse(b"")

    def _parse(self, chunk: bytes) -> None:
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            problem = f"not sound XML ({expat.ErrorString(error.code)}, column {error.offset + 1})"
            raise self._error(problem, "Export it again, or correct this place.", error.lineno) from error
        except (LookupError, ValueError) as error:
            raise self._error(f"its encoding cannot be read ({error})", "Save it as UTF-8.") from error

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        if not self._root and name != "tmx":
            raise self._error(f"the file's element is <{name}>, not <tmx>", "Name a TMX file.")
        self._root = "tmx"
        if name == "tu":
            self._where, self._segments = f"{self._file}:{self._parser.CurrentLineNumber}", []
        elif name == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang") or ""
        elif name == "seg":
            self._text, self._codes = [], 0
        elif name in CODES:
            self._codes += 1

    def _end(self, name: str) -> None:
        if name == "tu":
            self._whole.append((self._where, self._segments))
        elif name == "seg" and self._text is not None:
            self._segments.append((self._language, "".join(self._text)))
            self._text = None
        elif name in CODES:
            self._codes -= 1

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._codes:
            self._text.append(text)

    def _doctype(self, name: str, system: str | None, public: str | None, declares: int) -> None:
        if declares:
            cure = "Delete what stands in [ ] there; it is not read."
            raise self._error("a DOCTYPE with declarations of its own, such as entities", cure)

    def _skipped(self, name: str, parameter: int) -> None:
        raise self._error(f"&{name}; is defined in a file that is not loaded", "Write the character itself.")

    def _error(self, problem: str, cure: str, line: int | None = None) -> InputError:
        return InputError(f"{self._file}:{line or self._parser.CurrentLineNumber}: {problem}. {cure}")
