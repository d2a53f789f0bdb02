"""`sweep.json` in a sweep's folder: the command, every job with its status, replaced as a whole at each change."""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqarena.errors import InputError
from seqarena.forms import TIMED, read
from seqarena.secrets import redacted_override
from seqarena.sweep.job import Job

FILE = "sweep.json"


def write(folder: Path, about: dict[str, Any], jobs: Sequence[Job]) -> None:
    """Replace the ledger: under a temporary name first, then renamed, so that a reader never sees half of it.

    Jobs that it told of before stay in it: a search runs them batch by batch.
    """
    entries = [*_others(folder, {job.name for job in jobs}), *map(_entry, jobs)]
    told = {**about, "counts": dict(Counter(one["status"] for one in entries)), "jobs": entries}
    descriptor, part = tempfile.mkstemp(prefix=f".{FILE}-", dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1, ensure_ascii=False)
        Path(part).replace(folder / FILE)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def times(folder: Path) -> dict[str, tuple[float, float]]:
    """When each job that has ended began and ended, from the ledger of an earlier start; empty without one."""
    found = _entries(folder)
    return {one["folder"]: (one["started"], one["finished"]) for one in found if one["started"] and one["finished"]}


def _entry(job: Job) -> dict[str, Any]:
    return {
        "folder": job.name,
        "overrides": [redacted_override(one) for one in job.overrides],
        "config": job.config_hash,
        "status": job.status,
        "started": job.started,
        "finished": job.finished,
        "message": job.message,
    }


def _others(folder: Path, names: set[str]) -> list[dict[str, Any]]:
    """What is told of jobs that have run and are not among `names`, as long as their folders are there."""
    found = (one for one in _entries(folder) if one["folder"] not in names)
    return [one for one in found if one["status"] != "queued" and (folder / one["folder"]).exists()]


def _entries(folder: Path) -> list[dict[str, Any]]:
    try:
        return [dict(job) for job in read(folder / FILE, TIMED)["jobs"]]
    except InputError:
        return []  # the records are the truth: without a ledger only the times are lost
