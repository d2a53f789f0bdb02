"""From a composed config to the objects of a run, and from a run's folder back to them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seqarena.building import build, filled
from seqarena.data.filtering import Filters
from seqarena.data.head import StreamOptions
from seqarena.data.loading import AUTO, START, BatchOptions
from seqarena.data.module import DataModule
from seqarena.data.preparation import Preparation
from seqarena.data.streaming_module import StreamingDataModule
from seqarena.data.tokenizer import TokenizerOptions
from seqarena.data.vocabulary import Vocabulary, hashes_of
from seqarena.device import available_cores
from seqarena.errors import InputError
from seqarena.limits import check_limits, refuse_missing
from seqarena.record import FILE, Record
from seqarena.tasks.classification import Classification
from seqarena.tasks.decoding import Search
from seqarena.tasks.embedding import EmbeddingOptions
from seqarena.tasks.tagging import Tagging
from seqarena.tasks.task import SequenceTask
from seqarena.tasks.translation import Translation
from seqarena.weights import weights_of

WRONG = (AttributeError, TypeError, ValueError, RuntimeError, MemoryError)
"""What a value that was changed makes of whatever is built from it, beside what it makes of a config."""

PLACES = ("path", "train", "val", "test")
"""Options of a dataset that say where files of the user's are."""


def asked(config: DictConfig) -> Path:
    """The place of the run that a verb is to use. InputError: nobody named one."""
    if OmegaConf.is_missing(config, "run"):
        raise InputError("run=... is needed: the folder of a run, such as outputs/runs/..., or a checkpoint in it")
    return Path(absolute(config.run))


def absolute(path: object) -> str:
    """A path of the user's, from the folder they stand in, as it is called from anywhere; a number is a name, too."""
    return str(Path(str(path)).expanduser().absolute())


def build_data(config: DictConfig) -> DataModule:
    """The datamodule of `config.data`; nothing is read yet."""
    refuse_missing(config)
    data = config.data
    for place in PLACES:
        if isinstance(data.get(place), str):
            data[place] = absolute(data[place])
    if data.tokenizer.get("file"):
        data.tokenizer.file = absolute(str(data.tokenizer.file))
    options = filled(TokenizerOptions, data.tokenizer, "data.tokenizer")
    filters = Filters(data.max_length, data.get("max_ratio"), data.drop_duplicates)
    preparation = Preparation(config.task.name, options, filters, data.cut_seed, tuple(data.get("baselines") or ()))
    batches = BatchOptions(
        START if data.batch_tokens == AUTO else data.batch_tokens,
        data.batch_examples,
        data.workers,
        config.seed,
        data.get("sampling", "all"),  # classes are weighed where there are any
        data.get("class_weights", False),
        data.word_dropout,
        data.get("word_swap", 0.0),  # a label would stay where its token was
        data.bucketing,
    )
    buckets = OmegaConf.to_container(data.buckets) if OmegaConf.is_config(data.buckets) else data.buckets
    told = build(data.reader), preparation, batches, buckets, Path(config.cache), available_cores()
    if not data.get("streaming", False):
        return DataModule(*told)
    return StreamingDataModule(*told, StreamOptions(data.shuffle_buffer, data.tokenizer_rows))


def build_task(config: DictConfig, vocabulary: Vocabulary) -> SequenceTask:
    """The task with its architecture, freshly initialised."""
    if config.task.name not in TASKS:
        raise InputError(f"task.name={config.task.name} is not known: data= brings its task, {', '.join(TASKS)}")
    return TASKS[config.task.name](config, vocabulary)


def _shared(config: DictConfig) -> dict[str, Any]:
    return {
        "embedding": filled(EmbeddingOptions, config.model.embedding, "model.embedding"),
        "label_smoothing": config.task.label_smoothing,
        "optimizer": build(config.optim),
        "schedule": build(config.schedule),
        "log_every": config.trainer.log_every,
    }


def _labelling(config: DictConfig, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "encoder": build(config.model.encoder),
        "vocabulary": len(vocabulary.source),
        "classes": vocabulary.labels,
        "head_dropout": config.task.head_dropout,
        **_shared(config),
    }


def _classification(config: DictConfig, vocabulary: Vocabulary) -> Classification:
    return Classification(max_norm=config.task.max_norm, **_labelling(config, vocabulary))


