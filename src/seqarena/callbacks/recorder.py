"""Keeps a run's record up to date, whatever becomes of the run."""

import logging
from pathlib import Path
from types import TracebackType
from typing import Any

import lightning as L
import pyarrow.parquet as pq
import torch
from filelock import FileLock, Timeout
from lightning.pytorch.utilities.exceptions import SIGTERMException

from seqarena.budget.account import told
from seqarena.callbacks.history import History
from seqarena.callbacks.throughput import Throughput
from seqarena.data.module import DataModule
from seqarena.errors import Changed, Diverged, InputError, MachineError
from seqarena.evaluation import Evaluation
from seqarena.levers import levers
from seqarena.ranks import is_first
from seqarena.record import FILE, Record, Status, now, processor

EXAMPLES, LOCK = "examples.parquet", ".lock"

log = logging.getLogger(__name__)


class Recorder(L.Callback):
    """Writes `record.json` at the start, at each validation and at the end, and `examples.parquet` after the test.

    It is also a context: how its block is left is the run's status. The first rank alone writes, and holds the folder's
    lock meanwhile. `before` is the record of the same run up to an interruption, and stands again where the run may not
    go on. The module it watches has `evaluations` by split and `is_best()`.
    """

    def __init__(self, folder: Path, record: Record, before: Record | None = None) -> None:
        self.record, self._folder = record, folder
        self._lock, self._before = FileLock(folder / LOCK), before
        self._throughput: Throughput | None = None
        self._data: DataModule | None = None
        self._writes = is_first()
        self._tested: dict[str, float] = {}

    def __enter__(self) -> "Recorder":
        if self._writes:
            try:
                self._lock.acquire(blocking=False)
            except Timeout as error:
                raise InputError(f"{self._folder} is in use by another run: choose another hydra.run.dir") from error
        self._write()
        told = self.record
        log.info("started %s: model=%s data=%s seed=%s", told.run, told.model, told.data, told.seed)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, Changed) and self._before is not None:
            self.record = self._before
            self._write()
            self._lock.release()
            return
        self.record.status = status_of(error)
        if error is not None:
            cause = error if isinstance(error, Exception) or error.__context__ is None else error.__context__
            self.record.error = {"type": type(cause).__name__, "message": str(cause)}
            if isinstance(cause, Diverged) and cause.examples:
                self.record.error["examples"] = cause.examples
        self.record.finished = now()
        self._measure()
        try:
            self._write()
        except OSError as cause:  # the disk is full, perhaps: what was written before is whole, and has to do
            log.error("%s could not be brought up to date: %s", self._folder / FILE, cause)
            if error is None:
                raise
        finally:
            self._lock.release()
        unexpected = self.record.status == "failed" and not isinstance(error, InputError | MachineError)
        told = self.record.error or {"type": "all is written to", "message": str(self._folder)}
        log.info(
            "%s: %s: %s", self.record.status, told["type"], told["message"], exc_info=error if unexpected else None
        )

    def describe(self, data: DataModule, parameters: dict[str, int], throughput: Throughput) -> None:
        """Take in what is known before training: the data's ledger and hashes, the model's size, its clock."""
        report = dict(data.report)
        self.record.ledger = {**report.pop("ledger"), "overlap": report.pop("overlap")}
        self.record.data_report = report
        self._data = data
        self.record.hashes |= data.hashes()
        self.record.machine = {**self.record.machine, "threads": torch.get_num_threads()}
        self.record.parameters, self._throughput = parameters, throughput
        for split, counts in data.report["ledger"].items():
            log.info("%s examples: %s", split, _listed(counts))
        log.info("examples in two splits: %s", _listed(data.report["overlap"]))
        log.info("parameters: %s", _listed(parameters))
        if self.record.budget:
            log.info("budget: %s", told(self.record.budget))
        self._write()  # who goes on after a kill is held to this data, and to these batches

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """A resumed run measures again what came after its checkpoint."""
        self.record.machine["ranks"] = trainer.world_size
        if self._throughput is not None:
            self.record.machine["matmul_flops"] = self._throughput.peak_flops
        compiled = bool(self.record.config["trainer"].get("compile"))
        self.record.machine["levers"] = levers(pl_module.device, trainer.optimizers, compiled)
        self.record.machine["repeatable"] = repeatable(pl_module.device.type, self.record.config)
        for logger in trainer.loggers:
            if isinstance(logger, History):
                logger.rewind(trainer.global_step)

    def on_validation_end(self, trainer: L.Trainer, pl_module: Any) -> None:
        """The best validation so far is what the record shows."""
        found: Evaluation = pl_module.evaluations["val"]
        if pl_module.is_best():
            self.record.metrics |= _prefixed(found)
        self._measure()
        self._write()
        log.info("step %d: %s", trainer.global_step, _told(found))

    def on_test_end(self, trainer: L.Trainer, pl_module: Any) -> None:
        """The test's scores, and a row for each of its examples."""
        found: Evaluation = pl_module.evaluations["test"]
        self.record.metrics |= _prefixed(found)
        self._tested = found.speed
        self.record.strata, self.record.per_class, self.record.signature = (
            found.strata,
            found.per_class,
            found.signature,
        )
        if found.confusion is not None:
            self.record.confusion = {"classes": found.classes, "counts": found.confusion}
        if self._writes:
            part = self._folder / f".{EXAMPLES}.part"
            pq.write_table(found.examples, part)
            part.replace(self._folder / EXAMPLES)
        log.info("test: %s", _told(found))

    def _measure(self) -> None:
        """What a stream has read so far; speed, memory and cost so far, without their prefixes."""
        if self._data is None or self._throughput is None:
            return
        self.record.ledger |= self._data.report["ledger"]
        self.record.speed = {**_bare(self._throughput.speed), **self._tested}
        self.record.memory = _bare(self._throughput.memory)
        self.record.cost = _bare(self._throughput.cost())
        forward, total = self._throughput.flops_per_token, self.record.cost["train_flops"]
        self.record.flops = {"per_token_forward": forward, "training_total": total}

    def _write(self) -> None:
        if self._writes:
            self.record.write(self._folder)


