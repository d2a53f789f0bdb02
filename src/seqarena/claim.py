"""A run's folder belongs to it: another command is refused before Hydra has written anything there."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, open_dict

from seqarena.errors import InputError, explained
from seqarena.limits import plain
from seqarena.record import FILE, earlier
from seqarena.sweep.overrides import key_of

RANKS = ("RANK", "LOCAL_RANK", "SLURM_PROCID")
"""Where a launcher tells a process which one it is: the others write into the folder that the first has claimed."""

TOGETHER = ("WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
"""Where torchrun and srun tell how many they have started; Lightning hands the folder to those that it starts."""


class Claim(Callback):
    """Called by Hydra before it makes the folder. With `fresh` no record may lie there, not even an unfinished one."""

    def __init__(self, fresh: bool) -> None:
        self._fresh = fresh

    def on_run_start(self, config: DictConfig, **_: Any) -> None:
        """End the command with a message if its folder is taken, or cannot be written."""
        with explained(InputError):
            refuse_folders_apart(list(config.hydra.overrides.hydra))
            if any(os.environ.get(name, "0") != "0" for name in RANKS):
                return
            folder = Path(config.hydra.run.dir).absolute()
            if folder == Path.cwd():
                raise InputError("hydra.run.dir is the folder that you stand in: name one for this run alone")
            if self._fresh and (folder / FILE).exists():
                raise InputError(f"{folder} holds a run already: choose another hydra.run.dir")
            if not self._fresh:
                earlier(folder, plain(without_hydra(config)))
            claim(folder, "hydra.run.dir")


def refuse_folders_apart(overrides: Sequence[str]) -> None:
    """InputError: a launcher has started several processes, and each would name a folder by its own clock."""
    several = any(os.environ.get(name, "1") != "1" for name in TOGETHER)
    if several and "hydra.run.dir" not in map(key_of, overrides):
        raise InputError(
            "several processes were started for one run, which needs one folder: write hydra.run.dir=outputs/runs/NAME"
        )


def without_hydra(config: DictConfig) -> DictConfig:
    """The config as the command sees it."""
    found = config.copy()
    with open_dict(found):
        found.pop("hydra", None)
    return found


def claim(folder: Path, option: str) -> None:
    """Make the folder that `option` names. InputError: it cannot be made or written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{option}={folder} cannot be made ({error.strerror}): choose another") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{option}={folder} cannot be written: choose a folder that is yours")