def _tagging(config: DictConfig, vocabulary: Vocabulary) -> Tagging:
    return Tagging(**_labelling(config, vocabulary))


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
        decoding=filled(Search, config.task.decoding, "task.decoding"),
        **_shared(config),
    )


TASKS: dict[str, Callable[[DictConfig, Vocabulary], SequenceTask]] = {
    "classification": _classification,
    "translation": _translation,
    "tagging": _tagging,
}


@dataclass(frozen=True)
class Run:
    """A finished run, rebuilt from its folder alone: its config, what training fixed, the task with its weights.

    `precision` is the one it was trained and tested in.
    """

    folder: Path
    config: DictConfig
    vocabulary: Vocabulary
    task: SequenceTask
    precision: str


def open_run(path: Path, decoding: dict[str, Any]) -> Run:
    """The run of a folder (its best weights) or of one of its checkpoints, its search changed by `decoding`.

    The config is the record's, and nothing in the folder is executed.
    """
    folder, weights = _places(path)
    record = Record.read(folder)
    vocabulary = Vocabulary.load(folder / "vocabulary")
    _refuse_other(record, hashes_of(folder / "vocabulary"), folder)
    with _said_in(folder / FILE):
        config = OmegaConf.create(literal(record.config))
        check_limits(config)
    with believing(folder / FILE):
        config = _searching(config, decoding)
    with _said_in(folder / FILE):
        task = build_task(config, vocabulary)
        precision = record.machine.get("precision", config.trainer.precision)
    task.load_state_dict(weights_of(weights, task))
    return Run(folder, config, vocabulary, task.eval(), precision)


@contextmanager
def believing(path: Path) -> Iterator[None]:
    """What goes wrong inside is the fault of a run's file. InputError: it is not what it was written as."""
    try:
        yield
    except (OmegaConfBaseException, HydraException, LookupError, *WRONG) as error:
        told = str(error).split("\n")[0]
        raise InputError(
            f"{path} makes no run ({type(error).__name__}: {told}): it was changed, or is of another version; take it "
            "from where the run was trained, or train it again"
        ) from error


@contextmanager
def _said_in(path: Path) -> Iterator[None]:
    """The same, and what is refused inside is refused for what the file says."""
    try:
        with believing(path):
            yield
    except InputError as error:
        raise InputError(str(error) if str(path) in str(error) else f"{path}: {error}") from error


def _searching(config: DictConfig, decoding: dict[str, Any]) -> DictConfig:
    """The config with its search changed. InputError: it searches for nothing, or not that way."""
    if decoding and config.task.name != "translation":
        raise InputError(f"{', '.join(decoding)}: this run is a {config.task.name}, which searches for nothing")
    if decoding:
        config.task.decoding = {**config.task.decoding, **decoding}
        check_limits(config)
    return config


def _refuse_other(record: Record, found: dict[str, str], folder: Path) -> None:
    """Refuse tokenizers or labels that the weights were not trained with."""
    for name, value in found.items():
        if record.hashes.get(name, value) != value:
            raise InputError(
                f"{folder / 'vocabulary'}: {name} is not what the run was trained with (hash {value}, in {FILE} "
                f"{record.hashes[name]}): take the folder from where the run was trained, or train it again"
            )


def _places(path: Path) -> tuple[Path, Path]:
    """The folder of a run and the checkpoint in it that `path` means."""
    if not path.exists():
        raise InputError(f"run={path}: no such folder or checkpoint")
    if path.name == "checkpoints" and path.is_dir():
        path = path.parent
    folder, weights = (path.parent.parent, path) if path.is_file() else (path, path / "checkpoints" / "best.ckpt")
    for needed in (folder / FILE, weights):
        if not needed.is_file():
            raise InputError(f"run={path}: {needed} is missing, so this is not the folder of a finished run")
    return folder, weights


def literal(tree: Any) -> Any:
    """The same plain data; InputError if a name or a string in it would be taken for an interpolation."""
    if isinstance(tree, str) and "${" in tree:
        raise InputError(f"the config in {FILE} holds {tree!r}, which a resolved config cannot")
    if isinstance(tree, dict):
        return {literal(name): literal(part) for name, part in tree.items()}
    return [literal(part) for part in tree] if isinstance(tree, list) else tree
