"""Runs may be compared that differ in what is under study alone. Others are set apart, and it is said by what."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

from seqarena.compare.comparison import Banner
from seqarena.compare.factors import given
from seqarena.compare.records import Entry
from seqarena.errors import InputError
from seqarena.sweep.metrics import PROBE, Metric, by_machine

Conditions = dict[str, str | None]
"""By name; None where a run's record does not say, since it ended early."""

DRAWN = {
    "data": "data",
    "data.tokenizer": "tokenizer",
    "task.decoding": "decoding",
    "budget": "budget",
    "trainer.precision": "precision",
}
"""What a factor under study changes, by the beginning of its path."""

VALIDATION = "val"
"""Whose examples no run keeps: two validation sets are known to be the same by the hash of the data alone."""

TEXTS = ("id", "text", "label", "source", "reference")


def _hash(name: str) -> Callable[[Entry], str | None]:
    return lambda entry: entry.record.hashes.get(name)


def _signature(entry: Entry) -> str | None:
    return json.dumps(entry.record.signature, sort_keys=True) if entry.has_examples else None


def _part(*path: str) -> Callable[[Entry], str | None]:
    return lambda entry: json.dumps(entry.record.option(*path), sort_keys=True)


def _budget(entry: Entry) -> str | None:
    """Its kind and target; which trial of a search a run is, is no condition."""
    asked = {name: entry.record.option("budget", name) for name in ("kind", "target", "minutes")}
    return " ".join(f"{name}={value}" for name, value in asked.items() if value is not None)


def _code(entry: Entry) -> str | None:
    code = entry.record.code
    return None if code is None else str(code["commit"])


def _precision(entry: Entry) -> str | None:
    """The one that was chosen, where `auto` was asked for; a run that ended before it was chosen has none."""
    found = entry.record.machine.get("precision") or entry.record.option("trainer", "precision")
    return None if found in (None, "auto") else str(found)


def _versions(entry: Entry) -> str | None:
    return ", ".join(f"{name} {number}" for name, number in sorted(entry.record.versions.items()))


def machine(entry: Entry, studied: Sequence[str] = ()) -> str:
    """What speed and memory depend on beside the model: processor, threads, ranks, batches unless they are studied.

    A size of batches that was measured was not asked for, and may be another one for each model and seed.
    """
    found = entry.record.machine
    processor = ", ".join(found.get("gpus") or []) or found.get("cpu")
    told = f"{processor}, {found.get('threads')} threads, {found.get('ranks')} ranks"
    shape = {"tokens": "batch_tokens", "examples": "batch_examples"}
    sizes = {
        unit: "auto" if key in entry.record.budget else entry.record.option("data", key)
        for unit, key in shape.items()
        if f"data.{key}" not in studied
    }
    known = [f"{size} {unit}" for unit, size in sizes.items()]
    return f"{told}, batches of {' and '.join(known)}" if known else told


CONDITIONS: Mapping[str, Callable[[Entry], str | None]] = {
    "task": lambda entry: entry.record.task,
    "data": _hash("data"),
    "labels": _hash("labels"),
    "tokenizer": _hash("tokenizer"),
    "signature": _signature,
    "decoding": _part("task", "decoding"),
    "budget": _budget,
    "precision": _precision,
    "code": _code,
    "versions": _versions,
}
FIXED = ("task", "data", "labels", "test set")
"""Conditions that nobody can allow to differ."""
TITLES = {"signature": "metric signature", "code": "code commit"}


def conditions(entry: Entry, metric: Metric, studied: Sequence[str]) -> Conditions:
    """What must agree between runs. Where the data is under study, what a score is of alone must: the examples."""
    free = {DRAWN[begin] for factor in studied for begin in DRAWN if factor == begin or factor.startswith(f"{begin}.")}
    found = {name: of(entry) for name, of in CONDITIONS.items() if name not in free}
    if "data" in free:
        found.pop("tokenizer", None)
        if metric.group == "test":
            found["test set"] = test_set(entry)
        elif metric.group in (VALIDATION, PROBE):
            found["data"] = CONDITIONS["data"](entry)
    if by_machine(metric.key):
        found["machine"] = machine(entry, studied)
    return found


