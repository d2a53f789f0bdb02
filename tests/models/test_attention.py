"""Attention and positions against torch's own, and where nothing may be looked at."""

import math

import pytest
import torch
from torch import nn

from seqarena.models.attention import _attend_fused, attend, attention_weights, causal_mask
from seqarena.models.contract import TooLong
from seqarena.models.multihead import MultiHeadAttention
from seqarena.models.positions import Alibi, Bucketed, Learned, Rotary, Sinusoidal, positions

B, H, T, S, WIDTH = 3, 2, 5, 7, 8


def parts(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, requires_grad=True)


def some_mask() -> torch.Tensor:
    mask = torch.rand(B, 1, T, S) > 0.4
    mask[1] = False
    mask[0, 0, 2] = False
    return mask


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_the_explicit_and_the_fused_path_agree_forward_and_backward(masked: bool, biased: bool) -> None:
    torch.manual_seed(0)
    inputs = (parts(B, H, T, WIDTH), parts(B, H, S, WIDTH), parts(B, H, S, WIDTH))
    mask = some_mask() if masked else None
    bias = torch.randn(H, T, S) if biased else None
    weight = torch.randn(B, H, T, WIDTH)
    results = []
    for path in (attend, _attend_fused):
        context = path(*inputs, mask, 0.3, 0.0, bias)
        results.append((context, *torch.autograd.grad((context * weight).sum(), inputs)))
    for explicit, fused in zip(*results, strict=True):
        torch.testing.assert_close(explicit, fused, atol=1e-5, rtol=1e-4)


def test_a_query_that_may_look_nowhere_gets_zeros_and_finite_gradients() -> None:
    torch.manual_seed(0)
    query, key, value = parts(B, H, T, WIDTH), parts(B, H, S, WIDTH), parts(B, H, S, WIDTH)
    mask = some_mask()
    context = attend(query, key, value, mask, 1.0)
    assert (context[1] == 0).all() and (context[0, :, 2] == 0).all()
    context.sum().backward()
    assert all(part.grad.isfinite().all() for part in (query, key, value))
    assert (query.grad[1] == 0).all() and (value.grad[1] == 0).all()
    weights = attention_weights(query, key, mask, 1.0)
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).expand(B, H, T).float())


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_masks_hold_in_half_precision(kind: torch.dtype) -> None:
    query, key, value = (torch.randn(1, 1, 4, 8, dtype=kind) * 30 for _ in range(3))
    mask = torch.tensor([True, True, False, False])
    far = value.clone()
    far[..., 2:, :] = 1000.0
    assert torch.equal(attend(query, key, value, mask, 1.0), attend(query, key, far, mask, 1.0))


def test_many_heads_are_torchs_own_on_shared_weights() -> None:
    torch.manual_seed(0)
    ours = MultiHeadAttention(WIDTH, H, 0.0, True)
    theirs = nn.MultiheadAttention(WIDTH, H, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.normal_()
        for part, bias in zip((ours.query, ours.key, ours.value), theirs.in_proj_bias.chunk(3), strict=True):
            part.bias.copy_(bias)
        theirs.out_proj.load_state_dict(ours.output.state_dict())
    x_BTD, y_BSD = torch.randn(B, T, WIDTH), torch.randn(B, S, WIDTH)
    mask_BS = torch.arange(S)[None] < torch.tensor([S, 2, 4])[:, None]
    wanted, _ = theirs(x_BTD, y_BSD, y_BSD, key_padding_mask=~mask_BS)
    found = ours(ours.ask(x_BTD), *ours.read(y_BSD), mask_BS[:, None, None], None)
    torch.testing.assert_close(found, wanted)


def test_without_the_scaling_scores_are_sqrt_d_larger() -> None:
    scaled, bare = MultiHeadAttention(WIDTH, H, 0.0, True), MultiHeadAttention(WIDTH, H, 0.0, False)
    assert bare.scale / scaled.scale == math.sqrt(WIDTH / H)


def test_the_causal_mask_goes_on_from_the_past() -> None:
    device = torch.device("cpu")
    assert causal_mask(3, 0, device).tolist() == torch.ones(3, 3).tril().bool().tolist()
    assert causal_mask(2, 3, device).tolist() == [[True] * 4 + [False], [True] * 5]


@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "none"])
def test_positions_go_on_where_they_stopped(kind: str) -> None:
    added = positions(kind, 6, 20)
    x = torch.zeros(1, 9, 6)
    torch.testing.assert_close(torch.cat([added(x[:, :4], 0), added(x[:, 4:], 4)], 1), added(x, 0))


