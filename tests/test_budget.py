"""Equal budgets: what is counted against closed formulas, what is solved, when time stops a run, what trials draw."""

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
import torch
from composing import composed
from conftest import AGREEMENT, SMALL, Verb
from omegaconf import DictConfig
from test_config import names, vocabulary

from seqarena.budget import width
from seqarena.budget.account import settled, told
from seqarena.budget.clock import TimeLimit
from seqarena.budget.options import with_options
from seqarena.budget.trials import drawn, expected_best
from seqarena.budget.width import Ladder, count_flops, count_parameters
from seqarena.callbacks.resuming import TOGETHER
from seqarena.errors import InputError
from seqarena.flops import parameters
from seqarena.limits import plain
from seqarena.models.transformer import FeedForward
from seqarena.preflight import check_config
from seqarena.record import config_hash
from seqarena.runs import build_task

WORDS = vocabulary()
V, C = len(WORDS.source), len(WORDS.labels)
TEXTS = pa.table({"source_ids": [[5, 6, 7, 5, 6, 7, 5]]})
PAIRS = TEXTS.append_column("target_ids", TEXTS["source_ids"])


def data(table: pa.Table = TEXTS) -> SimpleNamespace:
    """As much of the datamodule as a budget looks at."""
    return SimpleNamespace(vocabulary=WORDS, table=lambda split: table)


