"""Datasets of the Hugging Face Hub as sources: downloaded by name, or in the same layout from a folder of yours.

Both ways the files are found by hub_layout and read by our own readers, so every text arrives as it was written. The
`datasets` library is not used for reading: its CSV builder turns NA and null into nothing. No dataset script is run.
Constructors read nothing; the first question downloads what is not on this machine.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from reprlib import repr as short
from typing import TypeAlias

from seqarena.data.source import Row
from seqarena.data.sources import values
from seqarena.data.sources.columns import require
from seqarena.data.sources.contents import content_hash
from seqarena.data.sources.features import UNLABELLED, class_name, class_names, columns
from seqarena.data.sources.hub_card import Card
from seqarena.data.sources.hub_download import README, Repository
from seqarena.data.sources.hub_layout import Layout, find
from seqarena.data.sources.records import read
from seqarena.data.sources.strata import names_of, refuse_reserved
from seqarena.data.sources.wording import listing
from seqarena.errors import InputError

log = logging.getLogger(__name__)

TRANSLATION = "translation"
"""The column in which many sets keep all languages of a sentence."""

Names: TypeAlias = str | Sequence[str]
"""A column, or several of which the first that is there is read."""


class Hub:
    """What both tasks share: the files by split, from the repository `id` or from the folder `path`.

    `config` names one of the repository's configs (None: the only or default one), `revision` a branch, tag or commit.
    """

    strata: tuple[str, ...] = ()
    shortcuts: tuple[str, ...] = ()

    def __init__(self, id: str | None, path: str | None, config: str | None, revision: str | None) -> None:
        self.id, self.path, self.config, self.revision = id, path, config, revision

    def splits(self) -> tuple[str, ...]:
        """Which of train, val and test can be used. InputError: files that cannot be found, downloaded or used."""
        return tuple(self.usable)

    def fingerprint(self) -> str:
        """SHA-256 over the options and every file's content; where the files come from is left out."""
        return self._hash()

    def stamp(self) -> str:
        """The same with training files that are not read: by their names, sizes and times of change."""
        return self._hash("train")

    def _hash(self, *stamped: str) -> str:
        return content_hash({"format": type(self).__name__, **self.options()}, self.usable, stamped)

    def options(self) -> Mapping[str, object]:
        """The options that change what is read from the same files."""
        raise NotImplementedError

    def files(self, split: str) -> Sequence[Path]:
        """The files of a split, in order. InputError: the split is not there."""
        if split not in self.usable:
            raise InputError(f"{self.path or self.id}: no {split} split, only {', '.join(self.usable)}.")
        return self.usable[split]

    @cached_property
    def usable(self) -> Mapping[str, Sequence[Path]]:
        """The files of the splits that can be used."""
        raise NotImplementedError

    @cached_property
    def found(self) -> Mapping[str, Sequence[Path]]:
        """The files of every split that is there."""
        return self._local(Path(self.path)) if self.path else self._downloaded()

    def _local(self, path: Path) -> Mapping[str, Sequence[Path]]:
        if path.is_file():
            return {"train": (path,)}
        if not path.is_dir():
            raise InputError(f"{path}: no such file or folder. Give data.path=<folder> laid out as on the Hub.")
        inside = (file.relative_to(path) for file in path.rglob("*") if file.is_file())
        names = [file.as_posix() for file in inside if not any(part.startswith(".") for part in file.parts)]
        return self._placed(path, find(str(path), names, Card.read(path / README), self.config))

    def _downloaded(self) -> Mapping[str, Sequence[Path]]:
        if not self.id:
            raise InputError(
                "No data given: write data.id=<owner/name> for a dataset of the Hub, or data.path=<folder>."
            )
        repository = Repository(self.id, self.revision)
        commit = repository.commit()
        names = repository.names(commit)
        card = Card.read(repository.download(commit, [README]) / README) if README in names else Card(None)
        layout = find(self.id, names, card, self.config)
        log.info("%s, config %s, at commit %s", self.id, layout.config, commit)
        wanted = [name for files in layout.files.values() for name in files]
        return self._placed(repository.download(commit, wanted), layout)

    def _placed(self, folder: Path, layout: Layout) -> Mapping[str, Sequence[Path]]:
        if layout.left_out:
            log.info("%s: left out, being neither train nor val nor test: %s", folder, listing(layout.left_out))
        return {split: tuple(folder / name for name in names) for split, names in layout.files.items()}


