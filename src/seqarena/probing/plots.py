"""One figure for each thing that probes find. Each takes what a record holds, by moment and probe, and may be empty."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plotly.graph_objects import Bar, Figure, Heatmap, Scatter
from plotly.subplots import make_subplots

from seqarena.probing.attention_maps import Map

Probes = Mapping[str, Any]
Buckets = Sequence[Mapping[str, Any]]
Painter = Callable[[Buckets, str], list[Any]]
"""Turns the points of a curve at one moment into traces."""

MOMENTS = {"start": "before training", "end": "after training"}
LINES = {"start": "#8a8a8a", "end": "#0072b2"}
BANDS = {"start": "rgba(138,138,138,0.2)", "end": "rgba(0,114,178,0.2)"}
"""Grey, and the blue of Okabe and Ito."""


def buckets(probes: Probes, when: str, curve: str) -> Buckets:
    """The points of a curve at one moment; none where its probe did not run, or had nothing to say."""
    curves = [finding["curves"] for finding in probes.get(when, {}).values()]
    return next((found[curve]["buckets"] for found in curves if curve in found), [])


def over_distance(probes: Probes, titles: Mapping[str, str], log: bool = False) -> Figure:
    """Curves by name, with what they are, over the distance from the end of the text, before and after training."""
    figure = side_by_side(probes, titles, "tokens from the end of the text", _curve)
    figure.update_yaxes(type="log" if log else "linear", rangemode="tozero", exponentformat="power")
    return figure


def shuffling(probes: Probes) -> Figure:
    """What is lost when the tokens are shuffled from a distance on, in accuracy and in loss."""
    titles = {"permutation_accuracy": "accuracy lost", "permutation_loss": "loss gained"}
    figure = side_by_side(probes, titles, "shuffled from this distance on", _bars)
    figure.update_xaxes(type="category")
    return figure


def side_by_side(probes: Probes, titles: Mapping[str, str], x: str, paint: Painter) -> Figure:
    """A panel for each of the curves that there are; `paint` turns the points of one moment into traces."""
    shown = [curve for curve in titles if any(buckets(probes, when, curve) for when in MOMENTS)]
    if not shown:
        return Figure()
    figure = make_subplots(1, len(shown), horizontal_spacing=0.12)
    for column, curve in enumerate(shown, 1):
        for when in MOMENTS:
            for trace in paint(buckets(probes, when, curve), when):
                trace.update(legendgroup=when, showlegend=column == 1 and trace.showlegend is not False)
                figure.add_trace(trace, 1, column)
        figure.update_xaxes(title=x, row=1, col=column)
        figure.update_yaxes(title=titles[curve], row=1, col=column)
    return figure


def _curve(points: Buckets, when: str) -> list[Any]:
    """A line in its band; nothing without points."""
    return [_band(points, when), _line(points, when)] if points else []


def _line(points: Buckets, when: str) -> Scatter:
    told = [f"{point['bucket']}: {point['value']:.3g} ({point['n']} texts)" for point in points]
    return Scatter(
        x=[point["at"] for point in points],
        y=[point["value"] for point in points],
        name=MOMENTS[when],
        mode="lines+markers",
        line={"color": LINES[when]},
        marker={"size": 5},
        hovertext=told,
        hoverinfo="text+name",
    )


def _band(points: Buckets, when: str) -> Scatter:
    """There along the upper limits, and back along the lower ones."""
    at = [point["at"] for point in points]
    limits = [*(point["high"] for point in points), *(point["low"] for point in reversed(points))]
    return Scatter(
        x=[*at, *reversed(at)],
        y=limits,
        fill="toself",
        fillcolor=BANDS[when],
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
    )


def _bars(points: Buckets, when: str) -> list[Any]:
    bars = Bar(
        x=["all" if point["bucket"] == "0" else point["bucket"] for point in points],
        y=[point["value"] for point in points],
        error_y={
            "array": [point["high"] - point["value"] for point in points],
            "arrayminus": [point["value"] - point["low"] for point in points],
            "thickness": 1,
            "width": 3,
        },
        name=MOMENTS[when],
        marker_color=LINES[when],
    )
    return [bars] if points else []


def heads(probes: Probes) -> Figure:
    """The mean attention distance of every head, a row a layer, before and after training on one scale of colours."""
    tables = {name: _by_layer(found) for when, name in MOMENTS.items() if (found := _distances(probes, when))}
    if not tables:
        return Figure()
    figure = make_subplots(1, len(tables), subplot_titles=list(tables), horizontal_spacing=0.1)
    for column, rows in enumerate(tables.values(), 1):
        shown = Heatmap(
            z=rows,
            x=[f"head {number}" for number in range(1, 1 + max(map(len, rows)))],
            y=[f"layer {number}" for number in range(1, 1 + len(rows))],
            coloraxis="coloraxis",
            texttemplate="%{z:.1f}",
            hovertemplate="%{y}, %{x}: %{z:.2f} tokens<extra></extra>",
        )
        figure.add_trace(shown, 1, column)
    most = max(value for rows in tables.values() for row in rows for value in row)
    bar = {"title": {"text": "tokens"}, "thickness": 12}
    figure.update_layout(coloraxis={"colorscale": "Blues", "cmin": 0, "cmax": most, "colorbar": bar})
    return figure


def _distances(probes: Probes, when: str) -> dict[str, float]:
    return {point["bucket"]: point["value"] for point in buckets(probes, when, "attention_distance")}


def _by_layer(distances: Mapping[str, float]) -> list[list[float]]:
    rows: dict[str, list[float]] = {}
    for name, value in distances.items():
        rows.setdefault(name.split(".")[0], []).append(value)
    return list(rows.values())


def attention(shown: Sequence[Map], words: Sequence[Sequence[str]]) -> Figure:
    """The weights of one head on one text, to be chosen from a list. `words` are the tokens of each map's text."""
    figure = Figure()
    for number, (one, tokens) in enumerate(zip(shown, words, strict=True)):
        figure.add_trace(_weights(one, tokens, visible=number == 0))
    choices = [
        {
            "label": f"text {one.example}, layer {one.layer}, head {one.head}",
            "method": "restyle",
            "args": ["visible", [other == number for other in range(len(shown))]],
        }
        for number, one in enumerate(shown)
    ]
    figure.update_layout(updatemenus=[{"buttons": choices, "x": 0, "xanchor": "left", "y": 1.03, "yanchor": "bottom"}])
    figure.update_xaxes(title="looks at", tickangle=-60)
    figure.update_yaxes(title="token", autorange="reversed")
    return figure


def _weights(one: Map, tokens: Sequence[str], visible: bool) -> Heatmap:
    """Labels carry their places, since a token may come twice."""
    labels = [f"{token} <sub>{place}</sub>" for place, token in enumerate(tokens, 1)]
    return Heatmap(
        z=one.weights_nn.tolist(),
        x=labels,
        y=labels,
        visible=visible,
        zmin=0,
        zmax=1,
        colorscale="Blues",
        colorbar={"title": {"text": "weight"}, "thickness": 12},
        hovertemplate="%{y} → %{x}: %{z:.3f}<extra></extra>",
    )
