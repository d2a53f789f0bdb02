"""The verbs end to end, and what they say to bad input: one message, exit code 2, nothing half-written."""

import io
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import AGREEMENT, NUMBERS, ROOT, SMALL, Verb, finished_run

from seqarena.claim import refuse_folders_apart
from seqarena.preflight import untrained
from seqarena.usage import headline


def trained(verb: Verb, *arguments: str) -> Path:
    code, out, err = verb("train", *SMALL, "hydra.run.dir=run", *arguments)
    assert code == 0, out + err
    return Path("run").absolute()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small classifier; not to be changed."""
    return finished_run(tmp_path_factory.mktemp("finished"), "model=textcnn", *AGREEMENT)


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small translator; not to be changed."""
    return finished_run(tmp_path_factory.mktemp("translator"), "model=textcnn", "data=numbers", *NUMBERS)


def bad(verb: Verb, *arguments: str) -> str:
    code, out, err = verb("train", *SMALL, "hydra.run.dir=run", *arguments)
    assert code == 2, out + err
    assert "Traceback" not in err and not Path("run/checkpoints").exists()
    assert not Path("run/record.json").exists() or json.loads(Path("run/record.json").read_text())["status"] == "failed"
    return err


def test_a_classifier_is_trained_evaluated_and_used_from_its_folder_alone(verb: Verb, texts: Path) -> None:
    run = trained(verb, "model=textcnn", "data=csv", f"data.path={texts}")
    record = json.loads((run / "record.json").read_text())
    assert record["status"] == "done" and record["metrics"]["test/accuracy/baseline=tfidf"] == 1.0
    shutil.rmtree("cache")
    shutil.rmtree(texts)
    elsewhere = shutil.move(run, "elsewhere")
    code, _, err = verb("evaluate", f"run={elsewhere}", "hydra.run.dir=evaluated")
    assert code == 0, err
    found = json.loads(Path("evaluated/evaluation.json").read_text())
    assert found["metrics"]["test/accuracy"] == record["metrics"]["test/accuracy"]
    assert pq.read_table("evaluated/examples.parquet").num_rows == 8
    code, out, err = verb("predict", f"run={elsewhere}", "text=a good, 'fine' film {a=b} ${x}")
    assert code == 0 and out.startswith(("pos\tpos=", "neg\tneg=")), err
    assert sum(float(part.split("=")[1]) for part in out.strip().split("\t")[1:]) == pytest.approx(1, abs=1e-3)


