"""CTranslate2 against our own model and search, in every option that it can express; the rest is refused."""

import ast
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import torch
from composing import composed
from conftest import NUMBERS, SMALL, Verb
from ctranslate2.specs.transformer_spec import TransformerSpec

from seqarena.data.batch import BEGIN, END, TranslationBatch
from seqarena.data.examples import padded, translation_batch
from seqarena.data.tokenizer import TokenizerOptions, train
from seqarena.data.vocabulary import Vocabulary
from seqarena.errors import InputError
from seqarena.exporting.engine import together
from seqarena.exporting.expressible import refuse
from seqarena.exporting.model_folder import converted, token
from seqarena.models.contract import TooLong
from seqarena.predicting import engine
from seqarena.runs import Run, build_task
from seqarena.tasks.decoding import Search

SOURCES = Path(__file__).parents[1] / "src" / "seqarena"
SIZES = ("data=numbers", "model.dim=16", "model.layers=2", "model.heads=2", "model.feedforward=32", "model.dropout=0")
SHORT = ("task.decoding.ratio=0.6", "task.decoding.beam=1")
WORDS = [f"w{number}" for number in range(20)]
LONG = 140  # beyond all distances that T5's positions tell apart
RANDOM = np.random.default_rng(1)
TEXTS = ["w1 w2 w3", "", "w4", " ".join(RANDOM.choice(WORDS, LONG)), "w9 unheard w9", " ".join(WORDS), "w5 w5 w6 w8"]
OPTIONS = (
    (),
    ("model.norm=post",),
    ("model.positions=learned", "model.max_positions=150"),
    ("model.positions=rotary", "task.tied=false"),
    ("model.positions=t5", "model.scaled_attention=false"),
    ("model.positions=none", "model.embedding.scale=false"),
    ("data.tokenizer.joint=false", "model.norm=post"),
    ("data.tokenizer.joint=false", "task.tied=false", "model.decoder.layers=1", "model.decoder.heads=4"),
    ("model.dim=15", "model.heads=3", "task.tied=false"),
)


def made(folder: Path, *overrides: str) -> Run:
    """A run with an untrained Transformer; the languages differ in their vocabularies unless they share one."""
    config = composed(*SIZES, *SHORT, *overrides)
    options = TokenizerOptions("word", 100)
    source = train(options, [" ".join(WORDS)])
    target = source if config.data.tokenizer.joint else train(options, [" ".join(WORDS[5:])])
    vocabulary = Vocabulary(source, target, [])
    torch.manual_seed(1)
    return Run(folder, config, vocabulary, build_task(config, vocabulary).eval(), "32-true")


def shaken(run: Run) -> Run:
    """The same with no weight at 0 or 1: each is missed where it is not, and noticed where another should be.

    Without a tied output each token is most often followed by another, so that what is said has some variety.
    """
    with torch.no_grad():
        for weight in run.task.parameters():
            weight.add_(torch.randn_like(weight) * 0.3)
        if not run.config.task.tied:
            run.task.output.weight.copy_(run.task.target_embedding.table.weight.roll(7, 0))
    return run


def said(run: Run, texts: Sequence[str], name: str, compute: str = "float32") -> list[str]:
    return [answer.text for answer in engine(run, name, compute, "cpu")(list(texts))]


@pytest.fixture(scope="module", params=OPTIONS, ids=" ".join)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return shaken(made(tmp_path_factory.mktemp("run"), *request.param))


