"""The converted model in the run's folder: made once, whole or not at all, and anew when the weights are others."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import ctranslate2
from ctranslate2.specs.transformer_spec import TransformerSpec
from filelock import FileLock
from omegaconf import OmegaConf

from seqarena.data.batch import BEGIN, PAD, UNKNOWN
from seqarena.errors import InputError
from seqarena.exporting.transformer import specification
from seqarena.runs import Run
from seqarena.tasks.translation import Translation

FORMAT = 1
"""To be raised when the same weights are converted differently."""

ORIGIN = "origin"
"""The file that tells what a converted model was made from."""


@contextmanager
def converted(run: Run, compute: str) -> Iterator[Path]:
    """The folder of the run's model for CTranslate2 with weights of type `compute`; while open nobody replaces it.

    InputError: the run's folder cannot be written.
    """
    place = run.folder / "export"
    if place.resolve() != run.folder.resolve() / "export":
        raise InputError(f"{place} leads to {place.resolve()}, where nothing of this run is to be written: delete it")
    folder = place / f"ctranslate2-{compute}"
    try:
        place.mkdir(exist_ok=True)
        with FileLock(place / ".lock"):
            if not _is_of(folder, origin := _origin(run)):
                _make_atomically(run, compute, origin, folder)
            yield folder
    except OSError as error:
        raise InputError(
            f"{place} cannot be written ({error.strerror}), and the converted model is kept there: copy the run's "
            "folder to a place of yours, or write engine=torch"
        ) from error


def token(number: int) -> str:
    """What CTranslate2 is to call a token: its number, as texts are our tokenizer's business."""
    return str(number)


def _origin(run: Run) -> str:
    """A hash of all that the conversion depends on: the weights, the model's options, the converters."""
    found = hashlib.sha256(f"{FORMAT} {ctranslate2.__version__}\n{OmegaConf.to_yaml(run.config.model)}".encode())
    for name, weight in run.task.state_dict().items():
        found.update(name.encode())
        found.update(weight.cpu().numpy().tobytes())
    return found.hexdigest()


def _is_of(folder: Path, origin: str) -> bool:
    told = folder / ORIGIN
    return told.is_file() and told.read_text() == origin


def _make_atomically(run: Run, compute: str, origin: str, folder: Path) -> None:
    """Under a temporary name, which becomes `folder` when all is written; what lay there goes."""
    making = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    try:
        _specified(run, compute).save(str(making))
        (making / ORIGIN).write_text(origin)
        making.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        making.rename(folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _specified(run: Run, compute: str) -> TransformerSpec:
    """The model with its vocabulary, checked by the library and brought to the type `compute`."""
    task = cast(Translation, run.task)
    spec = specification(task, run.config.model)
    spec.register_source_vocabulary([token(number) for number in range(task.source_embedding.table.num_embeddings)])
    spec.register_target_vocabulary([token(number) for number in range(task.target_embedding.table.num_embeddings)])
    spec.config.unk_token, spec.config.bos_token, spec.config.decoder_start_token = map(token, (UNKNOWN, BEGIN, BEGIN))
    spec.config.eos_token = token(PAD)  # END is named in each call: a source of the one here would not be translated
    spec.validate()
    spec.optimize(quantization=compute)
    return spec