def test_a_translator_is_trained_evaluated_and_used(verb: Verb, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained(verb, "model=lstm", "data=parallel_text", f"data.path={pairs}", "data.source=en", "data.target=de")
    Path("lines.txt").write_text("a man .\n\nfive dogs\n")
    code, out, err = verb("predict", f"run={run}", "file=lines.txt", "beam=2")
    assert code == 0 and out.count("\n") == 3, err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a man .\n")))
    assert verb("predict", f"run={run / 'checkpoints' / 'last.ckpt'}")[1].count("\n") == 1
    code, _, err = verb("evaluate", f"run={run}", f"data.path={pairs}", "decoding.beam=1", "hydra.run.dir=evaluated")
    assert code == 0, err
    assert json.loads(Path("evaluated/evaluation.json").read_text())["signature"]["bleu"].startswith(
        "nrefs:1|case:mixed"
    )


def test_another_test_set_may_be_one_file(verb: Verb, texts: Path) -> None:
    run = trained(verb, "model=rnn", "data=csv", f"data.path={texts}")
    Path("new.csv").write_text("text,label\ngood,pos\nbad,neg\nbad,unseen\n")
    code, out, err = verb("evaluate", f"run={run}", "data.path=new.csv", "hydra.run.dir=evaluated")
    assert code == 0, err
    found = json.loads(Path("evaluated/evaluation.json").read_text())
    assert found["ledger"] == {"read": 3, "kept": 2, "unknown_label": 1}
    assert found["split"] == "train", "the only one there is"
    assert "train: 3 read, 2 kept, 1 unknown label" in out


def test_what_a_run_has_learned_from_is_no_test_set_unless_that_is_asked(verb: Verb, tmp_path: Path) -> None:
    rows = "".join(f"{word} film number {n},{label}\n" for n in range(40) for word, label in (("good", 1), ("bad", 0)))
    Path("all.csv").write_text(f"text,label\n{rows}")
    run = trained(verb, "model=rnn", "data=csv", "data.path=all.csv", "data.max_length=3")
    asked = ("evaluate", f"run={run}", f"data.path={tmp_path / 'all.csv'}")
    code, _, err = verb(*asked, "hydra.run.dir=refused")
    assert code == 2 and "leave data out to score its own test examples, or write split=train" in err
    Path("data").mkdir()
    shutil.copy("all.csv", "data/train.csv")
    assert verb("train", *SMALL, "model=rnn", "data=csv", "data.path=data", "hydra.run.dir=folder")[0] == 0
    for path in ("data/train.csv", "data/../data/train.csv"):
        code, _, err = verb("evaluate", "run=folder", f"data.path={path}", "hydra.run.dir=refused")
        assert code == 2 and "or write split=train" in err, path
    code, out, err = verb(*asked, "split=train", "hydra.run.dir=learned")
    assert code == 0 and "train: 80 read, 80 kept, 80 truncated" in out, err
    assert json.loads(Path("learned/evaluation.json").read_text())["split"] == "train"


@pytest.mark.parametrize("name", ["WORLD_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_processes_that_a_launcher_has_started_are_told_one_folder(
    verb: Verb, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "2")
    for rank in ("0", "1"):  # the first and the others, which would wait for it
        monkeypatch.setenv("RANK", rank)
        code, _, err = verb("train", *SMALL, *AGREEMENT)
        assert code == 2 and "write hydra.run.dir=outputs/runs/NAME" in err
    refuse_folders_apart(["++hydra.run.dir='a, b'"])


def test_outputs_go_to_the_project_whatever_the_callers_folder_is(verb: Verb) -> None:
    code, _, err = verb("train", *SMALL, *AGREEMENT, "model=textcnn", "seed=987654")
    made = list((ROOT / "outputs" / "runs").glob("*-seed987654"))
    for run in made:
        shutil.rmtree(run)
    assert code == 0 and len(made) == 1, err
    assert not any(sign in made[0].name for sign in "=, /")
    assert [path.name for path in Path.cwd().iterdir()] == ["cache"]


@pytest.mark.parametrize("place", ["", "."])
def test_a_run_is_not_spilled_into_the_folder_that_one_stands_in(verb: Verb, tmp_path: Path, place: str) -> None:
    code, _, err = verb("train", *SMALL, *AGREEMENT, f"hydra.run.dir={place}")
    assert code == 2 and "name one for this run alone" in err and not [*tmp_path.iterdir()]


def test_a_run_folder_is_not_used_twice_and_nothing_in_it_changes(verb: Verb) -> None:
    run = trained(verb, "model=textcnn", *AGREEMENT)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for name, *options in (("train", *SMALL, "model=lstm", *AGREEMENT), ("evaluate", f"run={run}")):
        code, _, err = verb(name, *options, f"hydra.run.dir={run}")
        assert code == 2 and "run already" in err
        assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_a_run_is_read_from_its_record_and_what_stands_beside_it_is_not_run(verb: Verb) -> None:
    run = trained(verb, "model=textcnn", *AGREEMENT)
    (run / ".hydra" / "config.yaml").write_text("_target_: os.system")
    assert verb("predict", f"run={run}", "text=a")[0] == 0
    told = json.loads((run / "record.json").read_text())
    for place, value in (("_target_", "os.system"), ("dim", "${oc.env:HOME}")):
        changed = json.loads(json.dumps(told))
        changed["config"]["model"]["encoder"][place] = value
        (run / "record.json").write_text(json.dumps(changed))
        code, _, err = verb("predict", f"run={run}", "text=a")
        assert code == 2 and ("is not run" in err or "interpolation" in err or "resolved config cannot" in err)


def test_a_folder_that_cannot_be_made_is_named(verb: Verb) -> None:
    Path("file").write_text("")
    for option, told in (("hydra.run.dir=file", "hydra.run.dir="), ("cache=file/in", "cache=")):
        code, _, err = verb("train", *SMALL, *AGREEMENT, "hydra.run.dir=other", option)
        assert code == 2 and told in err and "Traceback" not in err


@pytest.mark.parametrize(
    "name,option,told",
    [
        ("evaluate", "split=val", "name that with data.path="),
        ("evaluate", "+data.foo=1", "data.foo does not say"),
        ("evaluate", "+data.max_length=3", "data.max_length does not say"),
        ("evaluate", "data.text=body", "data.text does not say"),
        ("evaluate", "decoding.beam=2", "searches for nothing"),
        ("evaluate", "precision=foo", "precision=foo is not known"),
        ("evaluate", "accelerator=gpu", "accelerator=gpu: torch sees no GPU"),
        ("predict", "accelerator=gpu", "accelerator=gpu: torch sees no GPU"),
        ("predict", "batch=0", "batch=0 must be a whole number from 1"),
        ("predict", "batch=x", "batch=x must be a whole number from 1"),
        ("predict", "file=.", "a folder, not a file"),
    ],
)
def test_what_a_finished_run_cannot_do_is_said(verb: Verb, finished: Path, name: str, option: str, told: str) -> None:
    more = ("text=a",) if name == "predict" and "file" not in option else ()
    code, _, err = verb(name, f"run={finished}", option, *more, *(("hydra.run.dir=e",) if name == "evaluate" else ()))
    assert code == 2 and told in err and "Traceback" not in err, err


@pytest.mark.parametrize(
    "option,told",
    [("beam=0", "task.decoding.beam=0 must be"), ("beam=abc", "beam=abc must be"), ("beam=-1", "beam=-1 must be")],
)
def test_a_search_out_of_its_limits_is_refused(verb: Verb, translator: Path, option: str, told: str) -> None:
    for name, more in (("predict", ["text=a", option]), ("evaluate", [f"decoding.{option}", "hydra.run.dir=e"])):
        code, _, err = verb(name, f"run={translator}", *more)
        assert code == 2 and told in err, err
    code, _, err = verb("evaluate", f"run={translator}", "data.source=de", "data.target=en", "hydra.run.dir=e")
    assert code == 2 and "not the other way" in err


def test_generated_data_can_be_evaluated_with_another_seed(verb: Verb, finished: Path) -> None:
    code, _, err = verb("evaluate", f"run={finished}", "+data.reader.seed=5", "hydra.run.dir=evaluated")
    assert code == 0, err
    assert json.loads(Path("evaluated/evaluation.json").read_text())["data"] == {"reader": {"seed": 5}}


def test_checkpoints_that_are_not_this_runs_are_named(verb: Verb, finished: Path, translator: Path) -> None:
    run = Path(shutil.copytree(finished, "copy"))
    best = run / "checkpoints" / "best.ckpt"
    for content, told in (
        (b"", "damaged"),
        (b"no", "damaged"),
        (translator / "checkpoints/best.ckpt", "another model"),
    ):
        best.write_bytes(content if isinstance(content, bytes) else content.read_bytes())
        code, _, err = verb("predict", f"run={run}", "text=a")
        assert code == 2 and told in err and "best.ckpt" in err
    for name in ("source.json", "vocabulary.json"):
        kept = (finished / "vocabulary" / name).read_bytes()
        (run / "vocabulary" / name).write_text("{")
        code, _, err = verb("predict", f"run={run}", "text=a")
        assert code == 2 and name in err and "Traceback" not in err
        (run / "vocabulary" / name).write_bytes(kept)


def test_the_folder_of_the_checkpoints_means_the_run(verb: Verb, finished: Path) -> None:
    assert verb("predict", f"run={finished / 'checkpoints'}", "text=a")[0] == 0


def test_a_numbers_run_shows_its_strata(verb: Verb) -> None:
    code, out, err = verb("train", *SMALL, "hydra.run.dir=run", "model=textcnn", "data=numbers", *NUMBERS)
    assert code == 0, err
    for shown in ("bleu", "chrf", "test by length", "test by digits", "parameters", "record"):
        assert shown in out


def test_the_data_report_trains_nothing_and_leaves_tables_and_a_page(verb: Verb, texts: Path) -> None:
    with (texts / "test.csv").open("a") as file:
        file.write("odd,neutral\n")
    code, out, err = verb("train", *SMALL, "data=csv", f"data.path={texts}", "report=data", "hydra.run.dir=run")
    assert code == 0, err
    for told in ("source tokens", "examples of", "texts in two splits", "labels of test", "neutral 1"):
        assert told in out
    assert json.loads(Path("run/data_report.json").read_text())["classes"]["train"] == {"neg": 12, "pos": 12}
    assert "Plotly.newPlot" in Path("run/data_report.html").read_text() and not Path("run/record.json").exists()
    code, _, err = verb("train", *SMALL, "report=dta", "hydra.run.dir=other")
    assert code == 2 and "report=data" in err


def test_missing_files_are_named(verb: Verb) -> None:
    assert "nowhere" in bad(verb, "data=csv", "data.path=nowhere")
    assert "write data.path=" in bad(verb, "data=csv")
    assert "data.path=" in bad(verb, "data=multi30k")


def test_a_csv_without_the_label_column_is_explained(verb: Verb, texts: Path) -> None:
    message = bad(verb, "data=csv", f"data.path={texts}", "data.label=lable")
    assert "lable" in message and "label" in message and "train.csv" in message


def test_parallel_files_of_different_length_show_both_counts(verb: Verb, pairs: Path) -> None:
    with (pairs / "train.de").open("a") as file:
        file.write("noch ein Satz\n")
    message = bad(verb, "data=parallel_text", f"data.path={pairs}", "data.source=en", "data.target=de")
    assert "24" in message and "25" in message and "train.de" in message


def test_an_empty_training_file_is_refused(verb: Verb, texts: Path) -> None:
    (texts / "train.csv").write_text("text,label\n")
    assert "no usable example (rows: 0 read, 0 kept)" in bad(verb, "data=csv", f"data.path={texts}")
    (texts / "train.csv").write_text("text,label\n,pos\n")
    assert "no usable example (rows: 1 read, 0 kept, 1 empty)" in bad(verb, "data=csv", f"data.path={texts}")


def test_unknown_labels_in_the_test_are_counted_and_shown(verb: Verb, texts: Path) -> None:
    with (texts / "test.csv").open("a") as file:
        file.write("odd,neutral\n")
    run = trained(verb, "model=textcnn", "data=csv", f"data.path={texts}")
    ledger = json.loads((run / "record.json").read_text())["ledger"]["test"]
    assert ledger == {"read": 9, "kept": 8, "unknown_label": 1}
    log = (run / "train.log").read_text()
    assert "unknown_label 1" in log and "'neutral' 1" in log and "what <unk> means is never learned" in log


@pytest.mark.parametrize(
    ("train", "val", "word_dropout", "warned"), [(0, 0.02, 0, 1), (0, 0, 0, 0), (0.01, 0.02, 0, 0), (0, 0.02, 0.1, 0)]
)
def test_unknown_tokens_that_nothing_is_learned_of(train: float, val: float, word_dropout: float, warned: int) -> None:
    for name in ("train", "head"):
        found = untrained({"val": val, "test": 0.0, name: train}, word_dropout)
        assert len(found) == warned and all("up to 2.0% of the tokens" in one for one in found)


def test_what_does_not_fit_together_is_said_before_training(verb: Verb) -> None:
    assert "model.dim=32" in bad(verb, "model.dim=30", *AGREEMENT)
    assert "sees no GPU" in bad(verb, "trainer.accelerator=gpu", *AGREEMENT)
    assert "never end" in bad(verb, "trainer.max_steps=-1", *AGREEMENT)
    assert "model.positions=sinusoidal" in bad(verb, "model.positions=learned", "model.max_positions=3", *AGREEMENT)
    assert "choose one of" in bad(verb, "model.positions=sinusodial", *AGREEMENT)
    assert "lstm, gru, rnn" in bad(verb, "model=lstm", "model.cell=lstn", *AGREEMENT)


def test_a_misspelt_option_is_refused(verb: Verb) -> None:
    code, _, err = verb("train", "model.drop=0.1")
    assert code != 0 and "drop" in err
    code, _, err = verb("train", "model=transfomer")
    assert code != 0 and "transformer" in err


@pytest.mark.parametrize(
    "arguments,told",
    [
        (["run=nowhere"], "no such folder or checkpoint"),
        (["run=."], "is missing, so this is not the folder of a finished run"),
    ],
)
def test_verbs_on_what_is_no_run(verb: Verb, arguments: list[str], told: str) -> None:
    for name in ("evaluate", "predict"):
        code, _, err = verb(name, *arguments)
        assert code == 2 and told in err


def test_a_damaged_checkpoint_and_a_missing_file_are_named(verb: Verb) -> None:
    run = trained(verb, "model=textcnn", *AGREEMENT)
    code, _, err = verb("predict", f"run={run}", "file=none.txt")
    assert code == 2 and "none.txt" in err
    code, _, err = verb("predict", f"run={run}", "text=a", "beam=3")
    assert code == 2 and "searches for nothing" in err
    (run / "checkpoints" / "best.ckpt").write_bytes(b"no")
    code, _, err = verb("predict", f"run={run}", "text=a")
    assert code == 2 and "best.ckpt" in err


@pytest.mark.parametrize("group", ["model", "data", "schedule", "trainer", "logger", "budget", "probe", "recipe"])
def test_help_shows_a_whole_sentence_of_each_choice(group: str) -> None:
    for path in (ROOT / "conf" / group).glob("*.yaml"):
        assert headline(path)[-1] in ".?", path


def test_help_needs_no_torch() -> None:
    started = time.perf_counter()
    command = (
        "import sys, runpy; sys.argv = ['train.py', '--help']\ntry: runpy.run_path('train.py', run_name='__main__')\n"
    )
    command += "except SystemExit: pass\nassert 'torch' not in sys.modules and 'wandb' not in sys.modules"
    subprocess.run([sys.executable, "-c", command], cwd=ROOT, check=True, capture_output=True)
    assert time.perf_counter() - started < 30
