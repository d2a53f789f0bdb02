"""The cheap dropout has the statistics of the ordinary one."""

import pytest
import torch

from seqarena.models.dropout import Dropout, dropout

RATES = [0.1, 0.3, 0.5, 0.9]


def sample(rate: float, count: int = 400_000, seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    return dropout(torch.ones(count), rate, True)


def used(rate: float) -> float:
    """The rate really used: the nearest multiple of 1/256."""
    return round(rate * 256) / 256


@pytest.mark.parametrize("rate", RATES)
def test_mean_and_variance_are_those_of_the_rate(rate: float) -> None:
    kept, p = sample(rate), used(rate)
    deviation = (p / (1 - p)) ** 0.5
    assert (kept == 0).float().mean().item() == pytest.approx(p, abs=5 * (p * (1 - p) / len(kept)) ** 0.5)
    assert kept.mean().item() == pytest.approx(1.0, abs=5 * deviation / len(kept) ** 0.5)
    assert kept.std().item() == pytest.approx(deviation, rel=0.02)
    assert kept.unique().tolist() == pytest.approx([0.0, 1 / (1 - p)])
    assert abs(p - rate) <= 1 / 512


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 7, 8, 9, 16, 64])
def test_neighbours_are_independent(lag: int) -> None:
    centred = sample(0.3) - 1.0
    correlation = (centred[lag:] * centred[:-lag]).mean() / centred.square().mean()
    assert abs(correlation.item()) < 5 / len(centred) ** 0.5


def test_every_byte_of_a_word_drops_alike() -> None:
    places = (sample(0.3).view(-1, 8) == 0).float().mean(0)
    torch.testing.assert_close(places, torch.full((8,), used(0.3)), atol=0.012, rtol=0)


def test_two_calls_differ_and_the_same_seed_repeats() -> None:
    first, second = sample(0.5, 1000), dropout(torch.ones(1000), 0.5, True)
    assert not torch.equal(first, second)
    assert torch.equal(first, sample(0.5, 1000))
    assert not torch.equal(first, sample(0.5, 1000, seed=1))


def test_the_gradient_is_the_mask() -> None:
    x = torch.ones(7, 13, requires_grad=True)
    y = dropout(x, 0.4, True)
    y.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, y.detach())


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 3, 11)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_shape_and_type_are_kept(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    y = dropout(torch.ones(shape, dtype=dtype), 0.5, True)
    assert y.shape == shape and y.dtype == dtype


def test_a_rate_of_zero_and_evaluation_change_nothing() -> None:
    x = torch.randn(50)
    assert dropout(x, 0.0, True) is x
    assert dropout(x, 0.5, False) is x
    assert Dropout(0.5).eval()(x) is x
    assert not torch.equal(Dropout(0.5)(x), x)


@pytest.mark.parametrize("rate", [-0.1, 0.99, 1.0, 2.0])
def test_a_rate_that_leaves_nothing_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match=r"between 0 and 0\.99"):
        Dropout(rate)
