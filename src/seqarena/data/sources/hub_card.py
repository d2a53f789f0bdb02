"""Which files the README.md of a dataset repository declares: the `configs` of its front matter.

configs:
- config_name: default
  data_files:
  - {split: train, path: [data/abc.csv, data/def.csv]}
  - {split: test, path: "holdout/*.csv"}
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

from huggingface_hub import metadata_load
from yaml import YAMLError

from seqarena.data.sources.wording import listing
from seqarena.errors import InputError

Patterns: TypeAlias = dict[str, list[str]]
"""Paths by split, with `*` and `**` as in a shell."""


class Card:
    """The configs that list their `data_files`; those that leave them to the files' names are not here."""

    def __init__(self, metadata: Mapping[str, Any] | None) -> None:
        configs = (metadata or {}).get("configs")
        listed = configs if isinstance(configs, list) else []
        told = [one for one in listed if isinstance(one, dict) and "config_name" in one and one.get("data_files")]
        self.configs = {str(one["config_name"]): _patterns(one["data_files"]) for one in told}
        """Patterns by config."""
        self.default = next((str(one["config_name"]) for one in told if one.get("default") is True), None)
        """The config marked as the default one."""

    @classmethod
    def read(cls, file: Path) -> "Card":
        """The card of a README.md; an empty one where there is no such file. InputError: its YAML cannot be read."""
        if not file.is_file():
            return cls(None)
        try:
            return cls(metadata_load(file))
        except (YAMLError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(
                f"{file}: the YAML at its head cannot be read ({reason}). Correct or delete it."
            ) from error


def matched(place: str, names: Collection[str], split: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """The names that fit, in the order of the patterns. InputError: a pattern that fits none."""
    found: dict[str, None] = {}
    for pattern in patterns:
        fitting = sorted(name for name in names if _fits(name, pattern.removeprefix("./")))
        if not fitting:
            raise InputError(
                f"{place}: README.md names {pattern!r} as its {split} split, but no such file is there, only "
                f"{listing(sorted(names))}. Download it too, or delete README.md to go by the names."
            )
        found |= dict.fromkeys(fitting)
    return tuple(found)


def _patterns(data_files: object) -> Patterns:
    """`data_files` in any spelling: one path, a list of paths (both are train), or a list of {split, path}."""
    found: Patterns = defaultdict(list)
    for entry in data_files if isinstance(data_files, list) else [data_files]:
        told = entry if isinstance(entry, dict) else {"split": "train", "path": entry}
        paths = told.get("path")
        found[str(told.get("split"))] += [str(path) for path in (paths if isinstance(paths, list) else [paths])]
    return dict(found)


def _fits(name: str, pattern: str) -> bool:
    """As in a shell: `*` stays within a folder, `**` does not."""
    if "**" in pattern:
        return fnmatchcase(name, pattern.replace("**/", "*"))
    parts, wanted = name.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))
