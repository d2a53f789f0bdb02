import pytest
import torch

from seqarena.tasks import schedules


def rates(make, steps: int, **options) -> list[float]:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule = make(optimizer, total_steps=steps, **options)
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


def test_warm_up_rises_in_a_line_in_steps_or_as_a_fraction() -> None:
    assert rates(schedules.constant, 10, warmup=4) == [0.25, 0.5, 0.75, *[1.0] * 7]
    assert rates(schedules.constant, 10, warmup=0.4) == rates(schedules.constant, 10, warmup=4)
    assert rates(schedules.constant, 3, warmup=0) == [1.0] * 3
    with pytest.raises(ValueError, match="negative"):
        schedules.warmup_steps(-1, 10)


def test_inverse_sqrt_peaks_at_the_rate_and_falls_with_the_root() -> None:
    found = rates(schedules.inverse_sqrt, 64, warmup=4)
    assert max(found) == found[3] == 1.0
    assert found[15] == pytest.approx(0.5) and found[63] == pytest.approx(0.25)


def test_noam_is_the_papers_formula() -> None:
    found = rates(schedules.noam, 50, warmup=10, dim=64, factor=2.0)
    assert found == pytest.approx([2 * 64**-0.5 * min(s**-0.5, s * 10**-1.5) for s in range(1, 51)])


def test_cosine_ends_at_the_floor() -> None:
    found = rates(schedules.cosine, 20, warmup=5, floor=0.1)
    assert found[4] == 1.0 and found[-1] == pytest.approx(0.1) and found == sorted(found[:5]) + sorted(found[5:])[::-1]


def test_plateau_falls_when_nothing_improves() -> None:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule = schedules.plateau(optimizer, total_steps=9, factor=0.5, patience=1, mode="max")
    for value in (1.0, 2.0, 2.0, 2.0):
        schedule.step(value)
    assert optimizer.param_groups[0]["lr"] == 0.5