class HubTexts(Hub):
    """Texts with one label each. `text` and `label` name columns; a list of names means the first that is there.

    A label that is a number becomes the name of its class, as the file tells, else from `labels`; without either
    it stays the number. A number without a name is an InputError; only -1 is no label, and dropped and counted later.
    """

    def __init__(
        self,
        id: str | None,
        text: Names,
        label: Names,
        path: str | None = None,
        config: str | None = None,
        revision: str | None = None,
        labels: Sequence[str] | None = None,
        strata: Sequence[str] = (),
    ) -> None:
        super().__init__(id, path, config, revision)
        self.text, self.label = _several("data.text", text), _several("data.label", label)
        self.labels, self.strata = tuple(labels or ()), names_of(strata)

    def options(self) -> Mapping[str, object]:
        """The columns and the names of the classes."""
        return {"text": self.text, "label": self.label, "labels": self.labels, "strata": self.strata}

    @cached_property
    def usable(self) -> Mapping[str, Sequence[Path]]:
        """The files of the splits that have labels: a test set whose labels are kept secret tests nothing."""
        refuse_reserved(self.strata)
        secret = [split for split, files in self.found.items() if self._is_unlabelled(files)]
        if "train" in secret:
            raise InputError(f"{self.path or self.id}: no text of the training split has a label in {self.label[0]!r}.")
        for split in secret:
            log.warning("%s: no label in the %s split, so it is not used", self.path or self.id, split)
        return {split: files for split, files in self.found.items() if split not in secret}

    def rows(self, split: str) -> Iterator[Row]:
        """`text`, `label` and the strata of each record, in file order."""
        for file in self.files(split):
            yield from self._rows(file)

    def _rows(self, file: Path) -> Iterator[Row]:
        there = columns(file)
        text, label = _first(self.text, there), _first(self.label, there)
        _refuse_two_uses(text, label, self.strata)
        names = class_names(file, label) or self.labels
        wanted = {text: "data.text", label: "data.label", **dict.fromkeys(self.strata, "data.strata")}
        for where, record in read(file, wanted) if there else ():
            yield {
                "text": values.text(where, text, record[text]),
                "label": class_name(where, label, record[label], names),
                **{name: values.integer(where, name, record[name]) for name in self.strata},
            }

    def _is_unlabelled(self, files: Sequence[Path]) -> bool:
        """Whether there are labels, all of them secret; the first that is not ends the search."""
        labels = self._labels(files)
        return next(labels, "") in UNLABELLED and all(label in UNLABELLED for label in labels)

    def _labels(self, files: Sequence[Path]) -> Iterator[object]:
        for file in files:
            if there := columns(file):
                label = _first(self.label, there)
                yield from (record[label] for _, record in read(file, {label: "data.label"}))


class HubPairs(Hub):
    """Sentence pairs. `source` and `target` are languages: columns, or keys in the column `translation`."""

    def __init__(
        self,
        id: str | None,
        source: str,
        target: str,
        path: str | None = None,
        config: str | None = None,
        revision: str | None = None,
    ) -> None:
        super().__init__(id, path, config, revision)
        self.languages = {"source": source, "target": target}

    def options(self) -> Mapping[str, object]:
        """The languages."""
        return self.languages

    @cached_property
    def usable(self) -> Mapping[str, Sequence[Path]]:
        """The files of every split that is there. InputError: a language is to be translated into itself."""
        source, target = self.languages.values()
        if source == target:
            raise InputError(f"data.source={source} data.target={target}: the same language twice. Name two.")
        return self.found

    def rows(self, split: str) -> Iterator[Row]:
        """`source` and `target` of each record, in file order."""
        wanted = {language: f"data.{side}" for side, language in self.languages.items()}
        for file in self.files(split):
            nested = TRANSLATION in columns(file)
            for where, record in read(file, {TRANSLATION: "data.source"} if nested else wanted):
                pair = _pair(where, record[TRANSLATION], wanted) if nested else record
                yield {side: values.text(where, name, pair[name]) for side, name in self.languages.items()}


def _pair(where: str, value: object, wanted: Mapping[str, str]) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: {TRANSLATION!r} is {short(value)}, where texts by language are needed.")
    require(where, "language", value, wanted)
    return value


def _several(option: str, names: Names) -> tuple[str, ...]:
    found = (names,) if isinstance(names, str) else tuple(names)
    if not found:
        raise InputError(f"{option}=[] names no column. Write {option}=<column>.")
    return found


def _refuse_two_uses(text: str, label: str, strata: Sequence[str]) -> None:
    if len({text, label, *strata}) < 2 + len(strata) or {"text", "label"} & set(strata):
        raise InputError(
            f"data.text={text}, data.label={label}, data.strata={list(strata)}: one name has two uses. "
            "Give each its own, and call no stratum text or label."
        )


def _first(names: Sequence[str], there: Sequence[str]) -> str:
    """The first of the names that is there; the very first if none is, for the reader to complain of."""
    return next((name for name in names if name in there), names[0])
