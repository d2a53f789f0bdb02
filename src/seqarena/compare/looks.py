"""What was compared before: seeds added after a look at the outcome make another comparison of it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from seqarena.compare.files import replace

FILE = "looks.json"

Look = dict[str, list[str]]
"""The runs that were compared, by group."""


def looked(folder: Path, groups: Mapping[str, Sequence[str]]) -> int:
    """How often these groups have been compared here with other runs in them, this time included. It is remembered."""
    here: Look = {label: sorted(runs) for label, runs in sorted(groups.items())}
    before = _read(folder / FILE)
    if here not in before:
        replace(folder / FILE, json.dumps([*before, here], indent=1) + "\n")
    earlier = before[: before.index(here)] if here in before else before
    return 1 + sum(_other(one, here) for one in earlier)


def _other(earlier: Look, here: Look) -> bool:
    return any(label in here and here[label] != runs for label, runs in earlier.items())


def _read(path: Path) -> list[Look]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []  # none yet, or one that cannot be read: then this is the first look that is known of
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
