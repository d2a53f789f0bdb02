"""`report=data`: what the data is like, as tables and as a page with plots, without training anything."""

import json
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from seqarena.data.module import DataModule
from seqarena.data.source import SPLITS
from seqarena.limits import check_limits
from seqarena.ranks import is_first
from seqarena.record import relative
from seqarena.runs import build_data
from seqarena.streaming_check import refuse_report

JSON, PAGE = "data_report.json", "data_report.html"
COLORS = dict(zip(SPLITS, ("#0072b2", "#e69f00", "#009e73"), strict=True))
"""Of Okabe and Ito, told apart by colour-blind readers too."""


def report_data(config: DictConfig, folder: Path) -> None:
    """Prepare the data, print what it is like, and leave the same in `folder` as JSON and as a page."""
    check_limits(config)
    refuse_report(config)
    data = build_data(config)
    data.prepare_data()
    data.setup()
    if not is_first():
        return
    (folder / JSON).write_text(json.dumps(data.report, indent=1, ensure_ascii=False), encoding="utf-8")
    draw(f"{config.data.name}: {data.hashes()['data']}", data.report, folder / PAGE)
    show(config.data.name, data, Console())
    print(f"plots  {relative(folder / PAGE)}")


def show(name: str, data: DataModule, console: Console) -> None:
    """The tables."""
    report = data.report
    console.print(f"\n[bold]{escape(name)}[/]")
    console.print(by_split("rows", {split: report["ledger"][split] for split in SPLITS}))
    if report["cut"]:
        console.print(f"cut from training: {', '.join(report['cut'])}")
    for side, told in report["lengths"].items():
        rows = {name: told[name] for name in ("mean", "median", "p95", "longest")}
        console.print(by_split(f"{side} tokens", turned(rows)))
    percents = {"unknown": report["unknown_share"], "cut off": report["cut_share"]}
    console.print(by_split("share", turned(percents), "{:.2%}"))
    console.print(f"texts in two splits: {', '.join(f'{pair} {count:,}' for pair, count in report['overlap'].items())}")
    if "classes" in report:
        console.print(by_split("examples of", report["classes"]))
    if "suspects" in report:
        _show_suspects(report["suspects"], console)
    for split, labels in report["unknown_labels"].items():
        if labels:
            console.print(f"labels of {split} that training does not know: {escape(listed(labels))}")


def _show_suspects(suspects: dict[str, Any], console: Console) -> None:
    console.print(f"texts with several labels in training: {suspects['count']:,}")
    for one in suspects["examples"][:5]:
        console.print(f"  [dim]{escape(one['text'][:80])}[/]  {escape(listed(one['labels']))}")


def listed(counts: dict[str, int]) -> str:
    """`positive 3, negative 1`."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def turned(rows: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """From quantities of splits to splits of quantities."""
    return {split: {name: told[split] for name, told in rows.items()} for split in SPLITS}


def by_split(title: str, told: dict[str, Any], form: str = "{:,g}") -> Table:
    """A row for each quantity, a column for each split."""
    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
    table.add_column(escape(title))
    for split in told:
        table.add_column(split, justify="right")
    for key in dict.fromkeys(key for one in told.values() for key in one):
        table.add_row(escape(str(key)), *(form.format(one[key]) if key in one else "" for one in told.values()))
    return table


def draw(title: str, report: dict[str, Any], path: Path) -> None:
    """A page with the length histograms and the class balance, complete in itself."""
    from plotly.subplots import make_subplots

    panels = [f"{side} length in tokens" for side in report["lengths"]]
    panels += ["class"] if "classes" in report else []
    figure = make_subplots(len(panels), 1, subplot_titles=[f"share of the examples by {panel}" for panel in panels])
    for row, told in enumerate(report["lengths"].values(), 1):
        for split in SPLITS:
            figure.add_bar(x=told["edges"], y=shares(told["counts"][split]), **look(split, row))
    if "classes" in report:
        for split in SPLITS:
            balance = report["classes"][split]
            figure.add_bar(x=list(balance), y=shares(list(balance.values())), **look(split, len(panels)))
        figure.update_xaxes(type="category", row=len(panels), col=1)
    figure.update_layout(title=title, template="simple_white", height=340 * len(panels), bargap=0.1)
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    figure.write_html(path, include_plotlyjs=True)


def look(split: str, row: int) -> dict[str, Any]:
    """How the bars of a split look, the same on every panel; the legend names each once."""
    return {
        "name": split,
        "marker_color": COLORS[split],
        "legendgroup": split,
        "showlegend": row == 1,
        "row": row,
        "col": 1,
    }


def shares(counts: list[int]) -> list[float]:
    """Each count over their sum."""
    return [count / max(1, sum(counts)) for count in counts]
