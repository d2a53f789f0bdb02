"""Every benchmark in one command: python benchmarks/speed.py [--translation DIR] [--classification DIR] [SECTION ...]

Runs them one after another and writes what they print into docs/results/speed.md, section by section, so that a part
can be measured anew: sections that are not asked for stay as they are. Half an hour in all; run it on a quiet machine.
"""

import argparse
import datetime
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from seqarena.device import available_cores
from seqarena.record import processor

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "results" / "speed.md"
HEAD = """# How fast

Written by `python benchmarks/speed.py`; each table by the command above it, on the machine that it names. Ratios are of
runs that took turns, so they mean more than the speeds.
"""


class Section(NamedTuple):
    """A table: its title, its script and arguments, and which folders of data it is to be given."""

    title: str
    command: Sequence[str]
    folders: Sequence[str] = ()


SECTIONS = {
    "start": Section("From the command to the first step", ["start.py"]),
    "training": Section("Training", ["training.py", "--rounds", "2"], ["translation", "classification"]),
    "decoding": Section("Decoding", ["decoding.py"]),
    "levers": Section("What each lever is worth", ["levers.py"]),
    "multi30k": Section("Preparing Multi30k", ["preparation.py"], ["translation"]),
    "preparation": Section("Preparing 300,000 pairs", ["preparation.py", "300000"]),
    "compare": Section("Comparing 1,000 runs", ["compare.py"]),
}


def measured(section: Section, folders: dict[str, str | None], where: str) -> str:
    """The section's text, table included. SystemExit: its command failed."""
    given = [part for name in section.folders if folders[name] for part in (f"--{name}", folders[name] or "")]
    shown = [part for name in section.folders if folders[name] for part in (f"--{name}", "DIR")]
    print(f"{section.title} ...", flush=True)
    command = [sys.executable, str(ROOT / "benchmarks" / section.command[0]), *section.command[1:], *given]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    print(done.stdout, flush=True)
    told = f"`python benchmarks/{' '.join([*section.command, *shown])}`, {where}"
    return f"## {section.title}\n\n{told}:\n\n{done.stdout.strip()}\n"


def machine() -> str:
    """Where and when, and of which commit; the page itself may have changed since."""
    commit, changes = _git("rev-parse", "--short", "HEAD"), _git("status", "--porcelain", "--", ".", f":!{PAGE}")
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    tree, day = f"{commit}{'-dirty' * bool(changes)}", datetime.date.today().isoformat()
    return f"{processor()}, {available_cores()} cores, {gpu}, torch {torch.__version__}, {tree}, {day}"


def _git(*command: str) -> str:
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def written() -> dict[str, str]:
    """The page's sections as they are, by title."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return {
        part.split("\n", 1)[0].removeprefix("## "): part.rstrip() + "\n" for part in re.split(r"(?m)^(?=## )", page)[1:]
    }


def main() -> None:
    """Measure the sections asked for; the page is brought up to date after each."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--translation", help="a folder of Multi30k; without it, generated number words")
    reader.add_argument("--classification", help="a folder with train, val, test .csv; without it, generated sentences")
    reader.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all if none is named")
    asked = reader.parse_args()
    asked.sections = asked.sections or [name for name in SECTIONS if name != "multi30k" or asked.translation]
    if unknown := set(asked.sections) - set(SECTIONS):
        reader.error(f"no section {', '.join(sorted(unknown))}: choose of {', '.join(SECTIONS)}")
    if "multi30k" in asked.sections and not asked.translation:
        reader.error("multi30k needs --translation DIR")
    where = machine()  # the page, which is of the tree too, has not been touched yet
    for name in asked.sections:
        text = measured(SECTIONS[name], vars(asked), where)
        sections = {**written(), SECTIONS[name].title: text}
        ordered = [sections[one.title] for one in SECTIONS.values() if one.title in sections]
        PAGE.write_text("\n".join([HEAD, *ordered]), encoding="utf-8")


if __name__ == "__main__":
    main()
