"""What went in and what it took, as the page shows it: splits, lengths, classes, suspects, cost, runs, failures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seqarena.compare.comparison import Block, Run
from seqarena.compare.views import keys, link
from seqarena.compare.wording import short

BASELINES = {"majority": "most frequent class", "tfidf": "TF-IDF with logistic regression"}
SPLITS = ("train", "val", "test")
BINS = 12
"""Bars of the length histogram, at most."""
SUSPECTS = 10
"""Suspects that the page lists; all are counted."""


def data(block: Block) -> dict[str, Any]:
    """Everything about the data that the records hold; a part that they lack is empty."""
    report = block.data_report
    lengths = report.get("lengths", {}).get("source", {})
    return {
        "splits": [_split(block, lengths, name) for name in SPLITS if name in block.ledger],
        "histogram": histogram(lengths) if lengths else None,
        "classes": _classes(report.get("classes", {})),
        "suspects": _suspects(report.get("suspects", {})),
        "left_out": _left_out(block.ledger),
        "baselines": {
            BASELINES.get(name, name.replace("_", " ")): value * block.factor for name, value in block.baselines.items()
        },
    }


def _split(block: Block, lengths: Mapping[str, Any], name: str) -> dict[str, Any]:
    overlap = block.ledger.get("overlap", {})
    return {
        "name": name,
        "kept": block.ledger[name].get("kept"),
        "median": lengths.get("median", {}).get(name),
        "longest": lengths.get("longest", {}).get(name),
        "cut": block.data_report.get("cut_share", {}).get(name),
        "unknown": block.data_report.get("unknown_share", {}).get(name),
        "shared": overlap.get(f"train-{name}"),
    }


def histogram(lengths: Mapping[str, Any]) -> dict[str, Any] | None:
    """The survey's bins joined to at most `BINS` up to the longest text: labels, and shares of train and test."""
    counts = {name: lengths["counts"].get(name, []) for name in ("train", "test")}
    used = [place for values in counts.values() for place, value in enumerate(values) if value]
    if not used or not all(map(any, counts.values())) or max(used) >= len(lengths["edges"]):
        return None
    first, last = min(used), max(used) + 1
    size = -(-(last - first) // BINS)
    starts = list(range(first, last, size))
    edges = lengths["edges"]
    shares = {name: [sum(values[at : at + size]) / sum(values) for at in starts] for name, values in counts.items()}
    labels = [_bin(edges, at, size) for at in starts]
    return {"labels": labels, **shares, "top": max(max(values) for values in shares.values())}


def _bin(edges: Sequence[int], at: int, size: int) -> str:
    if at + size >= len(edges):
        return f"{edges[at]}+"
    last = edges[at + size] - 1
    return str(edges[at]) if last <= edges[at] else f"{edges[at]}–{last}"


def _classes(classes: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    """Labels, the most frequent of training first, with their counts in each split and their share of training."""
    train = classes.get("train", {})
    total = sum(train.values()) or 1
    order = sorted(train, key=lambda label: (-train[label], label))
    return [
        {
            "label": label,
            "counts": [classes.get(split, {}).get(label, 0) for split in SPLITS],
            "share": train[label] / total,
        }
        for label in order
    ]


def _suspects(suspects: Mapping[str, Any]) -> dict[str, Any]:
    listed = [
        {"text": one["text"][:300], "labels": ", ".join(f"{name} ({n})" for name, n in one["labels"].items())}
        for one in suspects.get("examples", [])[:SUSPECTS]
    ]
    return {"count": suspects.get("count", 0), "examples": listed, "known": bool(suspects)}


def _left_out(ledger: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """Split, reason and rows of what was read and not kept."""
    return [
        (split, reason.replace("_", " "), number)
        for split in SPLITS
        for reason, number in ledger.get(split, {}).items()
        if reason not in ("read", "kept") and isinstance(number, int) and number
    ]


def costs(block: Block) -> list[dict[str, Any]]:
    """Training by group: runs, tokens and minutes a run, hours in all and their share of the whole."""
    found = []
    for label, key in keys(block).items():
        own = [run for run in block.runs if run.group == label]
        seconds = _known(own, "cost/train_seconds")
        tokens, steps = _known(own, "cost/tokens"), _known(own, "cost/steps")
        minutes = None if not seconds else sum(seconds) / len(seconds) / 60
        told = {"runs": len(own), "steps": short(_mean(steps)), "tokens": short(_mean(tokens)), "minutes": minutes}
        found.append((sum(seconds) / 3600, {"model": key, **told}))
    total = sum(hours for hours, _ in found) or 1.0
    return [one | {"hours": hours, "share": hours / total} for hours, one in found]


def _known(runs: Sequence[Run], key: str) -> list[float]:
    return [value for run in runs if (value := run.measures.get(key)) is not None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def runs(block: Block, page: Path) -> list[dict[str, Any]]:
    """Every run with its score and where its record lies."""
    return [
        {
            "name": run.name,
            "model": keys(block).get(run.group),
            "group": run.group,
            "seed": run.seed,
            "status": run.status if run.converged or run.status != "done" else "diverged",
            "score": None if run.score is None else run.score * block.factor,
            "speed": short(_mean(_known([run], "speed/tokens_per_s"))),
            "minutes": _mean([one / 60 for one in _known([run], "cost/train_seconds")]),
            "record": link(run.folder, page),
            "folder": link(run.folder, page, ""),
            "message": run.message,
        }
        for run in block.runs
    ]
