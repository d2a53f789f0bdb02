"""An invented comparison with its run folders, for the page: every number is made up, and any name may be hostile."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seqarena.compare.comparison import (
    Banner,
    Block,
    Comparison,
    Curve,
    GroupSummary,
    PairSummary,
    Part,
    Reach,
    RuleOutcome,
    Run,
    Score,
    Stratum,
    Verdict,
)

SEEDS = (1, 2, 3)
COSTS = {
    "speed/tokens_per_s": 9000.0,
    "parameters/total": 4e5,
    "flops/per_token_forward": 7e5,
    "memory/training_mib": 120.0,
    "cost/train_seconds": 95.0,
}
REPORT = {
    "lengths": {
        "source": {
            "edges": list(range(0, 41)),
            "counts": {"train": [0, *range(1, 40), 0], "val": [1] * 41, "test": [1] * 41},
            "median": {"train": 20, "val": 20, "test": 20},
            "longest": {"train": 29, "val": 39, "test": 39},
        }
    },
    "cut_share": {"train": 0.0, "val": 0.0, "test": 0.1},
}


def comparison(
    root: Path, models: Sequence[str], task: str = "classification", text: str = "a text", verdict: bool = True
) -> Comparison:
    """A comparison of `models`, three seeds each, whose folders are made in `root`; `text` is in every free text."""
    blocks = [block(root, models, task, text)]
    failed = Run("x", str(root / "x"), models[0], models[0], 4, "failed", False, False, None, {}, f"{text} went wrong")
    banners = [Banner("machine", {text: ["one"], "b": ["two"]}, f"speed was measured on {text}", separates=False)]
    return Comparison("invented", blocks, banners, asked(text) if verdict else None, [failed], [], [text])


def block(root: Path, models: Sequence[str], task: str, text: str) -> Block:
    """One block; the first model is best, each further one is ten points worse."""
    means = [0.9 - 0.1 * place for place in range(len(models))]
    runs = [
        _run(root, model, seed, mean, task, text) for model, mean in zip(models, means, strict=True) for seed in SEEDS
    ]
    return Block(
        title=f"accuracy of {text}",
        task=task,
        data=text,
        metric="test/accuracy",
        more_is_better=True,
        factor=100.0,
        ratio=False,
        examples=200,
        alpha=0.05,
        comparisons=len(models) * (len(models) - 1) // 2,
        groups=[_group(model, mean, place) for place, (model, mean) in enumerate(zip(models, means, strict=True))],
        runs=runs,
        pairs=[_pair(a, b) for place, a in enumerate(models) for b in models[place + 1 :]],
        strata={axis: _strata(models, means, axis) for axis in ("distance", "length")},
        trends={"length": {model: Score(-0.1, -0.2, -0.05, 200, 3) for model in models}},
        curves=[_curve(run, mean) for run, mean in zip(runs, [one for one in means for _ in SEEDS], strict=True)],
        reach={model: _reach(place) for place, model in enumerate(models)} if task == "classification" else {},
        baselines={"majority": 0.5, text: 0.4},
        conditions={"data": text},
        signature={},
        ledger={split: {"read": 200, "kept": 199, "empty": 1} for split in ("train", "val", "test")},
        data_report={
            **REPORT,
            "classes": {split: {text: 3, "other": 1} for split in ("train", "val", "test")},
            "suspects": {"count": 1, "examples": [{"text": text, "labels": {text: 1, "other": 1}, "ids": [1, 2]}]},
        },
        notes=[text],
    )


def _reach(place: int) -> Reach:
    """Gradients that fall by distance, the faster the later the model; beyond 8 tokens the last one has none."""
    falling = {float(at): [(0.9 - 0.2 * place) ** at * (1 + 0.1 * seed) for seed in SEEDS] for at in (0, 2, 4, 8, 16)}
    if place:
        falling[16.0] = [0.0 for _ in SEEDS]
    lost = {float(at): [0.2 / (1 + at + seed) for seed in SEEDS] for at in (0, 4, 16)}
    numbers = {"distance": {"effective_length": [(20.0, True), (30.0, False), (25.0, True)], "half_life": []}}
    return Reach({"gradient_share": falling, "permutation_accuracy": lost}, numbers)


def _score(value: float, half: float = 0.02) -> Score:
    return Score(value, value - half, value + half, 200, 3)


def _group(model: str, mean: float, place: int) -> GroupSummary:
    costs = {key: Score(value * (1 + place), None, None, 0, 3) for key, value in COSTS.items()}
    return GroupSummary(model, model, {}, _score(mean), 3, 3, 0.29, 1.0, 0, None, costs)


def _pair(a: str, b: str) -> PairSummary:
    return PairSummary(a, b, 0.9, 0.8, 0.1, 0.05, 0.15, 0.01, 0.01, 0.001, 0.003, "better", "better")


def _strata(models: Sequence[str], means: Sequence[float], axis: str) -> list[Stratum]:
    buckets = [("0-9", 60), ("10-19", 60), ("20-29", 60), ("30+", 15 if axis == "distance" else 60)]
    return [
        Stratum(name, n, {model: _score(mean - 0.03 * place) for model, mean in zip(models, means, strict=True)})
        for place, (name, n) in enumerate(buckets)
    ]


def _curve(run: Run, mean: float) -> Curve:
    steps = [10, 20, 30, 40]
    values: list[float | None] = [0.5, 0.5 + mean / 8, mean - 0.05, mean]
    return Curve(
        run.name,
        run.group,
        run.seed,
        True,
        "val/accuracy",
        steps,
        [100.0 * s for s in steps],
        [1.0 * s for s in steps],
        values,
    )


def _run(root: Path, model: str, seed: int, mean: float, task: str, text: str) -> Run:
    folder = root / f"run-{abs(hash(model)) % 10**8}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "record.json").write_text(json.dumps({"schema": 1}))
    rows = [
        _translation(place, seed, text) if task == "translation" else _label(place, seed, model, text)
        for place in range(12)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "examples.parquet")
    measures: dict[str, float | None] = {**COSTS, "cost/steps": 40.0, "cost/tokens": 4000.0}
    return Run(folder.name, str(folder), model, model, seed, "done", True, True, mean, measures)


def _label(place: int, seed: int, model: str, text: str) -> dict[str, Any]:
    said = "right" if (place + len(model) + seed) % 3 else text
    return {"id": place, "length": place + 1, "text": f"{text} number {place}", "label": "right", "prediction": said}


def _translation(place: int, seed: int, text: str) -> dict[str, Any]:
    statistics = [5, 5, 5 - seed, 3, 2, 1, 5, 4, 3, 2]
    said = {"source": f"{text} {place}", "reference": "a man rides a bike", "prediction": f"a man {text} a bike"}
    return {"id": place, "length": place + 1, "bleu_statistics": statistics, **said}


def asked(text: str) -> Verdict:
    """A refuted claim with two rules."""
    parts = [
        Part(f"{text} at least 0.95", 0.9, 0.88, 0.92, 0.95, "fails"),
        Part("open", None, None, None, 0.0, "open", text),
    ]
    rules = [
        RuleOutcome("supported", f"at_least: {text}", "test/accuracy", "fails", 0.001, 0.002, parts[:1]),
        RuleOutcome("refuted", f"below: {text}", "test/accuracy", "holds", 0.001, 0.002, [
            Part(f"{text} below 0.95", 0.9, 0.88, 0.92, 0.95, "holds", above=False), *parts[1:]
        ]),
    ]  # fmt: skip
    return Verdict("refuted", f"Is {text} enough?", f"{text} is enough.", text, text, text, rules)
