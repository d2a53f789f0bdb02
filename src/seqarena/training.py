"""One training run: data, task, fit, the best weights, the test, the record."""

import logging
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import Logger
from omegaconf import DictConfig
from rich.console import Console

from seqarena import mishaps, precision, report
from seqarena.budget.account import settled
from seqarena.budget.batch import accumulated, fitted
from seqarena.budget.clock import TimeLimit
from seqarena.budget.options import with_options
from seqarena.budget.trials import drawn
from seqarena.building import filled
from seqarena.callbacks.averaging import LastWeights
from seqarena.callbacks.interruption import Interruption
from seqarena.callbacks.latency import Latency
from seqarena.callbacks.loggers import loggers
from seqarena.callbacks.mirror import Mirror
from seqarena.callbacks.peak import dtype
from seqarena.callbacks.probes import Probes
from seqarena.callbacks.progress import progress
from seqarena.callbacks.recorder import Recorder, machine
from seqarena.callbacks.resuming import ResumePoints, point
from seqarena.callbacks.throughput import Throughput
from seqarena.checkpoints import WholeFiles
from seqarena.compilation import compile_loss
from seqarena.data.loading import AUTO
from seqarena.data.module import DataModule
from seqarena.device import prepare_cpu
from seqarena.errors import Changed
from seqarena.extrapolation import reaches
from seqarena.flops import average_batch, flops_per_token, parameters
from seqarena.limits import check_limit, plain
from seqarena.preflight import FSDP, check_config, check_data
from seqarena.probing.probes import ProbeOptions
from seqarena.quiet import quiet
from seqarena.ranks import is_first, number
from seqarena.rate_finder import NO_FALL, PAGE, Losses, find, sweep_config
from seqarena.recomputation import recompute_layers
from seqarena.record import Record, again, begin, earlier, relative
from seqarena.runs import build_data, build_task
from seqarena.secrets import redacted
from seqarena.soundness.card import known
from seqarena.tasks.sharding import Sharded, load, whole
from seqarena.tasks.task import SequenceTask

log = logging.getLogger(__name__)


def make_trainer(config: DictConfig, folder: Path, callbacks: list[L.Callback], watchers: list[Logger]) -> L.Trainer:
    """Lightning's trainer for `config.trainer`."""
    how = config.trainer
    return L.Trainer(
        accelerator=how.accelerator,
        devices=how.devices,
        num_nodes=how.num_nodes,
        strategy=Sharded(number(how)) if how.strategy == FSDP else how.strategy,
        precision=precision.settled(how.precision, how.accelerator),
        max_epochs=how.max_epochs,
        max_steps=how.max_steps,
        val_check_interval=None if how.validate_every is None else how.validate_every * how.accumulate,
        check_val_every_n_epoch=1 if how.validate_every is None else None,
        accumulate_grad_batches=how.accumulate,
        gradient_clip_val=how.clip,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        deterministic=how.deterministic,
        inference_mode=how.strategy != FSDP,  # what it puts together to validate, it trains with
        default_root_dir=folder,
        logger=watchers,
        callbacks=callbacks,
        plugins=[WholeFiles()],
        enable_checkpointing=any(isinstance(callback, ModelCheckpoint) for callback in callbacks),
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,  # Lightning's own logging, of which there is none
    )


class Prepared(NamedTuple):
    """What a run starts from: the config as settled by its budget, the account of that, data, an untrained task."""

    config: DictConfig
    budget: dict[str, Any]
    data: DataModule
    task: SequenceTask


def prepare(config: DictConfig) -> Prepared:
    """Data and an untrained task, after everything that can be checked has been."""
    check_config(config)
    config, trial = drawn(config)
    L.seed_everything(config.seed, workers=True, verbose=False)
    prepare_cpu()
    data = build_data(config)
    data.prepare_data()
    data.setup()
    for warning in check_data(config, data):
        log.warning(warning)
    config, budget = settled(config, data)
    config, batch = fitted(config, data)
    config, step = accumulated(config)
    task = build_task(config, data.vocabulary)
    if config.trainer.gradient_checkpointing:
        recompute_layers(task)
    if config.trainer.compile:
        compile_loss(task)
    return Prepared(config, trial | budget | batch | step, data, task)


def find_rate(config: DictConfig, folder: Path) -> float | None:
    """Look for a learning rate and say what to write; None where the loss shows none."""
    quiet()
    config, losses = sweep_config(config), Losses()
    config, _, data, task = prepare(config)
    rate = find(make_trainer(config, folder, [], [losses]), task, data, losses, folder)
    if is_first():
        told = NO_FALL if rate is None else f"suggested: model.lr={rate:.1e}"
        print(f"{told}   (the curve: {relative(folder / PAGE)})")
    return rate


