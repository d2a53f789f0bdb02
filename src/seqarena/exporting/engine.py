"""Translating with CTranslate2 as the task does: the same marks, limits, beam and ranking of hypotheses.

Greedy search gives the same strings. Beam search extends the same hypotheses and ranks them alike, by log-probability
over length^`length_penalty`, the end mark counted. It ends differently:

- It stops as soon as `beam` hypotheses have ended (with `length_penalty` 0: once the likeliest has). Ours goes on while
  one that has not ended is ahead of all that have, and may find a better one.
- At its limit of tokens it takes hypotheses as they stand. Ours takes those that end there.
"""

from collections.abc import Iterator, Sequence
from typing import cast

import ctranslate2
import numpy as np

from seqarena.data.batch import BEGIN, END, PAD
from seqarena.data.examples import padded
from seqarena.device import available_cores
from seqarena.exporting.expressible import longest
from seqarena.exporting.model_folder import converted, token
from seqarena.models.contract import TooLong
from seqarena.runs import Run
from seqarena.tasks.task import Answer
from seqarena.tasks.translation import Translation

STRIDE = 16
"""Sentences are searched together whose limits are the same when rounded up to a multiple of this: a call has one."""


class Engine:
    """A run's model in CTranslate2, on the cores of this process, with weights of type `compute`."""

    def __init__(self, run: Run, compute: str) -> None:
        with converted(run, compute) as folder:
            cores = available_cores()
            self._translator = ctranslate2.Translator(str(folder), compute_type=compute, intra_threads=cores)
        self._source, self._target = run.vocabulary.source, run.vocabulary.target or run.vocabulary.source
        self._readable, self._writable = longest(run.config.model.encoder), longest(run.config.model.decoder)
        self._how = cast(Translation, run.task).decoding

    def __call__(self, texts: list[str]) -> list[Answer]:
        """The translation of each text. TooLong: it needs more positions than the converted model has."""
        rows = [np.array([*ids, END]) for ids in self._source.encode(texts)]
        width = max(map(len, rows))
        if self._readable is not None and width > self._readable:
            raise TooLong(f"a text of {width} tokens is longer than the {_told(self._readable)}")
        limits = self._how.limits(padded(rows)[1]).tolist()
        answers = [Answer("", {})] * len(rows)
        for limit, places in together(limits):
            found = self._searched([rows[place] for place in places], limit)
            for place, ids in zip(places, found, strict=True):
                self._refuse_unfinished(ids, limits[place])
                answers[place] = Answer(self._target.decode(ids[: limits[place] - 1]), {})
        return answers

    def _refuse_unfinished(self, ids: list[int], limit: int) -> None:
        """TooLong: a target that might go on, had the decoder another position."""
        if self._writable is not None and len(ids) == self._writable < limit and ids[-1] != END:
            raise TooLong(f"a translation is longer than the {_told(self._writable)}")

    def _searched(self, rows: list[np.ndarray], limit: int) -> list[list[int]]:
        """The best target of each source, of `limit` tokens at most, its end mark included where it has one."""
        found = self._translator.translate_batch(
            [list(map(token, row)) for row in rows],
            beam_size=self._how.beam,
            length_penalty=self._how.length_penalty,
            max_decoding_length=min(limit, self._writable or limit),
            min_decoding_length=0,
            max_input_length=0,  # nothing is cut
            suppress_sequences=[[token(PAD)], [token(BEGIN)]],
            end_token=token(END),
            return_end_token=True,  # it counts in the length that scores are divided by
        )
        return [[int(name) for name in one.hypotheses[0]] for one in found]


def together(limits: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Limits rounded up to a multiple of `STRIDE`, each with the places of the sentences it is for."""
    rounded = [-(-limit // STRIDE) * STRIDE for limit in limits]
    for limit in sorted(set(rounded)):
        yield limit, [place for place, own in enumerate(rounded) if own == limit]


def _told(positions: int) -> str:
    told = "shorten the text or, unless its positions are learned, write engine=torch"
    return f"{positions} positions of the converted model: {told}"
