"""Permutation test: what the order of tokens is worth, in accuracy and loss.

The tokens of each text are shuffled, all of them or only those at distance k or more from its end (Khandelwal et al.
2018, "Sharp Nearby, Fuzzy Far Away", section 4). A model that loses nothing from k on uses what is further away as a
bag of words, if at all. What is shuffled are tokens, parts of words among them where the tokenizer makes such.
"""

import torch
from torch import Tensor

from seqarena.probing import sampling
from seqarena.probing.finding import Finding
from seqarena.probing.subject import Subject, Texts, distances, doubling


def measure(subject: Subject) -> Finding:
    """What is scored as it is, and how much that changes when shuffled: in all (k = 0), and by k.

    Accuracy is what falls, loss what rises: positive numbers say that order matters.
    """
    generator = subject.generator()
    at = doubling(max(int(texts.mask_BS.sum(1).max()) for texts in subject.texts))
    parts = [_scores(subject, number, at, generator) for number in range(len(subject.texts))]
    weights_RN = sampling.weights(sum(len(part.mask_BS) for part in subject.texts), subject.seed)
    numbers, curves = {}, {}
    for name in parts[0]:
        scores_NK = sampling.joined([part[name] for part in parts])
        changes_NK = (scores_NK[:, 1:] - scores_NK[:, :1]) * (-1 if name == "accuracy" else 1)
        numbers[f"unshuffled_{name}"] = sampling.mean(scores_NK[:, 0], weights_RN)
        numbers[f"permutation_{name}"] = sampling.mean(changes_NK[:, 0], weights_RN)
        curve = sampling.points(changes_NK, sampling.means(changes_NK, weights_RN), list(map(str, at)), at)
        curves[f"permutation_{name}"] = "beyond", curve
    return Finding(numbers, curves)


@torch.no_grad()
def _scores(subject: Subject, number: int, at: list[int], generator: torch.Generator) -> dict[str, Tensor]:
    """Each score (B, 1 + K): of the texts as they are, then shuffled from each of the distances on."""
    texts = subject.texts[number]
    versions = [texts.source_BS, *(shuffled(texts, k, generator) for k in at)]
    found = [subject.score(number, source_BS) for source_BS in versions]
    return {name: torch.stack([one[name] for one in found], 1) for name in found[0]}


def shuffled(texts: Texts, beyond: int, generator: torch.Generator) -> Tensor:
    """The sources with the tokens at distance `beyond` or more in random order, but for those that are fixed."""
    source_BS = texts.source_BS.clone()
    movable_BS = (distances(texts.mask_BS) >= beyond) & ~texts.fixed_BS
    for row_S, movable_S in zip(source_BS, movable_BS, strict=True):
        places = movable_S.nonzero()[:, 0]
        row_S[places] = row_S[places[torch.randperm(len(places), generator=generator).to(places.device)]]
    return source_BS