def train(config: DictConfig, folder: Path, overrides: list[str]) -> None:
    """Train, choose by validation, test once; the record tells of it whatever happens."""
    quiet()
    check_limit(config, "seed")  # which every record has, a failed run's too
    before = earlier(folder, plain(config))
    record = begin(folder, plain(config), overrides, Path(os.environ["SEQARENA_ROOT"]), machine())
    if before is not None:
        record = again(before, record)
    explained, stop = mishaps.explained, Interruption(folder)
    with stop, explained(config, folder), Recorder(folder, record, before) as recorder, explained(config, folder):
        config, budget, data, task = prepare(going_on(config, before))
        arithmetic = precision.settled(config.trainer.precision, config.trainer.accelerator)
        refuse_changed(before, arithmetic, data)
        record.budget |= budget
        record.config = redacted(plain(config))  # a run is rebuilt from it; its hash stays that of what was asked
        record.machine |= {"precision": arithmetic, "ranks": number(config.trainer)}
        forward = flops_per_token(task, average_batch(data.table("train"), data.vocabulary.max_length))
        throughput = Throughput(config.trainer.log_every, forward, dtype(arithmetic))
        recorder.describe(data, parameters(task), throughput)
        record.soundness = known(config.model, Path(config.cache))
        ends = [TimeLimit(config.budget.minutes, throughput, record.budget)] if config.budget.kind == "time" else []
        wanted = filled(ProbeOptions, config.probe, "probe")
        probes = [Probes(wanted, data, record, folder)] if wanted.kinds else []
        if is_first():
            report.announce(record, folder, Console())
        with loggers(record.config["logger"], folder, record) as watchers:
            callbacks = [throughput, Latency(), recorder, *probes, progress(Console()), stop, *ends]
            run(config, folder, data, task, callbacks, watchers)
            record.reach = reaches(task.evaluations["test"], data.buckets, config.seed)
            for mirror in watchers:
                if isinstance(mirror, Mirror):
                    mirror.conclude(record, task.evaluations["test"])
    if is_first():
        report.show(record, folder)


def run(
    config: DictConfig,
    folder: Path,
    data: DataModule,
    task: SequenceTask,
    callbacks: list[L.Callback],
    watchers: list[Logger],
) -> None:
    """Fit, choose, test; weights and vocabulary go into `folder`."""
    weights, metric = folder / "checkpoints", f"val/{task.monitor}"
    if is_first():
        data.vocabulary.save(folder / "vocabulary")
    best = ModelCheckpoint(
        weights, "best", monitor=metric, mode=task.mode, save_weights_only=True, enable_version_counter=False
    )
    points = ResumePoints(weights)
    recent = LastWeights(weights / "recent", config.trainer.average) if config.trainer.average else None
    callbacks = [points, *callbacks, best, *([recent] if recent else [])]
    if config.trainer.early_stopping:
        callbacks.append(EarlyStopping(metric, mode=task.mode, patience=config.trainer.early_stopping))
    trainer = make_trainer(config, folder, callbacks, watchers)
    most = config.data.batch_tokens * config.trainer.accumulate * trainer.world_size
    log.info("an optimizer step reads %d padded tokens at the most, over %d ranks", most, trainer.world_size)
    if (start := point(weights)) is not None:
        log.info("going on from %s", start)
    trainer.fit(task, datamodule=data, ckpt_path=start, weights_only=True)
    trainer.save_checkpoint(weights / "last.ckpt", weights_only=True)
    choose(task, trainer, data, weights / "best.ckpt", recent)
    if recent and trainer.is_global_zero:
        shutil.rmtree(weights / "recent", ignore_errors=True)  # not there after less than an epoch
    load(task, torch.load(weights / "best.ckpt", weights_only=True, map_location="cpu")["state_dict"])
    trainer.test(task, datamodule=data, verbose=False)
    if trainer.is_global_zero:
        points.forget()


def going_on(config: DictConfig, before: Record | None) -> DictConfig:
    """The config of a run that goes on: where the size of its batches was measured, that of its beginning."""
    if before is None or config.data.batch_tokens != AUTO:
        return config
    return with_options(config, {"data.batch_tokens": before.config["data"]["batch_tokens"]})


def refuse_changed(before: Record | None, now: str, data: DataModule) -> None:
    """A run that goes on must go on with the data and in the precision that it began with; this machine's is `now`."""
    if before is None:
        return
    changed = [name for name, value in data.hashes().items() if before.hashes.get(name, value) != value]
    if changed:
        raise Changed(f"{' and '.join(changed)} changed since this run began: begin another in a new hydra.run.dir")
    began = before.machine.get("precision")
    if began not in (None, now):
        raise Changed(
            f"this run began in {began}, and trainer.precision=auto is {now} on this machine: go on where it began, or "
            f"begin another with trainer.precision={began} in a new hydra.run.dir"
        )


def choose(task: SequenceTask, trainer: L.Trainer, data: DataModule, best: Path, recent: LastWeights | None) -> None:
    """Leave in `best` the weights that validate best, among those validated so far, the last, and the average."""
    candidates = [] if recent is None or not recent.kept() else [recent.average()]
    if task.validated_step != trainer.global_step:
        candidates.insert(0, whole(task))
    for weights in candidates:
        load(task, weights)
        trainer.validate(task, datamodule=data, verbose=False)
        if task.is_best():
            trainer.save_checkpoint(best, weights_only=True)
