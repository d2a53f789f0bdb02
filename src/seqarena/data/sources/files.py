"""Your own files as sources: labelled texts and sentence pairs, in a folder by split, or named one by one.

Texts arrive exactly as written; empty texts and labels too (they are dropped and counted later). Constructors read
nothing. Nothing here touches the network.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import chain, zip_longest

from seqarena.data.source import Row
from seqarena.data.sources import values
from seqarena.data.sources.columns import Record
from seqarena.data.sources.contents import content_hash
from seqarena.data.sources.delimited import Dialect
from seqarena.data.sources.layout import Layout, Unit
from seqarena.data.sources.lines import count_lines, lines, without_end
from seqarena.data.sources.places import Places
from seqarena.data.sources.records import FORMATS, read
from seqarena.data.sources.strata import names_of, refuse_reserved
from seqarena.data.sources.tmx import tmx_pairs
from seqarena.errors import InputError


class Files:
    """What all file sources share: files found by split, and a fingerprint of what is in them.

    `names` are columns, keys, endings or languages by the option that gives each; `told` are the further options that
    change what is read from the same files.
    """

    shortcuts: tuple[str, ...] = ()

    def __init__(
        self,
        layout: Layout,
        places: Places,
        names: Mapping[str, str],
        told: Mapping[str, object],
        strata: str | Sequence[str] = (),
    ) -> None:
        self.layout, self.places, self.names, self.told, self.strata = layout, places, names, told, names_of(strata)

    def splits(self) -> tuple[str, ...]:
        """Which of train, val and test lie there. InputError: options or files that cannot be used."""
        return tuple(self._found)

    def fingerprint(self) -> str:
        """SHA-256 over the options and every file's content; where the files lie is left out."""
        return self._hash()

    def stamp(self) -> str:
        """The same with training files that are not read: by their names, sizes and times of change."""
        return self._hash("train")

    def _hash(self, *stamped: str) -> str:
        options = {"format": type(self).__name__, "names": dict(self.names), "strata": self.strata, **self.told}
        return content_hash(options, {split: list(chain(*units)) for split, units in self._found.items()}, stamped)

    def files(self, split: str) -> tuple[Unit, ...]:
        """What is read of a split, in order. InputError: the split is not there."""
        if split not in self._found:
            expected = self.layout.expected()
            raise InputError(
                f"{self.places.path}: no {split} split, only {', '.join(self._found)}. Expected: {expected}."
            )
        return self._found[split]

    @cached_property
    def _found(self) -> Mapping[str, tuple[Unit, ...]]:
        asked = [*self.names.values(), *self.strata]
        if len(set(asked)) < len(asked):
            given = [f"{option}={name}" for option, name in self.names.items()]
            strata = [f"data.strata={list(self.strata)}"] if self.strata else []
            raise InputError(f"{', '.join(given + strata)}: one name has two uses. Give each its own.")
        refuse_reserved(self.strata)
        return self.layout.find(self.places)


class RecordFiles(Files):
    """Files of records. `format` is one of FORMATS' values, or None for whatever the files' endings say."""

    def __init__(
        self,
        format: str | None,
        places: Places,
        names: Mapping[str, str],
        strata: str | Sequence[str],
        encoding: str,
        dialect: Dialect,
    ) -> None:
        endings = [ending for ending, form in FORMATS.items() if format in (None, form)]
        told = {"encoding": encoding, "dialect": asdict(dialect)}
        super().__init__(Layout(endings), places, names, told, strata)
        self.format, self.encoding, self.dialect = format, encoding, dialect

    def records(self, split: str) -> Iterator[Record]:
        """Every record of a split with its place."""
        wanted = dict.fromkeys(self.strata, "data.strata") | {name: option for option, name in self.names.items()}
        for (file,) in self.files(split):
            yield from read(file, wanted, self.encoding, self.dialect, self.format)

    def integers(self, where: str, record: Mapping[str, object]) -> dict[str, int]:
        """The strata of a record."""
        return {name: values.integer(where, name, record[name]) for name in self.strata}


