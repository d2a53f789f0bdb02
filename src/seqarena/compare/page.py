"""The page of a comparison: one HTML file that opens from disk, with data, script, style and fonts inside.

Only plotly lies beside the folder, once for all comparisons. Whatever comes from records reaches the page by Jinja's
autoescape, or as JSON that the script sets as text. A content policy lets only the page's own script and plotly run.
"""

import base64
import hashlib
import json
import math
import re
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from seqarena.compare import (
    data_view,
    factor_view,
    findings,
    overview,
    plot_view,
    reach_view,
    rows,
    verdict_view,
    views,
)
from seqarena.compare.comparison import Advice, Block, Comparison
from seqarena.compare.disagreement import examples
from seqarena.compare.files import replace
from seqarena.compare.wording import num, short, visible

FILE = "index.html"
PLOTLY = "plotly.min.js"
SCRIPTS = ("text", "plots", "choose", "factor", "strata", "curves", "reach", "board", "examples", "controls")
"""Parts of the page's script, in the order in which they are joined."""
FONTS = ("sans", "serif")
EXAMPLES = 2_000_000
"""Bytes that examples may take of a page."""
HOME = files("seqarena.compare") / "page"


def write(
    comparison: Comparison, folder: Path, command: str, made: datetime | None = None, reload: float | None = None
) -> Path:
    """`index.html` in `folder`, plotly and the index of all comparisons in the folder around it; where the page is.

    With `reload` the page loads itself anew every so many seconds.
    """
    when = (made or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")
    folder.mkdir(parents=True, exist_ok=True)
    page = page_data(comparison, folder) | {"made": when, "command": command, "reload": reload}
    replace(folder / FILE, render("template.html.j2", page=page, **_assets(page)))
    _plotly(folder.parent)
    overview.note(folder, comparison, when)
    replace(folder.parent / FILE, render("overview.html.j2", comparisons=overview.noted(folder.parent), css=_css()))
    return folder / FILE


def page_data(comparison: Comparison, folder: Path) -> dict[str, Any]:
    """Everything that the page in `folder` shows; the paths in `comparison` count from where the command runs."""
    blocks = [_block(comparison, block, folder) for block in comparison.blocks]
    verdict = verdict_view.verdict(comparison)
    return {
        "name": comparison.name,
        "title": comparison.verdict.question if comparison.verdict else f"Comparison of {comparison.name}",
        "version": f"seqarena {version('seqarena')}",
        "verdict": verdict,
        "banners": verdict_view.banners(comparison),
        "notes": [verdict_view.sentence(note) for note in comparison.notes],
        "advice": [{"text": one.text, "limits": _limits(one)} for one in comparison.advice],
        "failures": [_failure(run, folder) for run in comparison.failures],
        "blocks": blocks,
        "scaling": factor_view.scaling(comparison),
    }


def _limits(advice: Advice) -> str:
    return ", ".join(f"{name} {value:,.6g}" for name, value in advice.limits.items())


def _failure(run: Any, folder: Path) -> dict[str, Any]:
    about = {"group": run.group, "seed": run.seed, "status": run.status, "message": run.message, "name": run.name}
    return about | {"record": views.link(run.folder, folder) if run.status != "missing" else None}


def _block(comparison: Comparison, block: Block, folder: Path) -> dict[str, Any]:
    """One block: what the template and the script draw from it."""
    board = views.rows(block, folder)
    drawn: dict[str, Any] = {
        "models": views.models(block),
        "rows": board,
        "axis": views.axis(block, board),
        "costs": views.costs(block),
        "limits": views.limits(block, comparison.advice[0].limits if comparison.advice else {}),
        "shown_costs": [name for name in views.COSTS if any(row["cost"][name] is not None for row in board)],
        "unfair": views.unfair(block, comparison.banners),
        "strata": plot_view.strata(block),
        "curves": plot_view.curves(block),
        "reach": reach_view.curves(block),
        "reaches": reach_view.numbers(block),
        "examples": _examples(block),
        "report": data_view.data(block),
        "spent": data_view.costs(block),
        "runs": data_view.runs(block, folder),
    }
    told = _about(block)
    return told | drawn | {"findings": _findings(told, drawn)}


def _about(block: Block) -> dict[str, Any]:
    """What the block is about, in words and single numbers."""
    return {
        "title": block.title,
        "data": block.data,
        "metric": views.metric_name(block.metric),
        "curve_metric": next((views.metric_name(one.key) for one in block.curves), ""),
        "unit": "%" if block.factor == 100 else "",
        "digits": views.digits(block),
        "less": block.more_is_better is False,
        "ratio": block.ratio,
        "chance": block.baselines["majority"] * block.factor if "majority" in block.baselines else None,
        "examples_n": block.examples,
        "comparisons": block.comparisons,
        "conditions": block.conditions,
        "signature": block.signature,
        "notes": [verdict_view.sentence(note) for note in block.notes],
        "diverged": [verdict_view.sentence(line) for line in rows.diverged(block)],
        "converged": verdict_view.sentence(told) if (told := rows.converged(block)) else "",
    }


def _findings(told: dict[str, Any], drawn: dict[str, Any]) -> dict[str, Any]:
    """The headings."""
    names = {key: one["name"] for key, one in drawn["models"].items()}
    less, points = told["less"], " points" if told["unit"] else ""
    return {
        "leaderboard": findings.leaderboard(drawn["rows"], names),
        "curves": findings.curves(drawn["curves"], names, less),
        "strata": {
            axis: findings.by_axis(axis.replace("_", " "), one, names, less, told["digits"], points)
            for axis, one in drawn["strata"].items()
        },
    }


def _examples(block: Block) -> list[dict[str, Any]]:
    """The examples with the most disagreement, as many as fit; none where runs on other examples are compared."""
    if block.metric.partition("/")[0] != "test":
        return []
    known = views.keys(block)
    folders: dict[str, list[Path]] = {key: [] for key in known.values()}
    for run in block.runs:
        if run.counted and run.group in known:
            folders[known[run.group]].append(Path(run.folder))
    found, room = [], EXAMPLES
    for one in examples(folders):
        room -= len(json.dumps(one))
        if room < 0:
            break
        found.append(one)
    return found


# from data to a file --------------------------------------------------------------------------------------------------


def render(template: str, /, **context: Any) -> str:
    """A template of ours with the context; an undefined name is an error."""
    environment = Environment(
        loader=FunctionLoader(lambda name: (HOME / name).read_text(encoding="utf-8")),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(num=num, short=short, gap=_gap, breakable=_breakable)
    text = environment.get_template(template).render(**context)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # half a surrogate pair cannot be written


def _shown(value: Any) -> Any:
    """Text from records, with the characters that turn or hide others made visible; our own markup as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breakable(name: str) -> Markup:
    """A name that may be broken where its parts meet."""
    parts = re.split(r"(?<=[_=,/.])", visible(name))
    return Markup("<wbr>").join(parts)


def _gap(value: float, block: dict[str, Any]) -> str:
    """A difference with its sign, or a ratio with its cross."""
    return f"×{num(value, 2)}" if block["ratio"] else num(value, block["digits"], sign=True)


def _assets(page: dict[str, Any]) -> dict[str, Any]:
    """Style, script and data as they stand in the page, and the script's hash for the content policy."""
    script = "\n".join((HOME / "script" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}\n}})();\n'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"css": _css(), "script": Markup(script), "script_hash": digest, "data": Markup(embedded(page))}


