"""Speed by hand on a fake clock, the record's statuses, loggers, lines and bars, the learning-rate finder."""

import io
import json
import logging
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from conftest import AGREEMENT, SMALL, Verb
from rich.console import Console
from test_record import started
from torch import Tensor

from seqarena.callbacks.history import read
from seqarena.callbacks.latency import Latency
from seqarena.callbacks.loggers import loggers
from seqarena.callbacks.progress import Bars, Lines, progress, told
from seqarena.callbacks.recorder import Recorder, status_of
from seqarena.callbacks.throughput import Throughput, peak_mib
from seqarena.errors import Diverged, InputError
from seqarena.evaluation import Evaluation
from seqarena.rate_finder import HIGHEST, LOWEST, before_divergence, suggestion
from seqarena.record import Record, config_hash, earlier
from seqarena.tasks.schedules import rising


class Scene:
    """A trainer and a module as a callback sees them, and a clock set by hand."""

    def __init__(self, ranks: int = 1) -> None:
        self.now, self.global_step, self.world_size, self.local_rank = 0.0, 0, ranks, 0
        self.strategy, self.device = self, torch.device("cpu")
        self.told: list[dict[str, float]] = []

    def reduce(self, numbers: Tensor, reduce_op: str) -> Tensor:
        return numbers * self.world_size if reduce_op == "sum" else numbers

    def logger_metrics(self, metrics: dict[str, float]) -> None:
        self.told.append(metrics)


def play(scene: Scene, callback: Any, begin: float, end: float, step: int, *counts: int) -> None:
    """One batch of (tokens, positions, examples) from `begin` to `end`, after which `step` steps are done."""
    batch = SimpleNamespace(tokens=counts[0], positions=counts[1], examples=counts[2])
    scene.now = begin
    callback.on_train_batch_start(scene, scene, batch, 0)
    scene.now, scene.global_step = end, step
    callback.on_train_batch_end(scene, scene, None, batch, 0)


def whole_run(ranks: int = 1) -> tuple[Scene, Throughput]:
    """A step of warm-up, one of two batches, a validation of 83 seconds, two steps, the end."""
    scene = Scene(ranks)
    speed = Throughput(
        log_every=2, flops_per_token=7, warmup=1, clock=lambda: scene.now, energy=lambda *_: lambda: 5 * scene.now
    )
    speed.on_train_start(scene, scene)  # type: ignore[arg-type]
    speed.peak_flops = 1000
    play(scene, speed, 0, 10, 1, 100, 100, 10)
    play(scene, speed, 11, 13, 1, 30, 40, 3)
    play(scene, speed, 13.5, 16, 2, 50, 60, 5)
    scene.now = 17
    speed.on_validation_start(scene, scene)  # type: ignore[arg-type]
    play(scene, speed, 100, 104, 3, 10, 20, 1)
    play(scene, speed, 105, 106, 4, 30, 30, 3)
    scene.now = 107
    speed.on_train_end(scene, scene)  # type: ignore[arg-type]
    return scene, speed


def test_speed_by_hand() -> None:
    scene, speed = whole_run()
    first, second = scene.told
    assert first["speed/tokens_per_s"] == pytest.approx(80 / 6)
    assert first["speed/padded_tokens_per_s"] == pytest.approx(100 / 6)
    assert first["speed/padding_share"] == pytest.approx(0.2)
    assert first["speed/examples_per_s"] == pytest.approx(8 / 6)
    assert first["speed/step_ms"] == pytest.approx(6000)
    assert first["speed/data_wait_share"] == pytest.approx(1.5 / 6)
    assert second["speed/tokens_per_s"] == pytest.approx(40 / 6)
    assert second["speed/step_ms"] == pytest.approx(3000)
    assert speed.speed["speed/tokens_per_s"] == pytest.approx(120 / 12)
    assert speed.speed["speed/mfu"] == pytest.approx(3 * 7 * 120 / 12 / 1000)
    assert first["speed/joules_per_1000_tokens"] == pytest.approx(1000 * 5 * 6 / 80)
    assert "speed/tokens_per_s_per_device" not in speed.speed


