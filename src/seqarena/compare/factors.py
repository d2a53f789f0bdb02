"""What varies between runs, and what their groups are called by it."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seqarena.compare.records import Entry
from seqarena.record import PLACES, Record
from seqarena.sweep.naming import is_about_how
from seqarena.sweep.overrides import key_of

WORDS = ("true", "false", "null")

MEASURED = {"data.batch_tokens": "batch_tokens", "trainer.accumulate": "accumulate"}
"""What a run may have settled by the memory that it found, by path, and its name in the account of that."""

Settings = dict[str, str]
"""Values by path of the config, `model.heads`, each as JSON."""


def flat(tree: Any, path: str = "") -> Settings:
    """A config as one level of paths; lists are values."""
    if not isinstance(tree, Mapping) or not tree:
        return {path: json.dumps(tree, sort_keys=True)}
    return {
        key: value
        for name, part in tree.items()
        for key, value in flat(part, f"{path}.{name}" if path else str(name)).items()
    }


def settings(record: Record, over: str = "seed") -> Settings:
    """What a run was asked to do, but for where it is kept and for what is averaged over.

    A size of batches that was measured was not asked for: it may be another one for each seed.
    """
    asked = {name: part for name, part in record.config.items() if name not in PLACES}
    found = {path: value for path, value in flat(asked).items() if path not in (over, "seed")}
    measured = {path for path, name in MEASURED.items() if path in found and name in record.budget}
    return found | dict.fromkeys(measured, '"auto"')


def given(overrides: Iterable[str], over: str = "seed") -> dict[str, str]:
    """The options of a command line by key, but for how it is run and for what is averaged over."""
    options = {key_of(one): canonical(one.partition("=")[2]) for one in overrides if not is_about_how(one)}
    return {key: value for key, value in options.items() if key and key != over}


def canonical(value: str) -> str:
    """One spelling of a value: `true` of True, `0.002` of 2e-3, `a` of 'a'."""
    bare = value.strip("'\"")
    if bare.lower() in WORDS:
        return bare.lower()
    try:
        return f"{float(bare):.12g}"
    except ValueError:
        return bare


def varied(every: Sequence[Mapping[str, str]]) -> list[str]:
    """The keys on which these disagree; one that is absent differs from all values."""
    counts = Counter(item for one in every for item in one.items())
    keys = dict.fromkeys(key for one in every for key in one)
    full = {key for (key, _), count in counts.items() if count == len(every)}
    return [key for key in keys if key not in full]


def distinct(entries: Sequence[Entry], over: str = "seed") -> list[Entry]:
    """The runs of a group without those that repeat another one, seed and all: they tell nothing about other seeds.

    The first that gave a result stands for all, so that nobody gains by trying again.
    """
    firsts: dict[tuple[int, str | None], Entry] = {}
    for entry in sorted(entries, key=lambda one: (not one.counts, one.record.started)):
        firsts.setdefault((entry.record.seed, flat(entry.record.config).get(over)), entry)
    return [entry for entry in entries if any(entry is first for first in firsts.values())]


def grouped(entries: Sequence[Entry], over: str = "seed") -> dict[str, list[Entry]]:
    """Runs that were asked to do the same, by a label that says what sets them apart; in order of appearance."""
    every = _asked(entries, over)
    paths = varied(every)
    together: dict[tuple[str | None, ...], list[int]] = {}
    for place, one in enumerate(every):
        together.setdefault(tuple(one.get(path) for path in paths), []).append(place)
    firsts = [places[0] for places in together.values()]
    names = labels([every[place] for place in firsts], [entries[place].record for place in firsts])
    return {name: [entries[place] for place in places] for name, places in zip(names, together.values(), strict=True)}


def _asked(entries: Sequence[Entry], over: str) -> list[Settings]:
    """The settings of each run; of one that ended before its budget had settled them, those of its command line's."""
    every = [settings(entry.record, over) for entry in entries]
    lines = [given(entry.record.overrides, over) for entry in entries]
    results = [(line, one) for line, one, entry in zip(lines, every, entries, strict=True) if entry.counts]
    found = []
    for entry, line, one in zip(entries, lines, every, strict=True):
        like = [] if entry.counts else [other for asked, other in results if asked == line]
        found.append(like[0] if like and not varied(like) else one)
    return found


def labels(every: Sequence[Settings], records: Sequence[Record]) -> list[str]:
    """A name for each of these different settings: the model's, then the options in which it differs from its like.

    No two are the same; where a config does not say what sets it apart, a number does.
    """
    found: list[str] = []
    for one, record in zip(every, records, strict=True):
        alike = [place for place, other in enumerate(records) if other.model == record.model]
        telling = _telling([every[place] for place in alike], [records[place] for place in alike])
        label = " ".join([record.model, *(told(path, one.get(path), telling) for path in telling)])
        same = sum(other == label or other.startswith(f"{label} (") for other in found)
        found.append(f"{label} ({same + 1})" if same else label)
    return found


def _telling(alike: Sequence[Settings], records: Sequence[Record]) -> list[str]:
    """Paths that tell these apart. Of several that do it alike the one that a person gave is taken, or the shortest."""
    asked = {key for record in records for key in given(record.overrides)}
    by_parts: dict[tuple[int, ...], list[str]] = {}
    for path in varied(alike):
        seen: dict[str | None, int] = {}
        parts = tuple(seen.setdefault(one.get(path), len(seen)) for one in alike)
        by_parts.setdefault(parts, []).append(path)
    return [min(paths, key=lambda path: (path not in asked, path.count("."), len(path))) for paths in by_parts.values()]


def told(path: str, value: str | None, among: Sequence[str] = ()) -> str:
    """`heads=8`; the whole path where another one of `among` ends the same."""
    last = path.rpartition(".")[2]
    alone = sum(other.rpartition(".")[2] == last for other in among) < 2
    return f"{last if alone else path}={_bare(value)}"


def _bare(value: str | None) -> str:
    if value is None:
        return "none"
    read = json.loads(value)
    return read.rpartition(".")[2] if isinstance(read, str) else value


def factors(record: Record, studied: Sequence[str], over: str = "seed") -> dict[str, str]:
    """The values that a run has of the options under study, as its command line gave them."""
    options = given(record.overrides, over)
    return {key: options[key] for key in studied if key in options}


def studied(entries: Sequence[Entry], over: str = "seed") -> list[str]:
    """The options that the command lines of these runs vary."""
    return varied([given(entry.record.overrides, over) for entry in entries])
