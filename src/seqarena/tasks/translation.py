"""Translation: teacher forcing with label smoothing, search, and sacreBLEU's own scores on detokenised text."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pyarrow as pa
import torch
from sacrebleu.metrics import BLEU, CHRF
from torch import Tensor, nn
from torch.optim import Optimizer

from seqarena.data.batch import PAD, TranslationBatch
from seqarena.device import casting_once
from seqarena.evaluation import Bucket, Evaluation, by_bucket
from seqarena.models.contract import Decoder, Encoded, Encoder
from seqarena.tasks.decoding import Search, search
from seqarena.tasks.embedding import EmbeddingOptions, TokenEmbedding
from seqarena.tasks.loss import cross_entropy_sum
from seqarena.tasks.task import Answer, Finding, SequenceTask

BLEU_TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "th": "char", "lo": "char", "km": "char", "my": "char"}
"""sacreBLEU's tokenizer by target language; all others are scored with 13a, the tokenizer of WMT."""


ROWS = 32
"""Sentences whose logits are held at a time where a reference is scored: of a whole batch they would take more memory
than training does, which holds a slice of them."""


class Detokenizer(Protocol):
    """Turns token ids into the text a reader sees."""

    def __len__(self) -> int: ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`."""


class Translation(SequenceTask[TranslationBatch]):
    """Source embedding and encoder, target embedding and decoder, output layer. Selected by validation BLEU.

    With one joint vocabulary both sides share the embedding; `tied` makes the output layer the target embedding too
    (Press & Wolf 2017). Validation uses greedy search, the test `decoding`.
    """

    monitor, mode = "bleu", "max"

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder,
        source_vocabulary: int,
        target: Detokenizer,
        joint: bool,
        tied: bool,
        language: str,
        embedding: EmbeddingOptions,
        label_smoothing: float,
        decoding: Search,
        optimizer: Callable[..., Optimizer],
        schedule: Callable[..., Any],
        log_every: int,
    ) -> None:
        super().__init__(optimizer, schedule, log_every)
        self.label_smoothing, self.decoding, self._target = label_smoothing, decoding, target
        self._scores = TranslationScores(language)
        self.source_embedding = TokenEmbedding(source_vocabulary, encoder.dim, embedding)
        self.target_embedding = self.source_embedding if joint else TokenEmbedding(len(target), decoder.dim, embedding)
        self.encoder, self.decoder = encoder, decoder
        self.output = nn.Linear(decoder.dim, len(target), bias=False)
        if tied:
            self.output.weight = self.target_embedding.table.weight
        else:
            nn.init.normal_(self.output.weight, 0.0, decoder.dim**-0.5)

    def encode(self, source_BS: Tensor, mask_BS: Tensor) -> Encoded:
        """Read the sources."""
        return self.encoder(self.source_embedding(source_BS), mask_BS)

    def forward(self, batch: TranslationBatch) -> tuple[Tensor, Encoded]:
        """What the output layer reads at each target position (B, T, D), given the true tokens before; the source."""
        encoded = self.encode(batch.source_BS, batch.mask_BS)
        y_BTD, _ = self.decoder(self.target_embedding(batch.given_BT), encoded, self.decoder.start(encoded))
        return y_BTD, encoded

    def loss(self, batch: TranslationBatch) -> Tensor:
        """Summed cross-entropy of the wanted tokens, smoothed."""
        y_BTD, _ = self.forward(batch)
        y_ND, wanted_N = y_BTD.flatten(0, 1)[batch.real_N], batch.wanted_BT.flatten()[batch.real_N]
        return cross_entropy_sum(y_ND, self.output.weight, wanted_N, self.label_smoothing)

    def answer(self, source_BS: Tensor, mask_BS: Tensor) -> list[Answer]:
        """The best target of each source, as text."""
        found = self._search(self.encode(source_BS, mask_BS), self.decoding)
        return [Answer(self._target.decode(ids), {}) for ids in found]

    def _search(self, encoded: Encoded, how: Search) -> list[list[int]]:
        with casting_once(self.device.type):
            return search(self.target_embedding, self.decoder, self.output, encoded, how)

    def _timed_search(self, encoded: Encoded, how: Search) -> tuple[list[list[int]], float]:
        """What is found, and the seconds that it took: the search alone, at whose end the device has nothing to do."""
        if encoded.mask_BS.device.type != "cpu":
            torch.accelerator.synchronize(encoded.mask_BS.device)
        began = time.perf_counter()
        return self._search(encoded, how), time.perf_counter() - began

    def examine(self, batch: TranslationBatch) -> Finding:
        """The translation, its tokens and its share of the search's seconds; the summed loss of the reference's tokens.

        End marks are tokens too.
        """
        y_BTD, encoded = self.forward(batch)
        loss_B = torch.cat(
            [self._losses(*rows) for rows in zip(y_BTD.split(ROWS), batch.wanted_BT.split(ROWS), strict=True)]
        )
        validating = self.trainer.validating or self.trainer.training or self.trainer.sanity_checking
        found, seconds = self._timed_search(encoded, Search() if validating else self.decoding)
        return {
            "id": batch.id_B.tolist(),
            "prediction": [self._target.decode(ids) for ids in found],
            "written": [len(ids) + 1 for ids in found],
            "seconds": [seconds / len(found)] * len(found),
            "loss": loss_B.tolist(),
            "tokens": (batch.wanted_BT != PAD).sum(1).tolist(),
        }

    def _losses(self, y_BTD: Tensor, wanted_BT: Tensor) -> Tensor:
        """Of each sentence: the summed cross-entropy of its tokens, (B,)."""
        logits_BVT = self.output(y_BTD).float().transpose(1, 2)
        return nn.functional.cross_entropy(logits_BVT, wanted_BT, ignore_index=PAD, reduction="none").sum(1)

    def score(self, split: str, findings: Finding) -> Evaluation:
        """BLEU, chrF, loss per token, length ratio and empty outputs: over all and by stratum; the test's speed."""
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        table = data.table(split).take(findings["id"])
        said, meant = findings["prediction"], table["target"].to_pylist()
        statistics = self._scores.statistics(said, meant)

        def measures(at: Sequence[int]) -> dict[str, float]:
            scores = self._scores.corpus([said[i] for i in at], [meant[i] for i in at], [statistics[i] for i in at])
            tokens = sum(findings["tokens"][i] for i in at)
            return {**scores, "loss": sum(findings["loss"][i] for i in at) / tokens}

        strata: dict[str, list[Bucket]] = {
            axis: [
                {"bucket": name, "n": len(at), **measures(at)} for name, at in by_bucket(table[axis].to_pylist(), edges)
            ]
            for axis, edges in data.buckets.items()
            if axis in table.column_names
        }
        examples = table.drop_columns(["source_ids", "target_ids"]).rename_columns({"target": "reference"})
        for name, column in (
            ("prediction", said),
            ("bleu_statistics", statistics),
            ("loss", findings["loss"]),
            ("tokens", findings["tokens"]),
        ):
            examples = examples.append_column(name, pa.array(column))
        metrics = measures(range(len(said)))
        speed = {"decode_tokens_per_s": sum(findings["written"]) / sum(findings["seconds"])} if split == "test" else {}
        return Evaluation(split, metrics, strata, examples, speed=speed, signature=self._scores.signature())


class TranslationScores:
    """BLEU and chrF as the `sacrebleu` command computes them, with the tokenizer that suits the target language."""

    def __init__(self, language: str) -> None:
        tokenizer = BLEU_TOKENIZERS.get(language.lower().split("-")[0].split("_")[0], "13a")
        self._bleu = BLEU(tokenize=tokenizer)
        self._sentence_bleu = BLEU(tokenize=tokenizer, effective_order=True)  # the statistics are the same
        self._chrf = CHRF()

    def statistics(self, said: Sequence[str], meant: Sequence[str]) -> list[list[int]]:
        """Ten numbers a sentence, of whose sums BLEU is a function: both lengths, matches of 1- to 4-grams, totals."""
        found = (self._sentence_bleu.sentence_score(a, [b]) for a, b in zip(said, meant, strict=True))
        return [[score.sys_len, score.ref_len, *score.counts, *score.totals] for score in found]

    def corpus(
        self, said: Sequence[str], meant: Sequence[str], statistics: Sequence[Sequence[int]]
    ) -> dict[str, float]:
        """Scores of a set of sentences, from 0 to 100, with the length ratio and the share of empty outputs."""
        sums = [sum(column) for column in zip(*statistics, strict=True)]
        bleu = BLEU.compute_bleu(sums[2:6], sums[6:10], sums[0], sums[1], smooth_method="exp")
        return {
            "bleu": bleu.score,
            "chrf": self._chrf.corpus_score(list(said), [list(meant)]).score,
            "length_ratio": sums[0] / sums[1] if sums[1] else math.nan,
            "empty_outputs": sum(not text.strip() for text in said) / len(said),
        }

    def signature(self) -> dict[str, str]:
        """sacreBLEU's own description of how the scores were computed."""
        self._bleu.corpus_score(["a"], [["a"]])
        self._chrf.corpus_score(["a"], [["a"]])
        return {"bleu": str(self._bleu.get_signature()), "chrf": str(self._chrf.get_signature())}
