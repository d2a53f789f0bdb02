"""A run repeated from its record: bitwise equal, equal within seed noise, or different, with the first difference."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import torch
from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from torch import Tensor

from seqarena.compare.comparing import HEADLINE
from seqarena.compare.influences import Examples, group
from seqarena.compare.records import read as entry
from seqarena.compare.records import read_examples
from seqarena.compare.statistics import contrast
from seqarena.errors import InputError
from seqarena.history import read
from seqarena.ranks import is_first
from seqarena.record import FILE, Record, relative
from seqarena.runs import literal
from seqarena.sweep.metrics import Metric, parse
from seqarena.training import train
from seqarena.weights import state_of

BITWISE, NOISE, DIFFERENT = "bitwise equal", "equal within seed noise", "different"
TIMED = ("speed/", "memory/", "cost/train_seconds")
"""Keys of the history that differ each time."""
WEIGHTS = "checkpoints/best.ckpt"
MINE = ("replay", "logger", "cache")
"""What may be asked of a repetition; the rest is the record's."""


Numbers: TypeAlias = list[tuple[int, str, float | None]]
"""Step, key and value."""


@dataclass(frozen=True)
class Outcome:
    """The word, where the two runs first differ, and both test scores."""

    word: str
    first: str
    metric: str
    before: float
    after: float


def replay(asked: DictConfig, folder: Path, overrides: Sequence[str]) -> None:
    """Train the run of `asked.replay` again in `folder`, by its record's config, and say how the two compare.

    InputError: it was not finished, or something else was asked for, too.
    """
    others = [one for one in overrides if re.split(r"[=.]", one.lstrip("+~"))[0] not in MINE]
    if others:
        raise InputError(f"replay= repeats a run by its record alone: leave {' '.join(others)} out")
    source = Path(str(asked.replay)).expanduser()
    record = Record.read(source)
    if record.status != "done":
        raise InputError(f"replay={asked.replay} is {record.status}: only a finished run can be repeated")
    config = config_of(record, asked)
    require_whole(source, record)
    train(config, folder, [f"replay={asked.replay}"])
    if is_first():
        found = outcome(source, folder)
        (folder / "replay.json").write_text(json.dumps({"of": str(source), **vars(found)}, indent=1) + "\n")
        Console().print(told(found, source, record), soft_wrap=True, highlight=False)


def require_whole(source: Path, record: Record) -> None:
    """InputError: something is damaged that a repetition would be compared with, when it has been trained."""
    read(source), state_of(source / WEIGHTS), read_examples(source)
    if HEADLINE.get(record.task) not in record.metrics:
        raise InputError(f"{source / FILE} holds no {HEADLINE.get(record.task, 'score')}, so nothing can be compared")


def config_of(record: Record, asked: DictConfig) -> DictConfig:
    """The config of a record, kept and watched as this command asks."""
    config: dict[str, Any] = {**record.config, "cache": asked.cache, "sweep": None, "replay": None}
    config["logger"] = OmegaConf.to_container(asked.logger, resolve=True)
    return OmegaConf.create(literal(config))


def outcome(before: Path, after: Path) -> Outcome:
    """Compare two finished runs: every number of the histories but times, then the weights, then the scores."""
    one, other = Record.read(before), Record.read(after)
    metric = HEADLINE[one.task]
    first = next(_differences(before, after), "")
    word = BITWISE if not first else NOISE if _within_noise(before, after, parse(metric, one.task)) else DIFFERENT
    return Outcome(word, first, metric, one.metrics[metric], other.metrics[metric])


def _differences(before: Path, after: Path) -> Iterator[str]:
    for name, value in Record.read(before).hashes.items():
        if (now := Record.read(after).hashes.get(name)) != value and name != "config":
            yield f"{name} (hash {value}, now {now})"
    yield from _of_histories(_numbers(before), _numbers(after))
    yield from _of_weights(state_of(before / WEIGHTS), state_of(after / WEIGHTS))


def _numbers(folder: Path) -> Numbers:
    return [
        (line["step"], key, value)
        for line in read(folder)
        for key, value in line.items()
        if key != "step" and not key.startswith(TIMED)
    ]


def _of_histories(before: Numbers, after: Numbers) -> Iterator[str]:
    now = {(step, key): value for step, key, value in after}
    for step, key, value in before:
        if (step, key) not in now:
            yield f"{key} at step {step} ({value}, now not measured)"
        elif now[step, key] != value:
            yield f"{key} at step {step} ({value}, now {now[step, key]})"


def _of_weights(before: dict[str, Tensor], after: dict[str, Tensor]) -> Iterator[str]:
    for name, value in before.items():
        if name not in after or not torch.equal(value, after[name]):
            yield f"the weights {name}"


def _within_noise(before: Path, after: Path, metric: Metric) -> bool:
    """Whether the 95 % interval of the difference of these two runs, over test examples, holds zero."""
    entries = [entry(before), entry(after)]
    examples = Examples(entries)
    sides = [replace(group([one], examples, metric), fixed=True) for one in entries]
    low, high = contrast(sides, [1.0, -1.0]).interval()
    return low <= 0.0 <= high


def told(found: Outcome, source: Path, record: Record) -> str:
    """The outcome in words, with what was to be expected."""
    expected = record.machine.get("repeatable", "not recorded")
    first = f"\nthe first difference: {found.first}" if found.first else ""
    scores = f"{found.metric} {found.before:.6g}, now {found.after:.6g}"
    return f"{found.word} to {relative(source)}: {scores}{first}\nexpected of that run: {expected}"
