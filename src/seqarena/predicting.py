"""Label texts or their tokens, or translate, with a finished run."""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from seqarena.data.batch import END
from seqarena.data.examples import padded, reading_mask
from seqarena.data.sources.lines import lines, lines_of, without_end
from seqarena.errors import InputError
from seqarena.preflight import check_machine
from seqarena.runs import Run
from seqarena.tasks.task import Answer


def texts_of(text: str | None, file: str | None) -> Iterator[str]:
    """One text, the lines of a file, or those of the standard input; an empty line is an empty text."""
    if text is not None and file is not None:
        raise InputError("text= and file= are both given: write one of them")
    if text is not None:
        yield text
        return
    if file is not None and not Path(file).is_file():
        raise InputError(f"file={file}: {'a folder, not a file' if Path(file).is_dir() else 'no such file'}")
    if file is None and sys.stdin.isatty():
        raise InputError('nothing to read: write text="...", file=PATH, or pipe lines in')
    yield from map(without_end, lines(Path(file)) if file else lines_of(sys.stdin.buffer, "standard input"))


def predict(run: Run, texts: Iterator[str], size: int, accelerator: str) -> Iterator[Answer]:
    """An answer to each text, in their order; `size` texts are read at a time."""
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise InputError(f"batch={size} must be a whole number from 1: so many texts are read at a time")
    check_machine(accelerator, "32-true", "")
    run.task.to(_device(accelerator))
    while batch := list(islice(texts, size)):
        with torch.inference_mode():
            yield from run.task.answer(*_encoded(run, batch))


def _device(accelerator: str) -> str:
    """The device that torch calls by this name; `auto` takes a GPU where there is one."""
    if accelerator == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    return "cuda" if accelerator == "gpu" else accelerator


def _encoded(run: Run, texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids (B, S) and mask of texts as the run reads them: ended with a mark in translation, else cut."""
    rows = [np.asarray(ids, np.int64) for ids in run.vocabulary.source.encode(texts)]
    if run.config.task.name == "translation":
        rows = [np.append(row, END) for row in rows]
    else:
        rows = [row[: run.vocabulary.max_length] for row in rows]
    source_BS = padded(rows)
    return source_BS.to(run.task.device), reading_mask(rows, source_BS.shape[1]).to(run.task.device)


def line_of(answer: Answer) -> str:
    """A translation, or a label a token, as it is; a label, then every label with its probability, between tabs."""
    return "\t".join([answer.text, *(f"{label}={p:.4f}" for label, p in answer.probabilities.items())])
