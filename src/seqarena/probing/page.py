"""A page with what the probes of a run found, complete in itself: it opens from disk with no network."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from plotly.graph_objects import Figure

from seqarena.probing import plots
from seqarena.probing.attention_maps import Map
from seqarena.probing.plots import Probes

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
 body {{ font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 920px; margin: 2rem auto; padding: 0 1rem; }}
 h1 {{ font-size: 1.4rem; }}
 h2 {{ font-size: 1.1rem; margin: 2.5rem 0 0.2rem; }}
 p {{ margin: 0.2rem 0 0; color: #555; }}
</style></head><body><h1>{title}</h1>
<p>Measured on validation examples, with the weights before the first step and with those that were tested. Bands and
bars are 95 % intervals over examples.</p>
"""

SECTIONS = {
    "Gradient reach": "How strongly the output depends on a token: the norm of the derivative by its vector, as a "
    "share of that at the end of the same texts. A straight line is a geometric decay.",
    "Perturbation reach": "How far the output moves when one token is replaced by a random other one, as a share of "
    "what it moves at the end of the same texts; and how often the answer becomes another.",
    "Word order": "What a shuffling of tokens costs. Where shuffling from a distance on costs nothing, what lies "
    "beyond is used as a bag of words, if at all.",
    "Attention distance": "How many tokens away a head looks, on average over its weights.",
    "Attention": "Where the heads look after training. Each row is a token, and its weights sum to one.",
}

PERTURBATION = {
    "perturbation_share": "share of the movement at the end",
    "perturbation_changed": "predictions that change",
}


def draw(title: str, probes: Probes, shown: Sequence[Map], words: Sequence[Sequence[str]], path: Path) -> None:
    """Write the page of a run whose record holds `probes`; a section for whatever was measured.

    `words` are the tokens of the text of each map in `shown`.
    """
    figures = (
        plots.over_distance(probes, {"gradient_share": "share of the gradient at the end"}, log=True),
        plots.over_distance(probes, PERTURBATION),
        plots.shuffling(probes),
        plots.heads(probes),
        plots.attention(shown, [[escape(word) for word in tokens] for tokens in words]),
    )
    filled = [(name, figure) for name, figure in zip(SECTIONS, figures, strict=True) if figure.data]
    parts = [_section(name, figure, first=number == 0) for number, (name, figure) in enumerate(filled)]
    path.write_text(HEAD.format(title=escape(title)) + "".join(parts) + "</body></html>\n", encoding="utf-8")


def _section(name: str, figure: Figure, first: bool) -> str:
    """Heading, what is shown, and the figure; the first one brings plotly along."""
    figure.update_layout(
        template="simple_white",
        height=620 if name == "Attention" else 360,
        margin={"t": 70 if name == "Attention" else 40, "r": 20},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
    )
    body = figure.to_html(full_html=False, include_plotlyjs=first, config={"displayModeBar": False})
    return f"<section><h2>{name}</h2><p>{SECTIONS[name]}</p>\n{body}</section>\n"
