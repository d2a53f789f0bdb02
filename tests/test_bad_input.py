"""What happens to bad options, damaged run folders and odd pipes: a table. `python tests/test_bad_input.py` prints it.

Files of data have a table of their own (tests/data/test_malformed.py). Each case ends with one message that names the
file or option, the value and the cure; no traceback, nothing half-written.
"""

import io
import json
import os
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import AGREEMENT, ROOT, SMALL, Verb, finished_run

from seqarena.record import FILE, Record

Damage = Callable[[Path], object]
BEST, SOURCE, LABELS = "checkpoints/best.ckpt", "vocabulary/source.json", "vocabulary/vocabulary.json"


@dataclass(frozen=True)
class Case:
    """A command, what was done to the run's folder before it, and what it says: `code` 1 is Hydra's own refusal."""

    name: str
    says: tuple[str, ...]
    arguments: tuple[str, ...]
    verb: str = "predict"
    damage: Damage | None = None
    pipe: bytes | None = None
    code: int = 2


def option(name: str, *says: str, code: int = 2) -> Case:
    """Of train.py: the words of `name` are its arguments."""
    return Case(name, says, tuple(name.split(" ")), "train", code=code)


def folder(name: str, damage: Damage, *says: str, verb: str = "predict", run: str = "run") -> Case:
    """A run's folder to which something was done."""
    more = ("text=a",) if verb == "predict" else ("hydra.run.dir=new",)
    return Case(name, says, (f"{'replay' if verb == 'train' else 'run'}={run}", *more), verb, damage)


def pipe(name: str, content: bytes, *says: str) -> Case:
    """A pipe into predict.py that is refused."""
    return Case(name, says, ("run=run",), pipe=content)


# what can be done to a file -------------------------------------------------------------------------------------------


def written(file: str, content: str | bytes) -> Damage:
    return lambda run: (run / file).write_bytes(content if isinstance(content, bytes) else content.encode())


def cut(file: str, share: float = 0.5) -> Damage:
    def halve(run: Path) -> None:
        raw = (run / file).read_bytes()
        (run / file).write_bytes(raw[: int(len(raw) * share)])

    return halve


def removed(file: str) -> Damage:
    return lambda run: shutil.rmtree(run / file) if (run / file).is_dir() else (run / file).unlink()


def a_folder(file: str) -> Damage:
    return lambda run: ((run / file).unlink(), (run / file).mkdir())


def changed(file: str, *path: str, to: Any) -> Damage:
    """The JSON with one value replaced; of a record's `config` this changes what the run is built from."""

    def change(run: Path) -> None:
        told = json.loads((run / file).read_text())
        place = told
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = to
        (run / file).write_text(json.dumps(told))

    return change


def without(file: str, *path: str) -> Damage:
    def drop(run: Path) -> None:
        told = json.loads((run / file).read_text())
        place = told
        for name in path[:-1]:
            place = place[name]
        del place[path[-1]]
        (run / file).write_text(json.dumps(told))

    return drop


def weights(change: Callable[[dict[str, Any]], Any]) -> Damage:
    """The checkpoint saved again with its state changed, or with what `change` returns in its place."""

    def save(run: Path) -> None:
        found = torch.load(run / BEST, weights_only=True)
        other = change(found["state_dict"])
        torch.save(found if other is None else other, run / BEST)

    return save


