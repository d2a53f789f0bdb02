"""A comparison that follows a running sweep: made again whenever a record changes, until every job has ended."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from seqarena.compare.records import SWEEPS, jobs
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
        left, state = ahead(folder), sorted(_state(folder))
        if state and (state != seen or left == 0):
            show(left)
            seen = state
        if state and left == 0:
            return
        time.sleep(EVERY)


def ahead(folder: Path) -> int | None:
    """How many jobs of the sweep are still to end; None where no ledger tells."""
    listed = jobs(folder)
    return None if listed is None else sum(job["status"] in AHEAD for job in listed)


def _state(folder: Path) -> Iterator[tuple[str, int]]:
    """Every record and when it was last written."""
    for path in folder.glob(f"*/{FILE}"):
        yield str(path), path.stat().st_mtime_ns
