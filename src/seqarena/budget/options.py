"""Options of a config by their names, such as `model.dim`."""

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf


def with_options(config: DictConfig, values: Mapping[str, Any]) -> DictConfig:
    """A copy with these values; what is interpolated from them follows."""
    changed = config.copy()
    for name, value in values.items():
        OmegaConf.update(changed, name, value)
    return changed
