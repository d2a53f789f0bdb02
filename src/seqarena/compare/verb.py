"""`compare.py` from its composed options to its files."""

import hashlib
from pathlib import Path
from typing import Any

from rich.console import Console

from seqarena.compare import page, tables
from seqarena.compare.comparing import Options, compare, question_of
from seqarena.compare.records import Selection, of_folders, of_sweep
from seqarena.errors import InputError
from seqarena.record import relative

HOME = "outputs/compare"
WIDTH = 150


def run(config: Any, root: Path, command: str) -> None:
    """Compare, print, write. InputError: runs or options that cannot be used."""
    options = options_of(config)
    selection = _selected(config, root)
    folder = root / HOME / _name(config, selection)
    question = question_of(root, selection)
    found = compare(selection, options, question, folder if selection.sweep is not None else None)
    console = Console()
    console.width = console.width if console.is_terminal else WIDTH
    tables.show(found, console)
    tables.write(found, folder)
    page.write(found, folder, command)
    console.print(f"[dim]files[/]  {relative(folder)}", soft_wrap=True)


def options_of(config: Any) -> Options:
    """The options, each checked. InputError: one that means nothing."""
    limits = {str(name): _positive(f"limits.{name}", one) for name, one in config.limits.items() if one is not None}
    looks = config.seeds.looks
    if looks is not None and (type(looks) is not int or looks < 1):
        raise InputError(f"seeds.looks={looks} must be a whole number from 1, or null")
    for name, one in (
        ("simultaneous", config.simultaneous),
        ("advise", config.advise),
        ("seeds.paired", config.seeds.paired),
    ):
        if not isinstance(one, bool):
            raise InputError(f"{name}={one} must be true or false")
    return Options(
        metric=config.metric,
        baseline=None if config.baseline is None else str(config.baseline),
        allow=tuple(str(one) for one in config.allow),
        paired=config.seeds.paired,
        looks=looks,
        margin=None if config.margin is None else _positive("margin", config.margin),
        detect=None if config.detect is None else _positive("detect", config.detect),
        simultaneous=config.simultaneous,
        advise=config.advise,
        limits=limits,
    )


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise InputError(f"{name}={value} must be a number above 0")
    return float(value)


def _selected(config: Any, root: Path) -> Selection:
    if (config.sweep is None) == (config.runs is None):
        raise InputError("write sweep=NAME, or runs=<glob>, or runs=<folder>,<folder>: one of them")
    return of_sweep(root, str(config.sweep)) if config.sweep is not None else of_folders(str(config.runs))


def _name(config: Any, selection: Selection) -> str:
    """Of the folder: what the user says, the sweep, or a digest of the runs."""
    if config.name is not None:
        name = str(config.name)
        if name in ("", ".", "..") or "/" in name or "\\" in name:
            raise InputError(f"name={name} must be the name of a folder")
        return name
    if selection.sweep is not None:
        return selection.name
    told = "\n".join(sorted(str(entry.folder) for entry in selection.entries))
    return f"runs-{hashlib.sha256(told.encode()).hexdigest()[:8]}"
