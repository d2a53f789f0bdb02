"""What a probe is given: a model seen through three functions, and batches of validation examples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class Texts(NamedTuple):
    """A batch: numbers of the examples (B,), token ids padded on the right, where they are real, which have to stay in
    their places (marks, and tokens that a label belongs to): all (B, S).
    """

    id_B: Tensor
    source_BS: Tensor
    mask_BS: Tensor
    fixed_BS: Tensor

    def row(self, number: int) -> "Texts":
        """One text without its padding, as a batch of its own."""
        length = int(self.mask_BS[number].sum())
        id_B, *others = (part[number : number + 1] for part in self)
        return Texts(id_B, *(part[:, :length] for part in others))


@dataclass(frozen=True)
class Subject:
    """A model and the texts that it is probed with; whoever probes puts it into evaluation mode.

    `embed` turns ids (B, S) into vectors (B, S, D); `read` turns vectors and a mask into the output (B, D) at the read
    position. `decide` says which class follows from outputs, (B,); None where there are no classes. `score` gives
    numbers of each example, (B,) by name, for the sources of batch number i put in place of its own. `words` are the
    ids that a token can have, marks left out: from the first to before the last.
    """

    embed: Callable[[Tensor], Tensor]
    read: Callable[[Tensor, Tensor], Tensor]
    decide: Callable[[Tensor], Tensor] | None
    score: Callable[[int, Tensor], dict[str, Tensor]]
    words: tuple[int, int]
    texts: Sequence[Texts]
    seed: int

    def generator(self) -> torch.Generator:
        """Random numbers of the probe's own, the same each time; on the CPU."""
        return torch.Generator().manual_seed(self.seed)


def distances(mask_BS: Tensor) -> Tensor:
    """How far each token lies from the end of its text, (B, S): 0 is the last one; negative on padding.

    This is the one meaning of distance in all probes. An end mark, where a task has one, is a token like any other.
    """
    lengths_B1 = mask_BS.sum(1, keepdim=True)
    return lengths_B1 - 1 - torch.arange(mask_BS.shape[1], device=mask_BS.device)


def last(states_BSD: Tensor, mask_BS: Tensor) -> Tensor:
    """The state of each text's last token (B, D)."""
    rows_B = torch.arange(len(mask_BS), device=mask_BS.device)
    return states_BSD[rows_B, (mask_BS.sum(1) - 1).clamp(min=0)]


def by_distance(values_BS: Tensor, mask_BS: Tensor) -> Tensor:
    """Values of positions put in order of distance, (B, S); NaN where a text has no token so far away."""
    places_BS = distances(mask_BS)  # turning a text around is its own inverse
    return values_BS.gather(1, places_BS.clamp(min=0)).masked_fill(places_BS < 0, float("nan"))


def doubling(longest: int) -> list[int]:
    """0, 1, 2, 4, 8 and so on, as far as a text of `longest` tokens goes."""
    return [0, *(2**power for power in range(longest.bit_length()) if 2**power < longest)] if longest else []