def test_cost_counts_everything_but_validation() -> None:
    _, speed = whole_run()
    assert speed.cost() == {
        "cost/steps": 4, "cost/train_seconds": 10 + 6 + 1 + 6 + 1, "cost/tokens": 220, "cost/train_flops": 3 * 7 * 220,
        "cost/joules": 5 * (10 + 6 + 1 + 6 + 1),
    }  # fmt: skip
    resumed = Throughput(2, 7)
    resumed.load_state_dict(speed.state_dict())
    assert resumed.cost() == speed.cost()


def test_speed_is_summed_over_ranks_and_shown_for_each() -> None:
    one, two = whole_run()[1], whole_run(2)[1]
    assert two.speed["speed/tokens_per_s"] == pytest.approx(2 * one.speed["speed/tokens_per_s"])
    assert two.speed["speed/tokens_per_s_per_device"] == pytest.approx(one.speed["speed/tokens_per_s"])
    for key in ("speed/step_ms", "speed/padding_share", "speed/data_wait_share", "speed/mfu"):
        assert two.speed[key] == pytest.approx(one.speed[key])
    assert two.cost()["cost/train_seconds"] == one.cost()["cost/train_seconds"]
    assert two.cost()["cost/tokens"] == 2 * one.cost()["cost/tokens"] and two.cost()["cost/steps"] == 4


def test_the_device_is_synchronised_only_where_a_stretch_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    monkeypatch.setattr("seqarena.callbacks.throughput._synchronise", lambda device: waits.append(1))
    whole_run()
    assert len(waits) == 5  # warm-up, step 2, validation, step 4, end


def test_memory_is_what_the_process_held() -> None:
    before = peak_mib(torch.device("cpu"))
    block = torch.ones(int(before) * 2**18)  # as much again, beside what is held already
    assert peak_mib(torch.device("cpu")) > before > 10 and block[0] == 1


def test_what_training_held_is_counted_from_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = iter([100.0])
    monkeypatch.setattr("seqarena.callbacks.throughput.peak_mib", lambda device: next(peaks, 130.0))
    assert whole_run()[1].memory == {"memory/peak_mib": 130.0, "memory/training_mib": 30.0}


