"""Names of sweeps and jobs: short, stable for the same command, free of signs that shells or Hydra take for more."""

import hashlib
import re
from collections.abc import Sequence

HOW = ("jobs", "retry", "fail_fast", "time_limit", "cache", "hydra", "logger", "sweep")
"""Options that say how a sweep is run, not what it runs: the same sweep whatever they are."""


def is_about_how(override: str) -> bool:
    """Whether an override such as `jobs=4` changes nothing of what is trained."""
    key = override.lstrip("+~").split("=")[0].split("@")[0]
    return re.split(r"[./]", key)[0] in HOW


def digest(overrides: Sequence[str]) -> str:
    """Eight hex digits of what is asked for, in whatever order."""
    asked = sorted(one for one in overrides if not is_about_how(one))
    return hashlib.sha256("\n".join(asked).encode()).hexdigest()[:8]


def sweep_name(arguments: Sequence[str]) -> str:
    """What a multirun without a file in sweeps/ is called: the options that it varies, and a digest of the command."""
    asked = [one for one in arguments if not one.startswith("-")]
    varied = [one.split("=")[0].split(".")[-1] for one in asked if "=" in one and _many(one.split("=", 1)[1])]
    told = "-".join(re.sub(r"\W+", "", one) for one in varied if not is_about_how(one))[:40]
    return f"{told or 'sweep'}-{digest(asked)}"


def named(arguments: Sequence[str]) -> list[str]:
    """The arguments of a multirun as Hydra takes them, `sweep=<name>` among them; those of a single run as they are."""
    given = [one.split("=")[0] for one in arguments]
    if not {"-m", "--multirun"} & set(given):
        return list(arguments)
    told = [] if "sweep" in given else [f"sweep={sweep_name(arguments)}"]
    return [*deferred(arguments), *told]


def deferred(arguments: Sequence[str]) -> list[str]:
    """Options of a group that is varied, such as `model.bidirectional=false` with `model=rnn,lstm`, as choices of one.

    Hydra composes a multirun once without what it varies; there `model` is still the default one, which may lack them.
    """
    varied = {key for key, value in map(_parts, arguments) if _many(value) and "." not in key}
    found = []
    for one in arguments:
        key, value = _parts(one)
        late = "." in key and key.split(".")[0] in varied and not _many(value) and not one.startswith("~")
        found.append(f"{one.partition('=')[0]}=choice({value})" if late else one)
    return found


def _parts(argument: str) -> tuple[str, str]:
    key, _, value = argument.lstrip("+").partition("=")
    return key, value


def _many(value: str) -> bool:
    return "," in re.sub(r"\[[^]]*\]|\{[^}]*\}|'[^']*'|\"[^\"]*\"", "", value) or "(" in value


def varied(jobs: Sequence[Sequence[str]]) -> list[str]:
    """What sets each job apart from the others, such as `warmup=50 seed=1`, from the overrides of all of them.

    Of a key the last part, unless two keys that vary share it. A job that lacks a key has nothing of it.
    """
    given = [dict(_parts(one) for one in overrides if not is_about_how(one)) for overrides in jobs]
    every = dict.fromkeys(key for one in given for key in one)
    keys = [key for key in every if len({one.get(key) for one in given}) > 1]
    last = [re.split(r"[./]", key)[-1] for key in keys]
    names = {key: short if last.count(short) == 1 else key for key, short in zip(keys, last, strict=True)}
    return [" ".join(f"{names[key]}={one[key]}" for key in keys if key in one) for one in given]


def job_name(dirname: str) -> str:
    """The digest of Hydra's `override_dirname`, for a folder's name that stays short."""
    return digest(dirname.split(","))