def repeatable(device: str, config: dict[str, Any]) -> str:
    """What the same run would come out as on the same machine: bitwise the same, or another draw of the same noise."""
    if config.get("budget", {}).get("kind") == "time":
        return "within seed noise: it ends by the clock"
    if device == "cpu":
        return "bitwise, on such a processor with as many threads"
    if config["trainer"]["deterministic"]:
        return f"bitwise, on such a {device} device"
    return "within seed noise: trainer.deterministic=true asks for bitwise"


def status_of(error: BaseException | None) -> Status:
    """The status of a run that ended with `error`. Lightning turns Ctrl+C into an exit."""
    if error is None:
        return "done"
    if isinstance(error, Diverged):
        return "diverged"
    stops = (KeyboardInterrupt, SIGTERMException)
    return "interrupted" if isinstance(error, stops) or isinstance(error.__context__, stops) else "failed"


def machine() -> dict[str, Any]:
    """The processor, the GPUs that this process sees, and the threads it uses."""
    gpus = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return {"cpu": processor(), "gpus": gpus, "threads": torch.get_num_threads(), "ranks": 1}


def _prefixed(found: Evaluation) -> dict[str, float]:
    return {f"{found.split}/{name}": value for name, value in found.metrics.items()}


def _bare(measures: dict[str, float]) -> dict[str, float]:
    return {key.split("/", 1)[1]: value for key, value in measures.items()}


def _listed(counts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _told(found: Evaluation) -> str:
    return ", ".join(f"{found.split}/{name} {value:.4g}" for name, value in found.metrics.items() if "/" not in name)
