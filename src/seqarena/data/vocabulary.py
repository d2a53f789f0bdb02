"""What training fixes for good: tokenizers, labels, the longest text, the edges of strata."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from seqarena.data import tables
from seqarena.data.gathering import SIDES, answers
from seqarena.data.tokenizer import Tokenizer, TokenizerOptions, train
from seqarena.errors import InputError


@dataclass(frozen=True)
class Vocabulary:
    """Both sides' tokenizers (the same one when joint; a target for translation only), and the labels in order.

    `max_length` is the most tokens of a text that are read, `edges` the lower edges of strata that the user gave none
    for.
    """

    source: Tokenizer
    target: Tokenizer | None
    labels: list[str]
    max_length: int | None = None
    edges: dict[str, list[int]] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write it as plain JSON files."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "source.json").write_text(self.source.json(), encoding="utf-8")
        if self.target is not None:
            (folder / "target.json").write_text(self.target.json(), encoding="utf-8")
        rest = {"labels": self.labels, "max_length": self.max_length, "edges": self.edges}
        (folder / "vocabulary.json").write_text(json.dumps(rest, ensure_ascii=False, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Vocabulary":
        """Read what `save` wrote. InputError: a file is missing or damaged."""
        target = folder / "target.json"
        source = Tokenizer.load(folder / "source.json")
        labels, max_length, edges = _fixed(folder / "vocabulary.json")
        return cls(source, Tokenizer.load(target) if target.exists() else None, labels, max_length, edges)

    def hashes(self) -> dict[str, str]:
        """Short hashes of tokenizer and labels, for the record."""
        told = self.source.json() + ("" if self.target is None else self.target.json())
        return {"tokenizer": digest(told), "labels": digest(json.dumps(self.labels))}


def hashes_of(folder: Path) -> dict[str, str]:
    """The same hashes of what `save` wrote, byte for byte, whatever a later version of the library would write."""
    files = (folder / "source.json", folder / "target.json")
    told = "".join(path.read_text(encoding="utf-8") for path in files if path.exists())
    labels, *_ = _fixed(folder / "vocabulary.json")
    return {"tokenizer": digest(told), "labels": digest(json.dumps(labels))}


def _fixed(path: Path) -> tuple[list[str], int | None, dict[str, list[int]]]:
    """Labels, length limit and edges; the first version knew no edges."""
    try:
        rest = json.loads(path.read_text(encoding="utf-8"))
        found = rest["labels"], rest["max_length"], rest.get("edges", {})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is missing or damaged ({error}): it should lie there since training") from error
    if not all(map(isinstance, found, (list, int | None, dict))):
        raise InputError(f"{path} is damaged: it should hold a list of labels, a length or null, and edges")
    return found


def digest(text: str) -> str:
    """The first 16 hex digits of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fit(task: str, options: TokenizerOptions, raw: Path) -> Vocabulary:
    """Tokenizers and labels, from the gathered training rows alone."""
    first, second = SIDES[task]
    if task != "translation":
        labels = {label for told in Texts(raw, second) for label in answers(task, told)}
        return Vocabulary(train(options, Texts(raw, first)), None, _ordered(task, labels))
    if options.joint:
        tokenizer = train(options, Texts(raw, first, second))
        return Vocabulary(tokenizer, tokenizer, [])
    return Vocabulary(train(options, Texts(raw, first)), train(options, Texts(raw, second)), [])


class Texts:
    """Columns of a gathered split, one after the other, row by row: as often as they are asked for."""

    def __init__(self, raw: Path, *sides: str) -> None:
        self._raw, self._sides = raw, sides

    def __iter__(self) -> Iterator[str]:
        for side in self._sides:
            for batch in tables.batches(self._raw, side):
                yield from batch[side].to_pylist()


def _ordered(task: str, labels: set[str]) -> list[str]:
    if len(labels) < 2:
        raise InputError(
            f"the training split knows one label only, {labels.pop()!r}: a {task} needs two; is data.label= the "
            "right column?"
        )
    return sorted(labels)
