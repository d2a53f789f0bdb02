"""A run's history as others read it: `history.jsonl`, a line each time something was measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from seqarena.errors import InputError
from seqarena.forms import problem

FILE = "history.jsonl"

_LINE = TypeAdapter(dict[str, int | float | None])


def read(folder: Path, holding: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The lines of a run's history, or those that hold one of these keys; a last line that a crash cut off is left out.

    Each is the optimizer `step` and numbers; one that was not finite is None. InputError: there is none, or a line
    is of another form.
    """
    path, wanted = folder / FILE, [f'"{key}"'.encode() for key in holding]
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return [
        _line(line, f"{path}:{number}")
        for number, line in enumerate(lines, 1)
        if not wanted or any(one in line for one in wanted)
    ]


def _line(line: bytes, place: str) -> dict[str, Any]:
    try:
        found = _LINE.validate_json(line, strict=True)
    except ValidationError as error:
        raise InputError(f"{place} is damaged: {problem(error)}; delete the line") from error
    if not isinstance(found.get("step"), int):
        raise InputError(f"{place} is damaged: its step is {found.get('step')}; delete the line")
    return found
