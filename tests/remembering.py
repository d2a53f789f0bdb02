"""Hydra, remembering what it composed: each choice of groups once in a process, then value by value as it sets them.

A composition takes a quarter of a second, nearly all of it for reading YAMLs that no test changes.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from hydra._internal import config_loader_impl
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.defaults_list import DefaultsList, Overrides, create_defaults_list
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig

lists: dict[tuple[object, ...], DefaultsList] = {}
configs: dict[tuple[str, ...], DictConfig] = {}
compose = ConfigLoaderImpl._compose_config_from_defaults_list


def places(repo: Any) -> tuple[str, ...]:
    """Where YAMLs are read from."""
    return tuple(source.path for source in repo.get_sources())


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


def remember() -> None:
    """From here on."""
    config_loader_impl.create_defaults_list = listed
    ConfigLoaderImpl._compose_config_from_defaults_list = merged  # type: ignore[method-assign]


@contextmanager
def forgetting() -> Iterator[None]:
    """Hydra as it is, for a while."""
    config_loader_impl.create_defaults_list = create_defaults_list
    ConfigLoaderImpl._compose_config_from_defaults_list = compose  # type: ignore[method-assign]
    yield
    remember()
