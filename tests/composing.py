"""A config as Hydra composes it, and sooner: each choice of groups once, then value by value as Hydra sets them."""

import copy
from functools import cache

from conftest import ROOT
from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

parser = OverridesParser.create()


@cache
def chosen(config: str, groups: tuple[str, ...]) -> DictConfig:
    """Not to be changed: to compose one takes Hydra a quarter of a second."""
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose(config, list(groups))


def composed(*overrides: str, config: str = "train") -> DictConfig:
    """The config of these overrides, the caller's own."""
    groups = tuple(one for one in overrides if (ROOT / "conf" / one.partition("=")[0]).is_dir())
    found = copy.deepcopy(chosen(config, groups))
    values = parser.parse_overrides([one for one in overrides if one not in groups])
    ConfigLoaderImpl._apply_overrides_to_config(values, found)
    return found
