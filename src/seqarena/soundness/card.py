"""The report card of a model: `report=model` checks it by every law, prints which hold, and keeps the result.

A card belongs to the options of a model and to the code that it is built from: its key is a hash of both. A run whose
model has a card remembers it in its record.
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from seqarena.limits import check_limits
from seqarena.quiet import quiet
from seqarena.record import relative
from seqarena.soundness.laws import Broken, of
from seqarena.soundness.subject import Subject

FOLDER = "soundness"
SIZES = ("dim", "lr", "feedforward", "window", "segment", "max_positions")
"""Options of a model that a card does not depend on: how large it is, and how fast it learns."""


@dataclass(frozen=True)
class Mark:
    """Whether a law holds, what was found if not, and the seconds that it took."""

    law: str
    says: str
    holds: bool
    found: str
    seconds: float


@dataclass(frozen=True)
class Card:
    """The marks of a model under its key."""

    model: str
    key: str
    marks: list[Mark]

    @property
    def broken(self) -> list[str]:
        """The laws that do not hold."""
        return [mark.law for mark in self.marks if not mark.holds]


def report_model(config: DictConfig) -> None:
    """Check the model of a config, keep its card in the cache, print it; exit code 1 unless every law holds."""
    quiet()
    console = Console()
    check_limits(config)
    card = examine(config.model)
    path = keep(card, Path(config.cache))
    show(card, console)
    console.print(f"[dim]card[/]  {relative(path)}", soft_wrap=True)
    if card.broken:
        raise SystemExit(1)


def examine(model: DictConfig) -> Card:
    """A model by every law that concerns it."""
    subject = Subject.of(model)
    return Card(str(model.name), key(model), [_mark(law, subject) for law in of(subject)])


def _mark(law: Callable[[Subject], None], subject: Subject) -> Mark:
    began, found = time.perf_counter(), ""
    try:
        law(subject)
    except Broken as broken:
        found = str(broken)
    except Exception as error:  # a model that is not ours may fail in any way: that is what is to be found out
        found = f"{type(error).__name__}: {error}".split("\n")[0]
    says = str(law.__doc__).split("\n")[0]
    return Mark(law.__name__, says, not found, found, round(time.perf_counter() - began, 2))


def key(model: DictConfig) -> str:
    """Of the options but sizes, and of the source of every architecture and law."""
    plain: Any = OmegaConf.to_container(model, resolve=False)
    options = {name: one for name, one in plain.items() if name not in SIZES}
    told = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
    for room in ("models", "soundness"):
        for file in sorted(Path(str(files("seqarena") / room)).glob("*.py")):
            told.update(file.read_bytes())
    return told.hexdigest()[:16]


def keep(card: Card, cache: Path) -> Path:
    """Write a card into the cache; where it is."""
    path = cache / FOLDER / f"{card.key}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(card), indent=1) + "\n", encoding="utf-8")
    part.replace(path)
    return path


def known(model: DictConfig, cache: Path) -> dict[str, Any]:
    """What a run's record says of its model: the card's key and the laws that it breaks; empty without a card."""
    path = cache / FOLDER / f"{key(model)}.json"
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {"card": card["key"], "broken": [mark["law"] for mark in card["marks"] if not mark["holds"]]}


def show(card: Card, console: Console) -> None:
    """The card as a table."""
    table = Table(title=f"model={escape(card.model)}", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("law")
    table.add_column("holds")
    table.add_column("what it says, or what was found")
    for mark in card.marks:
        told = "[green]yes[/]" if mark.holds else "[bold red]no[/]"
        table.add_row(mark.law.replace("_", " "), told, escape(mark.says if mark.holds else mark.found))
    console.print(table)
    seconds = sum(mark.seconds for mark in card.marks)
    laws = f"{len(card.marks)} laws"
    verdict = f"{len(card.broken)} of {laws} are broken" if card.broken else f"all {laws} hold"
    console.print(f"{verdict} ({seconds:.0f} s)", highlight=False)
