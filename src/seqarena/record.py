"""What one run leaves behind for others to read: `record.json`, schema 1.

A record is plain JSON. It is replaced as a whole, so a reader sees an old one or a new one, never half of one. A number
that is not finite is written as null and read as NaN. Values whose names say that they are secret are left out, and
those of environment variables with such names.
"""

import hashlib
import json
import math
import os
import platform
import re
import subprocess
import tempfile
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import TypeAdapter

import seqarena.forms as forms
from seqarena.errors import InputError
from seqarena.forms import Number, held_as
from seqarena.secrets import redacted, redacted_override, veiled

SCHEMA = 1
FILE = "record.json"
Status = Literal["running", "done", "failed", "diverged", "interrupted"]
PACKAGES = ("seqarena", "torch", "lightning", "hydra-core", "datasets", "tokenizers", "sacrebleu", "numpy", "wandb")
PLACES = ("cache", "logger", "lr_find", "report", "replay", "sweep", "jobs", "retry", "fail_fast", "time_limit")
"""Parts of a config that say where a run is kept and who watches it; they are not part of its hash."""

Buckets = list[dict[str, Any]]
"""Strata of one axis: `bucket` (its name), `n` (examples in it), then each metric by name."""


OURS = (":(glob)*.py", "src", "conf", "sweeps")
"""Where a new file changes what a run does; elsewhere it may be anybody's data."""


@dataclass
class Record:
    """Everything about one run, as DESIGN section 12 lists it.

    `metrics` has keys such as `test/accuracy`; `strata` and `per_class` are of the test, `confusion` holds `classes`
    and `counts` (rows: true class). Schema 1 may gain fields; a reader passes over those it does not know.
    """

    run: str
    sweep: str | None
    model: str
    data: str
    task: str
    seed: Annotated[int, held_as(forms.Count)]
    config: dict[str, Any]
    overrides: list[str]
    code: Annotated[dict[str, Any] | None, held_as(forms.Code | None)]
    versions: dict[str, str]
    machine: Annotated[dict[str, Any], held_as(forms.Machine)]
    started: str
    finished: str | None = None
    status: Status = "running"
    error: Annotated[dict[str, Any] | None, held_as(forms.Failure | None)] = None
    """`type` and `message`; of a divergence also `examples`, the ids of the first batch with such a loss."""
    metrics: dict[str, Number] = field(default_factory=dict)
    strata: Annotated[dict[str, Buckets], held_as(dict[str, forms.Buckets])] = field(default_factory=dict)
    reach: Annotated[dict[str, Any], held_as(forms.Reach)] = field(default_factory=dict)
    """By axis of a classification's test: `effective_length`, `half_life` (extrapolation.py)."""
    probes: Annotated[dict[str, Any], held_as(forms.Probes)] = field(default_factory=dict)
    """At `start` and `end`, by probe: `numbers`, and `curves` by `axis` (probing/finding.py)."""
    per_class: Annotated[Buckets | None, held_as(forms.Buckets | None)] = None
    confusion: dict[str, Any] | None = None
    signature: dict[str, str] = field(default_factory=dict)
    parameters: Annotated[dict[str, int], held_as(dict[str, forms.Count])] = field(default_factory=dict)
    flops: dict[str, Number] = field(default_factory=dict)
    budget: dict[str, Any] = field(default_factory=dict)
    speed: dict[str, Number] = field(default_factory=dict)
    memory: dict[str, Number] = field(default_factory=dict)
    cost: dict[str, Number] = field(default_factory=dict)
    ledger: Annotated[dict[str, Any], held_as(forms.Counts)] = field(default_factory=dict)
    data_report: Annotated[dict[str, Any], held_as(forms.DataReport)] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    soundness: Annotated[dict[str, Any], held_as(forms.Soundness)] = field(default_factory=dict)
    """Of a model that has a card (soundness/card.py): its `card`, and the laws that are `broken`."""
    resumed: list[str] = field(default_factory=list)
    """When the run went on after an interruption."""
    schema: int = SCHEMA

    def write(self, folder: Path) -> None:
        """Replace the record of `folder`: under a temporary name in it first, safe on the disk, then renamed."""
        told = veiled(json.dumps(_finite(asdict(self)), indent=1, ensure_ascii=False, allow_nan=False))
        descriptor, part = tempfile.mkstemp(prefix=f".{FILE}-", dir=folder)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(told + "\n")
                file.flush()
                os.fsync(file.fileno())
            Path(part).chmod(0o644)
            Path(part).replace(folder / FILE)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise

    @classmethod
    def read(cls, folder: Path) -> "Record":
        """The record of a run's folder. InputError: there is none, it is damaged, of another form or schema."""
        path = folder / FILE
        if not path.is_file():
            raise InputError(f"{path} is missing: {folder} is not the folder of a run")
        found = forms.plain(path)
        if not isinstance(found, dict):
            raise InputError(f"{path} does not hold a record; {forms.CURE}")
        if found.get("schema") != SCHEMA:
            raise InputError(
                f"{path} has schema {found.get('schema')}; this version reads {SCHEMA}: take the one that wrote it"
            )
        return forms.read(path, _form())

    def option(self, *path: str) -> Any:
        """What the config has at this path; None where it has nothing."""
        found: Any = self.config
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found


