"""The W&B dashboard of a sweep: throughput, scores and strata of its runs, grouped by model over seeds.

Built with wandb-workspaces, an extra (`pip install '.[dashboards]'`). The model of a workspace is plain data; only
saving it needs a server.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from seqarena.compare.comparison import Block, Comparison
from seqarena.errors import InputError

STEP = "trainer/global_step"
MODEL = "model.name"
"""The key of a run's config that its runs are grouped by."""


def of_sweep(comparison: Comparison, entity: str, project: str, sweep: str) -> Any:
    """The workspace of a sweep's runs, not saved yet. InputError: the package is missing."""
    if find_spec("wandb_workspaces") is None:
        raise InputError("a W&B workspace needs a package: pip install -c constraints.txt -e '.[dashboards]'")
    from wandb_workspaces import expr
    from wandb_workspaces import workspaces as ws

    return ws.Workspace(
        entity=entity,
        project=project,
        name=f"seqarena {sweep}",
        sections=[ws.Section(name=name, panels=panels, is_open=True) for name, panels in _sections(comparison.blocks)],
        settings=ws.WorkspaceSettings(x_axis=STEP),
        runset_settings=ws.RunsetSettings(
            filters=[expr.Metric("Group") == sweep, expr.Metric("JobType") == "train"], groupby=[expr.Config(MODEL)]
        ),
    )


def _sections(blocks: Sequence[Block]) -> list[tuple[str, list[Any]]]:
    """What is shown, part by part; parts that these runs have nothing for are left out."""
    scores = list(dict.fromkeys(block.metric for block in blocks if block.metric.startswith("test/")))
    parts = [
        ("Scores", [_bars(key, [key]) for key in scores]),
        ("Learning", [_line(f"val/{key.partition('/')[2]}") for key in scores]),
        ("Throughput", [_line("speed/tokens_per_s"), _bars("speed/tokens_per_s", ["speed/tokens_per_s"])]),
        *((f"By {axis}", [_bars(title, keys)]) for axis, title, keys in _strata(blocks)),
        ("Cost", [_bars(key, [key]) for key in ("parameters/total", "cost/train_seconds", "memory/peak_mib")]),
    ]
    return [(name, panels) for name, panels in parts if panels]


def _strata(blocks: Sequence[Block]) -> list[tuple[str, str, list[str]]]:
    """Axis, title and keys; the keys are those that a run's history has."""
    found: dict[str, list[str]] = {}
    for block in blocks:
        if block.metric.startswith("test/"):
            for axis, buckets in block.strata.items():
                found.setdefault(axis, []).extend(f"{block.metric}/{axis}={one.bucket}" for one in buckets)
    return [(axis, f"by {axis}", list(dict.fromkeys(keys))) for axis, keys in found.items()]


def _line(key: str) -> Any:
    from wandb_workspaces.reports import v2 as wr

    return wr.LinePlot(title=key, x=STEP, y=[key], groupby=wr.Config(MODEL), groupby_rangefunc="minmax")


def _bars(title: str, keys: Sequence[str]) -> Any:
    from wandb_workspaces.reports import v2 as wr

    return wr.BarPlot(title=title, metrics=list(keys), groupby=wr.Config(MODEL), groupby_aggfunc="mean")
