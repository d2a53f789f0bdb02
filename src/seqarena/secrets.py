"""Keys, tokens and passwords, told by their names: they reach no record, no log, no page, no run of W&B."""

import os
import re
from collections.abc import Sequence
from typing import Any

from seqarena.errors import InputError

_SECRET = re.compile(r"(^|[._-])(api_?key|key|token|password|passwd|secret|credentials?)$", re.IGNORECASE)
_HIDDEN = "(hidden)"
SECRET_LENGTH = 8
"""Characters that a secret has at least; a shorter value might be any word."""


def refuse_secrets(arguments: Sequence[str]) -> None:
    """InputError: an option is a secret by its name, and Hydra would write it into the run's folder."""
    for argument in arguments:
        name, _, value = argument.lstrip("+").partition("=")
        if _SECRET.search(name) and value not in ("", "null"):
            raise InputError(
                f"{name}= would be written into the run's folder for everybody to read: put it into the "
                "environment, where W&B and the Hub look for theirs (WANDB_API_KEY, HF_TOKEN)"
            )


def redacted(tree: Any) -> Any:
    """Plain data without the values of keys called `key`, `api_key`, `token`, `password` and so on.

    Nor with those of environment variables called so.
    """
    if isinstance(tree, dict):
        return {name: _hidden(part) if _SECRET.search(str(name)) else redacted(part) for name, part in tree.items()}
    if isinstance(tree, list):
        return [redacted(value) for value in tree]
    return veiled(tree) if isinstance(tree, str) else tree


def veiled(text: str) -> str:
    """A text without the values of environment variables whose names say that they are secret."""
    for name, value in os.environ.items():
        if len(value) >= SECRET_LENGTH and _SECRET.search(name):
            text = text.replace(value, _HIDDEN)
    return text


def _hidden(value: Any) -> Any:
    return None if value is None else _HIDDEN


def redacted_override(override: str) -> str:
    """An option as it was written, without a secret."""
    name, equals, _ = override.partition("=")
    return f"{name}={_HIDDEN}" if equals and _SECRET.search(name.lstrip("+")) else veiled(override)
