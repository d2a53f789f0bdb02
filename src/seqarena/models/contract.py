"""What an architecture is: an `Encoder` that reads embedded tokens and a `Decoder` that writes with their help.

Shape letters: B batch, S source length, T target length, D width, H heads. Masks are boolean and True on real tokens;
padding is on the right. A row of a mask may be False throughout (an empty text): its states and summary are zeros.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

State: TypeAlias = "Tensor | tuple[State, ...]"
"""What a decoder remembers between steps: a tensor, or nested tuples of tensors, each with the batch first."""

Tree = TypeVar("Tree", bound="Tensor | tuple")


class Encoded(NamedTuple):
    """A read source. `values_BSD` is what attention sums over; most families use the states themselves."""

    states_BSD: Tensor
    summary_BD: Tensor
    mask_BS: Tensor
    values_BSD: Tensor


class Encoder(nn.Module):
    """Reads embedded tokens. `dim` is the width it takes in and gives out."""

    dim: int

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        """Read `x_BSD` where `mask_BS` is True; states at padding are zero."""
        raise NotImplementedError


class Decoder(nn.Module):
    """Writes one target from a read source; output t depends on inputs up to t only."""

    dim: int
    stepwise = False
    """Whether a pass over T tokens calls its layers T times, a token each."""

    def start(self, encoded: Encoded) -> State:
        """The state before the first target token."""
        raise NotImplementedError

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        """Continue from `state` with T embedded tokens: all at once in training, one by one in decoding.

        `state` is left as it was; what does not change is handed on as the same tensor, which a search need not copy.
        """
        raise NotImplementedError


class TooLong(ValueError):
    """A text has more tokens than this model has positions; the message says how many, and the way out."""


def map_state(change: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """Apply `change` to every tensor of a state (or of an `Encoded`), keeping its structure."""
    if isinstance(tree, Tensor):
        return change(tree)  # type: ignore[return-value]
    changed = [map_state(change, branch) for branch in tree]
    return type(tree)(*changed) if hasattr(tree, "_fields") else tuple(changed)  # type: ignore[return-value]


def none_read(encoded: Encoded) -> Tensor:
    """A count of zero tokens, as the length of a tensor without numbers, (B, 0, 0).

    It has its rows like any part of a state, and the program reads it without asking the device.
    """
    return encoded.states_BSD[:, :0, :0]


def more_read(read_BT0: Tensor, tokens: int) -> Tensor:
    """The count after so many `tokens` more, (B, T, 0)."""
    return read_BT0.new_zeros(len(read_BT0), read_BT0.size(1) + tokens, 0)


def masked_mean(x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
    """Mean over real positions (B, D); zeros where a row has none."""
    counts_B1 = mask_BS.sum(1, keepdim=True).clamp(min=1)
    return torch.where(mask_BS[..., None], x_BSD, 0.0).sum(1) / counts_B1
