"""A run repeated from its record: the same on the same machine, and what is said where it is not."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from conftest import AGREEMENT, NUMBERS, SMALL, Verb

from seqarena.callbacks.recorder import repeatable
from seqarena.record import Record
from seqarena.replaying import outcome


def train(verb: Verb, *options: str) -> str:
    code, out, err = verb("train", *options)
    assert code == 0, err
    return out


@pytest.mark.parametrize(
    "options",
    [
        (*AGREEMENT, "model=lstm", "data.word_dropout=0.2", "model.dropout=0.3", "data.workers=1"),
        ("data=numbers", "data.source=en", "data.target=de", *NUMBERS, "model=transformer"),
        (*AGREEMENT, "model=textcnn", "budget=parameters", "budget.target=21116"),
    ],
    ids=["classification", "translation", "budget"],
)
def test_a_run_comes_out_bitwise_the_same(verb: Verb, options: tuple[str, ...]) -> None:
    small = [one for one in SMALL if not one.startswith("model.dim")]
    train(verb, *small, "seed=3", *options, "hydra.run.dir=first")
    told = train(verb, "replay=first", "logger=none", "cache=cache", "hydra.run.dir=again")
    assert "bitwise equal to first" in told and "expected of that run: bitwise" in told
    assert json.loads(Path("again/replay.json").read_text())["word"] == "bitwise equal"
    hashes = [Record.read(Path(name)).hashes["data"] for name in ("first", "again")]
    assert hashes[0] == hashes[1]


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where tests have one (conftest.py)."""
    before = torch.get_num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    yield
    torch.set_num_threads(before)


def test_so_does_one_of_two_threads(verb: Verb, two_threads: None) -> None:
    train(verb, *SMALL, *AGREEMENT, "model=textcnn", "hydra.run.dir=first")
    told = train(verb, "replay=first", "logger=none", "cache=cache", "hydra.run.dir=again")
    assert "bitwise equal to first" in told and Record.read(Path("again")).machine["threads"] == 2


def test_what_differs_first_is_named(verb: Verb) -> None:
    common = (*SMALL, *AGREEMENT, "model=lstm", "trainer.max_steps=6", "trainer.log_every=2")
    train(verb, *common, "hydra.run.dir=first")
    train(verb, *common, "seed=2", "hydra.run.dir=other")
    found = outcome(Path("first"), Path("other"))
    assert found.word in ("equal within seed noise", "different") and " at step 1 (" in found.first
    weights = Path("first/checkpoints/best.ckpt")
    kept = torch.load(weights, weights_only=True)
    name = sorted(kept["state_dict"])[0]
    kept["state_dict"][name] = kept["state_dict"][name] + 1e-7
    Path("nudged").mkdir()
    for path in ("record.json", "history.jsonl", "examples.parquet"):
        (Path("nudged") / path).write_bytes((Path("first") / path).read_bytes())
    (Path("nudged") / "checkpoints").mkdir()
    torch.save(kept, "nudged/checkpoints/best.ckpt")
    assert outcome(Path("first"), Path("nudged")).first == f"the weights {name}"
    assert outcome(Path("first"), Path("nudged")).word == "equal within seed noise"


def test_only_a_finished_run_alone_can_be_repeated(verb: Verb) -> None:
    train(verb, *SMALL, *AGREEMENT, "model=textcnn", "hydra.run.dir=first")
    code, _, err = verb("train", "replay=first", "model=lstm", "logger=none", "hydra.run.dir=again")
    assert code == 2 and "leave model=lstm out" in err
    record = Record.read(Path("first"))
    record.status = "interrupted"
    record.write(Path("first"))
    code, _, err = verb("train", "replay=first", "logger=none", "hydra.run.dir=again")
    assert code == 2 and "replay=first is interrupted: only a finished run" in err
    code, _, err = verb("train", "replay=nowhere", "logger=none", "hydra.run.dir=again")
    assert code == 2 and "nowhere/record.json is missing" in err


def test_what_is_expected_is_said_for_each_device() -> None:
    how = {"trainer": {"deterministic": False}, "budget": {"kind": "none"}}
    assert repeatable("cpu", how).startswith("bitwise") and repeatable("cuda", how).startswith("within seed noise")
    assert repeatable("cuda", {"trainer": {"deterministic": True}}).startswith("bitwise")
    assert "clock" in repeatable("cpu", how | {"budget": {"kind": "time"}})
