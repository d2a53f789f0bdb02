"""`compare.py` from its composed options to its files."""

import hashlib
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from seqarena.compare import page, tables, watching
from seqarena.compare.comparing import Options, compare, question_of
from seqarena.compare.comparison import Comparison
from seqarena.compare.publish import Place, publish
from seqarena.compare.records import SWEEPS, Selection, of_folders, of_sweep
from seqarena.errors import InputError
from seqarena.record import relative

HOME = "outputs/compare"
WIDTH = 150
RUNNING = "This sweep is still running: the page reloads itself, and nothing on it is decided yet."


def run(config: Any, root: Path, command: str) -> None:
    """Compare, print, write; where `watch` is asked for, again at each change. InputError: unusable runs or options."""
    console = Console()
    console.width = console.width if console.is_terminal else WIDTH
    if not isinstance(config.watch, bool):
        raise InputError(f"watch={config.watch} must be true or false")
    if config.watch:
        return _watch(config, root, command, console)
    place = _place(config)
    found, folder = _made(config, root, command)
    _told(found, folder, console)
    if place is not None:
        for line in publish(found, folder, place, found.name if config.sweep is not None else None):
            console.print(line, soft_wrap=True)


def _place(config: Any) -> Place | None:
    """Where in W&B the comparison goes, if it does."""
    if config.publish not in (None, "wandb"):
        raise InputError(f"publish={config.publish} is not known: write publish=wandb")
    if config.wandb.mode not in ("offline", "online"):
        raise InputError(f"wandb.mode={config.wandb.mode} is not known: write wandb.mode=offline or online")
    return Place(**config.wandb) if config.publish else None


def _told(found: Comparison, folder: Path, console: Console) -> None:
    tables.show(found, console)
    console.print(f"[dim]files[/]  {relative(folder)}", soft_wrap=True)


def _made(config: Any, root: Path, command: str, running: bool = False) -> tuple[Comparison, Path]:
    """The comparison as it is now, and the folder that its files were written to."""
    options = options_of(config)
    selection = _selected(config, root)
    folder = root / HOME / _name(config, selection)
    question = question_of(root, selection)
    home = folder if selection.sweep is not None and not running else None
    found = compare(selection, options, question, home)
    if running:
        found = replace(found, notes=[*found.notes, RUNNING])
    tables.write(found, folder)
    page.write(found, folder, command, reload=watching.EVERY if running else None)
    return found, folder


def _watch(config: Any, root: Path, command: str, console: Console) -> None:
    """A line for each change, then the tables."""
    if config.publish is not None:
        raise InputError("watch=true publishes nothing: write publish=wandb when the sweep is over")
    if config.sweep is None:
        raise InputError("watch=true follows a sweep: write sweep=NAME, too")

    def show(ahead: int | None) -> None:
        found, folder = _made(config, root, command, running=ahead != 0)
        if ahead == 0:
            return _told(found, folder, console)
        results = sum(run.counted for block in found.blocks for run in block.runs)
        to_come = "more to come" if ahead is None else f"{ahead} to come"
        now = f"{datetime.now():%H:%M:%S}"
        console.print(f"[dim]{now}[/]  {results} results, {to_come}: {relative(folder)}", soft_wrap=True)

    def wait() -> None:
        console.print(f"waiting for the first run of {relative(root / SWEEPS / config.sweep)}", soft_wrap=True)

    watching.follow(root, str(config.sweep), show, wait)


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