@torch.no_grad()
def test_tokens_are_as_likely_as_in_torch(run: Run) -> None:
    sources = [[*ids, END] for ids in run.vocabulary.source.encode(TEXTS)]
    targets = [RANDOM.integers(4, len(run.vocabulary.target), length).tolist() for length in (9, 3, 1, LONG, 5, 30, 2)]
    (source_BS, mask_BS), (given_BT, _) = padded(sources), padded(targets, begin=BEGIN)
    encoded = run.task.encode(source_BS, mask_BS)
    y_BTD, _ = run.task.decoder(run.task.target_embedding(given_BT), encoded, run.task.decoder.start(encoded))
    ours_BTV = run.task.output(y_BTD).log_softmax(-1)
    with converted(run, "float32") as folder:
        translator = ctranslate2.Translator(str(folder))
    theirs = translator.score_batch(*([list(map(token, ids)) for ids in side] for side in (sources, targets)))
    for ours_TV, target, found in zip(ours_BTV, targets, theirs, strict=True):
        expected = ours_TV[: len(target)].gather(1, torch.tensor(target)[:, None])[:, 0]
        np.testing.assert_allclose(found.log_probs[: len(target)], expected, atol=2e-4)


def test_greedy_strings_are_those_of_torch_in_any_batch(run: Run) -> None:
    ours = said(run, TEXTS, "torch")
    assert len(set(ours)) >= 4 and max(len(text.split()) for text in ours) > 64 and ours[1]
    translate = engine(run, "ctranslate2", "float32", "auto")
    assert [answer.text for answer in translate(TEXTS)] == ours
    assert [translate([text])[0].text for text in TEXTS] == ours


# trained --------------------------------------------------------------------------------------------------------------


def copying(run: Run, count: int) -> tuple[list[str], TranslationBatch]:
    """Texts of 1 to 7 words, to be said as they are."""
    texts = [" ".join(RANDOM.choice(WORDS, RANDOM.integers(1, 8))) for _ in range(count)]
    rows = run.vocabulary.source.encode(texts)
    ids = [np.array(row) for row in rows]
    return texts, translation_batch([*range(count)], ids, ids)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, list[str]]:
    """A run that has learned a little of this, and texts of it."""
    run = made(tmp_path_factory.mktemp("trained"), "task.decoding.extra=30")
    optimizer = torch.optim.Adam(run.task.parameters(), lr=1e-2)
    for _ in range(50):
        _, batch = copying(run, 24)
        (run.task.loss(batch) / batch.targets).backward()
        optimizer.step()
        optimizer.zero_grad()
    return run, ["", *copying(run, 30)[0]]


def enough(beams, step: int, how: Search) -> list[bool]:  # type: ignore[no-untyped-def]
    """The end of a search as CTranslate2 has it."""
    limits = beams.limit_N.tolist()
    return [step >= limit or len(ended) >= how.beam for ended, limit in zip(beams.finished_N, limits, strict=True)]


@pytest.mark.parametrize("beam,penalty,same_end", [(1, 1.0, True), (4, 0.0, True), (2, 1.0, False), (5, 0.5, False)])
def test_a_trained_model_says_the_same_up_to_where_a_beam_ends(
    trained: tuple[Run, list[str]], beam: int, penalty: float, same_end: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, texts = trained
    run.task.decoding = dataclasses.replace(run.task.decoding, beam=beam, length_penalty=penalty)
    theirs = said(run, texts, "ctranslate2")
    if not same_end:
        monkeypatch.setattr("seqarena.tasks.decoding._done", enough)
    ours = said(run, texts, "torch")
    short = [place for place in range(len(texts)) if max(len(one[place].split()) for one in (ours, theirs)) < 28]
    assert len({ours[place] for place in short}) > 15  # the others may have met their limit
    assert [ours[place] for place in short] == [theirs[place] for place in short]


# what is kept, and what is refused ------------------------------------------------------------------------------------


def test_the_model_is_converted_once_and_anew_when_the_weights_are_others(tmp_path: Path) -> None:
    run = made(tmp_path)

    def inode(compute: str) -> int:
        with converted(run, compute) as folder:
            assert folder == tmp_path / "export" / f"ctranslate2-{compute}"
            return (folder / "model.bin").stat().st_ino

    first = inode("float32")
    assert inode("int8") != first and inode("float32") == first  # neither touches the weights of the task
    assert len(said(run, TEXTS, "ctranslate2", "int8")) == len(TEXTS)
    with torch.no_grad():
        run.task.output.weight.add_(1.0)
    assert inode("float32") != first
    assert kept(tmp_path) == ["ctranslate2-float32", "ctranslate2-int8"]


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "export").iterdir() if path.name != ".lock")