class Code:
    """Leaves a file behind when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, ("was-run",)


def first(state: dict[str, Any]) -> str:
    return next(name for name, value in state.items() if value.dim() == 2)


def without_one(state: dict[str, Any]) -> None:
    del state[first(state)]


def with_nan(state: dict[str, Any]) -> None:
    state[first(state)].fill_(float("nan"))


def emptied(run: Path) -> None:
    shutil.rmtree(run)
    run.mkdir()


def a_file(run: Path) -> None:
    shutil.rmtree(run)
    run.write_text("no folder")


def no_vocabulary(run: Path) -> None:
    told = json.loads((run / SOURCE).read_text())
    told["model"]["vocab"], told["added_tokens"] = {}, []
    (run / SOURCE).write_text(json.dumps(told))


def other_words(run: Path) -> None:
    told = json.loads((run / SOURCE).read_text())
    words = told["model"]["vocab"]
    one, other = list(words)[-2:]
    words[one], words[other] = words[other], words[one]
    (run / SOURCE).write_text(json.dumps(told))


# the table ------------------------------------------------------------------------------------------------------------

ENCODER = ("config", "model", "encoder")
OPTIONS = [
    option("trainer.max_step=5", "max_step", "did you mean trainer.max_steps?"),
    option("modle=lstm", "modle"),
    option("model=transfomer", "transfomer", "transformer"),
    option("data=agrement", "agrement", "agreement"),
    option("schedule=cosin", "cosin", "cosine"),
    option("optim=adamm", "adamm", "adamw"),
    option("budget=money", "money", "parameters"),
    option("model.dim=[64", "[64"),
    option("model.dim=abc", "model.dim=abc must be a whole number of 1 or more"),
    option("model.dim=[64]", "model.dim=[64] must be a whole number of 1 or more"),
    option("model.dim={a:1}", "model.dim={'a': 1} must be a whole number"),
    option("model.dim=null", "model.dim=null must be a whole number"),
    option("model.dim=-8", "model.dim=-8 must be a whole number of 1 or more"),
    option("model.dim=24.5", "model.dim=24.5 must be a whole number"),
    option("model.lr=-0.1", "model.lr=-0.1 must be a number from"),
    option("model.lr=fast", "model.lr=fast must be a number from"),
    option("model.dropout=1", "model.dropout=1 must be a number from 0 to 0.99"),
    option("seed=", "seed= must be a whole number from 0"),
    option("data.workers=-1", "data.workers=-1 must be a whole number of 0 or more"),
    option("data.workers=two", "data.workers=two must be a whole number of 0 or more"),
    option("data.batch_tokens=0", "data.batch_tokens=0 must be a whole number of 1 or more"),
    option("data.max_length=-5", "data.max_length=-5 is not understood: write a number from 1, p95"),
    option("data.max_length=long", "data.max_length=long is not understood"),
    option("data.sampling=some", "data.sampling=some is not known: choose one of all, oversample"),
    option("data.baselines=[foo]", "foo", "majority"),
    option("data.tokenizer.kind=words", "data.tokenizer.kind=words is not known: choose one of word, bpe"),
    option("data.tokenizer.kind=file", "data.tokenizer.kind=file and data.tokenizer.file=PATH go together"),
    option("data.tokenizer.kind=file data.tokenizer.file=no.json", "data.tokenizer.file=", "no.json: no such file"),
    option("data.reader.distances=5", "data.reader.distances=5 must be a list of whole numbers"),
    option("data.reader.distances=[]", "distances"),
    option("data.reader.train=-3", "train=-3"),
    option("data.buckets.length=abc", "data.buckets.length=abc"),
    option("schedule.warmup=null", "schedule.warmup=null must be a number"),
    option("trainer.max_epochs=2.5", "trainer.max_epochs=2.5 must be a whole number"),
    option("trainer.precision=[32]", "trainer.precision=[32]", "32-true"),
    option("trainer.accelerator=5", "trainer.accelerator=5", "auto, cpu, gpu"),
    option("trainer.devices=-1", "trainer.devices=-1 must be a whole number from 1, or auto"),
    option("budget=parameters budget.target=few", "budget.target=few must be a number"),
    option("budget=time budget.minutes=-1", "budget.minutes=-1 must be a number"),
    option("probe=all probe.kinds=[gradients]", "gradients"),
    option(
        "logger=wandb logger.mode=sometimes",
        "logger.mode=sometimes is not known: write logger.mode=offline or logger.mode=online",
    ),
    option("report=everything", "report=everything is not known: write report=data, report=model"),
    option("replay=nowhere", "nowhere", "is missing"),
    option("sweeps=nothing", "sweeps=nothing is not there: sweeps/ has"),
    option("sweeps=warmup scale=huge", "scale=huge is not known: write scale=small or scale=full"),
    Case("run=[a,b]", ("run=", "no such folder or checkpoint"), ("run=[a,b]", "text=a")),
    Case("file=7", ("file=7: no such file",), ("run=run", "file=7")),
    Case("text and file", ("text= and file= are both given",), ("run=run", "text=a", "file=b")),
    Case(
        "decoding.beam=x",
        ("beam: this run is a classification, which searches for nothing",),
        ("run=run", "decoding.beam=x", "hydra.run.dir=new"),
        "evaluate",
    ),
    Case("runs=nowhere", ("runs=nowhere matches no folder with a record.json",), ("runs=nowhere",), "compare"),
    Case("sweep=nowhere", ("sweep=nowhere is not in outputs/sweeps",), ("sweep=nowhere",), "compare"),
    Case("margin=-1", ("margin=-1 must be a number above 0",), ("runs=run", "margin=-1"), "compare"),
]

CHECKPOINTS = [
    folder("a checkpoint cut in half", cut(BEST), BEST, "is damaged", "train it again"),
    folder("a checkpoint without its last byte", cut(BEST, 0.999), BEST, "is damaged"),
    folder("an empty checkpoint", written(BEST, b""), BEST, "is damaged"),
    folder("a text as a checkpoint", written(BEST, "weights"), BEST, "is damaged"),
    folder("a pickle that runs code", written(BEST, pickle.dumps(Code())), BEST, "not opened any further"),
    folder("a checkpoint that runs code", weights(lambda _: Code()), BEST, "not opened any further"),
    folder("a folder as a checkpoint", a_folder(BEST), BEST, "is missing", "not the folder of a finished run"),
    folder("no checkpoint", removed(BEST), BEST, "is missing"),
    folder("a list as a checkpoint", weights(lambda state: [*state]), BEST, "holds no weights"),
    folder("weights alone", weights(dict), BEST, "holds no weights"),
    folder("a weight is missing", weights(without_one), "another model", "missing"),
    folder("a weight too many", weights(lambda state: state.update(more=torch.ones(3))), "another model", "more is 3"),
    folder("a number as a weight", weights(lambda s: s.update({first(s): 3})), "another model", "no tensor"),
    folder("a weight of another shape", weights(lambda s: s.update({first(s): torch.ones(2, 3)})), "is 2 x 3 in it"),
    folder("NaN in a weight", weights(with_nan), BEST, "not finite", "model.lr"),
    folder("another architecture", changed(FILE, *ENCODER, "widths", to=[2]), "another model", "by the record"),
]  # fmt: skip

TOKENIZERS = [
    folder("a tokenizer cut in half", cut(SOURCE), SOURCE, "is not a tokenizer, or a damaged one"),
    folder("an empty tokenizer", written(SOURCE, ""), SOURCE, "is not a tokenizer"),
    folder("a tokenizer that is no JSON", written(SOURCE, "words"), SOURCE, "is not a tokenizer"),
    folder("a tokenizer without words", no_vocabulary, SOURCE, "of another origin", "<pad>"),
    folder("a tokenizer with two words exchanged", other_words, "tokenizer is not what the run was trained with"),
    folder("no tokenizer", removed(SOURCE), SOURCE, "is missing"),
    folder("labels in another order", changed(LABELS, "labels", to=["b", "a"]), "labels is not what the run was"),
    folder("labels cut off", cut(LABELS), LABELS, "missing or damaged"),
    folder("labels of another form", changed(LABELS, "labels", to="ab"), LABELS, "a list of labels"),
]  # fmt: skip

RECORDS = [
    folder("a record cut in half", cut(FILE), FILE, "is damaged (cut off or not JSON)"),
    folder("an empty record", written(FILE, ""), FILE, "is damaged"),
    folder("a record that is a list", written(FILE, "[]"), FILE, "does not hold a record"),
    folder("a record that is null", written(FILE, "null"), FILE, "does not hold a record"),
    folder("a record with a NUL", written(FILE, b'{"schema": \0}'), FILE, "is damaged"),
    folder("a record that is no UTF-8", written(FILE, b'{"run": "\xff"}'), FILE, "is damaged"),
    folder("a record nested too deep", written(FILE, "[" * 100_000), FILE, "is damaged"),
    folder("half a surrogate in a record", written(FILE, '{"run": "\\ud800"}'), FILE, "is damaged"),
    folder("a record of the future", changed(FILE, "schema", to=2), FILE, "schema 2", "this version reads 1"),
    folder("a record without a schema", without(FILE, "schema"), FILE, "schema None"),
    folder("a record without its model", without(FILE, "model"), FILE, "model: Field required"),
    folder("metrics as a list", changed(FILE, "metrics", to=[1]), FILE, "metrics", "not '[1]'"),
    folder("a metric as text", changed(FILE, "metrics", "test/accuracy", to="high"), FILE, "test/accuracy", "'high'"),
    folder("a status that there is not", changed(FILE, "status", to="fine"), FILE, "status", "'diverged'", "'fine'"),
    folder("a seed as text", changed(FILE, "seed", to="1"), FILE, "seed: should be a valid integer, not '1'"),
    folder("a config that is a list", changed(FILE, "config", to=[]), FILE, "config: should be an object"),
    folder("an empty config", changed(FILE, "config", to={}), FILE, "makes no run", "take it from where"),
    folder("a config without its encoder", without(FILE, *ENCODER), FILE, "makes no run", "encoder"),
    folder("a width as text", changed(FILE, "config", "model", "dim", to="a"), "model.dim=a must be a whole number"),
    folder("a negative width", changed(FILE, *ENCODER, "dim", to=-4), FILE),
    folder("a width that no memory holds", changed(FILE, *ENCODER, "dim", to=2**50), FILE),
    folder("code in a config", changed(FILE, *ENCODER, "_target_", to="os.system"), "os.system is not run"),
    folder("a path as a class", changed(FILE, *ENCODER, "_target_", to="seqarena.models.../../x.E"), "is not run"),
    folder("an interpolation in a config", changed(FILE, "config", "seed", to="${oc.env:HOME}"), "${oc.env:HOME}"),
    folder("a task that there is not", changed(FILE, "config", "task", "name", to="../x"), "task.name=../x is not"),
    folder("evaluated: buckets as text", changed(FILE, "config", "data", "buckets", to="x"), FILE, verb="evaluate"),
    folder("evaluated: examples cut off", cut("examples.parquet"), "examples.parquet cannot be read", verb="evaluate"),
    folder("replayed: a run that goes on", changed(FILE, "status", to="running"), "is running: only", verb="train"),
    folder("replayed: a record cut in half", cut(FILE), FILE, "is damaged", verb="train"),
]  # fmt: skip

FOLDERS = [
    folder("an empty folder", emptied, "record.json is missing, so this is not the folder of a finished run"),
    folder("a file as a run", a_file, "record.json is missing"),
    folder("a folder that is not there", removed("."), "run=", "no such folder or checkpoint"),
    folder("a checkpoint that is not there", removed("checkpoints"), "best.ckpt is missing"),
    folder("a checkpoint by name that is not there", lambda _: None, "no such folder or checkpoint", run="run/x.ckpt"),
    folder("evaluated: an empty folder", emptied, "record.json is missing", verb="evaluate"),
]

PIPES = [
    pipe("a pipe that is no UTF-8", b"a\n\xffb\n", "standard input:2", "0xff at offset 2", "UTF-8"),
    pipe("a pipe with a NUL", b"a\nb\0c\n", "standard input:2: a NUL character", "Delete it."),
    pipe("a pipe in UTF-16", "viele Worte\n".encode("utf-16-le"), "standard input:1", "iconv -f utf-16-le -t UTF-8"),
    Case("a file in another encoding", ("in.txt:1", "as UTF-8"), ("run=run", "file=run/in.txt"),
         damage=written("in.txt", "Größe und Mühe, schön\n".encode("cp1252"))),
]  # fmt: skip

CASES = [*OPTIONS, *CHECKPOINTS, *TOKENIZERS, *RECORDS, *FOLDERS, *PIPES]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small classifier; not to be changed."""
    return finished_run(tmp_path_factory.mktemp("finished"), *AGREEMENT, "model=textcnn")


