"""What a step of training or evaluation reads. Padding is on the right; masks are True on real tokens."""

from typing import NamedTuple

from torch import Tensor

from seqarena.data.marks import BEGIN, END, PAD, UNKNOWN

__all__ = ["BEGIN", "END", "PAD", "UNKNOWN", "Batch", "ClassificationBatch", "TaggingBatch", "TranslationBatch"]


class ClassificationBatch(NamedTuple):
    """Texts with one label each. `tokens` counts real tokens, `positions` those and the padding."""

    id_B: Tensor
    source_BS: Tensor
    mask_BS: Tensor
    label_B: Tensor
    tokens: int
    positions: int

    @property
    def examples(self) -> int:
        """How many examples there are."""
        return len(self.id_B)

    @property
    def targets(self) -> int:
        """What the loss is a mean over: examples."""
        return len(self.id_B)


class TranslationBatch(NamedTuple):
    """Sentence pairs. `given_BT` starts with the begin mark, `wanted_BT` is the same shifted, ending in the end mark.

    Both are padded with 0. `real_N` holds the places, in `wanted_BT` laid flat, of the tokens that count in the loss:
    the others are left out without the device having to tell how many there are. `targets` counts them, end marks
    included: what the loss is a mean over. `tokens` and `positions` add source and target up.
    """

    id_B: Tensor
    source_BS: Tensor
    mask_BS: Tensor
    given_BT: Tensor
    wanted_BT: Tensor
    real_N: Tensor
    targets: int
    tokens: int
    positions: int

    @property
    def examples(self) -> int:
        """How many pairs there are."""
        return len(self.id_B)


class TaggingBatch(NamedTuple):
    """Texts with labels at some of their tokens, the queries: the token at `place_Q` of text `row_Q` has `label_Q`.

    `id_Q` numbers the queries over the split. `tokens` counts real tokens, `positions` those and the padding.
    """

    id_B: Tensor
    source_BS: Tensor
    mask_BS: Tensor
    id_Q: Tensor
    row_Q: Tensor
    place_Q: Tensor
    label_Q: Tensor
    tokens: int
    positions: int

    @property
    def examples(self) -> int:
        """How many texts there are."""
        return len(self.id_B)

    @property
    def targets(self) -> int:
        """What the loss is a mean over: queries."""
        return len(self.label_Q)


Batch = ClassificationBatch | TranslationBatch | TaggingBatch