def affine(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def recurrent(d: int, gates: int, memories: int) -> tuple[int, int]:
    """Encoder and decoder: two directions of half the width; feeding, bridge and attentional vector."""
    half, cell = d // 2, lambda inputs, units: gates * (inputs * units + units * units + 2 * units)
    return 2 * cell(d, half), cell(2 * d, d) + affine(d, memories * d) + 2 * d * d


def textcnn(d: int) -> tuple[int, int]:
    """One layer of filters; three gated layers with a query each."""
    return sum(affine(w * d, d // 3) for w in (3, 4, 5)), 3 * (affine(3 * d, 2 * d) + affine(d, d))


def convs2s(d: int) -> tuple[int, int]:
    """1024 positions and four gated layers each; weight normalisation adds a length to each output."""
    gated, places = affine(3 * d, 2 * d) + 2 * d, 1024 * d
    return places + 4 * gated, places + 4 * (gated + affine(d, d) + d)


def transformer(d: int) -> tuple[int, int]:
    """Two layers, four times as wide inside; LayerNorms before each sublayer and at the end."""
    attention, inner, norm = 4 * affine(d, d), affine(d, 4 * d) + affine(4 * d, d), 2 * d
    return 2 * (attention + inner + 2 * norm) + norm, 2 * (2 * attention + inner + 3 * norm) + norm


def hierarchical(d: int) -> tuple[int, int]:
    """Two encoders of the Transformer's, and its decoder."""
    encoder, decoder = transformer(d)
    return 2 * encoder, decoder


def lstm_block(d: int) -> tuple[int, int]:
    """The Transformer with recurrences in the place of self-attention."""
    encoder, decoder = transformer(d)
    attention, cell = 4 * affine(d, d), lambda units: 4 * (d * units + units * units + 2 * units)
    return encoder + 2 * (2 * cell(d // 2) - attention), decoder + 2 * (cell(d) - attention)


FORMULAS: dict[str, Callable[[int], tuple[int, int]]] = {
    "lstm": lambda d: recurrent(d, 4, 2),
    "gru": lambda d: recurrent(d, 3, 1),
    "rnn": lambda d: recurrent(d, 1, 1),
    "textcnn": textcnn,
    "convs2s": convs2s,
    "transformer": transformer,
    "local_transformer": transformer,
    "segmented": transformer,
    "hierarchical": hierarchical,
    "lstm_block": lstm_block,
}


@pytest.mark.parametrize("model", FORMULAS)
def test_parameters_are_those_of_the_formula(model: str) -> None:
    encoder, decoder = FORMULAS[model](48)
    wide = ("model.dim=48", "model.feedforward=192")[: 2 if "feedforward" in composed(f"model={model}").model else 1]
    assert count_parameters(composed(f"model={model}", *wide), data()) == V * 48 + encoder + affine(48, C)
    both = composed(f"model={model}", "data=numbers", *wide)
    assert count_parameters(both, data(PAIRS)) == V * 48 + encoder + decoder


@pytest.mark.parametrize("model", names("model"))
def test_every_architecture_is_solved_and_what_hangs_on_its_width_follows(model: str) -> None:
    asked = composed(f"model={model}", "budget=parameters", "budget.target=3e5", "schedule=noam")
    before, random = config_hash(plain(asked)), torch.get_rng_state()
    config, account = settled(asked, data())
    assert torch.equal(torch.get_rng_state(), random)
    assert config_hash(plain(asked)) == before != config_hash(plain(config))
    task = build_task(config, WORDS)
    size = parameters(task)["total"]
    assert size == account["reached"] == pytest.approx(3e5, rel=0.02) and account["target"] == 3e5
    assert task.encoder.dim == config.model.dim == config.schedule.dim == account["chosen"]["model.dim"]
    widths = {part.inner.out_features for part in task.modules() if isinstance(part, FeedForward)}
    assert widths == ({config.model.feedforward} if "feedforward" in config.model else set())
    assert all(width == pytest.approx(4 * config.model.dim, rel=0.1) for width in widths)


@pytest.mark.parametrize("model", ["gru", "transformer"])
def test_flops_are_those_of_training(model: str) -> None:
    asked = composed(f"model={model}", "budget=flops", "budget.target=9e5")
    config, account = settled(asked, data())
    units = config.model.dim // 2
    by_hand = {
        "gru": 2 * 2 * 3 * units * (config.model.dim + units),
        "transformer": 2 * (8 * config.model.dim**2 + 2 * 2 * 7 * config.model.dim)
        + 2 * 4 * config.model.dim * config.model.get("feedforward", 0),
    }
    head = 2 * config.model.dim * C / 7
    assert account["reached"] == pytest.approx(3 * (by_hand[model] + head)) == pytest.approx(9e5, rel=0.02)


def test_flops_are_counted_on_weights_that_nobody_made() -> None:
    config = composed("model=lstm", "data=numbers", "model.dim=12")
    torch.manual_seed(0)
    first = count_flops(config, data(PAIRS))
    assert first == count_flops(config, data(PAIRS)) > 0


def quadratic(least: int) -> Callable[[DictConfig], float]:
    """The square of the width; only multiples of `least` can be built."""

    def size(config: DictConfig) -> float:
        if config.model.dim % least:
            raise InputError(f"model.dim={config.model.dim} is no multiple of {least}")
        return float(config.model.dim**2)

    return size


def test_the_widths_on_both_sides_are_found_from_anywhere() -> None:
    config = composed()
    for start in (1, 8, 300):
        ladder = Ladder(config, quadratic(8), lambda number: {"model.dim": number})
        for target, found in ((30, [8]), (100, [8, 16]), (256, [8, 16]), (257, [16, 24]), (1e6, [992, 1000])):
            assert [fit.options["model.dim"] for fit in ladder.nearest(start, target)] == found


def test_a_reason_that_is_not_the_width_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(width, "REFUSED", 4)
    options = ("model=lstm", "model.attention=none", "budget=parameters", "budget.target=1e6")
    with pytest.raises(InputError, match=r"input feeding feeds an attentional vector"):
        settled(composed("data=numbers", *options), data(PAIRS))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["model=lstm", "budget.target=20"], r"model\.dim=2 has \d+ parameters\. Write budget\.target=\d+, or change"),
        (["model=gru", "budget.target=1500"], r"model\.dim=\d+ has .*; model\.dim=\d+ has [\d,]+ parameters"),
        (["budget.target=1e6", "model.scale=[width]"], r"model\.scale=\['width'\] must list options"),
        (["budget.target=1e6", "model.scale=null"], r"write model\.scale=\[dim\]"),
    ],
)
def test_what_no_width_can_reach_is_refused(options: list[str], told: str) -> None:
    with pytest.raises(InputError, match=told):
        settled(composed("budget=parameters", *options), data())


def test_where_widths_are_too_far_apart_the_last_option_is_fitted() -> None:
    asked = composed("model=transformer", "model.heads=16", "budget=parameters", "budget.target=3.4e5")
    config, account = settled(asked, data())
    assert account["reached"] == pytest.approx(3.4e5, rel=0.005) and config.model.dim % 16 == 0
    assert config.model.encoder.feedforward != 4 * config.model.dim
    with pytest.raises(InputError, match=r"model.dim=112 has .*; model.dim=128 has"):
        settled(with_options(asked, {"model.scale": ["dim"], "model.feedforward": 448}), data())


def test_expected_best_is_the_mean_over_all_subsets() -> None:
    scores = [0.3, 0.9, 0.1, 0.9, 0.5, -2.0]
    for k in range(1, len(scores) + 1):
        best = [max(subset) for subset in combinations(scores, k)]
        assert expected_best(scores, k) == pytest.approx(sum(best) / len(best))
    for k, wrong in ((0, scores), (7, scores), (1, [0.5, float("nan")])):
        with pytest.raises(ValueError, match=r"cannot be told|diverged"):
            expected_best(wrong, k)


def trial(config: DictConfig, number: int) -> dict[str, float]:
    """What trial `number` draws, after a look at the config."""
    config, account = drawn(with_options(config, {"budget.trial": number}))
    assert account["drawn"] == {"model.lr": config.optim.lr, "model.dropout": config.model.encoder.dropout}
    return account["drawn"]


def test_a_trial_is_drawn_by_its_number_alone() -> None:
    config = composed("budget.trials=8")
    eight = [trial(config, number) for number in range(8)]
    assert len({str(one) for one in eight}) == 8
    assert all(1e-4 <= one["model.lr"] <= 1e-2 and 0 <= one["model.dropout"] <= 0.5 for one in eight)
    other = composed("model=lstm", "seed=5", "data=numbers", "budget.trials=99", "budget=flops", "budget.target=1e6")
    found = trial(other, 3)  # the rate is twice the Transformer's
    assert found["model.dropout"] == eight[3]["model.dropout"]
    assert found["model.lr"] == pytest.approx(2 * eight[3]["model.lr"], rel=0.01)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["budget.trials=8"], "budget.trials=8 budget.trial=null: write"),
        (["budget.trial=3"], "budget.trials=null budget.trial=3: write"),
        (["budget.trials=8", "budget.trial=8"], "from 0"),
        (["budget.trials=8", "budget.trial=0", "+budget.space.wings.between=[0,1]"], "no number model.wings"),
        (["budget.trials=8", "budget.trial=0", "budget.space.lr.times=[0,1]"], "above 0"),
        (["budget.trials=8", "budget.trial=0", "budget.space.lr.times=[1]"], "must be a list of 2 numbers or null"),
        (["budget.trials=8", "budget.trial=0", "+budget.space.lr.between=[0,1]"], "one of between"),
        (["budget.trials=8", "budget.trial=0", "budget.space.dropout.between=[2,3]"], "model.dropout=.* must be"),
        (["budget=time", "budget.minutes=1", "schedule=noam"], "schedule=inverse_sqrt"),
        (["budget=time", "budget.minutes=1", "schedule.warmup=400"], "schedule.warmup=0.1"),
        (["budget=time"], "budget.minutes=null must be a number"),
        (["budget=parameters"], "budget.target=null must be a number"),
        (["budget.kind=money"], "budget=parameters"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(options: list[str], told: str) -> None:
    with pytest.raises(InputError, match=told):
        config = composed(*options)
        check_config(config)
        drawn(config)


class Clock:
    """Ten seconds a batch."""

    def __init__(self) -> None:
        self.now = 0.0

    def seconds(self) -> float:
        self.now += 10
        return self.now


def test_time_stops_at_an_optimizer_step_and_the_schedule_follows_the_clock() -> None:
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: 1 - done / 1e9)
    trainer = SimpleNamespace(
        global_step=0,
        world_size=1,
        is_global_zero=True,
        should_stop=False,
        lr_scheduler_configs=[SimpleNamespace(scheduler=schedule)],
    )
    task, account = SimpleNamespace(total_steps=lambda: 10**9), {"kind": "time", "target": 1.0}
    limit, rates = TimeLimit(1.0, Clock(), account), []  # type: ignore[arg-type]
    for batch in range(1, 20):
        trainer.global_step = batch // 2  # two batches a step
        optimizer.step()
        limit.on_train_batch_end(trainer, task)  # type: ignore[arg-type]
        rates.append(optimizer.param_groups[0]["lr"])
        if trainer.should_stop:
            break
    assert trainer.global_step == 5 and batch == 10
    assert rates[1::2] == pytest.approx([1 - 2 / 6, 1 - 3 / 6, 1 - 4 / 6, 1 - 5 / 6, 0.0], abs=1e-6)
    limit.on_train_end(trainer, task)  # type: ignore[arg-type]
    assert account["steps"] == 5 and "1 minutes of training, 1.17 used, 5 steps" in told(account)


def test_ranks_ask_for_the_slowest_clock_at_every_few_steps() -> None:
    asked: list[int] = []
    trainer = SimpleNamespace(global_step=0, world_size=2, should_stop=False, lr_scheduler_configs=[])

    def slowest(share: torch.Tensor, reduce_op: str) -> torch.Tensor:
        asked.append(trainer.global_step)
        return torch.tensor(1.0 if trainer.global_step > 2 * TOGETHER else 0.1)

    trainer.strategy = SimpleNamespace(reduce=slowest)
    limit = TimeLimit(1e6, Clock(), {"kind": "time", "target": 1.0})  # type: ignore[arg-type]
    task = SimpleNamespace(total_steps=lambda: 10**9, device=torch.device("cpu"))
    while not trainer.should_stop:
        trainer.global_step += 1
        limit.on_train_batch_end(trainer, task)  # type: ignore[arg-type]
    assert asked == [1, 1 + TOGETHER, 1 + 2 * TOGETHER] and trainer.global_step == asked[-1]


def test_a_run_by_time_stops_and_is_tested(verb: Verb) -> None:
    small = [option for option in SMALL if not option.startswith("trainer")]
    options = ("model=textcnn", "budget=time", "budget.minutes=0.01", "trainer.max_epochs=null")
    code, out, err = verb("train", *small, *AGREEMENT, *options, "hydra.run.dir=run")
    assert code == 0 and "0.01 minutes of training" in out, err
    record = json.loads(Path("run/record.json").read_text())
    assert record["budget"]["steps"] == record["cost"]["steps"] > 0 and "test/loss" in record["metrics"]
    assert 0.6 <= record["cost"]["train_seconds"] < 30
    assert record["cost"]["train_seconds"] == pytest.approx(60 * record["budget"]["reached"])


def test_a_solved_run_is_what_the_same_width_asked_for_gives(verb: Verb) -> None:
    small = [option for option in SMALL if not option.startswith("model.dim")]
    options = [*small, *AGREEMENT, "model=gru", "budget.trials=2", "budget.trial=1"]
    code, out, err = verb("train", *options, "budget=parameters", "budget.target=5e4", "hydra.run.dir=solved")
    assert code == 0 and "parameters of 50,000" in out, err
    record = json.loads(Path("solved/record.json").read_text())
    asked = composed(*options[1:], "trainer=debug", "budget=parameters", "budget.target=5e4")
    assert record["hashes"]["config"] == config_hash(plain(asked))
    chosen = [f"{name}={value}" for name, value in (record["budget"]["chosen"] | record["budget"]["drawn"]).items()]
    assert verb("train", *small, *AGREEMENT, "model=gru", *chosen, "hydra.run.dir=asked")[0] == 0
    other = json.loads(Path("asked/record.json").read_text())
    assert other["config"]["model"] == record["config"]["model"] and other["parameters"] == record["parameters"]
    assert other["metrics"] == record["metrics"] and not other["budget"]
