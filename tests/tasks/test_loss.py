import pytest
import torch
from torch.nn.functional import cross_entropy

from seqarena.tasks import loss
from seqarena.tasks.loss import cross_entropy_sum


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("tokens", [1, 37])
def test_slices_give_the_loss_and_gradients_of_the_whole(smoothing, tokens, monkeypatch) -> None:
    monkeypatch.setitem(loss.SLICES, "cpu", 50 * 8)  # 8 tokens a slice
    torch.manual_seed(0)
    y_ND, weight_VD = torch.randn(tokens, 6, requires_grad=True), torch.randn(50, 6, requires_grad=True)
    wanted_N = torch.randint(0, 50, (tokens,))
    whole = cross_entropy(y_ND @ weight_VD.T, wanted_N, reduction="sum", label_smoothing=smoothing)
    wanted = torch.autograd.grad(whole * 0.3, (y_ND, weight_VD))
    sliced = cross_entropy_sum(y_ND, weight_VD, wanted_N, smoothing)
    found = torch.autograd.grad(sliced * 0.3, (y_ND, weight_VD))
    torch.testing.assert_close(sliced, whole)
    torch.testing.assert_close(found, wanted)


def test_gradients_are_right_by_finite_differences() -> None:
    torch.manual_seed(0)
    y_ND, weight_VD = torch.randn(5, 3, dtype=torch.double), torch.randn(7, 3, dtype=torch.double)

    def value(y: torch.Tensor, weight: torch.Tensor) -> float:
        return cross_entropy(y @ weight.T, torch.arange(5), reduction="sum", label_smoothing=0.2).item()

    y = y_ND.float().requires_grad_()
    weight = weight_VD.float().requires_grad_()
    cross_entropy_sum(y, weight, torch.arange(5), 0.2).backward()
    step = torch.zeros_like(y_ND)
    step[2, 1] = 1e-5
    assert y.grad[2, 1].item() == pytest.approx(
        (value(y_ND + step, weight_VD) - value(y_ND - step, weight_VD)) / 2e-5, abs=1e-3
    )


def test_bf16_autocast_is_near() -> None:
    torch.manual_seed(0)
    y_ND, weight_VD, wanted_N = torch.randn(40, 16), torch.randn(60, 16), torch.randint(0, 60, (40,))
    exact = cross_entropy_sum(y_ND, weight_VD, wanted_N, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        rough = cross_entropy_sum(y_ND, weight_VD, wanted_N, 0.1)
    assert rough.item() == pytest.approx(exact.item(), rel=0.01)
