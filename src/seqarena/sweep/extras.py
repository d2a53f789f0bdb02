"""Hydra's launchers and sweepers that come in packages of their own, and how to get these."""

from collections.abc import Sequence
from importlib.util import find_spec

from seqarena.errors import InputError

LAUNCHERS = "pip install -c constraints.txt -e '.[launchers]'"
RAY = "pip install -c constraints-ray.txt -e '.[ray]'"
OPTUNA = "pip install -c constraints.txt -e '.[optuna]'"
NEEDED = {
    "hydra/launcher=joblib": ("hydra_joblib_launcher", LAUNCHERS),
    "hydra/launcher=submitit_local": ("hydra_submitit_launcher", LAUNCHERS),
    "hydra/launcher=submitit_slurm": ("hydra_submitit_launcher", LAUNCHERS),
    "hydra/launcher=ray": ("hydra_ray_launcher", RAY),
    "hydra/sweeper=optuna": ("hydra_optuna_sweeper", OPTUNA),
}
"""Of an override: the plugin that it needs, and the command that installs it."""


def missing(override: str) -> str | None:
    """The command that installs what an override needs; None where nothing is missing."""
    plugin, command = NEEDED.get(override, (None, None))
    return command if plugin is not None and find_spec(f"hydra_plugins.{plugin}") is None else None


def refuse_missing_plugins(arguments: Sequence[str]) -> None:
    """InputError: a launcher or sweeper that is not installed."""
    for one in arguments:
        if (command := missing(one)) is not None:
            raise InputError(f"{one} needs a package that is not installed: {command}")
