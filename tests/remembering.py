"""Hydra, remembering what it read and composed: each YAML and each choice of groups once in a process.

A composition takes a fifth of a second, nearly all of it for YAMLs that no test changes; values are set each time.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from hydra._internal import config_loader_impl
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.defaults_list import DefaultsList, Overrides, create_defaults_list
from hydra.core.override_parser.types import Override
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig

files: dict[tuple[str, ...], ConfigResult | None] = {}
lists: dict[tuple[object, ...], DefaultsList] = {}
configs: dict[tuple[str, ...], DictConfig] = {}
load, compose = ConfigRepository.load_config, ConfigLoaderImpl._compose_config_from_defaults_list


def places(repo: Any) -> tuple[str, ...]:
    """Where YAMLs are read from."""
    return tuple(source.path for source in repo.get_sources())


def loaded(repo: ConfigRepository, config_path: str) -> ConfigResult | None:
    """A YAML, the caller's own."""
    key = (*places(repo), config_path)
    if key not in files:
        files[key] = load(repo, config_path)
    return copy.deepcopy(files[key])


def listed(repo: Any, config_name: str | None, overrides_list: list[Override], **how: bool) -> DefaultsList:
    """The files that make a config: a question of the groups alone."""
    values = Overrides(repo, overrides_list).config_overrides
    groups = [one for one in overrides_list if not any(one is value for value in values)]
    key = (*places(repo), config_name, *how.items(), *(one.input_line for one in groups))
    if key not in lists:
        lists[key] = create_defaults_list(repo, config_name, groups, **how)
    return replace(lists[key], config_overrides=values)


def merged(loader: ConfigLoaderImpl, defaults: list[Any], repo: Any) -> DictConfig:
    """What these files say together, the caller's own."""
    key = (*places(repo), repr(defaults))
    if key not in configs:
        configs[key] = compose(loader, defaults, repo)
    return copy.deepcopy(configs[key])


def become(*how: Any) -> None:
    """Hydra loads, lists and merges files so."""
    ConfigRepository.load_config = how[0]  # type: ignore[method-assign]
    config_loader_impl.create_defaults_list = how[1]
    ConfigLoaderImpl._compose_config_from_defaults_list = how[2]  # type: ignore[method-assign]


def remember() -> None:
    """From here on."""
    become(loaded, listed, merged)


@contextmanager
def forgetting() -> Iterator[None]:
    """Hydra as it is, for a while."""
    become(load, create_defaults_list, compose)
    yield
    remember()