def _css() -> Markup:
    """The style with its fonts inside."""
    css = (HOME / "style.css").read_text(encoding="utf-8")
    for name in FONTS:
        font = base64.b64encode((HOME / "fonts" / f"{name}.woff2").read_bytes()).decode()
        css = css.replace(f"url({name})", f"url(data:font/woff2;base64,{font})")
    return Markup(css)


def embedded(page: dict[str, Any]) -> str:
    """Data as JSON that can stand inside a script element: nothing in it can end the element or a line."""
    text = json.dumps(_rounded(page), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "&<>\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _rounded(tree: Any) -> Any:
    """Six significant digits are plenty for a plot; what is not finite is null."""
    if isinstance(tree, float):
        return float(f"{tree:.6g}") if math.isfinite(tree) else None
    if isinstance(tree, dict):
        return {name: _rounded(value) for name, value in tree.items()}
    return [_rounded(value) for value in tree] if isinstance(tree, list | tuple) else tree


def _plotly(folder: Path) -> None:
    """plotly's script of the installed package, unless the same lies there already."""
    source = files("plotly") / "package_data" / PLOTLY
    wanted, place = source.read_bytes(), folder / PLOTLY
    if not place.exists() or place.stat().st_size != len(wanted):
        replace(place, wanted.decode("utf-8"))