OURS = ("new", "cache")


def listing() -> dict[str, bytes]:
    """Every file below the folder of the command, but for the record of a run that failed, and prepared data."""
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file() and path.parts[0] not in OURS}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_input_ends_with_one_message(
    case: Case, verb: Verb, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = prepared(case, finished, monkeypatch)
    code, out, err = verb(case.verb, *arguments(case))
    assert code == case.code, out + err
    for words in case.says:
        assert words in err, err
    assert "Traceback" not in err and out == "" and err.count("error: ") == (case.code == 2)
    assert before == listing() and not Path("was-run").exists()
    if Path("new", FILE).exists():
        assert Record.read(Path("new")).status == "failed" and not Path("new/checkpoints").exists()


def prepared(case: Case, finished: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    shutil.copytree(finished, "run")
    if case.damage is not None:
        case.damage(Path("run"))
    if case.pipe is not None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(case.pipe)))
    return listing()


def arguments(case: Case) -> tuple[str, ...]:
    if case.verb != "train" or case.arguments[0].startswith("replay="):
        return case.arguments
    return (*SMALL[:3], *AGREEMENT, "hydra.run.dir=new", *case.arguments)


def test_the_table_is_long_and_names_each_case_once() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 100 and all(case.says for case in CASES)


# pipes that are odd and not wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "count"),
    [(b"", 0), (b"\n\n \n", 3), (b"a\nb", 2), (b"\xef\xbb\xbfa\n", 1), (b"x" * 1_000_000 + b"\n", 1), (b"a\rb\n", 1)],
    ids=["empty", "only blank lines", "no last line end", "a byte order mark", "a line of 1 MB", "a lone return"],
)
def test_a_line_in_is_a_line_out(
    content: bytes, count: int, verb: Verb, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    code, out, err = verb("predict", f"run={finished}")
    assert (code, out.count("\n")) == (0, count), err


def test_line_ends_of_windows_change_no_answer(verb: Verb, finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = b"the key to the cabinets is\n\nthe keys are\n"
    told = []
    for content in (texts, texts.replace(b"\n", b"\r\n")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        told.append(verb("predict", f"run={finished}"))
    assert told[0] == told[1] and told[0][0] == 0


def test_a_reader_that_has_seen_enough_ends_the_command_without_a_word(
    verb: Verb, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write = os.pipe()
    os.close(read)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n")))
    with os.fdopen(write, "w") as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        code, _, err = verb("predict", f"run={finished}")
    assert (code, err) == (141, "")


@pytest.mark.parametrize("stdin", [None, "terminal"])
def test_nothing_to_read_is_said(
    stdin: str | None, verb: Verb, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal() if stdin else None)
    code, _, err = verb("predict", f"run={finished}")
    assert code == 2 and "nothing to read: write text=" in err


def test_texts_that_no_memory_holds_are_told_with_what_to_write(
    verb: Verb, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seqarena.tasks.classification import Classification

    def full(*_: object) -> Iterator[object]:
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    monkeypatch.setattr(Classification, "answer", full)
    code, _, err = verb("predict", f"run={finished}", "text=abc")
    assert code == 2 and "has 3 characters: write batch=1 (now 64), or cut it up" in err and "Traceback" not in err


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_folder_that_cannot_be_written_predicts_and_is_not_trained_in(verb: Verb, finished: Path) -> None:
    run = Path(shutil.copytree(finished, "run"))
    run.chmod(0o500)
    try:
        assert verb("predict", "run=run", "text=a")[0] == 0
        code, _, err = verb("train", *SMALL, *AGREEMENT, "hydra.run.dir=run/in")
        assert code == 2 and "hydra.run.dir=" in err and "Traceback" not in err
    finally:
        run.chmod(0o700)


class Table:
    """Hears what each case is told, and prints it."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> None:
        case, verb = pyfuncitem.funcargs["case"], pyfuncitem.funcargs["verb"]
        home = pyfuncitem.funcargs["tmp_path"]

        def heard(name: str, *given: str) -> tuple[int, str, str]:
            code, out, err = verb(name, *given)
            for place in (home, home.parent, ROOT):
                err = err.replace(f"{place}/", "")
            told = " ".join(err.removeprefix("error: ").split())
            self._lines.append(f"{name:8} | {case.name:50} | {told}\n")
            return code, out, err

        pyfuncitem.funcargs["verb"] = heard

    def pytest_unconfigure(self) -> None:
        sys.stdout.writelines(self._lines)


if __name__ == "__main__":
    quietly = ("-k", "one_message", "-o", "addopts=", "-p", "no:terminal")
    sys.exit(pytest.main([__file__, *quietly], plugins=[Table()]))
