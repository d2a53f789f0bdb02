"""Your own files as sources: labelled texts and sentence pairs, in a folder by split or as one file.

Text is UTF-8 and arrives exactly as written; empty texts and labels too (they are dropped and counted later).
Constructors read nothing. Nothing here touches the network.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from seqarena.data.source import Row
from seqarena.data.sources import values
from seqarena.data.sources.contents import content_hash
from seqarena.data.sources.layout import expected, find
from seqarena.data.sources.lines import count_lines, lines, without_end
from seqarena.data.sources.records import Record, read
from seqarena.errors import InputError


class Files:
    """What all file sources share: files found by split, and a fingerprint of what is in them.

    `names` are the columns, keys or endings by the option that gives them: {"text": ..., "label": ...}.
    `origin` says where the files can be downloaded, for the message when `path` is not given.
    """

    shortcuts: tuple[str, ...] = ()

    def __init__(
        self, path: str | None, endings: Sequence[str], names: Mapping[str, str], strata: tuple[str, ...], origin: str
    ) -> None:
        self.path, self.endings, self.names, self.strata, self.origin = path, endings, names, strata, origin

    def splits(self) -> tuple[str, ...]:
        """Which of train, val and test lie there. InputError: options or files that cannot be used."""
        return tuple(self._found())

    def fingerprint(self) -> str:
        """SHA-256 over the format, the names, the strata and every file's content; where the files lie is left out."""
        options = {"format": type(self).__name__, "names": dict(self.names), "strata": self.strata}
        return content_hash(options, self._found())

    def files(self, split: str) -> tuple[Path, ...]:
        """The files of a split, one per ending. InputError: the split is not there."""
        found = self._found()
        if split not in found:
            raise InputError(f"{self.path}: no {split} split, only {', '.join(found)}. Expected: {self._expected()}.")
        return found[split]

    def wanted(self) -> dict[str, str]:
        """The columns that are read, each with the option that names it."""
        options = {name: f"data.{option}" for option, name in self.names.items()}
        return options | dict.fromkeys(self.strata, "data.strata")

    def _found(self) -> dict[str, tuple[Path, ...]]:
        if not self.path:
            download = f" It can be downloaded from {self.origin}." if self.origin else ""
            raise InputError(f"No files given: give data.path=<folder>, {self._expected()}.{download}")
        asked = [*self.names.values(), *self.strata]
        if len(set(asked)) < len(asked) or set(self.names) & set(self.strata):
            given = [f"data.{option}={name}" for option, name in self.names.items()]
            strata = [f"data.strata={list(self.strata)}"] if self.strata else []
            raise InputError(
                f"{', '.join(given + strata)}: one name has two uses. "
                f"Give each its own, and call no stratum {' or '.join(self.names)}."
            )
        return find(Path(self.path), self.endings)

    def _expected(self) -> str:
        return expected(self.endings)


class LabelledFiles(Files):
    """Texts with one label each, in files of records. A format is an ending and the function that reads it."""

    ending: ClassVar[str]

    def __init__(self, path: str | None, text: str, label: str, strata: Sequence[str] = (), origin: str = "") -> None:
        columns = (strata,) if isinstance(strata, str) else tuple(strata)
        super().__init__(path, (self.ending,), {"text": text, "label": label}, columns, origin)

    def rows(self, split: str) -> Iterator[Row]:
        """`text`, `label` and the strata of each record, in file order."""
        text, label = self.names["text"], self.names["label"]
        (file,) = self.files(split)
        for where, record in self.records(file):
            yield {
                "text": values.text(where, text, record[text]),
                "label": values.label(where, label, record[label]),
                **{name: values.integer(where, name, record[name]) for name in self.strata},
            }

    def records(self, file: Path) -> Iterator[Record]:
        """Every record of a file with its place."""
        raise NotImplementedError


class CsvFiles(LabelledFiles):
    """CSV files with a header; `text`, `label` and `strata` name columns. Each field arrives as the text it is."""

    ending = "csv"

    def records(self, file: Path) -> Iterator[Record]:
        """Every row of a file with its place."""
        return read(file, self.wanted(), form="csv")


class JsonLines(LabelledFiles):
    """JSON Lines files; `text`, `label` and `strata` name keys. Integer labels become their decimal string."""

    ending = "jsonl"

    def records(self, file: Path) -> Iterator[Record]:
        """Every object of a file with its place."""
        return read(file, self.wanted(), form="jsonl")


class ParallelJsonLines(Files):
    """Sentence pairs in JSON Lines files; `source` and `target` are the keys, exchanged to turn the direction round."""

    def __init__(self, path: str | None, source: str, target: str, origin: str = "") -> None:
        super().__init__(path, ("jsonl",), {"source": source, "target": target}, (), origin)

    def rows(self, split: str) -> Iterator[Row]:
        """`source` and `target` of each record, in file order."""
        (file,) = self.files(split)
        for where, record in read(file, self.wanted(), form="jsonl"):
            yield {side: values.text(where, key, record[key]) for side, key in self.names.items()}


class ParallelText(Files):
    """Sentence pairs in line-aligned files: line 7 of `train.en` belongs to line 7 of `train.de`.

    `source` and `target` are the endings. Lines end at `\\n` or `\\r\\n` and at nothing else.
    """

    def __init__(self, path: str | None, source: str, target: str) -> None:
        super().__init__(path, (source, target), {"source": source, "target": target}, (), "")

    def rows(self, split: str) -> Iterator[Row]:
        """`source` and `target` of each line. InputError before the first if the files differ in length."""
        files = self.files(split)
        counts = [count_lines(file) for file in files]
        if len(set(counts)) > 1:
            sizes = " and ".join(f"{file} has {count}" for file, count in zip(files, counts, strict=True))
            raise InputError(f"Line-aligned files differ in length: {sizes} lines. Align them again, line by line.")
        for source, target in zip(*map(lines, files), strict=True):
            yield {"source": without_end(source), "target": without_end(target)}
