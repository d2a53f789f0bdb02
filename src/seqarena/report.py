"""The closing tables of a run, from its record: scores with what stands beside them, then what they cost."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from seqarena.budget.account import told
from seqarena.data.ledger import counted
from seqarena.evaluation import Evaluation
from seqarena.reach import clear_of_chance
from seqarena.record import Buckets, Record, duration, relative

WIDTH = 100
SPLITS = {"val": "validation", "test": "test"}
BESIDE = "baseline="


def show(record: Record, folder: Path, console: Console | None = None) -> None:
    """Print the tables of a finished run, at most 100 columns wide."""
    console = console or Console()
    _show_scores(f"{record.model} on {record.data}, seed {record.seed}", record.metrics, record.strata, console)
    beam = record.option("task", "decoding", "beam")
    if beam is not None and beam > 1:
        console.print(f"[dim]validation searches greedily, the test with a beam of {beam}[/]", highlight=False)
    for table in (reach(record.reach), probes(record.probes)):
        if table.row_count:
            console.print(table)
    console.print(costs(record))
    console.print(f"[dim]record[/]  {escape(relative(folder))}", soft_wrap=True)
    console.print(f'[dim]use it[/]  python predict.py run={escape(relative(folder))} text="..."', soft_wrap=True)


def announce(record: Record, folder: Path, console: Console) -> None:
    """Say what starts: model, data, sizes, machine and where it is kept."""
    kept = {split: record.ledger[split].get("kept") for split in ("train", "val", "test")}
    sizes = ", ".join(f"{'streamed' if count is None else f'{count:,}'} {split}" for split, count in kept.items())
    total, threads = record.parameters["total"], record.machine["threads"]
    console.print(
        f"[bold]{escape(record.model)}[/] ({total:,} parameters) on [bold]{escape(record.data)}[/] "
        f"({sizes} examples), {escape(', '.join(record.machine['gpus']) or record.machine['cpu'])}, "
        f"{_processes(record)}{threads} thread{'' if threads == 1 else 's'}, {record.machine['precision']}, "
        f"into {escape(relative(folder))}",
        soft_wrap=True,
        highlight=False,
    )
    if record.budget:
        console.print(f"[dim]budget[/]  {escape(told(record.budget))}", soft_wrap=True, highlight=False)
    ledgers = {split: record.ledger[split] for split in kept}
    if any("truncated" in counts or counts.get("read") != counts.get("kept") for counts in ledgers.values()):
        rows = "; ".join(f"{split} {counted(counts) or 'streamed'}" for split, counts in ledgers.items())
        console.print(f"[dim]rows  {escape(rows)}[/]", soft_wrap=True, highlight=False)


def _processes(record: Record) -> str:
    """`2 processes of `, where there are several."""
    ranks = record.machine["ranks"]
    return f"{ranks} processes of " if ranks > 1 else ""


def show_evaluation(run: str, found: Evaluation, split: str, ledger: Mapping[str, int], folder: Path) -> None:
    """Print the tables of a test of `run` on a split, whose files lie in `folder`; what of it was left out, or cut."""
    console = Console()
    metrics = {f"{found.split}/{name}": value for name, value in found.metrics.items()}
    _show_scores(f"evaluation of {run}", metrics, found.strata, console)
    for name, signature in found.signature.items():
        console.print(f"[dim]{name}[/]  {escape(signature)}", soft_wrap=True)
    console.print(f"[dim]data[/]  {escape(split)}: {escape(counted(ledger))}", soft_wrap=True, highlight=False)
    console.print(f"[dim]files[/]  {escape(relative(folder))}", soft_wrap=True)


def _show_scores(title: str, metrics: dict[str, float], strata: Mapping[str, Buckets], console: Console) -> None:
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    console.print(f"\n[bold]{escape(title)}[/]")
    console.print(scores(metrics))
    for axis, buckets in strata.items():
        console.print(by_axis(axis, buckets))


def scores(metrics: dict[str, float]) -> Table:
    """Each metric by split; under a line, what baselines reach on the same examples."""
    table = _table("", "metric")
    splits = [split for split in SPLITS if any(key.startswith(f"{split}/") for key in metrics)]
    for split in splits:
        table.add_column(SPLITS[split], justify="right")
    names = list(dict.fromkeys(key.split("/", 1)[1] for key in metrics if key.split("/")[0] in SPLITS))
    beside = [name for name in names if name.rpartition("/")[2].startswith(BESIDE)]
    for name in names:
        if name not in beside:
            table.add_row(escape(name), *_values(metrics, name, splits))
    if beside:
        table.add_section()
    for name in beside:
        metric, _, other = name.rpartition("/")
        values = _values(metrics, name, splits)
        table.add_row(f"[dim]{escape(metric)} of {escape(other.removeprefix(BESIDE))}[/]", *values)
    return table


def _values(metrics: dict[str, float], name: str, splits: list[str]) -> list[str]:
    found = (metrics.get(f"{split}/{name}") for split in splits)
    return ["" if value is None else number(value) for value in found]


def by_axis(axis: str, buckets: Buckets) -> Table:
    """Each test metric by bucket of one axis."""
    table = _table(f"test by {axis}", axis)
    metrics = [name for name in buckets[0] if name not in ("bucket", "n")] if buckets else []
    for name in ("examples", *metrics):
        table.add_column(escape(name), justify="right")
    for bucket in buckets:
        values = (number(bucket[name]) for name in metrics)
        table.add_row(escape(str(bucket["bucket"])), f"{bucket['n']:,}", *values)
    return table


def reach(found: Mapping[str, Any]) -> Table:
    """Of each axis of the test that was clearly learned anything along: effective length and half-life."""
    table = _table("how far it reaches", "axis")
    table.add_column("within 5 points of the nearest up to", justify="right")
    table.add_column("half of the gain over chance gone at", justify="right")
    for axis, one in found.items():
        if one["effective_length"] is not None and clear_of_chance(one):
            table.add_row(escape(axis), interval(one["effective_length"]), interval(one["half_life"]))
    return table


def probes(found: Mapping[str, Any]) -> Table:
    """Each number of the probes, before and after training."""
    moments = {when: _numbers(probe) for when, probe in found.items()}
    table = _table("probes", "on validation examples")
    for when in moments:
        table.add_column(f"at the {when}", justify="right")
    for name in dict.fromkeys(name for numbers in moments.values() for name in numbers):
        cells = (numbers.get(name) for numbers in moments.values())
        table.add_row(name.replace("_", " "), *("" if one is None else interval(one) for one in cells))
    return table


def _numbers(probe: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for finding in probe.values() for name, one in finding["numbers"].items()}


def interval(found: Mapping[str, Any]) -> str:
    """A value and the limits of its interval; a + behind a distance that lies beyond all that were looked at."""
    value, low, high = (number(found[name]) for name in ("value", "low", "high"))
    return f"{value}{'' if found['reached'] else '+'} ({low} to {high})"


def costs(record: Record) -> Table:
    """Size, speed, arithmetic, memory and time."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    size, speed, cost = record.parameters, record.speed, record.cost
    table.add_row("parameters", f"{size['total']:,}: embedding {size['embedding']:,}, other {size['other']:,}")
    measured = "tokens_per_s" in speed
    table.add_row("speed", _speed(speed) if measured else "not measured: the run was no longer than its warm-up")
    if "decode_tokens_per_s" in speed:
        table.add_row("search", f"{speed['decode_tokens_per_s']:,.0f} tokens/s")
    if "latency_ms" in speed:
        table.add_row("latency", f"{speed['latency_ms']:.3g} ms for one text alone")
    forward, total = record.flops["per_token_forward"], record.flops["training_total"]
    used = f", {speed['mfu']:.0%} of the device's measured best" if "mfu" in speed else ""
    table.add_row("arithmetic", f"{si(forward)}FLOP a token forward, {si(total)}FLOP in training{used}")
    if "joules" in cost:
        each = 1000 * cost["joules"] / cost["tokens"]
        table.add_row("energy", f"{si(cost['joules'])}J, {each:.3g} J per 1,000 tokens")
    if record.budget:
        table.add_row("budget", escape(told(record.budget)))
    if record.memory:
        table.add_row("memory", f"{record.memory['peak_mib']:,.0f} MiB at most")
    table.add_row(
        "training", f"{duration(cost['train_seconds'])}, {cost['steps']:,.0f} steps, {cost['tokens']:,.0f} tokens"
    )
    for name, signature in record.signature.items():
        table.add_row(name, escape(signature))
    return table


def _speed(speed: dict[str, float]) -> str:
    return (
        f"{speed['tokens_per_s']:,.0f} tokens/s, {speed['examples_per_s']:,.0f} examples/s, "
        f"{speed['step_ms']:.1f} ms a step "
        f"({speed['padding_share']:.0%} padding, {speed['data_wait_share']:.1%} waiting for data)"
    )


def _table(title: str, first: str) -> Table:
    table = Table(
        title=escape(title) or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        header_style="dim",
        pad_edge=False,
    )
    table.add_column(escape(first))
    return table


def number(value: float) -> str:
    """Four digits, without an exponent: 0.0412, 37.25, 12,345."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4f}" if abs(value) < 1 else f"{value:#.4g}"


def si(value: float) -> str:
    """Three digits and a prefix: 1.23 M."""
    for power, prefix in ((15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 10**power:
            return f"{value / 10**power:.3g} {prefix}"
    return f"{value:.3g} "
