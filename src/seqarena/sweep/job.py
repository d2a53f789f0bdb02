"""One job of a sweep: what it runs, where it leaves its record, and what that record says became of it."""

from dataclasses import dataclass, field
from pathlib import Path

from seqarena.errors import InputError
from seqarena.record import FILE, Record

SUPERSEDED = "superseded"
"""Folder of a sweep where attempts lie that another took the place of: nothing is deleted."""


RESUME = Path("checkpoints") / "resume.ckpt"
"""From where a job that was interrupted goes on, in its folder."""


@dataclass
class Job:
    """`status` is queued, running, done, failed, diverged or interrupted; times are seconds since 1970."""

    folder: Path
    overrides: list[str]
    config_hash: str
    devices: int = 1
    """GPUs that it asks for."""
    status: str = "queued"
    started: float | None = None
    finished: float | None = None
    message: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    ran: bool = False
    """Whether it was run by this command, not found finished."""

    @property
    def name(self) -> str:
        """Its folder's name."""
        return self.folder.name

    @property
    def seconds(self) -> float | None:
        """How long it took, once it has ended."""
        return None if self.started is None or self.finished is None else self.finished - self.started

    def look(self) -> None:
        """Take status, message and metrics from the record, if there is one."""
        if not (self.folder / FILE).exists():
            return
        record = Record.read(self.folder)
        self.status, self.metrics = record.status, record.metrics
        self.message = record.error["message"] if record.error else ""

    def resume(self, retry: str | None) -> None:
        """Decide from the folder whether the job is to be run: what is done or diverged is not run again.

        One that was interrupted, or has failed and is to be retried, goes on in its folder from where it was. If it had
        not got that far, or its config is another now (a default has changed), its folder is moved to `superseded`.
        """
        self.look()
        if self.status == "queued":
            self._set_aside()
            return
        same = Record.read(self.folder).hashes.get("config") == self.config_hash
        again = ("running", "interrupted", *(("failed",) if retry == "failed" else ()))
        if same and self.status not in again:
            return
        if not same or not (self.folder / RESUME).exists():
            self._set_aside()
        self.status, self.message, self.metrics = "queued", "", {}

    def _set_aside(self) -> None:
        if not self.folder.exists() or not any(self.folder.iterdir()):
            return
        place = self.folder.parent / SUPERSEDED
        place.mkdir(exist_ok=True)
        number = 1 + sum(one.name.startswith(f"{self.name}-") for one in place.iterdir())
        self.folder.rename(place / f"{self.name}-{number}")


def refuse_twins(jobs: list[Job]) -> None:
    """InputError: two points of the grid that are the same run, or that would share a folder."""
    seen: dict[object, Job] = {}
    for job in jobs:
        for key in (job.folder, job.config_hash):
            if key in seen:
                one, other = (" ".join(twin.overrides) for twin in (seen[key], job))
                raise InputError(f"two points of the grid are the same run: {one}; and {other}: take one of them out")
            seen[key] = job
