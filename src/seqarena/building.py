"""From a node of the config to an object: the constructor's signature is the schema, and only our own code is run."""

import importlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf

from seqarena.errors import InputError

T = TypeVar("T")

ROOMS = ("seqarena.models.", "seqarena.data.sources.", "seqarena.tasks.schedules.")
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", NoneType: "null"}


def build(node: DictConfig) -> Any:
    """Instantiate a node, and those inside it. InputError: a `_target_` that is not for a config, a value of no use."""
    check_node(node)
    try:
        return instantiate(node)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, (ValueError, TypeError, InputError)):
            raise InputError(str(cause)) from error
        raise


def filled(kind: Callable[..., T], node: DictConfig, name: str) -> T:
    """`kind` with the values of a node that has no `_target_`; `name` is where it stands in the config."""
    values = plain_values(node)
    unknown = sorted(set(values) - set(inspect.signature(kind).parameters))
    if unknown:
        raise InputError(f"{name}.{unknown[0]} is no option: there are {', '.join(inspect.signature(kind).parameters)}")
    check_values(kind, values, option_names(node, name))
    return kind(**values)


def check_node(node: DictConfig) -> None:
    """Refuse a node, or one inside it, that names code of others or holds a value that its signature does not take."""
    for key, part in node.items_ex(resolve=True):
        for inner in _nodes(part):
            check_node(inner)
        if key == "_args_":
            raise InputError("_args_ has no place in a config: name each argument")
    if "_target_" in node:
        check_values(target(str(node["_target_"])), plain_values(node), option_names(node, ""))


def _nodes(part: Any) -> Iterator[DictConfig]:
    """A node, or those in a list, however deep: Hydra would build each of them."""
    if isinstance(part, DictConfig):
        yield part
    if isinstance(part, ListConfig):
        for one in part:
            yield from _nodes(one)


def target(name: str) -> Callable[..., Any]:
    """What `_target_` names: a class or function that is defined in one of our rooms, or an optimizer of torch's."""
    place, _, own = name.rpartition(".")
    if place == "torch.optim":
        found = getattr(torch.optim, own, None)
        if inspect.isclass(found) and issubclass(found, torch.optim.Optimizer):
            return found
    elif f"{place}.".startswith(ROOMS):
        try:
            found = getattr(importlib.import_module(place), own, None)
        except ModuleNotFoundError:
            found = None
        if callable(found) and getattr(found, "__module__", None) == place:
            return found
    raise InputError(f"_target_: {name} is not run: only what {', '.join(f'{room}*' for room in ROOMS)} define is")


def plain_values(node: DictConfig) -> dict[str, Any]:
    """The arguments of a node, resolved; Hydra's own keys and nodes to be built are left out."""
    found = OmegaConf.to_container(node, resolve=True)
    assert isinstance(found, dict)
    built = {key for key, value in found.items() if isinstance(value, dict) and "_target_" in value}
    return {str(key): value for key, value in found.items() if not str(key).startswith("_") and key not in built}


def option_names(node: DictConfig, name: str) -> dict[str, str]:
    """What a user calls each value of a node: the option it is taken from, or its place in the config."""
    names = {}
    for key in node:
        told = str(node._get_node(key)._value())  # type: ignore[union-attr]
        taken = told.startswith("${") and told.endswith("}") and ":" not in told
        names[str(key)] = told[2:-1] if taken else ".".join(filter(None, (name or node._get_full_key(""), str(key))))
    return names


def check_values(kind: Callable[..., Any], values: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """InputError: a value that is not of the type the signature of `kind` gives."""
    hints = get_type_hints(kind.__init__ if inspect.isclass(kind) else kind)
    for key, value in values.items():
        if key in hints and not fits(value, hints[key]):
            raise InputError(f"{names[key]}={shown(value)} must be {words(hints[key])}")


def shown(value: object) -> str:
    """A plain value as one would write it on the command line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fits(value: object, hint: Any) -> bool:
    """Whether a plain value may stand where `hint` is asked for; what is not plain (a callable) is not judged."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Sequence):
        return _fits_list(value, origin, parts)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint) if hint in WORDS else hint is not torch.Tensor


def _fits_list(value: object, origin: type, parts: tuple[Any, ...]) -> bool:
    if isinstance(value, str):
        return parts[:1] == (str,)
    if not isinstance(value, list):
        return False
    if origin is tuple and parts[-1] is not Ellipsis:
        return len(value) == len(parts) and all(map(fits, value, parts))
    return all(fits(one, parts[0]) for one in value)


def words(hint: Any) -> str:
    """A type in words."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(words(part) for part in parts if part is not torch.Tensor))
    if origin is not None and parts:
        count = f"{len(parts)} " if origin is tuple and parts[-1] is not Ellipsis else ""
        return f"a list of {count}{words(parts[0]).removeprefix('a ')}s".replace("texts", "names")
    return WORDS.get(hint, "something else")
