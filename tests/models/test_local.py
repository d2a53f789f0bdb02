"""Local attention is full attention with a band for a mask, at a cost that grows with the length and no faster."""

from functools import partial

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from seqarena.models.contract import Encoded
from seqarena.models.local import LocalDecoder, LocalEncoder
from seqarena.models.multihead import Full, Pattern

D = 8
OPTIONS = {
    "dim": D, "layers": 2, "heads": 2, "feedforward": 12, "dropout": 0.0, "attention_dropout": 0.0,
    "max_positions": 64, "norm": "pre", "residual": True, "scaled": True,
}  # fmt: skip
KINDS = ("sinusoidal", "rotary", "alibi", "t5")


class Masked(LocalEncoder):
    """Full attention with the mask that section 3.1 describes, written out."""

    def pattern(self, mask_BS: Tensor) -> Pattern:
        length, (window, _, first) = mask_BS.shape[1], self.reach
        seen = [[abs(i - j) <= window or min(i, j) < first for j in range(length)] for i in range(length)]
        bias = self.relations.bias(length, length, 0, mask_BS.device)
        return Full(mask_BS[:, None, None] & torch.tensor(seen), bias)


class MaskedDecoder(LocalDecoder):
    """The same, looking back only."""

    def pattern(self, x_BTD: Tensor, past: int) -> Pattern:
        length = x_BTD.shape[1]
        seen = [[0 <= past + i - j <= self.reach.before for j in range(past + length)] for i in range(length)]
        return Full(torch.tensor(seen), self.relations.bias(length, past + length, past, x_BTD.device))


def texts(length: int) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([length, length // 2, 0, 1])
    return torch.randn(4, length, D), torch.arange(length) < lengths[:, None]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "length,window,first", [(30, 3, 2), (30, 3, 0), (13, 4, 6), (7, 2, 1), (12, 5, 1), (3, 8, 5), (9, 1, 20)]
)
def test_the_encoder_is_full_attention_with_its_mask(kind: str, length: int, window: int, first: int) -> None:
    torch.manual_seed(0)
    options = {**OPTIONS, "positions_kind": kind, "window": window, "global_tokens": first}
    local, masked = LocalEncoder(**options).eval(), Masked(**options).eval()
    masked.load_state_dict(local.state_dict())
    x_BSD, mask_BS = texts(length)
    weight_BSD, results = torch.randn(4, length, D), []
    for encoder in (local, masked):
        states_BSD = encoder(x_BSD, mask_BS).states_BSD
        gradients = torch.autograd.grad((states_BSD * weight_BSD).sum(), encoder.layers.parameters())
        results.append((states_BSD, *gradients))
    for ours, wanted in zip(*results, strict=True):
        torch.testing.assert_close(ours, wanted, atol=1e-5, rtol=1e-4)


def source() -> Encoded:
    states_BSD = torch.randn(3, 4, D)
    return Encoded(states_BSD, states_BSD.mean(1), torch.ones(3, 4, dtype=torch.bool), states_BSD)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pieces", [[19], [1] * 19, [2, 9, 8], [7, 1, 1, 10]], ids=str)
@pytest.mark.parametrize("window", [1, 4])
@torch.no_grad()
def test_the_decoder_is_full_attention_with_its_mask_and_forgets_the_rest(
    kind: str, pieces: list[int], window: int
) -> None:
    torch.manual_seed(0)
    options = {**OPTIONS, "positions_kind": kind, "window": window, "cross": "full"}
    local, masked = LocalDecoder(**options).eval(), MaskedDecoder(**options).eval()
    masked.load_state_dict(local.state_dict())
    y_BTD, encoded = torch.randn(3, 19, D), source()
    wanted_BTD, _ = masked(y_BTD, encoded, masked.start(encoded))
    state, outputs = local.start(encoded), []
    for piece_BTD in y_BTD.split(pieces, 1):
        out_BTD, state = local(piece_BTD, encoded, state)
        outputs.append(out_BTD)
    torch.testing.assert_close(torch.cat(outputs, 1), wanted_BTD, atol=1e-5, rtol=1e-4)
    kept = [cache[0][0].shape[2] for cache in state[1]]
    assert kept == [window, window]


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that an operation gave."""

    size = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        self.size = max([self.size, *(part.numel() for part in tree_leaves(found) if torch.is_tensor(part))])
        return found


def cost(length: int, kind: str) -> tuple[int, int]:
    """Operations, and elements of the largest tensor, of reading one text."""
    encoder = LocalEncoder(**OPTIONS, positions_kind=kind, window=8, global_tokens=0)
    with FlopCounterMode(display=False) as counter, Largest() as largest, torch.no_grad():
        encoder(torch.randn(1, length, D), torch.ones(1, length, dtype=torch.bool))
    return counter.get_total_flops(), largest.size


@pytest.mark.parametrize("kind", ["sinusoidal", "t5"])
def test_twice_the_length_is_twice_the_work_and_memory(kind: str) -> None:
    short, long = cost(256, kind), cost(512, kind)
    assert long == (2 * short[0], 2 * short[1])


def test_global_tokens_carry_what_lies_out_of_the_window() -> None:
    x_BSD, mask_BS = torch.randn(1, 40, D), torch.ones(1, 40, dtype=torch.bool)
    changed = x_BSD.clone()
    changed[:, -1] = torch.randn(D)
    build = partial(LocalEncoder, **OPTIONS, positions_kind="none", window=2)
    for first, reaches in ((0, False), (1, True)):
        encoder = build(global_tokens=first).eval()
        before, after = (encoder(x, mask_BS).states_BSD[0] for x in (x_BSD, changed))
        assert (not torch.equal(before[20], after[20])) == reaches and not torch.allclose(before[-3], after[-3])
