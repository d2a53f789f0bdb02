"""Evaluate a finished run: on its own test examples, which lie in its folder, or on another test set."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lightning as L
import pyarrow.parquet as pq
from omegaconf import DictConfig, OmegaConf

from seqarena.data.module import BatchOptions, TestSet
from seqarena.data.source import Row, Source
from seqarena.errors import InputError
from seqarena.evaluation import Evaluation
from seqarena.runs import Run, absolute, build


def evaluate(run: Run, config: DictConfig, folder: Path) -> Evaluation:
    """Scores of `run` under the options of conf/evaluate.yaml; they go to `folder` with a row for each example."""
    reader, rows = _rows(run, config)
    data = run.config.data
    batches = BatchOptions(data.batch_tokens, data.batch_examples, 0, 0)
    buckets = {axis: list(edges) for axis, edges in data.buckets.items()}
    test = TestSet(
        rows, run.config.task.name, run.vocabulary, batches, buckets, (*reader.shortcuts, *data.get("baselines", ()))
    )
    trainer = L.Trainer(
        accelerator=config.accelerator,
        devices=1,
        precision=config.precision,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    trainer.test(run.task, datamodule=test, verbose=False)
    found = run.task.evaluations["test"]
    told = {
        "run": run.folder.name,
        "data": given(config.data),
        "decoding": given(config.decoding),
        "ledger": test.ledger,
        "metrics": {f"test/{name}": value for name, value in found.metrics.items()},
        "strata": found.strata,
        "signature": found.signature,
    }
    pq.write_table(found.examples, folder / "examples.parquet")
    (folder / "evaluation.json").write_text(json.dumps(told, indent=1, ensure_ascii=False), encoding="utf-8")
    return found


def given(node: DictConfig) -> dict[str, Any]:
    """The options that are not null."""
    return {str(key): value for key, value in node.items() if value is not None}


def _rows(run: Run, config: DictConfig) -> tuple[Source, Iterator[Row]]:
    """Rows to evaluate on, and the source that they come from."""
    named = given(config.data)
    if "path" in named:
        named["path"] = absolute(named["path"])
    data = OmegaConf.merge(run.config, {"data": named})
    reader: Source = build(data.data.reader)
    if not named and (run.folder / "examples.parquet").is_file():
        return reader, _own_rows(run.folder / "examples.parquet")
    present = reader.splits()
    split = present[0] if len(present) == 1 else config.split
    if split not in present:
        raise InputError(f"split={split} is not there, only {', '.join(present)}: write split={present[0]}")
    return reader, reader.rows(split)


def _own_rows(path: Path) -> Iterator[Row]:
    """The test examples of a run, as they were read."""
    table = pq.read_table(path)
    if "reference" in table.column_names:
        table = table.rename_columns({"reference": "target"})
    computed = ("id", "length", "prediction", "correct", "confidence", "loss", "tokens", "bleu_statistics")
    yield from table.drop_columns([name for name in computed if name in table.column_names]).to_pylist()