class Service:
    """A trained model and a test set of 40 texts, each of whose answers takes so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.now, self.answered, self.seconds = 0.0, 0, seconds
        self.device, self.datamodule, self.precision_plugin = torch.device("cpu"), self, self
        self.evaluations = {"test": Evaluation("test", {}, {}, pa.table({"id": range(40)}))}
        self.forward_context = nullcontext

    def table(self, split: str) -> pa.Table:
        return self.evaluations[split].examples

    def single(self, split: str, index: int) -> Any:
        return SimpleNamespace(source_BS=torch.zeros(1, 3), mask_BS=torch.ones(1, 3).bool())

    def answer(self, source_BS: Tensor, mask_BS: Tensor) -> None:
        self.answered += 1
        self.now += 100.0 if self.answered <= 2 else self.seconds  # the warm-up is slow, and not timed


@pytest.mark.parametrize(("seconds", "answered"), [(0.004, 2 + 20), (0.9, 2 + 3), (5.0, 2 + 3)])
def test_latency_is_the_median_wait_of_one_text(seconds: float, answered: int) -> None:
    service = Service(seconds)
    Latency(lambda: service.now).on_test_end(service, service)  # type: ignore[arg-type]
    assert service.evaluations["test"].speed["latency_ms"] == pytest.approx(1000 * seconds)
    assert service.answered == answered


def left(folder: Path, error: BaseException | None) -> Record:
    try:
        with Recorder(folder, started(folder)):
            assert Record.read(folder).status == "running"
            if error is not None:
                raise error
    except BaseException as raised:
        assert raised is error
    return Record.read(folder)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, "done"),
        (Diverged("nan"), "diverged"),
        (KeyboardInterrupt(), "interrupted"),
        (RuntimeError("DataLoader worker was killed"), "failed"),
        (OSError(28, "No space left on device"), "failed"),
        (InputError("no file"), "failed"),
    ],
)
def test_how_a_run_ends_is_in_its_record(tmp_path: Path, error: BaseException | None, status: str) -> None:
    record = left(tmp_path, error)
    assert record.status == status and record.finished is not None
    assert record.error == (None if error is None else {"type": type(error).__name__, "message": str(error)})


def test_lightnings_exit_after_ctrl_c_is_an_interruption() -> None:
    try:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise SystemExit(1)  # noqa: B904 - as Lightning does it
    except SystemExit as stop:
        assert status_of(stop) == "interrupted"
    assert status_of(SystemExit(1)) == "failed"


def test_only_the_first_rank_writes_and_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqarena.callbacks.recorder.is_first", lambda: False)
    with Recorder(tmp_path, started(tmp_path)):
        pass
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    left(tmp_path, InputError("a typo"))
    left(tmp_path, None)
    with (
        Recorder(tmp_path, started(tmp_path)),
        pytest.raises(InputError, match="in use by another run"),
        Recorder(tmp_path, started(tmp_path)),
    ):
        pass


def test_a_folder_belongs_to_one_run(tmp_path: Path) -> None:
    config = {"model": {"dim": 8}, "seed": 1}
    assert earlier(tmp_path, config) is None
    record = replace(started(tmp_path), hashes={"config": config_hash(config)}, config=config, status="failed")
    record.write(tmp_path)
    assert earlier(tmp_path, {"seed": 2}) is None  # what failed before training may be tried again in another way
    (tmp_path / "checkpoints").mkdir()
    assert earlier(tmp_path, config) is not None
    with pytest.raises(InputError, match=r"another config \(model\.dim=8 or 9\)"):
        earlier(tmp_path, {"model": {"dim": 9}, "seed": 1})
    for status in ("done", "diverged"):
        replace(record, status=status).write(tmp_path)
        with pytest.raises(InputError, match="finished run"):
            earlier(tmp_path, config)


def test_a_run_leaves_record_history_examples_and_log(verb: Verb) -> None:
    code, out, err = verb("train", *SMALL, *AGREEMENT, "model=lstm", "hydra.run.dir=run", "trainer.max_steps=8")
    assert code == 0, err
    folder = Path("run")
    record, history = Record.read(folder), read(folder)
    assert record.status == "done" and {"val/accuracy", "test/accuracy", "test/f1_macro"} <= set(record.metrics)
    assert set(record.strata) == {"length", "distance", "attractors"} and record.speed["tokens_per_s"] > 0
    assert sum(map(sum, record.confusion["counts"])) == 12 and record.confusion["classes"] == record_classes(record)  # type: ignore[index]
    assert record.cost["steps"] == 8 and record.flops["training_total"] == record.cost["train_flops"] > 0
    assert {"config", "data", "tokenizer", "labels"} == set(record.hashes) and record.memory["peak_mib"] > 0
    keys = [(line["step"], key) for line in history for key in line if key != "step"]
    assert len(keys) == len(set(keys)) and [line["train/loss"] for line in history if "train/loss" in line]
    assert (folder / "examples.parquet").is_file() and not (folder / "checkpoints" / "recent").exists()
    log = (folder / "train.log").read_text()
    assert "train examples: read 40, kept 40" in log and "done" in log and "GPU available" not in out + err + log
    assert "step 8/8" in out and "\x1b[" not in out


def record_classes(record: Record) -> list[str]:
    assert record.per_class is not None
    return [one["bucket"] for one in record.per_class]


def test_a_diverged_run_says_so_and_keeps_its_record(verb: Verb) -> None:
    code, _, err = verb(
        "train", *SMALL, *AGREEMENT, "model=lstm", "hydra.run.dir=run", "trainer.max_steps=50", "model.lr=1e9",
        "trainer.clip=null", "trainer.log_every=1", "trainer.validate_every=40",
    )  # fmt: skip
    assert code != 0 and "diverged" in err and "model.lr" in err and "Traceback" not in err
    record = Record.read(Path("run"))
    assert record.status == "diverged" and record.error is not None and record.error["type"] == "Diverged"
    assert record.error["examples"], "the batch that it began with"


@pytest.mark.parametrize(("name", "left"), [("csv", "csv/metrics.csv"), ("none", "history.jsonl")])
def test_other_loggers_write_into_the_run_folder(tmp_path: Path, name: str, left: str) -> None:
    with loggers({"name": name}, tmp_path, started(tmp_path)) as watchers:
        for logger in watchers:
            logger.log_metrics({"a": 1.0}, 1)
            logger.log_metrics({"b": 2.0}, 2)
            logger.save()
    assert (tmp_path / left).read_text().count("\n") >= 2


def test_a_missing_logger_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqarena.callbacks.loggers.find_spec", lambda name: None)
    with (
        pytest.raises(InputError, match="pip install tensorboard"),
        loggers({"name": "tensorboard"}, tmp_path, started(tmp_path)),
    ):
        pass
    with pytest.raises(InputError, match="wandb, csv"), loggers({"name": "x"}, tmp_path, started(tmp_path)):
        pass


def watched(**logged: float) -> Any:
    return SimpleNamespace(logged=logged | {"val/accuracy": 0.5}, monitor="accuracy", mode="max")


def in_epoch(number: int, **about: Any) -> Any:
    """A trainer that has begun so many epochs of 9 batches."""
    loop = SimpleNamespace(epoch_progress=SimpleNamespace(current=SimpleNamespace(ready=number)))
    return SimpleNamespace(fit_loop=loop, num_training_batches=9, **about)


def test_lines_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    lines = progress(Console(file=out))
    assert isinstance(lines, Lines)
    trainer = in_epoch(2, is_global_zero=True, global_step=20, estimated_stepping_batches=100)
    module = watched(**{"speed/tokens_per_s": 12345.6, "train/loss": 0.25})
    lines.on_train_start(trainer, module)
    lines.on_validation_end(trainer, module)
    module.logged["val/accuracy"] = 0.4
    lines.on_validation_end(trainer, module)
    assert out.getvalue().splitlines() == [
        "going on from step 20",
        "step 20/100  epoch 2  12,346 tokens/s  loss 0.250  val/accuracy 0.5 (best 0.5)",
        "step 20/100  epoch 2  12,346 tokens/s  loss 0.250  val/accuracy 0.4 (best 0.5)",
    ]
    assert told(trainer, SimpleNamespace(logged={}, monitor="bleu"), None) == "epoch 2"


def test_bars_on_a_terminal_also_without_a_known_end() -> None:
    out = io.StringIO()
    bars = progress(Console(file=out, force_terminal=True, width=120, _environ={"TERM": "xterm"}))
    assert isinstance(bars, Bars)
    trainer = in_epoch(1, global_step=0, estimated_stepping_batches=float("inf"), num_val_batches=[3], training=True)
    module = watched()
    bars.on_train_start(trainer, module)
    trainer.global_step = 5
    bars.on_train_batch_end(trainer, module)
    bars.on_validation_start(trainer, module)
    bars.on_validation_batch_end()
    bars.on_validation_end(trainer, module)
    bars.on_train_end(trainer, module)
    assert "train" in out.getvalue() and "best 0.5" in out.getvalue()


@pytest.mark.parametrize("steps,epochs", [(8, ["4/8  epoch 1", "8/8  epoch 2"]), (6, ["4/6  epoch 1", "6/6  epoch 2"])])
def test_each_validation_tells_the_epoch_that_is_trained_last_also_where_training_ends_inside_one(
    verb: Verb, steps: int, epochs: list[str]
) -> None:
    ends = ("trainer.max_epochs=null", f"trainer.max_steps={steps}", "trainer.validate_every=null", "hydra.run.dir=run")
    code, out, err = verb("train", *SMALL, *AGREEMENT, *ends, "model=textcnn", "data.batch_examples=10")
    assert code == 0, err
    assert re.findall(r"^step (\d+/\d+  epoch \d+)", out, re.MULTILINE) == epochs


def test_the_rate_rises_from_lowest_to_highest() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=5.0)
    schedule = rising(optimizer, 100, LOWEST, HIGHEST)
    rates = []
    for _ in range(100):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates[0] == pytest.approx(1e-6) and rates[-1] == pytest.approx(1.0)
    assert np.allclose(np.diff(np.log(rates)), np.log(1e6) / 99)


RATES = 1e-6 * 1e6 ** (np.arange(100) / 99)
NOISE = np.random.default_rng(0)


def falling(size: float, sharpness: float, steepest: float) -> np.ndarray:
    """Losses from 3 on that fall by `size` around a rate."""
    return 3 - size / (1 + np.exp(-sharpness * (np.log10(RATES) - np.log10(steepest))))


def test_divergence_is_left_out() -> None:
    noisy = falling(2, 3, 1e-3) + 0.05 * NOISE.standard_normal(100)
    noisy[90:] = 50.0
    assert len(before_divergence(noisy)) == 90


@pytest.mark.parametrize("noise", [0.01, 0.2, 0.5])
@pytest.mark.parametrize("sharpness,steepest", [(3, 1e-3), (8, 3e-2)], ids=["clear", "late"])
def test_the_steepest_descent_of_a_clear_fall_is_suggested(sharpness: float, steepest: float, noise: float) -> None:
    for _ in range(20):
        rate = suggestion(RATES, falling(2, sharpness, steepest) + noise * NOISE.standard_normal(100))
        assert rate is not None and steepest / 8 < rate < 8 * steepest


@pytest.mark.parametrize("steps", [12, 30, 100])
@pytest.mark.parametrize("slope", [0.0, 0.02], ids=["noise", "rising"])
def test_of_noise_alone_no_rate_is_suggested(steps: int, slope: float) -> None:
    curves = slope * np.arange(steps) + 0.7 + 0.06 * NOISE.standard_normal((200, steps))
    assert sum(suggestion(RATES[:steps], losses) is not None for losses in curves) <= 1


def test_a_fall_within_the_noise_is_none() -> None:
    assert suggestion(RATES, falling(0.5, 3, 1e-3) + 0.5 * np.random.default_rng(0).standard_normal(100)) is None


def test_the_finder_leaves_numbers_and_a_page_and_trains_nothing(verb: Verb, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    code, out, err = verb("train", *SMALL, *AGREEMENT, "model=textcnn", "hydra.run.dir=run", "lr_find=true")
    assert code == 0, err
    found = json.loads(Path("run/lr_find.json").read_text())
    assert f"model.lr={found['suggestion']:.1e}" in out and len(found["losses"]) > 50
    page = Path("run/lr_find.html").read_text(encoding="utf-8")
    assert "Plotly.newPlot" in page and len(page) > 10**6 and '"yaxis":{"title":{"text":"loss"}}' in page
    assert not Path("run/checkpoints").exists() and not Path("run/record.json").exists()


def test_the_finder_says_where_there_is_nothing_to_suggest(verb: Verb, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    few = ("data.batch_examples=2", "hydra.run.dir=run", "lr_find=true")
    code, out, err = verb("train", *SMALL, *AGREEMENT, "model=transformer", *few)
    assert code == 0 and "no learning rate is suggested" in out and "lr_find.html" in out, err
    assert json.loads(Path("run/lr_find.json").read_text())["suggestion"] is None