def test_set(entry: Entry) -> str | None:
    """A hash of the test examples themselves, whatever the options by which they were read."""
    if not entry.has_examples:
        return None
    names = [name for name in TEXTS if name in entry.names()]
    told = hashlib.sha256()
    for name, column in zip(names, entry.columns(*names), strict=True):
        told.update(f"{name}:{json.dumps(column.to_pylist())}".encode())
    return told.hexdigest()[:16]


def separated(
    entries: Sequence[Entry], metric: Metric, studied: Sequence[str], allowed: Sequence[str]
) -> tuple[list[list[Entry]], list[Banner]]:
    """Runs in parts of equal conditions, the largest first, and a banner for each condition that sets runs apart.

    Conditions that are `allowed` to differ get a banner, and set nothing apart. A run of which a condition is not known
    goes with the largest part that it does not contradict. InputError: nothing of that name is checked.
    """
    for name in allowed:
        may = [one for one in (*CONDITIONS, "machine") if one not in FIXED]
        if name not in may:
            raise InputError(f"allow={name}: no difference of this name can be allowed, only {', '.join(may)}")
    every = _checked(entries, metric, studied, allowed)
    banners = [_banner(name, every, entries, name not in allowed, _of_data(studied)) for name in _differing(every)]
    strict = [{name: value for name, value in one.items() if name not in allowed} for one in every]
    parts: list[tuple[Conditions, list[int]]] = []
    for place in sorted(range(len(entries)), key=lambda at: None in strict[at].values()):
        matching = [part for part in parts if _agree(part[0], strict[place])]
        if matching:
            max(matching, key=lambda part: len(part[1]))[1].append(place)
        else:
            parts.append((strict[place], [place]))
    parts.sort(key=lambda part: (-len(part[1]), min(part[1])))
    kept = [[entries[place] for place in sorted(places)] for _, places in parts]
    return kept, [*banners, *_dirty(entries), *_unsound(entries)]


def _checked(
    entries: Sequence[Entry], metric: Metric, studied: Sequence[str], allowed: Sequence[str]
) -> list[Conditions]:
    """The conditions of each run.

    Where tokenizers may differ, so may the data's hash, which is of how it was read, if they explain it: if no two runs
    with the same tokenizer differ in it. The test set must be one all the same.
    """
    if "tokenizer" not in allowed or not _explained(entries):
        return _with_test_sets(entries, [conditions(entry, metric, studied) for entry in entries], studied)
    free = [*studied, "data.tokenizer"]
    asked = [{"test set": test_set(entry), **conditions(entry, metric, free)} for entry in entries]
    every = _with_test_sets(entries, asked, studied)
    return [{**one, "tokenizer": CONDITIONS["tokenizer"](entry)} for one, entry in zip(every, entries, strict=True)]


def _explained(entries: Sequence[Entry]) -> bool:
    """Whether each tokenizer comes with one hash of the data."""
    found: dict[str | None, set[str]] = {}
    for entry in entries:
        if data := entry.record.hashes.get("data"):
            found.setdefault(CONDITIONS["tokenizer"](entry), set()).add(data)
    return all(len(hashes) == 1 for hashes in found.values())


def _with_test_sets(entries: Sequence[Entry], every: Sequence[Conditions], studied: Sequence[str]) -> list[Conditions]:
    """The same with a test set for runs that were not tested: that of one whose data has the same hash.

    Of a run that ended before it had read any, the one whose data was asked for alike.
    """
    marks = [_marks(entry, studied) for entry in entries]
    known = {mark: one["test set"] for one, of in zip(every, marks, strict=True) if one.get("test set") for mark in of}
    return [
        {**one, "test set": next((known[mark] for mark in of if mark in known), None)}
        if "test set" in one and one["test set"] is None
        else one
        for one, of in zip(every, marks, strict=True)
    ]


def _marks(entry: Entry, studied: Sequence[str]) -> list[str]:
    """What tells a run's data from that of others, the surest first."""
    asked = {key: value for key, value in given(entry.record.overrides).items() if key in _of_data(studied)}
    return [*filter(None, [entry.record.hashes.get("data")]), json.dumps(asked, sort_keys=True)]


def _of_data(studied: Sequence[str]) -> list[str]:
    return [key for key in studied if key == "data" or key.startswith("data.")]


