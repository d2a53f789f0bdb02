"""Our own YAML, read strictly: each part is of the kind that is asked for, or the error names its file and key."""

import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import yaml

from seqarena.errors import InputError

T = TypeVar("T")


class _Loader(yaml.SafeLoader):
    """Plain data only, as YAML 1.2 has it: 1e-3 is a number, and a key that comes twice is refused."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):  # a few lines of them can stand for gigabytes, or for themselves
            told = "an alias (*name) has no place here: write it out"
            raise yaml.composer.ComposerError(None, None, told, self.peek_event().start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = [key for place, key in enumerate(keys) if key in keys[:place]]
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"{twice[0]} comes twice", node.start_mark)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


@dataclass(frozen=True)
class Place:
    """Where in which file something stands, for the error that names it."""

    file: str
    key: str = ""

    def at(self, key: str | int) -> "Place":
        """The part of that key, or of that place in a list."""
        inner = f"[{key}]" if isinstance(key, int) else f".{key}"
        return Place(self.file, f"{self.key}{inner}".lstrip("."))

    def error(self, told: str) -> InputError:
        """What is wrong here."""
        return InputError(f"{self.file}: {self.key + ': ' if self.key else ''}{told}")


def load(path: Path, place: Place) -> Any:
    """The plain data of a YAML. InputError: it is no YAML, or no text in UTF-8."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise place.error(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise place.error(f"is not text in UTF-8 (byte {error.start})") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        raise place.error(f"{line}{getattr(error, 'problem', None) or error}") from error
    except RecursionError as error:
        raise place.error("is nested too deep") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # of !!int, !!timestamp and their like
        raise place.error(f"holds a value that is not what it looks like: {str(error)[:200]}") from error


def mapping(place: Place, told: Any, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Any]:
    """A mapping that has all the `required` keys and no others than these and the `optional` ones."""
    found = options(place, told)
    known = [*required, *optional]
    for key in found:
        if key not in known:
            raise place.error(f"{key} is no key of this: there are {nearest(key, known)}")
    for key in required:
        if key not in found:
            raise place.error(f"{key} is missing")
    return found


def options(place: Place, told: Any) -> dict[str, Any]:
    """A mapping from options, such as `trainer.max_steps`, to plain values."""
    if not isinstance(told, dict) or not all(isinstance(key, str) for key in told):
        raise place.error(f"{told!r} must be a mapping, such as {{model: lstm}}")
    return told


def values(place: Place, told: Any) -> list[Any]:
    """A list that holds something."""
    if not isinstance(told, list) or not told:
        raise place.error(f"{told!r} must be a list with something in it, such as [1, 2, 3]")
    return told


def items(place: Place, told: Any, read: Callable[[Place, Any], T]) -> tuple[T, ...]:
    """A list that holds something, each part read by `read`."""
    return tuple(read(place.at(number), one) for number, one in enumerate(values(place, told)))


def text(place: Place, told: Any) -> str:
    """Text that says something; line breaks count as spaces."""
    if not isinstance(told, str) or not told.strip():
        raise place.error(f"{told!r} must be text")
    return " ".join(told.split())


def number(place: Place, told: Any) -> float:
    """A number."""
    if isinstance(told, bool) or not isinstance(told, int | float) or not abs(told) <= sys.float_info.max:
        raise place.error(f"{told!r} must be a number")
    return float(told)


def switch(place: Place, told: Any) -> bool:
    """True or false."""
    if not isinstance(told, bool):
        raise place.error(f"{told!r} must be true or false")
    return told


def nearest(word: str, known: Sequence[str]) -> str:
    """The known words, those most like `word` first."""
    near = get_close_matches(word, known, n=3, cutoff=0.4)
    return ", ".join([*near, *(one for one in known if one not in near)]) or "none"