def test_sinusoids_are_the_papers() -> None:
    table = Sinusoidal(8)(torch.zeros(1, 30, 8), 0)[0]
    for position, pair in ((0, 0), (7, 1), (29, 3)):
        angle = position / 10000 ** (2 * pair / 8)
        assert table[position, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-4)
        assert table[position, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-4)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_no_two_positions_are_one_in_half_precision(kind: torch.dtype) -> None:
    """Half precision tells no neighbours beyond 256, or 2,048, apart: positions are counted in more."""
    x, rotary = torch.ones(1, 1, 5, 8), Rotary(8)
    wanted = [rotary.rotate(x, 4000), Sinusoidal(8)(x[0], 4000)]
    torch.set_default_dtype(kind)
    try:
        found = [rotary.rotate(x, 4000), Sinusoidal(8)(x[0], 4000)]
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(found, wanted)


def test_learned_positions_say_their_limit_and_the_way_out() -> None:
    with pytest.raises(TooLong, match=r"9 tokens.*8 learned.*max_positions=9.*positions=sinusoidal"):
        Learned(6, 8)(torch.zeros(1, 2, 6), 7)


def test_rotary_scores_depend_on_the_distance_alone() -> None:
    rotary, query, key = Rotary(8), torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)
    scores = [(rotary.rotate(query, at + 5) * rotary.rotate(key, at)).sum().item() for at in (0, 3, 40)]
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-4)
    with pytest.raises(ValueError, match="even"):
        Rotary(5)


def test_alibi_falls_by_each_heads_slope() -> None:
    bias = Alibi(8).bias(2, 6, 4, torch.device("cpu"))
    assert bias.shape == (8, 2, 6)
    assert bias[0, 0].tolist() == [-2.0, -1.5, -1.0, -0.5, 0.0, -0.5] and bias[7, 1, 0].item() == -5 / 256


def described(distance: int, causal: bool) -> int:
    """Raffel et al. 2020: 32 numbers for offsets whose range grows logarithmically up to 128, beyond which all share.

    As in their code half of a direction's are exact and, of two directions, keys before the query come first.
    """
    buckets, far = (32, max(0, -distance)) if causal else (16, abs(distance))
    ahead = 16 if distance > 0 and not causal else 0
    exact = buckets // 2
    if far < exact:
        return ahead + far
    grown = math.log(far / exact) / math.log(128 / exact) * (buckets - exact)
    return ahead + min(exact + int(grown + 1e-9), buckets - 1)


@pytest.mark.parametrize("causal", [False, True])
def test_t5_buckets_are_the_papers(causal: bool) -> None:
    bias, distances = Bucketed(8, 2, causal), range(-300, 301)
    found = bias.bucket(torch.tensor(distances)).tolist()
    assert found == [described(distance, causal) for distance in distances]
    assert set(found) == set(range(32)) - (set() if causal else {16})  # no distance is 0 and ahead


@pytest.mark.parametrize("causal", [False, True])
def test_t5_bias_depends_on_head_and_distance_and_is_learned(causal: bool) -> None:
    relations = Bucketed(8, 2, causal)
    bias = relations.bias(3, 7, 4, torch.device("cpu"))
    for head, query, key in ((0, 0, 0), (1, 2, 6), (1, 1, 5), (0, 2, 3)):
        assert bias[head, query, key] == relations.table[described(key - (query + 4), causal), head]
    bias.sum().backward()
    assert relations.table.grad is not None and relations.table.grad.sum() == 2 * 3 * 7
