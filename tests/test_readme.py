"""Every command of the README, cut down to seconds; a command that is not known here fails the test."""

import gzip
import json
import re
import shlex
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import AGREEMENT, NUMBERS, ROOT, SMALL, Verb
from hydra import compose, initialize_config_dir
from made import make

from seqarena.sweep.question import expand

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```\n(.*?)```", README, re.DOTALL)
COMMANDS = [line.split(" #")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
TRAINS = [line for line in COMMANDS if line.startswith("python train.py")]
SETUP = {"make train", "make test", "python3 -m venv .venv && . .venv/bin/activate"}
SETUP |= {"pip install -c constraints.txt -e '.[dev]'", "pip install -c constraints.txt -e '.[launchers,optuna]'"}
SETUP |= {"pip install -c constraints-ray.txt -e '.[ray]'"}


RECALL = ("data.reader.train=40", "data.reader.val=12", "data.reader.test=12", "probe.examples=8")

WORDS = ("fine", "bad")
REVIEWS = [{"review": f"{word} café {n}", "stars": n % 2, "year": 2000 + n % 3} for n in range(60) for word in WORDS]
PAIRS = [(f"a dog {n}", f"ein Hund {n}", "free") for n in range(60)]


@pytest.fixture
def files(verb: Verb, texts: Path, pairs: Path) -> None:
    """What the README's commands name, in the folder that they are run in."""
    for name, folder in (("my_folder", texts), ("my_trec", texts), ("my_pairs", pairs)):
        Path(name).symlink_to(folder)
    Path("my.jsonl").write_text("".join(json.dumps(row) + "\n" for row in REVIEWS))
    Path("my").mkdir()
    for part in (1, 2):
        rows = "".join(f"{row['review']},{row['stars']}\n" for row in REVIEWS[part::2])
        Path(f"my/part-{part}.csv.gz").write_bytes(gzip.compress(f"text,label\n{rows}".encode("cp1252")))
    Path("my.tsv").write_text("".join(f"{row['stars']}\t{row['review']}\n" for row in REVIEWS))
    columns = {"text": [row["review"] for row in REVIEWS], "label": [str(row["stars"]) for row in REVIEWS]}
    for split, begin in (("a", 0), ("b", 100), ("c", 110)):
        part = {name: values[begin : begin + 100] for name, values in columns.items()}
        pq.write_table(pa.table(part), f"{split}.parquet")
    for number, row in enumerate(REVIEWS):
        place = Path("my_reviews/train", "pos" if row["stars"] else "neg", f"{number}.txt")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(str(row["review"]))
    Path("deu.tsv").write_text("".join("\t".join(pair) + "\n" for pair in PAIRS))
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{en}</seg></tuv><tuv xml:lang="de"><seg>{de}</seg></tuv></tu>'
        for en, de, _ in PAIRS
    )
    Path("memory.tmx.gz").write_bytes(gzip.compress(f'<tmx version="1.4"><body>{units}</body></tmx>'.encode()))
    Path("my_multi30k").mkdir()
    for split, size in (("train", 20), ("val", 4), ("test", 5)):
        lines = (json.dumps({"en": f"a {split} dog {n}", "de": f"ein {split} Hund {n}"}) for n in range(size))
        Path(f"my_multi30k/{split}.jsonl").write_text("\n".join(lines))


def cut_down(arguments: list[str]) -> list[str]:
    if "data=parallel_text" in arguments:
        arguments = [one.replace("my_folder", "my_pairs") for one in arguments]
    small = [option for option in SMALL if option.split("=")[0] not in {one.split("=")[0] for one in arguments}]
    if not any(one.startswith(("data=", "recipe=multi30k")) for one in arguments):
        small += AGREEMENT
    if "data=numbers" in arguments:
        small += NUMBERS
    if "data=recall" in arguments:
        small += RECALL
    return [*arguments, *small, "trainer.max_steps=2", "trainer.max_epochs=null"]


LEFT = {"lr_find=true": "lr_find.json", "report=data": "data_report.json", "probe=all": "probes.html"}
LEFT |= {"report=model": "../cache/soundness"}
"""What commands leave that train nothing, or more than others."""


ELSEWHERE = (" -m ", "devices=2", "sweeps=")


