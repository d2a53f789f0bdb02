"""Sweep files: each reads, composes and builds at both scales; what is wrong with one is said before a job runs."""

import copy
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from composing import composed
from conftest import AGREEMENT, NUMBERS, ROOT, SMALL, Verb
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from seqarena.building import check_node
from seqarena.data.tokenizer import TokenizerOptions, train
from seqarena.data.vocabulary import Vocabulary
from seqarena.errors import InputError
from seqarena.limits import plain
from seqarena.preflight import check_config
from seqarena.runs import build_task
from seqarena.sweep import metrics
from seqarena.sweep.overrides import written
from seqarena.sweep.question import SCALES, Question, available, expand, read
from seqarena.sweep.rules import AtLeast, Better, Equal, Falls, Order

SWEEPS = [(name, scale) for name in available(ROOT) for scale in SCALES]
parser = OverridesParser.create()

GOOD = {
    "question": "Is an LSTM better?",
    "claim": "It is.",
    "source": "common in tutorials",
    "cannot": "A small task.",
    "fixed": {"data": "agreement", "trainer.max_steps": 4},
    "grid": {"model": ["lstm", "rnn"], "seed": [1, 2]},
    "metric": "test/accuracy",
    "over": "seed",
    "verdict": {
        "supported": [{"better": {"where": {"model": "lstm"}, "than": {"model": "rnn"}, "margin": 0.02}}],
        "refuted": [{"better": {"where": {"model": "rnn"}, "than": {"model": "lstm"}}}],
    },
    "scale": {"small": {}, "full": {"grid": {"seed": [1, 2, 3]}}},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with our configs and sweeps of its own."""
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    (tmp_path / "sweeps").mkdir()
    return tmp_path


def told(root: Path, at: str = "small", **changes: Any) -> Question:
    """The good file with changes, by key or by key__key."""
    file = copy.deepcopy(GOOD)
    for key, value in changes.items():
        inner: Any = file
        *path, last = key.split("__")
        for part in path:
            inner = inner[int(part) if part.isdigit() else part]
        inner[last] = value
    (root / "sweeps" / "mine.yaml").write_text(yaml.safe_dump(file), encoding="utf-8")
    return read(root, "mine", at)


def rule(kind: str, **parts: Any) -> list[dict[str, Any]]:
    return [{kind: parts}]


@cache
def vocabulary() -> Vocabulary:
    tokenizer = train(TokenizerOptions("word", 100, 1, False, True), ["a b c d e f g"])
    return Vocabulary(tokenizer, tokenizer, ["x", "y"])


BUILT = set[str]()
"""Models that were built already: many grid points share theirs."""


def build(description: str, config: DictConfig) -> None:
    if description not in BUILT:
        BUILT.add(description)
        with torch.device("meta"):
            build_task(config, vocabulary())


@pytest.mark.parametrize("name,scale", SWEEPS)
def test_every_grid_point_composes_and_builds(name: str, scale: str) -> None:
    question = read(ROOT, name, scale)
    first = [one for one in question.points() if f"seed={question.grid['seed'][0]}" in one]
    assert len(first) * len(question.grid["seed"]) == question.jobs
    for overrides in first:
        config = composed(*overrides)
        check_config(config)
        check_node(config.data.reader)
        build(json.dumps([plain(config)[part] for part in ("model", "task", "optim")]), config)


@pytest.mark.parametrize("name", available(ROOT))
def test_every_multirun_is_what_hydra_reads_as_the_grid(name: str) -> None:
    arguments = expand([f"sweeps={name}"], ROOT)
    question = read(ROOT, name, "small")
    assert arguments[0] == "-m" and question.folder == f"{name}-small"
    jobs = 1
    for one in parser.parse_overrides(arguments[1:]):
        if one.is_sweep_override():
            listed = [parser.parse_override(f"x={word}").value() for word in one.sweep_string_iterator()]
            assert listed == question.grid[str(one.input_line).partition("=")[0]]
            jobs *= len(listed)
    assert jobs == question.jobs


def test_one_grid_point_as_hydra_itself_composes_it() -> None:
    question = read(ROOT, "throughput_length", "small")
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("train", question.points()[-1])
    ours = composed(*question.points()[-1])
    assert OmegaConf.to_container(config.data) == OmegaConf.to_container(ours.data)
    assert OmegaConf.to_container(config.model) == OmegaConf.to_container(ours.model)


def test_a_small_sweep_is_small() -> None:
    assert all(read(ROOT, name, "small").jobs <= 60 for name in available(ROOT))


def test_each_claim_is_a_sentence_and_each_file_says_what_it_is() -> None:
    for name in available(ROOT):
        question = read(ROOT, name, "full")
        assert question.question.endswith("?") and question.claim.endswith("."), name
        assert (ROOT / "sweeps" / f"{name}.yaml").read_text(encoding="utf-8").startswith("# ")
        assert len(question.grid[question.over]) >= 5, f"{name}: five seeds are the least at full scale"


def test_overrides_of_the_user_take_the_place_of_the_files(root: Path) -> None:
    told(root)
    own = ["data=agreement", "trainer.max_steps=4"]
    ends = ["sweep=mine", "hydra.sweep.dir=${oc.env:SEQARENA_ROOT}/outputs/sweeps/mine-small"]
    grid = ["model=lstm,rnn", "seed=1,2"]
    assert expand(["model=lstm"], root) == ["model=lstm"]
    assert expand(["sweeps=mine"], root) == ["-m", *own, *grid, *ends]
    assert expand(["sweeps=mine", "scale=full"], root)[4:] == [
        "seed=1,2,3", "sweep=mine", "hydra.sweep.dir=${oc.env:SEQARENA_ROOT}/outputs/sweeps/mine",
    ]  # fmt: skip
    given = ["model=gru", "+extra=1", "hydra.sweep.dir=here", "logger=none"]
    assert expand(["-m", *given, "sweeps=mine", "--cfg", "job"], root) == [
        "-m", "--cfg", "job", *own, "seed=1,2", "sweep=mine", *given,
    ]  # fmt: skip
    assert "data=agreement" not in expand(["sweeps=mine", "data=digits"], root)


def test_a_scale_overrides_parts_of_fixed_grid_and_verdict(root: Path) -> None:
    verdict = {
        "supported": rule("at_least", where={"model": "gru"}, value=0.9),
        "refuted": rule("below", where={}, value=1),
    }
    small = {"fixed": {"trainer.max_steps": 2, "model.dim": 8}, "grid": {"model": ["gru", "rnn"]}, "verdict": verdict}
    question = told(root, scale__small=small)
    assert question.fixed == {"data": "agreement", "trainer.max_steps": 2, "model.dim": 8}
    assert question.grid == {"model": ["gru", "rnn"], "seed": [1, 2]}
    assert question.supported == (AtLeast({"model": "gru"}, 0.9, "test/accuracy"),)
    assert told(root, "full", scale__small=small).supported[0].points()[0] == {"model": "lstm"}


def test_rules_as_they_are_read(root: Path) -> None:
    wide = {"data.buckets.distance": [4, 50], "data": "agreement"}
    rules = [
        {"order": {"along": "model", "as": ["lstm", "rnn"], "metric": "speed/tokens_per_s"}},
        {"falls": {"where": {"model": "rnn"}, "along": "distance", "from": "4-49", "to": "50+", "by": 0.37}},
        {"equal": {"where": {"model": "rnn"}, "than": {"model": "lstm"}, "within": 0.1, "relative": True}},
    ]
    question = told(root, fixed=wide, verdict__supported=rules)
    assert question.supported == (
        Order("model", ("lstm", "rnn"), "speed/tokens_per_s"),
        Falls("distance", "4-49", "50+", 0.37, "test/accuracy", {"model": "rnn"}),
        Equal({"model": "rnn"}, {"model": "lstm"}, 0.1, "test/accuracy", True),
    )
    assert question.supported[1].points() == [
        {"model": "rnn", "distance": "4-49"},
        {"model": "rnn", "distance": "50+"},
    ]
    assert question.refuted == (Better({"model": "rnn"}, {"model": "lstm"}, "test/accuracy"),)


LSTM, RNN, GRU = {"model": "lstm"}, {"model": "rnn"}, {"model": "gru"}


@pytest.mark.parametrize(
    "changes,message",
    [
        ({"claims": "x"}, r"sweeps/mine\.yaml: claims is no key of this: there are claim"),
        ({"question": " "}, "question: ' ' must be text"),
        ({"metric": "test/f1"}, "metric: test/f1 is no metric of a classification: there are .*test/f1_macro"),
        ({"metric": "test/bleu"}, "test/bleu is no metric of a classification"),
        ({"metric": "val/accuracy/length=0-9"}, "a stratum is written test/<metric>/<axis>=<bucket>"),
        ({"metric": "test/accuracy/hops=1"}, "hops is no axis of the data: there are"),
        ({"metric": "test/accuracy/distance=5"}, "distance=5 is no bucket of it: there are under 4, 4-7,"),
        ({"metric": "probe/gradient_half_life"}, r"fixed: probe/gradient_half_life is .* write probe: all"),
        ({"over": "seeds"}, "over: seeds is not in the grid: there are model, seed"),
        ({"grid__seed": []}, r"grid\.seed: \[\] must be a list with something in it"),
        ({"grid__seed": 1}, r"grid\.seed: 1 must be a list"),
        ({"grid__seed": [1, 2, 1]}, r"grid\.seed: 1 comes twice"),
        ({"fixed__model": "gru"}, r"fixed\.model: stands in the grid too"),
        ({"fixed__data": "agrement"}, r"fixed\.data: data=agrement is not there: conf/data has agreement"),
        ({"scale__small": {"grids": {}}}, r"scale\.small: grids is no key of this"),
        ({"scale": {"small": {}}}, "scale: full is missing"),
        ({"verdict__supported": []}, r"verdict\.supported: \[\] must be a list with something"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_file_and_key(root: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        told(root, **changes)
    assert str(caught.value).startswith("sweeps/mine.yaml: ")


@pytest.mark.parametrize(
    "rules,message",
    [
        (rule("beter", where=LSTM, than=RNN), r"supported\[0\]: beter is no rule: there are better"),
        (rule("better", where=LSTM), r"supported\[0\]\.better: than is missing"),
        (rule("better", where=LSTM, than=RNN, by=1), "by is no key of this: there are .*margin"),
        (rule("better", where=LSTM, than=dict(LSTM)), r"\{model: lstm\} is compared with itself"),
        (rule("better", where=LSTM, than={}), "both sides must name the same keys"),
        (rule("better", where=GRU, than=RNN), "model=gru is not in the grid: there are lstm, rnn"),
        (rule("better", where=LSTM, than=RNN, margin="a"), r"better\.margin: 'a' must be a number"),
        (rule("better", where=LSTM, than=RNN, margin=-1, relative=True), "-1.0 must be above -1"),
        (rule("better", where=LSTM, than=RNN, metric="test/acc"), r"supported\[0\]: test/acc is no metric"),
        (rule("at_least", where={"seed": 1}, value=1), "seed is averaged over"),
        (rule("at_least", where={"model.dim": 1}, value=1), r"model\.dim is no axis of the data"),
        (rule("at_least", where={"a": 1, "b": 1}, value=1), "a and b are not in the grid, which has model"),
        (rule("at_least", where={"distance": "5"}, value=1), "distance=5 is no bucket of it"),
        (rule("at_least", where={"distance": "4-7"}, value=1, metric="cost/steps"), "only test/<metric> has"),
        (rule("order", along="model", **{"as": ["lstm"]}), "two values or more"),
        (rule("order", along="model", **{"as": ["lstm", "lstm"]}), "compared with itself"),
        (rule("falls", along="distance", to="8-11", by=0.1), "falls: from is missing"),
        (rule("falls", along="distance", to="8-11", by=0, **{"from": "4-7"}), "falls.by: 0 must be above 0"),
        (rule("declines", along="distance", over=["4-7", "8-11"], by=0.1), "three values or more"),
        (rule("converges", where=LSTM, at_least=1), "1 must lie between 0 and 1"),
        (rule("equal", where=LSTM, than=RNN, within=-1), "equal.within: -1 must be above 0"),
        (rule("equal", where=LSTM, than=RNN, within=1, relative=1), "1 must be true or false"),
    ],
)  # fmt: skip
def test_a_rule_about_what_there_is_not_is_named(root: Path, rules: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        told(root, verdict__supported=rules)
    assert str(caught.value).startswith("sweeps/mine.yaml: verdict.supported[0]")


def test_what_is_neither_better_way_cannot_be_better(root: Path) -> None:
    ratio = rule("better", where=LSTM, than=RNN, metric="test/length_ratio")
    with pytest.raises(InputError, match="test/length_ratio is not better one way or the other"):
        told(root, fixed={"data": "copy"}, metric="test/bleu", verdict__supported=ratio)


def test_what_cannot_be_known_of_the_data_is_not_refused(root: Path) -> None:
    hops = rule("at_least", where={"hops": "3"}, value=0.5)
    told(root, fixed={"data": "csv", "data.path": "x"}, verdict__supported=hops)
    told(root, fixed={"data": "csv", "data.strata": ["hops"]}, verdict__supported=hops)
    told(root, fixed={"recipe": "multi30k_tiny"}, metric="test/anything")
    with pytest.raises(InputError, match="hops is no axis of the data"):
        told(root, fixed={"data": "csv", "data.strata": ["jumps"]}, verdict__supported=hops)


@pytest.mark.parametrize(
    "text,message",
    [
        ("a: [1", "sweeps/mine.yaml: line 1: "),
        ("fixed: {}\nfixed: {}", "line 1: fixed comes twice"),
        ("- a", "sweeps/mine.yaml: .* must be a mapping"),
        (b"\xff\xfe", "is not text in UTF-8"),
    ],
)
def test_a_file_that_is_no_sweep_is_named(root: Path, text: str | bytes, message: str) -> None:
    (root / "sweeps" / "mine.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(InputError, match=message):
        expand(["sweeps=mine"], root)


@pytest.mark.parametrize(
    "arguments,message",
    [
        (["sweeps=attention_scalling"], "sweeps=attention_scalling is not there: sweeps/ has attention_scaling, "),
        (["sweeps="], "sweeps= is not there: sweeps/ has accumulation"),
        (["sweeps=../sweeps/heads"], "is not there"),
        (["sweeps=heads", "scale=large"], "scale=large is not known: write scale=small or scale=full"),
        (["sweeps=heads", "sweeps=warmup"], "sweeps=heads sweeps=warmup: one sweep at a time"),
    ],
)
def test_a_wrong_name_lists_what_there_is(arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        expand(arguments, ROOT)


@pytest.mark.parametrize(
    "value",
    [1, 0.002, 1e-9, True, None, "lstm", "32-true", "48+", "a b", "it's", "a,b=[c]", "1", "true", "", "\\'", "é",
     [64, 64], ["a b", None], {"a": [1, "x y"]}],
)  # fmt: skip
def test_a_value_is_written_so_that_hydra_reads_it(value: Any) -> None:
    assert parser.parse_override(f"x={written(value)}").value() == value


@pytest.mark.parametrize("extra", [[*AGREEMENT], ["data=numbers", *NUMBERS]], ids=["classification", "translation"])
def test_the_list_of_metrics_is_that_of_a_record(extra: list[str], verb: Verb) -> None:
    options = [one for one in SMALL if one != "trainer=debug"]
    steps = ["trainer.accelerator=cpu", "trainer.max_epochs=null", "trainer.max_steps=7", "trainer.log_every=1"]
    probes = ("probe=all", "probe.examples=8")
    code, out, err = verb("train", *options, "model=transformer", "hydra.run.dir=run", *steps, *probes, *extra)
    assert code == 0, out + err
    record = json.loads(Path("run/record.json").read_text(encoding="utf-8"))
    found = {key for key in record["metrics"] if "baseline=" not in key}
    found |= {f"{group}/{name}" for group in metrics.MEASURES for name in record[group]}
    assert found == set(metrics.keys(record["task"]))
    buckets = [bucket for listed in record["strata"].values() for bucket in listed]
    assert buckets and all(set(bucket) - {"bucket", "n"} == set(metrics.SCORES[record["task"]]) for bucket in buckets)


def test_reading_is_quick_and_needs_neither_torch_nor_arrow() -> None:
    program = "import sys; from pathlib import Path; from seqarena.sweep.question import expand\n"
    program += f"expand(['sweeps=heads'], Path({str(ROOT)!r}))\n"
    program += "assert not {'torch', 'lightning', 'pyarrow', 'hydra', 'datasets'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
