"""From a composed config to the objects of a run, and from a run's folder back to them."""

from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from seqarena.data.module import BatchOptions, DataModule
from seqarena.data.preparation import Preparation, Vocabulary
from seqarena.data.tokenizer import TokenizerOptions
from seqarena.errors import InputError
from seqarena.tasks.classification import Classification
from seqarena.tasks.decoding import Search
from seqarena.tasks.embedding import EmbeddingOptions
from seqarena.tasks.task import SequenceTask
from seqarena.tasks.translation import Translation

OURS = ("seqarena.", "torch.optim.")


def build(node: DictConfig) -> Any:
    """Instantiate a node, which may name only what is ours or torch's; a bad value becomes a message for its author."""
    target = str(node["_target_"])
    if not target.startswith(OURS):
        raise InputError(f"_target_: {target} is not run: only {' and '.join(OURS)}* are")
    try:
        return instantiate(node)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, (ValueError, InputError)):
            raise InputError(str(cause)) from error
        raise


def absolute(path: str) -> str:
    """A path of the user's, from the folder they stand in, as it is called from anywhere."""
    return str(Path(path).expanduser().absolute())


def refuse_missing(config: DictConfig) -> None:
    """Name the first option that the data needs and nobody gave."""
    for key in config.data:
        if OmegaConf.is_missing(config.data, key):
            name = config.data.name
            raise InputError(f"data={name} needs data.{key}=...; conf/data/{name}.yaml says what it is")


def build_data(config: DictConfig) -> DataModule:
    """The datamodule of `config.data`; nothing is read yet."""
    refuse_missing(config)
    data = config.data
    if data.get("path"):
        data.path = absolute(data.path)
    options = TokenizerOptions(**data.tokenizer)
    baselines = tuple(data.get("baselines", ()))
    preparation = Preparation(config.task.name, options, data.max_length, data.cut_seed, baselines)
    batches = BatchOptions(data.batch_tokens, data.batch_examples, data.workers, config.seed)
    buckets = {axis: list(edges) for axis, edges in data.buckets.items()}
    return DataModule(build(data.reader), preparation, batches, buckets, Path(config.cache))


def build_task(config: DictConfig, vocabulary: Vocabulary) -> SequenceTask:
    """The task with its architecture, freshly initialised."""
    make = _classification if config.task.name == "classification" else _translation
    return make(config, vocabulary)


def _shared(config: DictConfig) -> dict[str, Any]:
    return {
        "embedding": EmbeddingOptions(**config.model.embedding),
        "label_smoothing": config.task.label_smoothing,
        "optimizer": build(config.optim),
        "schedule": build(config.schedule),
        "log_every": config.trainer.log_every,
    }


def _classification(config: DictConfig, vocabulary: Vocabulary) -> Classification:
    return Classification(
        encoder=build(config.model.encoder),
        vocabulary=len(vocabulary.source),
        classes=vocabulary.labels,
        head_dropout=config.task.head_dropout,
        max_norm=config.task.max_norm,
        **_shared(config),
    )


def _translation(config: DictConfig, vocabulary: Vocabulary) -> Translation:
    target = vocabulary.target or vocabulary.source
    return Translation(
        encoder=build(config.model.encoder),
        decoder=build(config.model.decoder),
        source_vocabulary=len(vocabulary.source),
        target=target,
        joint=config.data.tokenizer.joint,
        tied=config.task.tied,
        language=config.data.target,
        decoding=Search(**config.task.decoding),
        **_shared(config),
    )


def plain(config: DictConfig) -> dict[str, Any]:
    """The config as plain data, every interpolation resolved."""
    refuse_missing(config)
    return OmegaConf.to_container(config, resolve=True)  # type: ignore[return-value]


@dataclass(frozen=True)
class Run:
    """A finished run, rebuilt from its folder alone: its config, what training fixed, and the task with its weights."""

    folder: Path
    config: DictConfig
    vocabulary: Vocabulary
    task: SequenceTask


def open_run(path: Path, decoding: dict[str, Any]) -> Run:
    """The run of a folder (its best weights) or of one of its checkpoints, its search changed by `decoding`.

    Nothing in the folder is executed.
    """
    if not path.exists():
        raise InputError(f"run={path}: no such folder or checkpoint")
    folder, weights = (path.parent.parent, path) if path.is_file() else (path, path / "checkpoints" / "best.ckpt")
    for needed in (folder / ".hydra" / "config.yaml", weights):
        if not needed.is_file():
            raise InputError(f"run={path}: {needed} is missing, so this is not the folder of a finished run")
    config = OmegaConf.load(folder / ".hydra" / "config.yaml")
    if decoding and config.task.name != "translation":
        raise InputError(f"{', '.join(decoding)}: this run is a {config.task.name}, which searches for nothing")
    if decoding:
        config = OmegaConf.merge(config, {"task": {"decoding": decoding}})
    vocabulary = Vocabulary.load(folder / "vocabulary")
    task = build_task(config, vocabulary)  # type: ignore[arg-type]
    try:
        state = torch.load(weights, weights_only=True, map_location="cpu")["state_dict"]
        task.load_state_dict(state)
    except (RuntimeError, KeyError, UnpicklingError, EOFError) as error:
        raise InputError(f"{weights} does not hold the weights of this run: {str(error).splitlines()[0]}") from error
    return Run(folder, config, vocabulary, task.eval())  # type: ignore[arg-type]
