"""Tagging: a label is read off at its token, whatever stands beside it; a finding is a query, up to the comparison."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from conftest import ROOT, Verb
from test_training import MODELS, configured, opened, trainer

from seqarena.data.examples import tagging_batch
from seqarena.data.module import DataModule
from seqarena.flops import average_batch, flops_per_token
from seqarena.tasks.tagging import Tagging

Make = Callable[..., tuple[DataModule, Tagging]]
SMALL = ["data.reader.train=48", "data.reader.val=16", "data.reader.test=24", "data.batch_tokens=400"]


@pytest.fixture
def tagger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Selective copies, which are of two lengths, and a task that is not trained."""
    monkeypatch.setenv("SEQARENA_ROOT", str(ROOT))

    def make(model: str, *more: str) -> tuple[DataModule, Tagging]:
        more = ("data.reader.lengths=[9,14]", "data.reader.items=3", *SMALL, *more)
        data, task = opened(configured(tmp_path, "selective_copy", model, *more))
        assert isinstance(task, Tagging)
        return data, task

    return make


@pytest.mark.parametrize("model", MODELS)
def test_a_label_does_not_depend_on_batch_mates_or_padding(tagger: Make, model: str) -> None:
    data, task = tagger(model)
    examples, task = data._splits["train"], task.eval()
    together = task(examples[[0, 1, 2, 3]])
    alone = torch.cat([task(examples[[index]]) for index in range(4)])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)
    assert (together[0] - together[1]).abs().max() > 1e-3


def test_the_loss_is_that_of_the_queries_alone_and_flows_from_them(tagger: Make) -> None:
    data, task = tagger("lstm", "model.bidirectional=false")
    batch, rows = data._splits["train"][[0, 1]], data.table("train").slice(0, 2).to_pylist()
    vectors = task.embedding(batch.source_BS).detach().requires_grad_()
    log_BSC = task.head(task.encoder(vectors, batch.mask_BS).states_BSD).log_softmax(-1)
    by_hand = sum(
        -log_BSC[row, place, task.classes.index(label)]
        for row, one in enumerate(rows) for place, label in enumerate(one["labels"].split()) if label != "_"
    )  # fmt: skip
    torch.testing.assert_close(task.eval().loss(batch), by_hand)
    one = batch.row_Q[0], batch.place_Q[0]
    log_BSC[one].sum().backward()
    assert vectors.grad[one].any() and not vectors.grad[one[0], one[1] + 1 :].any() and not vectors.grad[1].any()


def weights_after_one_step(tagger: Make, tokens: int, accumulate: int) -> torch.Tensor:
    data, task = tagger("lstm", f"data.batch_tokens={tokens}")
    task._optimizer = lambda parameters: torch.optim.SGD(parameters, lr=1.0)
    task._schedule = lambda optimizer, total_steps: torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    trainer(max_epochs=1, accumulate_grad_batches=accumulate, limit_val_batches=0).fit(task, datamodule=data)
    return torch.cat([p.detach().flatten() for p in task.parameters()])


def test_accumulated_uneven_batches_give_the_gradient_of_one_large_batch(tagger: Make) -> None:
    pieces, whole = weights_after_one_step(tagger, 60, 1000), weights_after_one_step(tagger, 10**6, 1)
    torch.testing.assert_close(pieces, whole, atol=2e-6, rtol=1e-4)


def test_texts_without_labels_change_no_gradient(tagger: Make) -> None:
    data, task = tagger("rnn", "model.dropout=0")
    some = next(iter(data.train_dataloader()))
    none = tagging_batch([0], [np.array([4, 5])], [np.zeros(0, int)], [np.zeros(0, int)], np.zeros(1, int))
    task.trainer = SimpleNamespace(accumulate_grad_batches=1, world_size=1)  # type: ignore[assignment]
    optimizer, found = torch.optim.SGD(task.parameters(), 1.0), []
    for batches in ([some], [none, some], [some, none], [none]):
        optimizer.zero_grad()
        for batch in batches:
            task.training_step(batch, 0).backward()
        task.on_before_optimizer_step(optimizer)
        found.append(torch.cat([torch.zeros(1), *(p.grad.flatten() for p in task.parameters() if p.grad is not None)]))
    torch.testing.assert_close(found[1], found[0])
    torch.testing.assert_close(found[2], found[0])
    assert found[0].abs().max() > 0 and not found[3].any()


