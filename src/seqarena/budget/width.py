"""The width at which an architecture has the size asked for.

What widens stands in the architecture's YAML: `model.scale` names options of the model, its width first, all of which
grow by the same factor. A width that cannot be built (heads that do not divide it) is one whose constructor refuses it.
Where the widths that can be are too far apart, the last of several options is fitted alone.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from omegaconf import DictConfig

from seqarena.budget.options import with_options
from seqarena.data.module import DataModule
from seqarena.errors import InputError
from seqarena.flops import average_batch, flops_per_token, parameters, training_flops
from seqarena.runs import build_task

TOLERANCE = 0.02
"""How far from the target a size may be."""
WIDEST = 2**16
REFUSED = 64
"""Widths in a row that may be refused before the reason cannot be the width."""


class Fit(NamedTuple):
    """The values of what widens, by option, and the size that they make."""

    options: dict[str, int]
    size: float

    def fits(self, target: float) -> bool:
        """Whether the size is near enough."""
        return abs(self.size - target) <= TOLERANCE * target

    def told(self, unit: str) -> str:
        """In words."""
        return f"{', '.join(f'{name}={value}' for name, value in self.options.items())} has {self.size:,.0f} {unit}"


class Size(NamedTuple):
    """One way to measure a model that is not trained yet: its unit, and the function."""

    unit: str
    of: Callable[[DictConfig, DataModule], float]


def count_parameters(config: DictConfig, data: DataModule) -> float:
    """How many numbers are trained; none of them is made."""
    with torch.device("meta"):
        return parameters(build_task(config, data.vocabulary))["total"]


def count_flops(config: DictConfig, data: DataModule) -> float:
    """Training operations per token: three forward passes over a sentence of average length (see seqarena.flops)."""
    with torch.device("meta"):
        task = build_task(config, data.vocabulary)
    batch = average_batch(data.table("train"), data.vocabulary.max_length)
    return training_flops(flops_per_token(task.to_empty(device="cpu"), batch), 1)


SIZES = {
    "parameters": Size("parameters", count_parameters),
    "flops": Size("training FLOPs a token", count_flops),
}


class Ladder:
    """The sizes of one architecture along one number; those numbers that it refuses are passed over."""

    def __init__(
        self, config: DictConfig, size: Callable[[DictConfig], float], options: Callable[[int], dict[str, int]]
    ) -> None:
        self._config, self._size, self._options = config, size, options
        self._found: dict[int, Fit | InputError] = {}

    def from_(self, number: int) -> Fit:
        """The first that can be built, from `number` up. InputError: many in a row cannot, and what it said itself."""
        for candidate in range(number, number + REFUSED):
            if isinstance(found := self._try(candidate), Fit):
                return found
        refusal = self._try(number)
        assert isinstance(refusal, InputError)
        raise refusal

    def _try(self, number: int) -> Fit | InputError:
        if number not in self._found:
            options = self._options(number)
            try:
                self._found[number] = Fit(options, self._size(with_options(self._config, options)))
            except InputError as refusal:
                self._found[number] = refusal
        return self._found[number]

    def nearest(self, start: int, target: float) -> list[Fit]:
        """The largest whose size is below the target, if there is one, and the smallest from there up."""
        high = start
        while self.from_(high).size < target and high < WIDEST:
            high *= 2
        above = bisect_left(range(high), target, lo=1, key=lambda number: self.from_(number).size)
        return [self.from_(number) for number in (above - 1, above) if number]


def scale(config: DictConfig) -> dict[str, int]:
    """What a budget widens, by option, with the values asked for. InputError: `model.scale` names no such thing."""
    names = config.model.get("scale") or ()
    values = {f"model.{name}": config.model.get(name) for name in names}
    if not values or not all(isinstance(value, int) for value in values.values()):
        raise InputError(
            f"model.scale={names or 'null'} must list options of model={config.model.name} that are whole numbers, "
            "its width first: write model.scale=[dim]"
        )
    return values


def proportional(scale: dict[str, int], width: int) -> dict[str, int]:
    """The options of `scale` with the first at `width` and the others grown by the same factor."""
    own = next(iter(scale.values()))
    return {name: max(1, round(value * width / own)) for name, value in scale.items()}


def candidates(config: DictConfig, size: Callable[[DictConfig], float], target: float) -> list[Fit]:
    """The two nearest widths; where neither will do, the nearer one with the last option of the scale made to fit."""
    own = scale(config)
    first, *others = own
    near = Ladder(config, size, lambda width: proportional(own, width)).nearest(own[first], target)
    best = closest(near, target)
    if not others or best.fits(target):
        return near
    last = others[-1]
    finer = Ladder(config, size, lambda number: {**best.options, last: number})
    return near + finer.nearest(best.options[last], target)


def closest(fits: list[Fit], target: float) -> Fit:
    """The one whose size is nearest to the target."""
    return min(fits, key=lambda fit: abs(fit.size - target))


def solved(config: DictConfig, data: DataModule) -> tuple[DictConfig, dict[str, Any]]:
    """The config at the width that `budget.target` asks for, and the record's account of it.

    As it is for budgets of other kinds. InputError: nothing is within the tolerance.
    """
    kind = config.budget.kind
    if kind not in SIZES:
        return config, {}
    target, size = config.budget.target, SIZES[kind]
    found = candidates(config, lambda changed: size.of(changed, data), target)
    best = closest(found, target)
    if not best.fits(target):
        raise InputError(
            f"budget={kind} budget.target={target:,.0f}: no width of model={config.model.name} is within "
            f"{TOLERANCE:.0%}: {'; '.join(fit.told(size.unit) for fit in found[:2])}. Write "
            f"budget.target={best.size:.0f}, or change model.layers or data.tokenizer.vocabulary"
        )
    account = {"kind": kind, "target": target, "reached": best.size, "chosen": best.options}
    return with_options(config, best.options), account
