"""Tables of a comparison: on the terminal, as CSV with a row for each run, as Markdown and as LaTeX."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from seqarena.compare.comparison import Block, Comparison, Run, Verdict
from seqarena.compare.files import replace
from seqarena.compare.rows import Rows, converged, given_converged, leaderboard, legend, pairs
from seqarena.errors import harmless

CSV, MARKDOWN, LATEX = "results.csv", "table.md", "table.tex"
ABOUT = ("run", "folder", "data", "group", "model", "seed", "status", "counted", "converged", "metric", "score")
TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--", "<": r"$<$", ">": r"$>$",
    "\u202f": r"\,", "\u00a0": "~",
}  # fmt: skip


def show(comparison: Comparison, console: Console) -> None:
    """Print everything: banners, each block's tables, verdict, advice, failures."""
    for banner in comparison.banners:
        console.print(
            f"[bold yellow]{'differs' if banner.separates else 'note'}[/]  {_plain(banner.text)}", soft_wrap=True
        )
    for block in comparison.blocks:
        _show_block(block, console)
    for failure in comparison.failures:
        told = f"{failure.status}  {failure.name or failure.folder}{f': {failure.message}' if failure.message else ''}"
        console.print(f"[red]{_plain(told)}[/]", soft_wrap=True)
    for note in comparison.notes:
        console.print(_plain(note), soft_wrap=True)
    if comparison.verdict is not None:
        _show_verdict(comparison.verdict, console)
    for one in comparison.advice:
        console.print(f"[bold]advice[/]  {_plain(one.block)}: {_plain(one.text)}", soft_wrap=True)


def _show_block(block: Block, console: Console) -> None:
    for rows in (leaderboard(block), pairs(block)):
        if rows.cells:
            console.print(f"\n[bold]{_plain(rows.title)}[/]", soft_wrap=True)
            console.print(rich_table(rows))
    for line in (*legend(block), converged(block), *given_converged(block), *block.notes):
        if line:
            console.print(_plain(line), soft_wrap=True)


def _show_verdict(verdict: Verdict, console: Console) -> None:
    color = {"supported": "green", "refuted": "red"}.get(verdict.outcome, "yellow")
    console.print(f"\n[dim]question[/]  {_plain(verdict.question)}", soft_wrap=True)
    console.print(f"[dim]claim[/]     {_plain(verdict.claim)} [dim]({_plain(verdict.source)})[/]", soft_wrap=True)
    console.print(f"[bold {color}]{verdict.outcome}[/]: {_plain(verdict.reason)}", soft_wrap=True)
    for rule in verdict.rules:
        console.print(f"  [dim]{rule.side} if[/] {_plain(rule.text)}: {rule.outcome}", soft_wrap=True)
    console.print(f"[dim]open[/]      {_plain(verdict.cannot)}", soft_wrap=True)


def rich_table(rows: Rows) -> Table:
    """For the terminal, without its title, which may be wider."""
    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
    for place, head in enumerate(rows.heads):
        table.add_column(_plain(head), justify="right" if place in rows.numbers else "left")
    for cells in rows.cells:
        table.add_row(*map(_plain, cells))
    return table


def _plain(text: str) -> str:
    """No markup, and control characters made visible."""
    return escape(visible(text))


def visible(text: str) -> str:
    """The same in one line, with characters that are not seen, or turn the order of others, written as `U+202E`."""
    return harmless(text.translate({ord("\n"): " ", ord("\t"): " "}))


def markdown(comparison: Comparison) -> str:
    """Each block's tables, the verdict above."""
    parts = [f"# {_md(comparison.name)}\n"]
    if comparison.verdict is not None:
        told = comparison.verdict
        parts.append(f"**{told.outcome}**: {_md(told.claim)} ({_md(told.source)})\n\n{_md(told.reason)}\n")
    parts += [f"> {_md(banner.text)}\n" for banner in comparison.banners]
    for block in comparison.blocks:
        parts += [_md_table(rows) for rows in (leaderboard(block), pairs(block)) if rows.cells]
        parts += [f"{_md(line)}\n" for line in (*legend(block), converged(block)) if line]
    return "\n".join(parts)


def _md_table(rows: Rows) -> str:
    rule = ["---:" if place in rows.numbers else "---" for place in range(len(rows.heads))]
    lines = [list(map(_md, rows.heads)), rule, *(list(map(_md, cells)) for cells in rows.cells)]
    return f"**{_md(rows.title)}**\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _md(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", visible(text))


def latex(comparison: Comparison) -> str:
    """Each block's tables as tabular environments, what needs saying below, without a document around them."""
    parts = []
    for block in comparison.blocks:
        parts += [_tex_table(rows) for rows in (leaderboard(block), pairs(block)) if rows.cells]
        parts += [f"\\par\\noindent {_tex(line)}\n" for line in legend(block)]
    return "% needs no package\n" + "\n".join(parts)


def _tex_table(rows: Rows) -> str:
    columns = "".join("r" if place in rows.numbers else "l" for place in range(len(rows.heads)))
    lines = "".join(f"{' & '.join(map(_tex, line))} \\\\\n" for line in rows.cells)
    heads, rule = " & ".join(map(_tex, rows.heads)) + " \\\\\n", "\\hline\n"
    return f"% {_tex(rows.title)}\n\\begin{{tabular}}{{{columns}}}\n{rule}{heads}{rule}{lines}{rule}\\end{{tabular}}\n"


def _tex(text: str) -> str:
    return "".join(TEX.get(sign, sign) for sign in visible(text))


def results(comparison: Comparison) -> str:
    """CSV with a row for each run and a column for each number that any of them has."""
    every = [(block, run) for block in comparison.blocks for run in block.runs]
    keys = sorted({key for _, run in every for key in run.measures})
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*ABOUT, *map(_text, keys), "message"])
    for block, run in every:
        writer.writerow([*_about(block, run), *(_number(run.measures.get(key)) for key in keys), _text(run.message)])
    return file.getvalue()


def _about(block: Block, run: Run) -> list[str]:
    text = [_text(one) for one in (run.name, run.folder, block.data, run.group, run.model)]
    told = ["" if run.seed is None else str(run.seed), run.status, str(run.counted).lower(), str(run.converged).lower()]
    return [*text, *told, block.metric, _number(run.score)]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if value.is_integer() and abs(value) < 2**53 else repr(value)


def _text(value: str) -> str:
    """What a spreadsheet would take for a formula is kept as text."""
    seen = visible(value)
    return f"'{seen}" if seen.startswith(("=", "+", "-", "@")) else seen


def write(comparison: Comparison, folder: Path) -> None:
    """`results.csv`, `table.md` and `table.tex` in a folder."""
    made: dict[str, Callable[[Comparison], str]] = {CSV: results, MARKDOWN: markdown, LATEX: latex}
    for name, make in made.items():
        replace(folder / name, make(comparison))
