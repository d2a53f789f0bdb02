"""A comparison that follows a running sweep: made again whenever a record changes, until every job has ended."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from seqarena.compare.records import LEDGER, SWEEPS
from seqarena.errors import InputError
from seqarena.record import FILE

EVERY = 10.0
"""Seconds between looks at the folder, and between reloads of the page."""
AHEAD = ("queued", "running")
"""What a job's status in the ledger is before it ends."""


def follow(root: Path, name: str, show: Callable[[int | None], None], wait: Callable[[], None]) -> None:
    """Call `show(ahead)` when the sweep's records have changed, `wait()` once while there is none.

    It ends with the sweep. One whose ledger is missing (another launcher's) is followed until the user stops.
    InputError: there can never be such a sweep.
    """
    if not name or "/" in name or "\\" in name:
        raise InputError(f"sweep={name} must be the name of a folder in {SWEEPS}")
    folder, seen = root / SWEEPS / name, list[tuple[str, int]]()
    if not list(_state(folder)):
        wait()
    while True:
        jobs, state = ahead(folder), sorted(_state(folder))
        if state and (state != seen or jobs == 0):
            show(jobs)
            seen = state
        if state and jobs == 0:
            return
        time.sleep(EVERY)


def ahead(folder: Path) -> int | None:
    """How many jobs of the sweep are still to end; None where no ledger tells."""
    try:
        jobs = json.loads((folder / LEDGER).read_text(encoding="utf-8"))["jobs"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / LEDGER} is damaged: {error}") from error
    return sum(job["status"] in AHEAD for job in jobs)


def _state(folder: Path) -> Iterator[tuple[str, int]]:
    """Every record and when it was last written."""
    for path in folder.glob(f"*/{FILE}"):
        yield str(path), path.stat().st_mtime_ns
