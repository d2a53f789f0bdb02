"""Evaluate a finished run: on its own test examples, which lie in its folder, or on another test set."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lightning as L
import pyarrow.parquet as pq
from omegaconf import DictConfig, OmegaConf

from seqarena.compare.records import read_examples
from seqarena.data.module import BatchOptions, TestSet
from seqarena.data.queries import by_text
from seqarena.data.source import Row, Source
from seqarena.errors import InputError
from seqarena.evaluation import Evaluation
from seqarena.preflight import check_machine
from seqarena.record import FILE
from seqarena.runs import PLACES, Run, absolute, believing, build


class Tested(NamedTuple):
    """What was found, which split of the data it was found on, and what became of each of its rows."""

    found: Evaluation
    split: str
    ledger: dict[str, int]


def evaluate(run: Run, config: DictConfig, folder: Path) -> Tested:
    """Scores of `run` under the options of conf/evaluate.yaml; they go to `folder` with a row for each example."""
    precision: Any = config.precision or run.precision
    check_machine(config.accelerator, precision, "")
    with believing(run.folder / FILE):
        reader, split, rows = _rows(run, config)
        batches = BatchOptions(run.config.data.batch_tokens, run.config.data.batch_examples, 0, 0)
        buckets = {axis: list(edges) for axis, edges in run.config.data.buckets.items()}
        beside = (*reader.shortcuts, *run.config.data.get("baselines", ()))
    test = TestSet(rows, run.config.task.name, run.vocabulary, batches, buckets, beside)
    trainer = L.Trainer(
        accelerator=config.accelerator,
        devices=1,
        precision=precision,
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
        "split": split,
        "decoding": given(config.decoding),
        "ledger": test.ledger,
        "metrics": {f"test/{name}": value for name, value in found.metrics.items()},
        "strata": found.strata,
        "signature": found.signature,
    }
    pq.write_table(found.examples, folder / "examples.parquet")
    (folder / "evaluation.json").write_text(json.dumps(told, indent=1, ensure_ascii=False), encoding="utf-8")
    return Tested(found, split, test.ledger)


def given(node: DictConfig) -> dict[str, Any]:
    """The options that are not null, as plain data."""
    plain = OmegaConf.to_container(node, resolve=True)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items() if value is not None}


def _rows(run: Run, config: DictConfig) -> tuple[Source, str, Iterator[Row]]:
    """Rows to evaluate on, the source that they come from, and its split: the one asked for, or the only one."""
    named = given(config.data)
    own = run.folder / "examples.parquet"
    if not named:
        if config.split != "test":
            raise InputError(f"split={config.split} is of another test set: name that with data.path=...")
        if own.is_file():
            return build(run.config.data.reader), config.split, _own_rows(own)
    redirected = _redirected(run.config.data, named)
    reader: Source = build(redirected)
    present = reader.splits()
    split = present[0] if len(present) == 1 else config.split
    if split not in present:
        raise InputError(f"split={split} is not there, only {', '.join(present)}: write split={present[0]}")
    if split != config.split and _files_of(redirected) & _learned(run.config.data.reader):
        if not named:
            raise InputError("this run was never tested: go on with it, or name a test set with data.path=...")
        raise InputError(
            f"there is only {split} in what the run was trained on: leave data out to score its own test examples, or "
            f"write split={split} to score what it has learned from"
        )
    return reader, split, reader.rows(split)


def _files_of(reader: DictConfig, names: Iterable[str] = PLACES) -> set[Path]:
    """Where a reader reads from."""
    return {Path(absolute(one)).resolve() for name in names if isinstance(one := reader.get(name), str)}


def _learned(reader: DictConfig) -> set[Path]:
    """Where a reader's training examples come from, and the folder that they lie in where that was named."""
    places = _files_of(reader, ("path", "train"))
    return places | {file for place in places if place.is_dir() for file in place.glob("train*")}


def _redirected(data: DictConfig, named: dict[str, Any]) -> DictConfig:
    """The run's reader with the options in `named`; what training fixed (length, tokenizer) is not to be changed."""
    reader = data.reader.copy()
    options = {**named, **named.pop("reader", {})}
    options.pop("reader", None)
    unknown = sorted(set(options) - set(reader))
    if unknown:
        there = ", ".join(f"data.{name}" for name in reader if not str(name).startswith("_"))
        raise InputError(f"data.{unknown[0]} does not say where this run's kind of data comes from; there are {there}")
    if {"source", "target"} <= set(reader) and options.get("source", reader.source) == reader.target:
        raise InputError(f"this run translates from {reader.source} to {reader.target}, not the other way")
    places = {name: absolute(options[name]) for name in PLACES if isinstance(options.get(name), str)}
    others = dict.fromkeys(name for name in PLACES if places and isinstance(reader.get(name), str))
    reader.update({**others, **options, **places})
    return reader


def _own_rows(path: Path) -> Iterator[Row]:
    """The test examples of a run, as they were read."""
    table = read_examples(path.parent)
    if "reference" in table.column_names:
        table = table.rename_columns({"reference": "target"})
    for name in ("source", "target") if "source" in table.column_names else ("text", "label"):
        if name not in table.column_names:
            raise InputError(f"{path} has no column {name}: name a test set with data.path=...")
    rows = table.to_pylist() if "position" not in table.column_names else by_text(table.to_pylist())
    computed = ("id", "length", "prediction", "correct", "confidence", "loss", "tokens", "bleu_statistics")
    yield from ({name: value for name, value in row.items() if name not in computed} for row in rows)
