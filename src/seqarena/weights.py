"""The weights in a checkpoint, for a task that was built from the record beside it; nothing in the file is executed."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seqarena.checkpoints import require_intact
from seqarena.errors import InputError


def weights_of(path: Path, task: nn.Module) -> dict[str, Tensor]:
    """The state of a checkpoint. InputError: it is damaged, not ours, of another model or vocabulary, or not finite."""
    state = state_of(path)
    _refuse_other(path, state, task.state_dict())
    for name, _ in task.named_parameters():
        if not torch.isfinite(state[name]).all():
            raise InputError(
                f"{path}: {name} is not finite everywhere: the run diverged, or the file is damaged; train it again, "
                "with a lower model.lr"
            )
    return state


def state_of(path: Path) -> dict[str, Tensor]:
    """The weights in a file, whatever they belong to. InputError: it is damaged, or no checkpoint of ours."""
    try:
        require_intact(path)
        found = torch.load(path, weights_only=True, map_location="cpu")
    except Exception as error:  # whatever a damaged archive makes of the reader
        raise InputError(
            f"{path} is damaged or no checkpoint of ours; it was not opened any further: take it from where the run "
            "was trained, or train it again"
        ) from error
    state = found.get("state_dict") if isinstance(found, dict) else None
    if not isinstance(state, dict):
        raise InputError(f"{path} holds no weights: it is no checkpoint of ours; name another, or train the run again")
    return state


def _refuse_other(path: Path, state: dict[Any, Any], wanted: dict[str, Tensor]) -> None:
    names = dict.fromkeys([*wanted, *map(str, state)])
    other = [name for name in names if _shape(state.get(name)) != _shape(wanted.get(name))]
    if other:
        first, more = other[0], f" (and {len(other) - 1} more)" if len(other) > 1 else ""
        there, needed = (_shape(one.get(first)) for one in (state, wanted))
        raise InputError(
            f"{path} holds the weights of another model: {first} is {there} in it, and {needed} by the record{more}; "
            "take both from the same run"
        )


def _shape(value: object) -> str:
    """Such as `24 x 48`; a word for what is no tensor of numbers."""
    if value is None:
        return "missing"
    return " x ".join(map(str, value.shape)) or "a number" if isinstance(value, Tensor) else "no tensor"
