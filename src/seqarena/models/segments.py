"""Long texts in segments: each is read alone, by the encoder of any family, and what it says is put together again.

`SegmentedEncoder` pools the segments' summaries, by their mean or maximum: the plainest way past a reader's limit.
`HierarchicalEncoder` has a second encoder go over them: Yang et al. 2016, "Hierarchical Attention Networks for Document
Classification", with recurrent networks; Pappagari et al. 2019, "Hierarchical Transformers for Long Document
Classification", with a Transformer. Reading costs n · segment where attention over the whole text costs n².

Departures: segments are of equal length instead of sentences (Yang et al.) and do not overlap (Pappagari et al.); each
encoder summarises as its family does; nothing is pretrained. For a decoder, which none of these has, the states are
those of the segments, in the hierarchy with the state of their segment added. Shape letters: N segments, L tokens.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from seqarena.models.contract import Encoded, Encoder, masked_mean
from seqarena.models.convolution import masked_max

POOLINGS = {"mean": masked_mean, "max": masked_max}


class Segments(NamedTuple):
    """A text read in segments: states and values (B, S, D) of its tokens, a summary (B, N, D) of each segment."""

    states_BSD: Tensor
    values_BSD: Tensor
    summaries_BND: Tensor
    mask_BN: Tensor


def cut(x_BS: Tensor, length: int) -> Tensor:
    """(B, S, ...) as segments (B·N, L, ...), the last of which is filled up with zeros, or False."""
    filled = x_BS.new_zeros(len(x_BS), -x_BS.shape[1] % length, *x_BS.shape[2:])
    return torch.cat((x_BS, filled), 1).unflatten(1, (-1, length)).flatten(0, 1)


def joined(x_NL: Tensor, batch: int, length: int) -> Tensor:
    """Segments (B·N, L, D) as the texts (B, S, D) of `length` that they were cut from."""
    return x_NL.unflatten(0, (batch, -1)).flatten(1, 2)[:, :length]


def read_segments(reader: Encoder, x_BSD: Tensor, mask_BS: Tensor, segment: int) -> Segments:
    """Each segment of `segment` tokens (of the whole text, if that is shorter) read as a text of its own."""
    batch, length = mask_BS.shape
    mask_NL = cut(mask_BS, min(segment, length))
    read = reader(cut(x_BSD, min(segment, length)), mask_NL)
    states, values = (joined(part, batch, length) for part in (read.states_BSD, read.values_BSD))
    return Segments(states, values, read.summary_BD.unflatten(0, (batch, -1)), mask_NL.any(1).unflatten(0, (batch, -1)))


class SegmentedEncoder(Encoder):
    """The summary is the `pooling` (mean or max) of the segments' summaries; a state knows its own segment only."""

    def __init__(self, segment: int, pooling: str, segment_encoder: Encoder) -> None:
        super().__init__()
        if pooling not in POOLINGS:
            raise ValueError(f"model.pooling={pooling} is not known: choose one of {', '.join(POOLINGS)}")
        self.dim, self.segment, self.pooling = segment_encoder.dim, segment, pooling
        self.segment_encoder = segment_encoder

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        """Read the texts; see `Encoder`."""
        read = read_segments(self.segment_encoder, x_BSD, mask_BS, self.segment)
        summary_BD = POOLINGS[self.pooling](read.summaries_BND, read.mask_BN)
        return Encoded(read.states_BSD, summary_BD, mask_BS, read.values_BSD)


class HierarchicalEncoder(Encoder):
    """`document_encoder` reads the segments' summaries as if they were tokens; its summary is the text's.

    To every token's state its segment's is added. Encoders of different widths are a ValueError.
    """

    def __init__(self, segment: int, segment_encoder: Encoder, document_encoder: Encoder) -> None:
        super().__init__()
        if segment_encoder.dim != document_encoder.dim:
            raise ValueError(
                f"segments are read at width {segment_encoder.dim} and documents at {document_encoder.dim}: "
                "give both the same dim"
            )
        self.dim, self.segment = segment_encoder.dim, segment
        self.segment_encoder, self.document_encoder = segment_encoder, document_encoder

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        """Read the texts; see `Encoder`."""
        length = mask_BS.shape[1]
        read = read_segments(self.segment_encoder, x_BSD, mask_BS, self.segment)
        document = self.document_encoder(read.summaries_BND, read.mask_BN)
        own_BSD = document.states_BSD.repeat_interleave(min(self.segment, length), 1)[:, :length]
        own_BSD = own_BSD.masked_fill(~mask_BS[..., None], 0.0)
        return Encoded(read.states_BSD + own_BSD, document.summary_BD, mask_BS, read.values_BSD + own_BSD)
