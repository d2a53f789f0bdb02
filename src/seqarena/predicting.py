"""Label texts or their tokens, or translate, with a finished run."""

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import torch

from seqarena.data.batch import END
from seqarena.data.examples import padded
from seqarena.data.sources.lines import lines, lines_of, without_end
from seqarena.errors import InputError
from seqarena.mishaps import short_of_memory
from seqarena.preflight import check_machine
from seqarena.runs import Run
from seqarena.tasks.task import Answer

Answering: TypeAlias = Callable[[list[str]], list[Answer]]
"""From texts to an answer each, in their order."""


def texts_of(text: str | None, file: str | None) -> Iterator[str]:
    """One text, the lines of a file, or those of the standard input; an empty line is an empty text."""
    if text is not None and file is not None:
        raise InputError("text= and file= are both given: write one of them")
    if text is not None:
        yield text
        return
    if file is not None and not Path(str(file)).is_file():
        raise InputError(f"file={file}: {'a folder, not a file' if Path(str(file)).is_dir() else 'no such file'}")
    if file is None and (sys.stdin is None or sys.stdin.isatty()):
        raise InputError('nothing to read: write text="...", file=PATH, or pipe lines in')
    read = lines(Path(str(file)), option=None) if file else lines_of(sys.stdin.buffer, "standard input", option=None)
    yield from map(without_end, read)


def predict(answering: Answering, texts: Iterator[str], size: int) -> Iterator[Answer]:
    """An answer to each text, in their order; `size` texts are read at a time."""
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise InputError(f"batch={size} must be a whole number from 1: so many texts are read at a time")
    while batch := list(islice(texts, size)):
        with short_of_memory(max(map(len, batch)), size):
            yield from answering(batch)


def engine(run: Run, name: str, compute: str, accelerator: str) -> Answering:
    """What answers: `torch`, the task itself in float32, or `ctranslate2`, on a CPU, in float32 or int8.

    InputError: it is not known, not installed, or cannot run this model or this way.
    """
    check_machine(accelerator, "32-true", "")
    if name == "torch":
        return _torch(run, compute, accelerator)
    if name == "ctranslate2":
        return _ctranslate2(run, compute, accelerator)
    raise InputError(f"engine={name} is not known: choose one of torch, ctranslate2")


def _torch(run: Run, compute: str, accelerator: str) -> Answering:
    if compute != "float32":
        raise InputError(f"compute={compute} is for engine=ctranslate2: write both, or compute=float32")
    run.task.to(_device(accelerator))

    def answering(texts: list[str]) -> list[Answer]:
        with torch.inference_mode():
            return run.task.answer(*_encoded(run, texts))

    return answering


def _ctranslate2(run: Run, compute: str, accelerator: str) -> Answering:
    """The library is imported where it is asked for alone."""
    from seqarena.exporting.expressible import refuse

    refuse(run.config, compute)
    if accelerator not in ("auto", "cpu"):
        raise InputError(f"accelerator={accelerator}: engine=ctranslate2 runs on a CPU; write cpu, or engine=torch")
    from seqarena.exporting.engine import Engine

    return Engine(run, compute)


def _device(accelerator: str) -> str:
    """The device that torch calls by this name; `auto` takes a GPU where there is one."""
    if accelerator == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    return "cuda" if accelerator == "gpu" else accelerator


def _encoded(run: Run, texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids (B, S) and mask of texts as the run reads them: ended with a mark in translation, else cut."""
    rows = run.vocabulary.source.encode(texts)
    if run.config.task.name == "translation":
        source_BS, mask_BS = padded(rows, end=END)
    else:
        source_BS, mask_BS = padded([row[: run.vocabulary.max_length] for row in rows])
    return source_BS.to(run.task.device), mask_BS.to(run.task.device)


def line_of(answer: Answer) -> str:
    """A translation, or a label a token, as it is; a label, then every label with its probability, between tabs."""
    return "\t".join([answer.text, *(f"{label}={p:.4f}" for label, p in answer.probabilities.items())])
