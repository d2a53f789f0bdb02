"""Where the heads of an encoder's self-attention look: how far, how evenly, whether always at the same neighbour.

Of a query at position i with weights a over positions j: the distance sum_j a_j |i - j| in tokens (Vig & Belinkov 2019,
section 4.4) and the entropy -sum_j a_j log a_j in nats; means over the queries of a text. A head is *positional* if its
largest weight lies at the token before, or at the token after, for 90 % of the queries (Voita et al. 2019, section 4.1;
a query without such a neighbour does not count).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seqarena.models.attention import listening
from seqarena.probing import sampling
from seqarena.probing.finding import Finding
from seqarena.probing.subject import Subject, Texts
from seqarena.reach import Estimate, estimate

POSITIONAL = 0.9
SHOWN, LONGEST = 4, 48
"""Of how many texts maps are kept, and how many tokens such a text has at most: they are for people to look at."""

Layers = list[Tensor]
"""The weights (B, H, S, S) of a batch of texts, layer by layer."""


@dataclass(frozen=True)
class Map:
    """The weights (n, n) of one head on one text of n tokens: row i is where token i looks. Layers, heads: from 1."""

    example: int
    source_n: Tensor
    layer: int
    head: int
    weights_nn: Tensor


def measure(subject: Subject) -> Finding:
    """Each measure by head, called `layer.head`, and what they come to over all heads.

    An encoder whose attention does not go over whole texts, or that has none, gets an empty finding.
    """
    parts = [(texts, found) for texts in subject.texts if (found := heard(subject, texts))]
    if not parts:
        return Finding()
    layers = [depth for depth, layer in enumerate(parts[0][1], 1) for _ in range(layer.shape[1])]
    names = [f"{depth}.{layers[:place].count(depth) + 1}" for place, depth in enumerate(layers)]
    looked = [_of_batch(found, texts.mask_BS) for texts, found in parts]
    tables = {name: sampling.joined([one[name] for one in looked]) for name in looked[0]}
    weights_RN, places = sampling.weights(len(tables["distance"]), subject.seed), [float(i) for i in range(len(names))]
    curves = {
        f"attention_{name}": ("head", sampling.points(table, sampling.means(table, weights_RN), names, places))
        for name, table in tables.items()
    }
    return Finding(_numbers(tables, layers, weights_RN), curves)


def _numbers(tables: Mapping[str, np.ndarray], layers: Sequence[int], weights_RN: np.ndarray) -> dict[str, Estimate]:
    """Means over all heads, how much further the last layer looks than the first, the share of positional heads."""
    distance_NH, depth_H = tables["distance"], np.array(layers)
    climb_N = distance_NH[:, depth_H == depth_H.max()].mean(1) - distance_NH[:, depth_H == 1].mean(1)
    before_RH, after_RH = (sampling.means(tables[name], weights_RN) for name in ("previous", "next"))
    positional_R = (np.maximum(before_RH, after_RH) >= POSITIONAL).mean(1)
    return {
        "attention_distance": sampling.mean(distance_NH.mean(1), weights_RN),
        "attention_entropy": sampling.mean(tables["entropy"].mean(1), weights_RN),
        "attention_climb": sampling.mean(climb_N, weights_RN),
        "positional_heads": estimate(positional_R[0], positional_R[1:]),
    }


@torch.no_grad()
def heard(subject: Subject, texts: Texts) -> Layers:
    """The self-attention of an encoder on these texts; nothing where a part of it is not about whole texts."""
    with listening() as layers:
        subject.read(subject.embed(texts.source_BS), texts.mask_BS)
    batch, length = texts.mask_BS.shape
    whole = all(layer.shape[0] == batch and layer.shape[2:] == (length, length) for layer in layers)
    return [layer.float() for layer in layers] if whole else []


def _of_batch(layers: Layers, mask_BS: Tensor) -> dict[str, Tensor]:
    """Every measure (B, heads of all layers) of each text; NaN where it has no query for it."""
    found = [looks(weights_BHSS, mask_BS) for weights_BHSS in layers]
    return {name: torch.cat([one[name] for one in found], 1) for name in found[0]}


def looks(weights_BHSS: Tensor, mask_BS: Tensor) -> dict[str, Tensor]:
    """Distance, entropy, and how often the largest weight is at the previous or the next token: each (B, H)."""
    place_S = torch.arange(mask_BS.shape[1], device=mask_BS.device)
    offset_SS = place_S[None, :] - place_S[:, None]
    largest_BHS = weights_BHSS.argmax(-1) - place_S
    length_B1 = mask_BS.sum(1, keepdim=True)
    return {
        "distance": _mean((weights_BHSS * offset_SS.abs()).sum(-1), mask_BS),
        "entropy": _mean(torch.special.entr(weights_BHSS).sum(-1), mask_BS),
        "previous": _mean(largest_BHS == -1, mask_BS & (place_S > 0)),
        "next": _mean(largest_BHS == 1, mask_BS & (place_S < length_B1 - 1)),
    }


def _mean(values_BHS: Tensor, queries_BS: Tensor) -> Tensor:
    """Over the queries of each text that count; 0/0 is NaN."""
    counted_BHS = torch.where(queries_BS[:, None], values_BHS.float(), 0.0)
    return counted_BHS.sum(-1) / queries_BS.sum(1)[:, None]


def maps(subject: Subject) -> list[Map]:
    """The weights of every head on SHOWN texts of 2 to LONGEST tokens, of different lengths where there are."""
    fitting = [
        (texts, row)
        for texts in subject.texts
        for row, length in enumerate(texts.mask_BS.sum(1).tolist())
        if 2 <= length <= LONGEST
    ]
    chosen = fitting[:: max(1, len(fitting) // SHOWN)][:SHOWN]
    return [one for texts, row in chosen for one in _maps_of(subject, texts.row(row))]


def _maps_of(subject: Subject, text: Texts) -> list[Map]:
    """All heads on one text, a batch by itself."""
    return [
        Map(int(text.id_B), text.source_BS[0].cpu(), depth, head, weights_SS.cpu())
        for depth, layer in enumerate(heard(subject, text), 1)
        for head, weights_SS in enumerate(layer[0], 1)
    ]