@cache
def _form() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


def earlier(folder: Path, config: dict[str, Any]) -> Record | None:
    """The record of the same run, begun in this folder before and not finished; None where nothing has been trained.

    InputError: the folder holds a finished run, or one of another config.
    """
    if not (folder / FILE).exists():
        return None
    found = Record.read(folder)
    if found.status == "failed" and not (folder / "checkpoints").exists():
        return None
    if found.status in ("done", "diverged"):
        raise InputError(f"{folder} holds a finished run already: choose another hydra.run.dir, or move it away")
    if found.hashes.get("config") != config_hash(config):
        raise InputError(
            f"{folder} holds a run already, of another config ({differences(found.config, redacted(config))}): choose "
            "another hydra.run.dir, move it away, or repeat its own command to go on with it"
        )
    return found


def differences(one: Any, other: Any, shown: int = 3) -> str:
    """Where two plain configs differ, as options: `model.dim=64 or 128, ...`."""
    left, right = _flat(one), _flat(other)
    names = [
        name for name in {**left, **right} if left.get(name) != right.get(name) and name.split(".")[0] not in PLACES
    ]
    told = [f"{name}={left.get(name)} or {right.get(name)}" for name in names[:shown]]
    return ", ".join(told) + (f" and {len(names) - shown} more" if len(names) > shown else "")


def _flat(tree: Any, name: str = "") -> dict[str, Any]:
    if not isinstance(tree, dict):
        return {name: tree}
    return {
        key: value for part, inner in tree.items() for key, value in _flat(inner, f"{name}.{part}".strip(".")).items()
    }


def _finite(tree: Any) -> Any:
    """The same plain data with null for NaN and infinities, for which JSON has no word."""
    if isinstance(tree, float):
        return tree if math.isfinite(tree) else None
    if isinstance(tree, dict):
        return {name: _finite(value) for name, value in tree.items()}
    return [_finite(value) for value in tree] if isinstance(tree, list | tuple) else tree


def begin(folder: Path, config: dict[str, Any], overrides: list[str], root: Path, machine: dict[str, Any]) -> Record:
    """The record of a run that starts now: what is known before anything is read. `root` is the project's folder."""
    return Record(
        run=folder.name,
        sweep=config["sweep"],
        model=config["model"]["name"],
        data=config["data"]["name"],
        task=config["task"]["name"],
        seed=config["seed"],
        config=redacted(config),
        overrides=[redacted_override(one) for one in overrides],
        code=code(root),
        versions=versions(),
        machine=machine,
        started=now(),
        hashes={"config": config_hash(config)},
    )


def again(before: Record, begun: Record) -> Record:
    """The record of a run that goes on: what it has found so far, by the command, the code and the machine of now.

    Its precision stays that of `before`, and so do its data's hashes, until both are known to be the same.
    """
    kept = {name: one for name, one in before.machine.items() if name == "precision"}
    return replace(
        before,
        overrides=begun.overrides,
        code=begun.code,
        versions=begun.versions,
        machine=begun.machine | kept,
        finished=None,
        status="running",
        error=None,
        resumed=[*before.resumed, begun.started],
    )


def now() -> str:
    """This second in UTC, as ISO 8601 writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def config_hash(config: dict[str, Any]) -> str:
    """16 hex digits that differ where two resolved configs ask for different training; places do not count."""
    asked = {name: part for name, part in config.items() if name not in PLACES}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def code(root: Path) -> dict[str, Any] | None:
    """Commit of the checkout at `root` and whether anything in it differs, or None where `root` is no checkout."""
    if _git(root, "rev-parse", "--show-toplevel") != str(root.resolve()):
        return None
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    added = _git(root, "ls-files", "--others", "--exclude-standard", "--", *OURS)
    return {"commit": _git(root, "rev-parse", "HEAD"), "dirty": bool(changed or added)}


def _git(root: Path, *command: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *command], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def versions() -> dict[str, str]:
    """Of Python and of the packages that decide a result, where they are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """The processor's name."""
    try:
        told = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        told = None
    return told[1].strip() if told else platform.processor() or platform.machine()


def relative(folder: Path) -> str:
    """A folder as one would type it from here: relative where it lies inside."""
    here = Path.cwd()
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder)


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, without those that are zero in front."""
    hours, minutes = int(seconds // 3600), int(seconds % 3600 // 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {seconds % 60:02.0f} s" if minutes else f"{seconds:.1f} s"
