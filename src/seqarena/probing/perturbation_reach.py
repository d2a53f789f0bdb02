"""Perturbation reach: how far the output moves when one token is replaced by a random other one, by its distance.

    m(k) = || y' - y || / || y ||,     y' the output with the token at distance k from the end of the text replaced.

Where gradients say what an infinitesimal change would do, this is what a real one does (erasure: Li et al. 2016,
"Understanding Neural Networks through Representation Erasure"; by distance: Khandelwal et al. 2018, section 3).
"""

import torch
from torch import Tensor

from seqarena.probing import sampling
from seqarena.probing.finding import Finding
from seqarena.probing.subject import Subject, Texts, distances, doubling


def measure(subject: Subject) -> Finding:
    """m at doubling distances, from where on it is half of the same texts' m(0), and how often the class changes."""
    generator = subject.generator()
    at = doubling(max(int(texts.mask_BS.sum(1).max()) for texts in subject.texts))
    found = [_moves(subject, texts, at, generator) for texts in subject.texts]
    moved_NK, changed_NK = (sampling.joined([one[part] for one in found]) for part in (0, 1))
    weights_RN = sampling.weights(len(moved_NK), subject.seed)
    means, shares = (how(moved_NK, weights_RN) for how in (sampling.means, sampling.ratios))
    curves = {"perturbation": (moved_NK, means), "perturbation_share": (moved_NK, shares)}
    if subject.decide is not None:
        curves["perturbation_changed"] = changed_NK, sampling.means(changed_NK, weights_RN)
    names = list(map(str, at))
    return Finding(
        {"perturbation_half_life": sampling.half_life(moved_NK, weights_RN, at)},
        {name: ("distance", sampling.points(table, found, names, at)) for name, (table, found) in curves.items()},
    )


@torch.no_grad()
def _moves(subject: Subject, texts: Texts, at: list[int], generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """m, and whether the class changes, at each of the distances (B, K).

    NaN where a text has no such token, and where its output is zero, of which nothing is a share.
    """
    before_BD = subject.read(subject.embed(texts.source_BS), texts.mask_BS)
    columns = [_move(subject, texts, before_BD, k, generator) for k in at]
    moved, changed = zip(*columns, strict=True)
    return torch.stack(moved, 1), torch.stack(changed, 1)


def _move(
    subject: Subject, texts: Texts, before_BD: Tensor, k: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    there_BS = distances(texts.mask_BS) == k
    source_BS = torch.where(there_BS, others(texts.source_BS, subject.words, generator), texts.source_BS)
    after_BD = subject.read(subject.embed(source_BS), texts.mask_BS)
    norm_B = before_BD.float().norm(dim=-1)
    moved_B = (after_BD - before_BD).float().norm(dim=-1) / norm_B
    absent_B = ~there_BS.any(1) | (norm_B == 0)
    changed_B = torch.zeros_like(moved_B)
    if subject.decide is not None:
        changed_B = (subject.decide(after_BD) != subject.decide(before_BD)).float()
    return moved_B.masked_fill(absent_B, torch.nan), changed_B.masked_fill(absent_B, torch.nan)


def others(source_BS: Tensor, words: tuple[int, int], generator: torch.Generator) -> Tensor:
    """For each word a random other one, all of them as likely; marks are replaced by words."""
    first, count = words[0], words[1] - words[0]
    step_BS = torch.randint(1, max(count, 2), source_BS.shape, generator=generator).to(source_BS.device)
    return first + (source_BS - first + step_BS) % count
