"""Training: gradients that do not depend on how a step's examples are batched, and examples that can be learned."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import lightning as L
import pyarrow as pa
import pytest
import torch
import torch.distributed as dist
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from seqarena.data.module import DataModule
from seqarena.evaluation import Evaluation
from seqarena.runs import build_data, build_task
from seqarena.tasks import translation
from seqarena.tasks.task import SequenceTask

ROOT = Path(__file__).parents[2]
MODELS = sorted(path.stem for path in ROOT.glob("conf/model/*.yaml"))
SMALL = {
    "agreement": ["data.reader.train=64", "data.reader.val=24", "data.reader.test=24", "data.reader.distances=[4]"]
}
SMALL["numbers"] = [
    "data.reader.train=64",
    "data.reader.val=16",
    "data.reader.test=16",
    "data.tokenizer.vocabulary=250",
]


def configured(tmp_path: Path, data: str, model: str, *more: str) -> DictConfig:
    overrides = [f"data={data}", f"model={model}", "model.dim=24", "model.dropout=0", *SMALL.get(data, ()), *more]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("train", overrides)
    config.cache = str(tmp_path)
    return config


def opened(config: DictConfig) -> tuple[DataModule, SequenceTask]:
    data = build_data(config)
    data.prepare_data()
    data.setup()
    torch.manual_seed(config.seed)
    return data, build_task(config, data.vocabulary)


def trainer(**options: object) -> L.Trainer:
    return L.Trainer(
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        enable_checkpointing=False, use_distributed_sampler=False, num_sanity_val_steps=0, **options,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _root(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SEQARENA_ROOT", str(ROOT))
    yield


def weights_after_one_step(tmp_path: Path, data: str, tokens: int, accumulate: int) -> torch.Tensor:
    config = configured(tmp_path, data, "lstm", f"data.batch_tokens={tokens}", "data.batch_examples=null")
    module, task = opened(config)
    task._optimizer = lambda parameters: torch.optim.SGD(parameters, lr=1.0)
    task._schedule = lambda optimizer, total_steps: torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    trainer(max_epochs=1, accumulate_grad_batches=accumulate, limit_val_batches=0).fit(task, datamodule=module)
    return torch.cat([p.detach().flatten() for p in task.parameters()])


@pytest.mark.parametrize("data", ["agreement", "numbers"])
def test_accumulated_uneven_batches_give_the_gradient_of_one_large_batch(tmp_path: Path, data: str) -> None:
    whole = weights_after_one_step(tmp_path, data, 10**6, 1)
    pieces = weights_after_one_step(tmp_path, data, 150, 1000)
    torch.testing.assert_close(pieces, whole, atol=2e-6, rtol=1e-4)


@pytest.mark.parametrize("data", ["agreement", "numbers"])
@pytest.mark.parametrize("model", MODELS)
def test_eight_examples_can_be_learned_by_heart(tmp_path: Path, model: str, data: str) -> None:
    short = ["data.reader.largest=999", "data.reader.dates=0"] if data == "numbers" else []
    config = configured(
        tmp_path, data, model, "model.lr=1e-2", "task.label_smoothing=0", "schedule=constant", "model.dim=48", *short
    )
    module, task = opened(config)
    batch = module._splits["train"][list(range(8))]
    optimizer = task._optimizer(task.parameters())
    for _ in range(2000):
        loss = task.loss(batch) / batch.targets
        if loss < 0.003:  # before another step, which at this rate may undo it
            break
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(task.parameters(), 1.0)
        optimizer.step()
    assert loss < 0.003
    said = [answer.text for answer in task.eval().answer(batch.source_BS, batch.mask_BS)]
    column = "label" if data == "agreement" else "target"
    assert said == module.table("train")[column].to_pylist()[:8]


def test_plateau_steps_once_a_validation(tmp_path: Path) -> None:
    config = configured(
        tmp_path, "agreement", "textcnn", "schedule=plateau", "schedule.patience=0", "schedule.factor=0.5"
    )
    module, task = opened(config)
    task.score = lambda split, findings: Evaluation(split, {"accuracy": 0.5, "loss": 1.0}, {}, pa.table({"id": [0]}))
    trainer(max_steps=9, val_check_interval=3, check_val_every_n_epoch=None).fit(task, datamodule=module)
    assert task.optimizers().param_groups[0]["lr"] == config.model.lr * 0.5**2  # the first of three is the best


def test_weighted_losses_are_summed_in_float32_under_autocast(tmp_path: Path) -> None:
    module, task = opened(configured(tmp_path, "agreement", "textcnn"))
    batch = module._splits["train"][list(range(60))]
    with torch.autocast("cpu", torch.bfloat16):
        plain = task.loss(batch)
        task._weight_C = torch.full((2,), 1 + 2**-12)  # bfloat16 knows no such number
        weighted = task.loss(batch)
    assert weighted.item() / plain.item() == pytest.approx(1 + 2**-12, rel=2**-15)


def test_what_is_summed_over_ranks_is_on_the_device_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of training the module is back on the CPU, where NCCL sums nothing."""
    _, task = opened(configured(tmp_path, "agreement", "textcnn"))
    strategy = SimpleNamespace(root_device=torch.device("meta"))
    task._trainer = SimpleNamespace(world_size=2, strategy=strategy)  # type: ignore[assignment]
    seen: list[str] = []
    monkeypatch.setattr(dist, "all_reduce", lambda sums: seen.append(sums.device.type))
    with pytest.raises((NotImplementedError, RuntimeError)):  # a number on the meta device is none
        task._summed(1.0, 2.0)
    assert seen == ["meta"]


def test_references_scored_some_rows_at_a_time_are_scored_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, task = opened(configured(tmp_path, "numbers", "transformer"))
    task._trainer = SimpleNamespace(validating=True, datamodule=module)  # type: ignore[assignment]
    batch = module._splits["val"][list(range(7))]
    found = []
    for rows in (translation.ROWS, 2):
        monkeypatch.setattr(translation, "ROWS", rows)
        with torch.no_grad():
            found.append(task.eval().examine(batch)["loss"])
    assert found[0] == pytest.approx(found[1], rel=1e-6) and len(found[0]) == 7


@pytest.mark.parametrize("data", ["agreement", "numbers"])
def test_evaluation_does_not_depend_on_the_batch_size(tmp_path: Path, data: str) -> None:
    scores = []
    for tokens in (40, 4000):
        module, task = opened(
            configured(tmp_path, data, "transformer", f"data.batch_tokens={tokens}", "task.label_smoothing=0.1")
        )
        trainer().test(task, datamodule=module, verbose=False)
        evaluation = task.evaluations["test"]
        scores.append(evaluation)
        assert evaluation.examples["id"].to_pylist() == module.table("test")["id"].to_pylist()
        assert sum(bucket["n"] for bucket in evaluation.strata["length"]) == len(module.table("test"))
    small, large = scores
    assert small.examples["prediction"].equals(large.examples["prediction"])
    timeless = [{key: value for key, value in one.keys().items() if not key.startswith("speed")} for one in scores]
    assert timeless[0] == pytest.approx(timeless[1], rel=1e-4)
    examples = large.examples
    weight = examples["tokens"].to_numpy() if data == "numbers" else 1
    mean = examples["loss"].to_numpy().sum() / (weight.sum() if data == "numbers" else len(examples))
    assert large.metrics["loss"] == pytest.approx(mean)
