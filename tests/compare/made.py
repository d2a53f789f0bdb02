"""Runs made up for tests: a record, examples and a history, as a run leaves them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seqarena.record import Record

N = 240
EDGES = {"length": [0, 10, 20], "distance": [4, 8, 16]}


def config(model: str, **options: Any) -> dict[str, Any]:
    """A resolved config, as small as may be; `options` go into the model."""
    return {
        "model": {"name": model, "dim": 64, "encoder": {"dim": 64, **options}, **options},
        "task": {"name": "classification"},
        "data": {"name": "made", "buckets": EDGES, "batch_tokens": 1000, "batch_examples": None},
        "budget": {"kind": "none"},
        "trainer": {"max_steps": 100},
    }


def right(seed: int, share: float, n: int = N) -> np.ndarray:
    """Which examples are right: hard ones, the same for all, are wrong first."""
    hard = np.random.default_rng(0).random(n)
    return hard + np.random.default_rng(seed).normal(0, 0.05, n) < share


def make(home: Path, model: str = "lstm", seed: int = 1, share: float | None = 0.8, **changes: Any) -> Path:
    """A run in `home`. `share` of its test examples are right, None: it was not tested; `changes` are of its record."""
    options = changes.pop("options", {})
    name = changes.pop("name", "-".join([model, *map(str, options.values()), f"seed{seed}"]))
    left_out, correct = changes.pop("left_out", ()), changes.pop("correct", None)
    folder = home / name
    folder.mkdir(parents=True)
    overrides = [f"model={model}", *(f"model.{key}={value}" for key, value in options.items()), f"seed={seed}"]
    settled = changes.pop("config", config(model, **options)) | {"seed": seed}
    metrics = {"val/accuracy": share or 0.0, "val/accuracy/baseline=majority": 0.5}
    record: dict[str, Any] = {
        "run": name, "sweep": None, "model": model, "data": "made", "task": "classification", "seed": seed,
        "config": settled, "overrides": overrides, "code": {"commit": "c0ffee", "dirty": False},
        "versions": {"torch": "2"},
        "machine": {"cpu": "one", "gpus": [], "threads": 1, "ranks": 1, "precision": "32-true"},
        "started": "", "status": "done", "metrics": metrics,
        "parameters": {"total": 1000 * len(model), "embedding": 10, "other": 90},
        "speed": {"tokens_per_s": 1000.0 * len(model) + seed, "latency_ms": 2.0 * len(model)},
        "cost": {"steps": 100, "tokens": 5000, "train_seconds": 10.0},
        "hashes": {"data": "d", "tokenizer": "t", "labels": "l"},
    }  # fmt: skip
    Record(**(record | changes)).write(folder)
    if share is not None:
        _examples(folder, right(seed, share) if correct is None else correct, left_out)
    history = [{"step": step, "val/accuracy": step / 200, "cost/tokens": step * 50} for step in range(0, 101, 10)]
    (folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in history), encoding="utf-8")
    return folder


def _examples(folder: Path, correct: np.ndarray, left_out: Sequence[int]) -> None:
    n = len(correct)
    label = np.where(np.arange(n) % 2, "yes", "no")
    other = np.where(label == "yes", "no", "yes")
    columns = {
        "id": np.arange(n), "text": [f"text {k}" for k in range(n)], "label": label, "length": np.arange(n) % 30,
        "distance": 4 + np.arange(n) % 16, "majority": np.full(n, "no"), "prediction": np.where(correct, label, other),
        "correct": correct, "loss": np.where(correct, 0.1, 2.0),
    }  # fmt: skip
    kept = np.setdiff1d(np.arange(n), list(left_out))
    pq.write_table(pa.table(columns).take(kept), folder / "examples.parquet")


def translate(home: Path, model: str, seed: int, statistics: np.ndarray | None) -> Path:
    """A run of a translation with these (n, 10) statistics a sentence; None: it was never tested."""
    settled = config(model) | {"task": {"name": "translation", "decoding": {"beam": 1}}}
    metrics = {"val/bleu": 0.0 if statistics is None else 20.0}
    status = "done" if statistics is not None else "diverged"
    folder = make(home, model, seed, None, task="translation", config=settled, metrics=metrics, status=status)
    if statistics is not None:
        n = len(statistics)
        columns = {
            "id": np.arange(n), "source": ["s"] * n, "reference": ["r"] * n, "length": np.arange(n) % 30,
            "prediction": [str(row.tolist()) for row in statistics], "bleu_statistics": list(statistics.astype(int)),
            "loss": np.full(n, 3.0), "tokens": np.full(n, 10),
        }  # fmt: skip
        pq.write_table(pa.table(columns), folder / "examples.parquet")
    return folder
