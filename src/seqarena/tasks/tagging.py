"""Tagging: labels at some tokens of a text, the queries, read off the encoder's states there."""

from torch import Tensor, nn

from seqarena.data.batch import TaggingBatch
from seqarena.tasks.labelling import Labelling, judged
from seqarena.tasks.task import Answer, Finding


class Tagging(Labelling[TaggingBatch]):
    """One label a query, from the encoder's state at its token; cross-entropy, summed over the queries alone.

    A state has seen what the encoder lets it see: both sides of its token, or with `model.bidirectional=false` those
    before it, or a filter's width.

    What is scored, and a row of the examples, is a query. Queries of one text are not independent: a text that is read
    badly is wrong at several. So intervals are over texts (`compare/influences.py`, `extrapolation.py`).
    """

    def forward(self, batch: TaggingBatch) -> Tensor:
        """Logits (Q, classes) of the queries."""
        states_BSD = self._states(batch.source_BS, batch.mask_BS)
        return self.head(self.dropout(states_BSD[batch.row_Q, batch.place_Q]))

    def _states(self, source_BS: Tensor, mask_BS: Tensor) -> Tensor:
        return self.encoder(self.embedding(source_BS), mask_BS).states_BSD

    def loss(self, batch: TaggingBatch) -> Tensor:
        """Summed cross-entropy of the queries."""
        return nn.functional.cross_entropy(
            self.forward(batch).float(), batch.label_Q, reduction="sum", label_smoothing=self.label_smoothing
        )

    def examine(self, batch: TaggingBatch) -> Finding:
        """The predicted class of each query, its probability, and the loss of the true one."""
        return judged(batch.id_Q, self.forward(batch), batch.label_Q)

    def answer(self, source_BS: Tensor, mask_BS: Tensor) -> list[Answer]:
        """The most probable label at every token, between spaces, also where the data would ask for none."""
        best_BS = self.head(self.dropout(self._states(source_BS, mask_BS))).argmax(-1)
        rows = zip(best_BS.tolist(), mask_BS.sum(1).tolist(), strict=True)
        return [Answer(" ".join(self.classes[number] for number in row[:length]), {}) for row, length in rows]