@pytest.mark.parametrize("command", [line for line in TRAINS if not any(one in line for one in ELSEWHERE)])
def test_training_commands(command: str, verb: Verb, files: None) -> None:
    arguments = cut_down(shlex.split(command)[2:])
    if "recipe=multi30k_tiny" in command:
        arguments += ["trainer.validate_every=1", "data.tokenizer.vocabulary=60"]
    code, out, err = verb("train", *arguments, "hydra.run.dir=run")
    assert code == 0, out + err
    assert Path("run", next((left for word, left in LEFT.items() if word in command), "record.json")).exists()


def test_a_multirun_makes_a_folder_for_a_job(verb: Verb) -> None:
    """For one: test_multirun.py has several."""
    command = next(line for line in TRAINS if " -m " in line)
    cuts = {"model=lstm,textcnn,transformer": "model=textcnn", "seed=1,2,3": "seed=1"}
    arguments = [cuts.get(one, one) for one in shlex.split(command)[2:]]
    small = [option for option in SMALL if not option.startswith("model.dim")]
    code, out, err = verb("train", *arguments, *small, *AGREEMENT, "model.dim=12", "hydra.sweep.dir=sweep")
    assert code == 0, out + err
    assert len(list(Path("sweep").glob("*/record.json"))) == 1


@pytest.mark.parametrize("command", [line for line in TRAINS if "sweeps=" in line])
def test_sweep_commands_are_multiruns_whose_jobs_compose(command: str) -> None:
    first, *options = expand(shlex.split(command)[2:], ROOT)
    assert first == "-m" and any(one.startswith("sweep=") for one in options)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        compose("train", [one for one in options if "," not in one.split("[")[0]])


def test_comparison_commands(verb: Verb, tmp_path: Path) -> None:
    for model, share in (("lstm", 0.9), ("gru", 0.6)):
        for seed in (1, 2, 3):
            make(tmp_path / "outputs" / "runs", model, seed, share)
    runs, place = f"{tmp_path}/outputs/runs/", ROOT / "outputs" / "compare" / "readme_test"
    once = (line for line in COMMANDS if line.startswith("python compare.py") and "watch=true" not in line)
    for line in once:
        words = [word.replace("outputs/runs/", runs) for word in shlex.split(line)[2:]]
        words = [f"runs={runs}*" if word.startswith("sweep=") else word for word in words]
        code, out, err = verb("compare", *words, "name=readme_test")
        made = {path.name for path in place.iterdir()} if place.exists() else set()
        shutil.rmtree(place, ignore_errors=True)
        assert code == 0 and "lstm" in out and {"index.html", "table.md"} <= made, out + err


def test_the_command_of_another_engine(verb: Verb) -> None:
    (line,) = (line for line in COMMANDS if "engine=" in line)
    assert (
        verb("train", "data=numbers", "data.source=en", "data.target=de", *SMALL, *NUMBERS, "hydra.run.dir=run")[0] == 0
    )
    Path("texts.txt").write_text("two\nthree hundred\n")
    code, out, err = verb("predict", *(word.replace("outputs/runs/...", "run") for word in shlex.split(line)[2:]))
    assert code == 0 and len(out.splitlines()) == 2 and list(Path("run/export").iterdir()), err


def test_evaluation_and_prediction_commands(verb: Verb, texts: Path) -> None:
    code, out, err = verb("train", *SMALL, "model=textcnn", "data=csv", f"data.path={texts}", "hydra.run.dir=run")
    assert code == 0, out + err
    Path("texts.txt").write_text("a good film\n")
    every = [line for line in COMMANDS if line.startswith(("python evaluate.py", "python predict.py"))]
    shown = [line for line in every if "engine=" not in line]
    assert len(shown) >= 4
    for number, line in enumerate(shown):
        words = [word.replace("outputs/runs/...", "run").replace("=other", f"={texts}") for word in shlex.split(line)]
        name, arguments = words[1].removesuffix(".py"), words[2:]
        if name == "evaluate":
            arguments.append(f"hydra.run.dir=evaluated-{number}")
        code, out, err = verb(name, *arguments)
        assert code == 0 and out, err


def test_no_command_is_left_out() -> None:
    known = ("python train.py", "python evaluate.py", "python predict.py", "python compare.py", "cat texts.txt")
    known += ("torchrun ", "srun ")  # of which test_ranks.py runs the first; the other needs a cluster
    for line in COMMANDS:
        assert line in SETUP or line.startswith(known), line
    makefile = (ROOT / "Makefile").read_text()
    assert "train.py model=transformer" in makefile and "-m pytest" in makefile
    assert "make test" in (ROOT / ".ci" / "run").read_text()
