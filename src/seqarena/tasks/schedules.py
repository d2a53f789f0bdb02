"""Learning-rate schedules, stepped once an optimizer step.

`warmup` is a number of steps (1 or more) or a fraction of the run (below 1), so that a small run does not spend itself
warming up. All but plateau return a factor on the optimizer's own rate, which is the peak.
"""

import math
from collections.abc import Callable

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, ReduceLROnPlateau


def warmup_steps(warmup: float, total_steps: int) -> int:
    """`warmup` in optimizer steps, at least 1."""
    if warmup < 0:
        raise ValueError(f"schedule.warmup={warmup} must not be negative")
    return max(1, round(warmup * total_steps) if warmup < 1 else int(warmup))


def _warmed(optimizer: Optimizer, steps: int, after: Callable[[int], float]) -> LambdaLR:
    """Rise in a line over `steps` steps, then follow `after(step)`; the first step is number 1."""
    return LambdaLR(optimizer, lambda done: (done + 1) / steps if done + 1 < steps else after(done + 1))


def constant(optimizer: Optimizer, total_steps: int, warmup: float) -> LRScheduler:
    """The peak throughout, after the warm-up."""
    return _warmed(optimizer, warmup_steps(warmup, total_steps), lambda step: 1.0)


def inverse_sqrt(optimizer: Optimizer, total_steps: int, warmup: float) -> LRScheduler:
    """The peak times sqrt(warm-up / step): Vaswani et al. 2017 (5.3), with the optimizer's rate as the peak."""
    steps = warmup_steps(warmup, total_steps)
    return _warmed(optimizer, steps, lambda step: math.sqrt(steps / step))


def noam(optimizer: Optimizer, total_steps: int, warmup: float, dim: int, factor: float) -> LRScheduler:
    """factor * dim^-0.5 * min(step^-0.5, step * warmup^-1.5), whatever the optimizer's rate: Vaswani et al. 2017."""
    steps = warmup_steps(warmup, total_steps)
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] = factor * (dim * steps) ** -0.5
    return _warmed(optimizer, steps, lambda step: math.sqrt(steps / step))


def cosine(optimizer: Optimizer, total_steps: int, warmup: float, floor: float) -> LRScheduler:
    """Half a cosine from the peak to `floor` times the peak at the last step (Loshchilov & Hutter 2017)."""
    steps = warmup_steps(warmup, total_steps)

    def factor(step: int) -> float:
        share = min(1.0, (step - steps) / max(1, total_steps - steps))
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * share))

    return _warmed(optimizer, steps, factor)


def plateau(optimizer: Optimizer, total_steps: int, factor: float, patience: int, mode: str) -> ReduceLROnPlateau:
    """Times `factor` when the monitored validation metric has not improved for more than `patience` validations."""
    return ReduceLROnPlateau(optimizer, mode, factor=factor, patience=patience)  # type: ignore[arg-type]


def rising(optimizer: Optimizer, total_steps: int, lowest: float, highest: float) -> LRScheduler:
    """From `lowest` to `highest` by the same factor each step, whatever the optimizer's rate: for the rate finder."""
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] = lowest
    growth = (highest / lowest) ** (1 / max(1, total_steps - 1))
    return LambdaLR(optimizer, lambda done: growth**done)
