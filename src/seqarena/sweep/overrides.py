"""Plain values as Hydra's command line reads them, and the keys of overrides."""

import re
from collections.abc import Sequence
from typing import Any

BARE = re.compile(r"[A-Za-z0-9_./:+\-]*[A-Za-z_][A-Za-z0-9_./:+\-]*|.*\$\{.*")
WORDS = ("true", "false", "null", "nan", "inf", "on", "off", "yes", "no")
OWN = ("hydra/launcher", "hydra.launcher", "hydra/sweeper", "hydra.sweeper", "hydra.sweep", "hydra.run", "hydra.mode")
"""Overrides of Hydra's own that are the sweep's, not a job's."""


def for_a_job(hydra_overrides: Sequence[str]) -> list[str]:
    """Those of Hydra's own overrides that a job's process is to be started with."""
    return [one for one in hydra_overrides if not one.lstrip("+~").startswith(OWN)]


def assignment(key: str, value: Any) -> str:
    """`key=value`."""
    return f"{key}={written(value)}"


def written(value: Any) -> str:
    """A plain value so that Hydra reads the same one; text that could be anything else is quoted."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{written(one)}' for key, one in value.items())}}}"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    if BARE.fullmatch(value) and value.lower() not in WORDS and not _is_number(value):
        return value
    escaped = re.sub(r"(\\*)'", r"\1\1\\'", value)
    return f"'{escaped}'"


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def key_of(override: str) -> str:
    """The key of `key=value`, `+key=value`, `~key` or `key@package=value`; nothing of a flag."""
    if override.startswith("-") or ("=" not in override and not override.startswith("~")):
        return ""
    return override.lstrip("+~").partition("=")[0].partition("@")[0]
