"""The index of all comparisons in a folder: each leaves a `summary.json` beside its page, and the index lists them."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from seqarena.compare.comparison import Comparison
from seqarena.errors import InputError
from seqarena.forms import read

FILE = "summary.json"


class Line(TypedDict):
    """Of a comparison: what it is about, and what came of it."""

    name: str
    question: str
    outcome: str
    models: list[str]
    data: list[str]
    runs: int
    made: str


_LINE = TypeAdapter(Line)


def note(folder: Path, comparison: Comparison, made: str) -> None:
    """Leave the line of this comparison in its folder."""
    blocks, verdict = comparison.blocks, comparison.verdict
    summary = {
        "name": comparison.name,
        "question": verdict.question if verdict else "",
        "outcome": verdict.outcome if verdict else "",
        "models": sorted({group.label for block in blocks for group in block.groups}),
        "data": sorted({block.data for block in blocks}),
        "runs": sum(len(block.runs) for block in blocks),
        "made": made,
    }
    (folder / FILE).write_text(json.dumps(summary, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def noted(folder: Path) -> list[dict[str, Any]]:
    """The lines of all comparisons under `folder`, the newest first, with the address of each page."""
    found = []
    for path in sorted(folder.glob(f"*/{FILE}")):
        with suppress(InputError):  # it says again what its page says: a damaged one costs no more than its line
            line = read(path, _LINE)
            found.append({**line, "href": f"./{quote(path.parent.name)}/index.html"})
    return sorted(found, key=lambda line: line["made"], reverse=True)
