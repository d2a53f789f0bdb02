"""A comparison as one W&B run in its sweep's group: tables, plots, the verdict, and its files as an artifact."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqarena.compare import page, plot_view, rows, tables, views, workspace
from seqarena.compare.comparison import Block, Comparison
from seqarena.errors import InputError
from seqarena.record import relative
from seqarena.wandb_run import begin, upload_hint

FILES = (page.FILE, tables.CSV, tables.MARKDOWN, tables.LATEX)


@dataclass(frozen=True)
class Place:
    """Where in W&B: `mode` is online or offline, `entity` None is the user's own."""

    mode: str
    project: str
    entity: str | None


def publish(comparison: Comparison, folder: Path, place: Place, sweep: str | None) -> list[str]:
    """Log a comparison whose files lie in `folder`; what to say of it, a line each.

    `sweep` is the group of its runs. Online, the project gets a workspace for the sweep too. InputError: W&B failed;
    the files are whole all the same.
    """
    try:
        run = begin(
            folder,
            mode=place.mode,
            project=place.project,
            entity=place.entity,
            name=f"compare {comparison.name}",
            group=sweep,
            job_type="compare",
            tags=sorted({block.data for block in comparison.blocks}),
            config={"comparison": comparison.name, "sweep": sweep},
        )
        _log(run, comparison, folder)
        hint, address = upload_hint(run), run.url
        run.finish()
        if hint is not None:
            return [hint, "its workspace is made by publish=wandb wandb.mode=online"]
        return [f"W&B: {address}", *_workspace(comparison, run, sweep)]
    except InputError:
        raise
    except Exception as error:  # whatever a service and its client may raise
        told = f"publishing to W&B failed ({type(error).__name__}: {error})"
        raise InputError(f"{told}; the comparison itself is whole, in {relative(folder)}") from error


def _workspace(comparison: Comparison, run: Any, sweep: str | None) -> list[str]:
    if sweep is None:
        return []
    made = workspace.of_sweep(comparison, run.entity, run.project, sweep)
    made.save()
    return [f"W&B: {made.url}"]


def _log(run: Any, comparison: Comparison, folder: Path) -> None:
    import wandb

    run.log({key: one for block in comparison.blocks for key, one in _shown(block, _prefix(comparison, block)).items()})
    told = comparison.verdict
    if told is not None:
        run.summary.update({"verdict": told.outcome, "claim": told.claim, "reason": told.reason})
        cells = [[one.side, one.text, one.outcome, one.p, one.adjusted] for one in told.rules]
        run.log({"verdict/rules": wandb.Table(["side", "rule", "outcome", "p", "adjusted p"], cells)})
    name = re.sub(r"[^\w.-]", "-", f"compare-{comparison.name}")
    artifact = wandb.Artifact(name, "comparison")
    for file in FILES:
        artifact.add_file(str(folder / file))
    run.log_artifact(artifact)


def _prefix(comparison: Comparison, block: Block) -> str:
    """Blocks are told apart by number where there are several."""
    return "" if len(comparison.blocks) == 1 else f"block{comparison.blocks.index(block)}/"


def _shown(block: Block, prefix: str) -> dict[str, Any]:
    """Tables and plots of a block by key."""
    import wandb

    known = {key: one["name"] for key, one in views.models(block).items()}
    metric = views.metric_name(block.metric)
    scores = wandb.Table(["model", metric, "low", "high", "runs"], _scores(block))
    found = {
        f"{prefix}leaderboard": _table(rows.leaderboard(block)),
        f"{prefix}pairs": _table(rows.pairs(block)),
        f"{prefix}scores": wandb.plot.bar(scores, "model", metric, f"{metric} on {block.data}, mean over seeds"),
    }
    for axis, drawn in plot_view.strata(block).items():
        names = [known[key] for key in drawn["series"]]
        lines = [[None if one is None else one[0] for one in series] for series in drawn["series"].values()]
        title = f"{metric} by {axis} ({', '.join(drawn['buckets'])})"
        places = list(range(len(drawn["buckets"])))
        found[f"{prefix}by_{axis}"] = _lines(places, lines, names, title, f"bucket of {axis}")
        found[f"{prefix}by_{axis}_scores"] = _by_bucket(drawn, known)  # a plot's own table is called ..._table
    curves = plot_view.curves(block)
    if curves:
        xs, ys = ([one["median"][part] for one in curves.values()] for part in ("steps", "values"))
        names = [known[key] for key in curves]
        found[f"{prefix}curves"] = _lines(xs, ys, names, "Validation, median over seeds", "optimizer steps")
    return found


def _scores(block: Block) -> list[list[Any]]:
    return [
        [one.label, *views.triple(one.score, block.factor), one.counted]
        for one in block.groups
        if one.score is not None
    ]


def _table(shown: rows.Rows) -> Any:
    import wandb

    heads: list[str | int] = [
        f"{head} ({place})" if shown.heads.count(head) > 1 else head for place, head in enumerate(shown.heads)
    ]
    return wandb.Table(heads, [list(cells) for cells in shown.cells])


def _by_bucket(drawn: dict[str, Any], known: dict[str, str]) -> Any:
    import wandb

    cells = [
        [bucket, n, known[key], *one]
        for place, (bucket, n) in enumerate(zip(drawn["buckets"], drawn["n"], strict=True))
        for key, series in drawn["series"].items()
        if (one := series[place]) is not None
    ]
    return wandb.Table(["bucket", "n", "model", "value", "low", "high"], cells)


def _lines(xs: Sequence[Any], ys: Sequence[Any], names: list[str], title: str, x: str) -> Any:
    import wandb

    return wandb.plot.line_series(xs=xs, ys=ys, keys=names, title=title, xname=x)