def _agree(one: Conditions, other: Conditions) -> bool:
    return all(value == other.get(name) or None in (value, other.get(name)) for name, value in one.items())


def _differing(every: Sequence[Conditions]) -> list[str]:
    names = dict.fromkeys(name for one in every for name in one)
    return [name for name in names if len({one.get(name) for one in every} - {None}) > 1]


def _banner(
    name: str, every: Sequence[Conditions], entries: Sequence[Entry], separates: bool, of_data: Sequence[str]
) -> Banner:
    values: dict[str, list[str]] = {}
    for one, entry in zip(every, entries, strict=True):
        if (value := one.get(name)) is not None:
            values.setdefault(value, []).append(entry.record.run)
    title = TITLES.get(name, name)
    if name == "test set":
        cause = " and ".join(of_data) or "other data"
        told = f"{cause} make other test sets: runs are compared with those tested on the same examples"
        return Banner(title, values, told, separates)
    listed = "; ".join(f"{_short(name, value, values)} ({len(runs)})" for value, runs in values.items())
    fate = f"runs are set apart by it{_cure(name)}" if separates else "allowed, so runs are compared all the same"
    what = "data, or how it is prepared," if name == "data" else title
    return Banner(title, values, f"{what} differs, which is not under study: {listed}: {fate}", separates)


def _cure(name: str) -> str:
    """How runs can be compared all the same."""
    if name in FIXED:
        same = "evaluate them on one: python evaluate.py run=... data.path=..., or train them on the same data"
        return f" ({same})" if name in ("data", "test set") else ""
    return f" (allow=[{name}] compares them all the same)"


def _short(name: str, value: str, values: Mapping[str, object]) -> str:
    """Of many versions only those that differ; commits by their first digits."""
    if name == "versions":
        common = set.intersection(*(set(one.split(", ")) for one in values))
        return ", ".join(part for part in value.split(", ") if part not in common) or "fewer packages"
    return value[:10] if name == "code" else value


def _dirty(entries: Sequence[Entry]) -> list[Banner]:
    runs = [entry.record.run for entry in entries if entry.record.code and entry.record.code.get("dirty")]
    if not runs:
        return []
    told = f"{len(runs)} of {len(entries)} runs come from a checkout with changes that its commit does not hold"
    return [Banner("uncommitted changes", {"dirty": runs}, told, separates=False)]


def _unsound(entries: Sequence[Entry]) -> list[Banner]:
    """A banner where a model did not pass its examination."""
    values: dict[str, list[str]] = {}
    for entry in entries:
        if broken := entry.record.soundness.get("broken"):
            values.setdefault(f"{entry.record.model} breaks: {', '.join(broken)}", []).append(entry.record.run)
    if not values:
        return []
    told = f"{'; '.join(values)} (python train.py report=model): what it scores may not be what it seems"
    return [Banner("soundness", values, told, separates=False)]


def outside(groups: Mapping[str, Sequence[Entry]], values: Mapping[str, Mapping[str, str]]) -> list[Banner]:
    """A banner where groups of a sweep have equal factors and yet were asked for different training."""
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for label in groups:
        alike.setdefault(tuple(values[label].items()), []).append(label)
    found = []
    for labels in (one for one in alike.values() if len(one) > 1):
        runs = {label: [entry.record.run for entry in groups[label]] for label in labels}
        told = f"{'; '.join(labels)}: their options differ in what is not under study, so they are groups of their own"
        found.append(Banner("options", runs, told))
    return found


def repeated(entries: Sequence[Entry]) -> list[Banner]:
    """A banner where runs are left out that repeat others."""
    if not entries:
        return []
    told = f"{len(entries)} runs repeat another one, seed and all, and are left out: the first of each stands for them"
    return [Banner("repeats", {"left out": [entry.record.run for entry in entries]}, told, separates=False)]


def machines(entries: Sequence[Entry]) -> list[Banner]:
    """A banner where costs were measured on several machines; scores may be compared all the same."""
    values: dict[str, list[str]] = {}
    for entry in entries:
        values.setdefault(machine(entry), []).append(entry.record.run)
    if len(values) < 2:
        return []
    told = "; ".join(f"{value} ({len(runs)})" for value, runs in values.items())
    return [Banner("machine", values, f"speed and memory were measured on different machines: {told}", separates=False)]
