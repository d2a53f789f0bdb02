"""How far models reach, as the page draws it: curves of the probes by distance, and single numbers of reach."""

from collections.abc import Mapping, Sequence
from typing import Any

from seqarena.compare.comparison import Block, Reach
from seqarena.compare.reaching import NUMBERS
from seqarena.compare.views import keys
from seqarena.compare.wording import counted

CURVES: Mapping[str, Mapping[str, Any]] = {
    "gradient_share": {"label": "Gradient, as a share of that at the end", "log": True},
    "gradient": {"label": "Norm of the gradient", "log": True},
    "perturbation_share": {"label": "Effect of another token, as a share of that at the end", "log": True},
    "perturbation": {"label": "How far another token moves the output", "log": True},
    "perturbation_changed": {"label": "Answers that another token changes", "log": False},
    "permutation_accuracy": {"label": "Accuracy lost when the tokens from there on are shuffled", "log": False},
    "permutation_loss": {"label": "Loss gained when the tokens from there on are shuffled", "log": False},
}
"""What the known curves are called, in the order shown, and whether they are drawn on a logarithmic axis."""


def curves(block: Block) -> dict[str, dict[str, Any]]:
    """Each curve that any run has: its label, and by model where, mean, lowest and highest run."""
    known, found = keys(block), {}
    for name in sorted({name for one in block.reach.values() for name in one.curves}, key=_place):
        series = {
            known[label]: [[at, *_spread(values)] for at, values in one.curves[name].items()]
            for label, one in block.reach.items()
            if name in one.curves
        }
        about = CURVES.get(name, {"label": name.replace("_", " ").capitalize(), "log": False})
        found[name] = {**about, "series": series}
    return found


def numbers(block: Block) -> list[dict[str, Any]]:
    """A row for each model and axis that any has numbers of: they, with their lowest and highest run, or why not."""
    known = keys(block)
    shown = dict.fromkeys(axis for one in block.reach.values() for axis in one.numbers)
    return [
        {"model": known[label], "axis": axis.replace("_", " "), "note": _note(one, axis)}
        | {name: _told(one.numbers.get(axis, {}).get(name, [])) for name in NUMBERS}
        for axis in shown
        for label, one in block.reach.items()
        if axis in one.numbers or axis in one.unclear
    ]


def _note(one: Reach, axis: str) -> str:
    """Which runs have no numbers, and why."""
    unclear, told = one.unclear.get(axis, 0), one.numbers.get(axis)
    if not unclear:
        return ""
    return f"{'without ' + counted(unclear, 'run') if told else 'none'}: not clear of chance near by"


def _place(name: str) -> tuple[int, str]:
    return (list(CURVES).index(name) if name in CURVES else len(CURVES), name)


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    return sum(values) / len(values), min(values), max(values)


def _told(values: Sequence[tuple[float, bool]]) -> str:
    """The mean over runs with its limits; a + behind a distance that some run did not come to the end of."""
    if not values:
        return "–"
    mean, low, high = _spread([value for value, _ in values])
    more = "" if all(reached for _, reached in values) else "+"
    return f"{mean:.0f}{more}" if low == high else f"{mean:.0f}{more} ({low:.0f} to {high:.0f})"