class LabelledFiles(RecordFiles):
    """Texts with one label each; `text`, `label` and `strata` name columns. Integer labels become decimal strings."""

    def __init__(
        self,
        format: str,
        text: str,
        label: str,
        path: str | None = None,
        train: str | None = None,
        val: str | None = None,
        test: str | None = None,
        strata: Sequence[str] = (),
        encoding: str = "utf-8",
        header: Sequence[str] = (),
        delimiter: str = ",",
        quotes: bool | None = None,
    ) -> None:
        places, dialect = Places(path, train, val, test), Dialect(header, delimiter, quotes)
        super().__init__(format, places, {"data.text": text, "data.label": label}, strata, encoding, dialect)

    def rows(self, split: str) -> Iterator[Row]:
        """`text`, `label` and the strata of each record, in file order."""
        text, label = self.names.values()
        for where, record in self.records(split):
            yield {
                "text": values.text(where, text, record[text]),
                "label": values.label(where, label, record[label]),
                **self.integers(where, record),
            }


class PairFiles(RecordFiles):
    """Sentence pairs, one in a record; `source` and `target` name columns, exchanged to turn the direction round."""

    def __init__(
        self,
        source: str,
        target: str,
        path: str | None = None,
        train: str | None = None,
        val: str | None = None,
        test: str | None = None,
        strata: Sequence[str] = (),
        encoding: str = "utf-8",
        header: Sequence[str] = (),
        delimiter: str = ",",
        quotes: bool | None = None,
    ) -> None:
        places, dialect = Places(path, train, val, test), Dialect(header, delimiter, quotes)
        names = {"data.source_column": source, "data.target_column": target}
        super().__init__(None, places, names, strata, encoding, dialect)

    def rows(self, split: str) -> Iterator[Row]:
        """`source`, `target` and the strata of each record, in file order."""
        source, target = self.names.values()
        for where, record in self.records(split):
            yield {
                "source": values.text(where, source, record[source]),
                "target": values.text(where, target, record[target]),
                **self.integers(where, record),
            }


class ParallelText(Files):
    """Sentence pairs in line-aligned files: line 7 of `train.en` belongs to line 7 of `train.de`.

    `source` and `target` are the endings. Lines end at `\\n` or `\\r\\n` and at nothing else.
    """

    def __init__(
        self,
        source: str,
        target: str,
        path: str | None = None,
        train: str | None = None,
        val: str | None = None,
        test: str | None = None,
        encoding: str = "utf-8",
    ) -> None:
        names = {"data.source_ending": source, "data.target_ending": target}
        layout = Layout([source], [target])
        super().__init__(layout, Places(path, train, val, test), names, {"encoding": encoding})
        self.encoding = encoding

    def rows(self, split: str) -> Iterator[Row]:
        """`source` and `target` of each line. InputError where one file ends before the other."""
        for unit in self.files(split):
            sides = (lines(file, self.encoding) for file in unit)
            for source, target in zip_longest(*sides):
                if source is None or target is None:
                    raise self._unequal(unit)
                yield {"source": without_end(source), "target": without_end(target)}

    def _unequal(self, unit: Unit) -> InputError:
        sizes = " and ".join(f"{file} has {count_lines(file, self.encoding)}" for file in unit)
        return InputError(f"Line-aligned files differ in length: {sizes} lines. Align them again, line by line.")


class TranslationMemory(Files):
    """Sentence pairs in TMX files; `source` and `target` are languages, `en` for any English (see `tmx_pairs`)."""

    def __init__(
        self,
        source: str,
        target: str,
        path: str | None = None,
        train: str | None = None,
        val: str | None = None,
        test: str | None = None,
    ) -> None:
        names = {"data.source": source, "data.target": target}
        super().__init__(Layout(["tmx"]), Places(path, train, val, test), names, {})

    def rows(self, split: str) -> Iterator[Row]:
        """`source` and `target` of each unit, in file order; empty where a unit lacks the language."""
        for (file,) in self.files(split):
            for where, (source, target) in tmx_pairs(file, self.names):
                yield {
                    "source": values.text(where, "source", source),
                    "target": values.text(where, "target", target),
                }