def test_a_conversion_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(spec: TransformerSpec, folder: str) -> None:
        (Path(folder) / "model.bin").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TransformerSpec, "save", full)
    with pytest.raises(InputError, match=r"export cannot be written \(No space left.*engine=torch"):
        engine(made(tmp_path), "ctranslate2", "float32", "cpu")
    assert kept(tmp_path) == []


@pytest.mark.parametrize(
    "overrides,compute,told",
    [
        (["model.norm=none"], "float32", "model.norm=none cannot be expressed in CTranslate2, which knows pre, post"),
        (["model.residual=false"], "float32", "model.residual=false cannot be expressed"),
        (["model.cross_attention=mean"], "int8", "model.cross_attention=mean cannot be expressed"),
        (["model.positions=alibi"], "float32", "model.positions=alibi cannot be expressed"),
        (["model.decoder.norm=none"], "float32", "model.norm=none cannot be expressed"),
        (["model=lstm"], "float32", "the encoder of model=lstm is another"),
        (["model=local_transformer"], "float32", "the encoder of model=local_transformer is another"),
        (["model=lstm_block"], "float32", "the encoder of model=lstm_block is another"),
        (["data=agreement"], "float32", "this run is a classification: write engine=torch"),
        ([], "int4", "compute=int4 is not known: choose one of float32, int8"),
    ],
)
def test_what_it_cannot_express_is_refused(overrides: list[str], compute: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        refuse(composed("data=numbers", *overrides), compute)
    assert "write engine=torch" in str(refused.value) or compute == "int4"


def test_without_the_package_the_command_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqarena.exporting.expressible.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs a package: pip install -c constraints.txt -e '\.\[ctranslate2\]'"):
        refuse(composed("data=numbers"), "float32")


@pytest.mark.parametrize("side,told", [("encoder", "a text of 8 tokens"), ("decoder", "a translation is")])
def test_a_text_beyond_the_learned_positions_is_refused(tmp_path: Path, side: str, told: str) -> None:
    run = made(tmp_path, "model.positions=learned", f"model.{side}.max_positions=7")
    for name in ("torch", "ctranslate2"):
        with pytest.raises(TooLong, match=told if name == "ctranslate2" else "a text of 8 tokens"):
            said(run, ["w1", "w1 w2 w3 w4 w5 w6 w7"], name)


def test_sentences_of_near_limits_are_searched_together() -> None:
    assert [*together([11, 16, 17, 3, 40])] == [(16, [0, 1, 3]), (32, [2]), (48, [4])]


def test_the_library_is_imported_where_it_is_asked_for_alone() -> None:
    for path in SOURCES.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:  # functions may import it
            told = ast.unparse(node) if isinstance(node, ast.Import | ast.ImportFrom) else ""
            foreign = "ctranslate2" in told or "seqarena.exporting" in told
            assert path.parent.name == "exporting" or not foreign, path


def test_the_verb_translates_with_either_engine(verb: Verb) -> None:
    code, out, err = verb(
        "train", *SMALL, "data=numbers", *NUMBERS, "model.layers=1", "task.decoding.beam=1", "hydra.run.dir=run"
    )
    assert code == 0, out + err
    Path("lines.txt").write_text("vierzig, drei\n\nzwei\n")
    ours, theirs = (verb("predict", "run=run", "file=lines.txt", f"engine={name}") for name in ("torch", "ctranslate2"))
    assert theirs[:2] == ours[:2] == (0, ours[1]) and ours[1].count("\n") == 3, theirs[2]
    for options, told in (
        (["engine=onnx"], "engine=onnx is not known: choose one of torch, ctranslate2"),
        (["compute=int8"], "compute=int8 is for engine=ctranslate2"),
    ):
        code, _, err = verb("predict", "run=run", "text=a", *options)
        assert code == 2 and told in err and "Traceback" not in err
