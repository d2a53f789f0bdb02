"""One color, mark and dash for each model, the same on every plot: a hue alone never tells two models apart.

Warm hues are recurrent, green and sky convolutional, indigo attention. Neighbors were compared under simulated protan,
deutan and tritan vision; every hue has at least 3:1 against the light ground and 5:1 against the dark one.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """`light` and `dark` are hex colors on the two grounds; `symbol` and `dash` are words of plotly's."""

    light: str
    dark: str
    symbol: str
    dash: str


RNN = Style("#B8351B", "#EE6A36", "triangle-up", "dot")
LSTM = Style("#BE7A05", "#F3B94D", "square", "dash")
GRU = Style("#7B2468", "#C470A6", "diamond", "dashdot")
TEXTCNN = Style("#14795A", "#93EBC6", "triangle-down", "longdash")
CONVS2S = Style("#2596BE", "#5BC0E8", "pentagon", "longdashdot")
TRANSFORMER = Style("#2C3A9B", "#858DFF", "circle", "solid")

OWN = {"rnn": RNN, "lstm": LSTM, "gru": GRU, "textcnn": TEXTCNN, "convs2s": CONVS2S, "transformer": TRANSFORMER}
FREE = (TRANSFORMER, LSTM, TEXTCNN, RNN, CONVS2S, GRU)
"""In which order hues go to models that have none of their own: the first are the furthest apart."""
MORE_SYMBOLS = ("cross", "star", "hexagon", "x")
MORE_DASHES = ("dash", "longdash", "dot", "dashdot", "longdashdot", "solid")


def styles(models: Sequence[str]) -> list[Style]:
    """A style for each group, named by its model; the first group of a model gets the model's own.

    From the seventh group on hues come again, with another mark and another dash each time.
    """
    taken: list[Style] = []
    found: list[Style | None] = []
    for model in models:
        own = OWN.get(model.lower())
        free = own if own is not None and own not in taken else None
        found.append(free)
        taken += [free] if free else []
    left = [style for style in FREE if style not in taken]
    more = iter(range(len(models)))
    return [style or (left.pop(0) if left else _again(next(more))) for style in found]


def _again(number: int) -> Style:
    """The hue of place `number` once more, with a mark of its own and the dash moved on."""
    hue, lap = FREE[number % len(FREE)], number // len(FREE)
    symbol = MORE_SYMBOLS[lap % len(MORE_SYMBOLS)]
    return Style(hue.light, hue.dark, symbol, MORE_DASHES[(number + lap) % len(MORE_DASHES)])
