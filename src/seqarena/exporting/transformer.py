"""The Transformer in CTranslate2's terms: where each weight goes.

Projections that read the same input are joined. What positions add to the input becomes a table: CTranslate2's own
sinusoids begin at position 1, keep sines and cosines apart and have other wavelengths.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numpy as np
import torch
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import LayerNormSpec, LinearSpec
from ctranslate2.specs.transformer_spec import (
    FeedForwardSpec,
    TransformerDecoderSpec,
    TransformerEncoderSpec,
    TransformerSpec,
)
from omegaconf import DictConfig
from torch import nn

from seqarena.exporting.expressible import longest
from seqarena.models.multihead import MultiHeadAttention
from seqarena.models.positions import Bucketed, Positions
from seqarena.models.transformer import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    TransformerDecoder,
    TransformerEncoder,
    Wrapping,
)
from seqarena.tasks.embedding import TokenEmbedding
from seqarena.tasks.translation import Translation

S = TypeVar("S", TransformerEncoderSpec, TransformerDecoderSpec)


def specification(task: Translation, model: DictConfig) -> TransformerSpec:
    """The model with its weights; only vocabulary and special tokens are missing."""
    encoder, decoder = cast(TransformerEncoder, task.encoder), cast(TransformerDecoder, task.decoder)
    spec = TransformerSpec(
        _stack_spec(TransformerEncoderSpec, model.encoder), _stack_spec(TransformerDecoderSpec, model.decoder)
    )
    spec.config.layer_norm_epsilon = nn.LayerNorm(1).eps
    _embed(spec.encoder, spec.encoder.embeddings[0], task.source_embedding)
    _embed(spec.decoder, spec.decoder.embeddings, task.target_embedding)
    for place, layer in zip(spec.encoder.layer, cast(Iterable[EncoderLayer], encoder.layers), strict=True):
        _self_attention(place.self_attention, layer.attention, layer.around_attention)
        _feed_forward(place.ffn, layer.feedforward, layer.around_feedforward)
    for place, written in zip(spec.decoder.layer, cast(Iterable[DecoderLayer], decoder.layers), strict=True):
        assert written.cross is not None and written.around_cross is not None  # refused otherwise
        _self_attention(place.self_attention, written.attention, written.around_attention)
        _cross_attention(place.attention, written.cross, written.around_cross)
        _feed_forward(place.ffn, written.feedforward, written.around_feedforward)
    _locate(spec.encoder, encoder, longest(model.encoder))
    _locate(spec.decoder, decoder, longest(model.decoder))
    spec.decoder.projection.weight = task.output.weight.detach().clone()
    return spec


def _stack_spec(kind: Callable[..., S], half: DictConfig) -> S:
    """The empty specification of an encoder's or a decoder's layers."""
    return kind(
        half.layers,
        half.heads,
        pre_norm=half.norm == "pre",
        relative_attention_bias=half.positions_kind == "t5",
        rotary_dim=0 if half.positions_kind == "rotary" else None,  # 0: all features of a head turn
        rotary_interleave=False,
    )


def _embed(half: Any, place: Any, embedding: TokenEmbedding) -> None:
    """The table of one side's tokens, and what its vectors are multiplied by."""
    place.weight = embedding.table.weight.detach().clone()  # the library quantizes in place
    half.scale_embeddings = float(embedding.scale)


def _locate(half: Any, stack: TransformerEncoder | TransformerDecoder, limit: int | None) -> None:
    """Positions of one side, and the norm that ends a pre-norm stack."""
    if limit is not None:
        half.position_encodings.encodings = _table(stack.positions, limit, stack.dim)
    if hasattr(half, "layer_norm"):
        _norm(half.layer_norm, stack.norm)
    for layer in half.layer:
        if hasattr(layer.self_attention, "relative_attention_bias"):
            relations = cast(Bucketed, stack.relations)
            layer.self_attention.relative_attention_bias = relations.table.detach()
            layer.self_attention.relative_attention_max_distance = np.int32(Bucketed.FURTHEST)


@torch.no_grad()
def _table(positions: Positions, rows: int, dim: int) -> torch.Tensor:
    """What is added to the input at each of the first positions, (rows, dim)."""
    return positions(torch.zeros(1, rows, dim), 0)[0]


def _self_attention(place: MultiHeadAttentionSpec, attention: MultiHeadAttention, around: Wrapping) -> None:
    _linear(place.linear[0], attention.query, attention.key, attention.value)
    _finish(place, attention, around)


def _cross_attention(place: MultiHeadAttentionSpec, attention: MultiHeadAttention, around: Wrapping) -> None:
    _linear(place.linear[0], attention.query)
    _linear(place.linear[1], attention.key, attention.value)
    _finish(place, attention, around)


def _finish(place: MultiHeadAttentionSpec, attention: MultiHeadAttention, around: Wrapping) -> None:
    """What both kinds of attention have: the output, the scale of the scores, the norm."""
    _linear(place.linear[-1], attention.output)
    place.queries_scale = float(attention.scale)
    _norm(place.layer_norm, around)


def _feed_forward(place: FeedForwardSpec, part: FeedForward, around: Wrapping) -> None:
    _linear(place.linear_0, part.inner)
    _linear(place.linear_1, part.outer)
    _norm(place.layer_norm, around)


def _norm(place: LayerNormSpec, norm: nn.Module) -> None:
    """A LayerNorm, or what surrounds a sublayer, which has no weights but its norm's."""
    place.gamma, place.beta = (weight.detach() for weight in norm.parameters())


def _linear(place: LinearSpec, *parts: nn.Linear) -> None:
    """Linear maps of the same input, one under the other."""
    place.weight = torch.cat([part.weight.detach() for part in parts])
    place.bias = torch.cat([part.bias.detach() for part in parts])
