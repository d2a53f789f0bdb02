"""Options that are none: said with the nearest that is one, where Hydra would tell how to add what nothing reads."""

import difflib
import os
import re
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hydra.errors import CompactHydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seqarena.errors import InputError, explained
from seqarena.sweep.overrides import key_of

FREE = ("data.reader", "data.buckets", "budget.space", "logger", "hydra", "tuned")
"""Where keys are the user's own, or are checked by whom they are for."""
UNKNOWN = re.compile(r"Could not override '([^']+)'")
FULL = "HYDRA_FULL_ERROR"


@contextmanager
def spelled(root: Path, verb: str) -> Iterator[None]:
    """Turn what Hydra says of an option into a line for people, unless HYDRA_FULL_ERROR=1; conf/ lies in `root`."""
    if os.environ.get(FULL):
        yield
        return
    os.environ[FULL] = "1"  # so that Hydra lets its errors through
    try:
        with explained(InputError):
            try:
                yield
            except CompactHydraException as error:
                raise InputError(_told(error, root / "conf", verb)) from error
            except Exception as error:  # Hydra would have shown it, too
                traceback.print_exc()
                raise SystemExit(1) from error
    finally:
        del os.environ[FULL]


def refuse_unread(arguments: Sequence[str], root: Path, verb: str) -> None:
    """InputError: `+key=value` adds an option that nothing reads."""
    for one in arguments:
        key = key_of(one)
        if one.startswith("+") and key and not key.startswith(FREE) and not _known(key, root / "conf", verb):
            place = key.split(".")[:-1]
            raise InputError(_unknown(key, _keys(place, root / "conf", verb)) + "; a + would add what nothing reads")


def _told(error: Exception, conf: Path, verb: str) -> str:
    if isinstance(error, MissingConfigException) and error.options and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.partition("/")
        return f"{group}={name} is not there{_nearest(name, error.options, f'{group}=')}: {', '.join(error.options)}"
    if isinstance(error, OverrideParseException):
        first = str(error).splitlines()[0]
        return f"{error.override} cannot be read ({first}): put a value with , = ( ) {{ }} or quotes in it in quotes"
    if found := UNKNOWN.search(str(error)):
        *place, _ = found[1].split(".")
        node = getattr(error.__cause__, "parent_node", None)
        names = [*map(str, node)] if isinstance(node, DictConfig) and place else _keys(place, conf, verb)
        return _unknown(found[1], names)
    return f"{error}: {error.__cause__}" if isinstance(error.__cause__, OmegaConfBaseException) else str(error)


def _unknown(key: str, names: Iterable[str]) -> str:
    *place, name = key.split(".")
    begin = "".join(f"{part}." for part in place)
    names = list(names)
    listed = f": there are {', '.join(names)}" if names else ""
    return f"{key} is no option{_nearest(name, names, begin)}{listed}"


def _nearest(name: str, names: Iterable[str], begin: str) -> str:
    found = difflib.get_close_matches(name, list(names), 1)
    return f" (did you mean {begin}{found[0]}?)" if found else ""


def _known(key: str, conf: Path, verb: str) -> bool:
    *place, name = key.split(".")
    return name in _keys(place, conf, verb)


def _keys(place: Sequence[str], conf: Path, verb: str) -> list[str]:
    """The keys that any file of a group has at a place; at the top those of the verb's own file, and its groups."""
    if not place:
        page = OmegaConf.load(conf / f"{verb}.yaml")
        groups = sorted(path.name for path in conf.iterdir() if path.is_dir()) if verb == "train" else []
        return [*(str(key) for key in page if key not in ("defaults", "hydra")), *groups]
    group, *within = place
    if not (conf / group).is_dir():
        nodes = [OmegaConf.select(OmegaConf.load(conf / f"{verb}.yaml"), ".".join(place))]
    else:
        files = [OmegaConf.load(path) for path in sorted((conf / group).rglob("*.yaml"))]
        nodes = [OmegaConf.select(one, ".".join(within)) if within else one for one in files]
    found = dict.fromkeys(str(key) for node in nodes if isinstance(node, DictConfig) for key in node)
    return [key for key in found if key != "defaults"]
