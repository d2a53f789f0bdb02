"""Mirrors a run in Weights & Biases. The local record is the truth; nothing that goes wrong here stops a run."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from lightning.pytorch.loggers.logger import Logger

from seqarena.evaluation import Bucket, Evaluation
from seqarena.ranks import is_first
from seqarena.record import Record
from seqarena.wandb_run import begin, upload_hint

STEP = "trainer/global_step"
SAMPLES = 20

Columns = tuple[list[str | int], list[list[Any]]]
"""Names of a table's columns, and its rows."""

log = logging.getLogger(__name__)


class Mirror(Logger):
    """A W&B run in `folder`: every metric of the history under its own key, over optimizer steps; tables at the end.

    Offline unless `mode` is online and a key is at hand; there is never a prompt. After the first error it says so once
    and does nothing more. The first rank alone writes.
    """

    def __init__(
        self, folder: Path, record: Record, mode: str, project: str, entity: str | None, tags: list[str]
    ) -> None:
        super().__init__()
        self._run: Any = None
        self._folder = folder
        if is_first():
            self._try(lambda: self._begin(record, mode, project, entity, tags))

    @property
    def name(self) -> str:
        """Lightning wants one."""
        return "wandb"

    @property
    def version(self) -> str:
        """Lightning wants one."""
        return ""

    def _begin(self, record: Record, mode: str, project: str, entity: str | None, tags: list[str]) -> None:
        self._run = begin(
            self._folder,
            mode=mode,
            project=project,
            entity=entity,
            name=record.run,
            group=record.sweep,
            job_type="train",
            tags=list(dict.fromkeys([record.model, record.data, record.task, *tags])),
            config=record.config,
        )
        self._run.define_metric(STEP)
        self._run.define_metric("*", step_metric=STEP)

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """One point of each curve."""
        if self._run is not None:
            self._try(lambda: self._run.log({**metrics, STEP: step}))

    def log_hyperparams(self, *arguments: Any, **named: Any) -> None:
        """Nothing: the run began with the whole config."""

    def conclude(self, record: Record, found: Evaluation) -> None:
        """The test as tables: samples, each axis, the confusion matrix; the record's measures as the run's summary."""
        if self._run is not None:
            self._try(lambda: self._conclude(record, found))

    def _conclude(self, record: Record, found: Evaluation) -> None:
        import wandb

        self._run.log({key: wandb.Table(columns, rows) for key, (columns, rows) in tables(found).items()})
        for group in ("parameters", "flops", "speed", "memory", "cost"):
            self._run.summary.update({f"{group}/{name}": value for name, value in getattr(record, group).items()})

    def finish(self, failed: bool) -> None:
        """Close the run, also after a failure, and say how an offline one is uploaded."""
        if self._run is None:
            return
        hint = upload_hint(self._run)
        self._try(lambda: self._run.finish(exit_code=int(failed)))
        self._run = None
        if hint is not None:
            print(hint)

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            log.warning("W&B: %s: %s; the run goes on without it", type(error).__name__, error)
            self._run = None


def tables(found: Evaluation) -> dict[str, Columns]:
    """What the test shows as tables, by key: samples, one for each axis, each class, the confusion matrix."""
    shown = {f"{found.split}/samples": samples(found)}
    shown |= {f"{found.split}/by_{axis}": _columns(buckets) for axis, buckets in found.strata.items()}
    if found.per_class is not None:
        shown[f"{found.split}/by_class"] = _columns(found.per_class)
    if found.confusion is not None and found.classes is not None:
        rows = [[name, *counts] for name, counts in zip(found.classes, found.confusion, strict=True)]
        shown[f"{found.split}/confusion"] = (["true class", *found.classes], rows)
    return shown


def samples(found: Evaluation) -> Columns:
    """Evenly spaced examples with what was said to them; columns of lists are left out."""
    table = found.examples
    names: list[str | int] = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    places = range(0, len(table), max(1, len(table) // SAMPLES))[:SAMPLES]
    rows = table.select(names).take(list(places)).to_pylist()
    return names, [[row[name] for name in names] for row in rows]


def _columns(buckets: list[Bucket]) -> Columns:
    return list(buckets[0]), [list(bucket.values()) for bucket in buckets]
