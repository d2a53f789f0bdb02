"""One training run: data, task, fit, the best weights, the test, the record."""

from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from omegaconf import DictConfig

from seqarena.callbacks.averaging import LastWeights
from seqarena.data.module import DataModule
from seqarena.device import prepare_cpu
from seqarena.runs import build_data, build_task
from seqarena.tasks.task import SequenceTask


def make_trainer(config: DictConfig, task: SequenceTask, folder: Path, callbacks: list[L.Callback]) -> L.Trainer:
    """Lightning's trainer for `config.trainer`."""
    how = config.trainer
    return L.Trainer(
        accelerator=how.accelerator,
        devices=how.devices,
        num_nodes=how.num_nodes,
        strategy=how.strategy,
        precision=how.precision,
        max_epochs=how.max_epochs,
        max_steps=how.max_steps,
        val_check_interval=None if how.validate_every is None else how.validate_every * how.accumulate,
        check_val_every_n_epoch=1 if how.validate_every is None else None,
        accumulate_grad_batches=how.accumulate,
        gradient_clip_val=how.clip,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        deterministic=how.deterministic,
        default_root_dir=folder,
        logger=False,
        callbacks=callbacks,
        enable_model_summary=False,
        log_every_n_steps=how.log_every,
    )


def train(config: DictConfig, folder: Path) -> None:
    """Train, choose by validation, test once."""
    L.seed_everything(config.seed, workers=True, verbose=False)
    prepare_cpu()
    data = build_data(config)
    data.prepare_data()
    data.setup()
    task = build_task(config, data.vocabulary)
    weights = folder / "checkpoints"
    data.vocabulary.save(folder / "vocabulary")
    metric = f"val/{task.monitor}"
    best = ModelCheckpoint(weights, "best", monitor=metric, mode=task.mode, save_weights_only=True, enable_version_counter=False)
    last = ModelCheckpoint(weights, "last", enable_version_counter=False)
    recent = LastWeights(weights / "recent", config.trainer.average)
    callbacks: list[L.Callback] = [best, last]
    if config.trainer.average:
        callbacks.append(recent)
    if config.trainer.early_stopping:
        callbacks.append(EarlyStopping(metric, mode=task.mode, patience=config.trainer.early_stopping))
    trainer = make_trainer(config, task, folder, callbacks)
    trainer.fit(task, datamodule=data)
    choose(task, trainer, data, weights / "best.ckpt", recent if config.trainer.average else None)
    task.load_state_dict(torch.load(weights / "best.ckpt", weights_only=True)["state_dict"])
    trainer.test(task, datamodule=data, verbose=False)
    print(task.evaluations["test"].metrics)


def choose(
    task: SequenceTask, trainer: L.Trainer, data: DataModule, best: Path, recent: LastWeights | None
) -> None:
    """Leave in `best` the weights that validate best, among those validated so far, the last, and the average."""
    candidates = [] if recent is None or not recent.kept() else [recent.average()]
    if task.validated_step != trainer.global_step:
        candidates.insert(0, {name: value.clone() for name, value in task.state_dict().items()})
    for weights in candidates:
        task.load_state_dict(weights)
        trainer.validate(task, datamodule=data, verbose=False)
        if task.is_best():
            trainer.save_checkpoint(best, weights_only=True)