def test_evaluation_does_not_depend_on_the_batch_size_and_a_finding_is_a_query(tagger: Make) -> None:
    found = []
    for tokens in (40, 4000):
        data, task = tagger("gru", f"data.batch_tokens={tokens}")
        trainer().test(task, datamodule=data, verbose=False)
        found.append(task.evaluations["test"])
    assert found[0].keys() == pytest.approx(found[1].keys(), rel=1e-4)
    examples = found[1].examples
    assert examples["id"].to_pylist() == list(range(3 * 24)) and examples["example"].to_pylist()[:4] == [0, 0, 0, 1]
    columns = {"text", "length", "label", "prediction", "correct", "loss", "confidence", "distance", "majority"}
    assert columns | {"id", "example", "position"} == set(examples.column_names)
    assert sum(bucket["n"] for bucket in found[1].strata["distance"]) == 3 * 24
    assert found[1].metrics["loss"] == pytest.approx(np.mean(examples["loss"].to_numpy()))
    assert found[1].metrics["accuracy"] == np.mean(examples["correct"].to_numpy(zero_copy_only=False))


def test_operations_are_those_of_the_encoder_and_of_the_head_at_each_query(tagger: Make) -> None:
    data, task = tagger("rnn", "model.bidirectional=false", "data.reader.lengths=[9]")
    recurrent, head = 12 * 2 * 24 * 2 * 24, 3 * 2 * 24 * len(task.classes)
    assert flops_per_token(task, average_batch(data.table("train"), None)) * 12 == recurrent + head


def test_a_tagger_is_trained_evaluated_compared_and_used(verb: Verb) -> None:
    sizes = [f"data.reader.{name}" for name in ("train=64", "val=16", "test=24", "pairs=4", "keys=4", "values=4")]
    options = ("model=gru", "data=recall", "model.dim=16", "trainer.max_epochs=2", "logger=none", "cache=cache")
    code, out, err = verb("train", *options, *sizes, "hydra.run.dir=run")
    assert code == 0 and "accuracy of last_value" in out, out + err
    record = json.loads(Path("run/record.json").read_text())
    assert record["status"] == "done" and record["task"] == "tagging"
    assert record["metrics"]["test/accuracy/baseline=last_value"] == 0.25
    assert {"accuracy", "f1_macro", "loss", "n", "bucket"} == set(record["strata"]["distance"][0])
    examples = pq.read_table("run/examples.parquet")
    assert examples.num_rows == 4 * 24 and len(record["per_class"]) == 4
    code, out, err = verb("evaluate", "run=run", "hydra.run.dir=evaluated")
    assert code == 0, out + err
    assert pq.read_table("evaluated/examples.parquet")["prediction"].equals(examples["prediction"])
    found = json.loads(Path("evaluated/evaluation.json").read_text())["metrics"]
    assert found == {key: pytest.approx(record["metrics"][key]) for key in found}
    code, out, err = verb("predict", "run=run", f"text={examples['text'][0]}")
    said = out.split()
    assert code == 0 and len(said) == 16 and set(said) <= {"v0", "v1", "v2", "v3"}, err
    assert [said[place] for place in examples["position"].to_pylist()[:4]] == examples["prediction"].to_pylist()[:4]
    code, out, err = verb("compare", "runs=run", "name=test-tagging")
    shutil.rmtree(ROOT / "outputs" / "compare" / "test-tagging", ignore_errors=True)
    shown = rf"gru +{100 * record['metrics']['test/accuracy']:.1f} +\[[\d.]+, [\d.]+\]"
    assert code == 0 and re.search(shown, out), out + err
    assert verb("predict", "run=run", "text=k1", "beam=3")[2].count("this run is a tagging, which searches for nothing")


def test_a_data_report_counts_labels(verb: Verb) -> None:
    code, out, err = verb("train", "data=induction", "report=data", "cache=cache", "hydra.run.dir=report",
                          *(f"data.reader.{size}" for size in ("train=40", "val=10", "test=10")))  # fmt: skip
    assert code == 0 and "examples of" in out, err
    told = json.loads(Path("report/data_report.json").read_text())
    assert sum(told["classes"]["train"].values()) == 40
