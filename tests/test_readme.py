"""Every command of the README, cut down to seconds; a command that is not known here fails the test."""

import json
import re
import shlex
from pathlib import Path

import pytest
from conftest import AGREEMENT, NUMBERS, ROOT, SMALL, Verb

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```\n(.*?)```", README, re.DOTALL)
COMMANDS = [line.split(" #")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
TRAINS = [line for line in COMMANDS if line.startswith("python train.py")]
SETUP = {"make train", "make test", "python3 -m venv .venv && . .venv/bin/activate"}
SETUP |= {"pip install -c constraints.txt -e '.[dev]'"}


@pytest.fixture
def places(tmp_path: Path, texts: Path, pairs: Path) -> dict[str, str]:
    """What stands in for the folders that the README's commands name."""
    jsonl = tmp_path / "my.jsonl"
    rows = [{"review": f"{word} {n}", "stars": n % 2} for n in range(60) for word in ("fine", "bad")]
    jsonl.write_text("".join(json.dumps(row) + "\n" for row in rows))
    multi30k = tmp_path / "multi30k"
    multi30k.mkdir()
    for split, size in (("train", 20), ("val", 4), ("test", 5)):
        lines = (json.dumps({"en": f"a {split} dog {n}", "de": f"ein {split} Hund {n}"}) for n in range(size))
        (multi30k / f"{split}.jsonl").write_text("\n".join(lines))
    named = {"my_multi30k": multi30k, "my_trec": texts, "my.jsonl": jsonl}
    return {name: str(path) for name, path in named.items()}


def cut_down(arguments: list[str], places: dict[str, str], texts: Path, pairs: Path) -> list[str]:
    folder = pairs if "data=parallel_text" in arguments else texts
    arguments = [one.replace("my_folder", str(folder)) for one in arguments]
    for name, path in places.items():
        arguments = [one.replace(name, path) for one in arguments]
    small = [option for option in SMALL if option.split("=")[0] not in {one.split("=")[0] for one in arguments}]
    if not any(one.startswith(("data=", "recipe=multi30k")) for one in arguments):
        small += AGREEMENT
    if "data=numbers" in arguments:
        small += NUMBERS
    return [*arguments, *small, "trainer.max_steps=2", "trainer.max_epochs=null"]


@pytest.mark.parametrize("command", [line for line in TRAINS if " -m " not in line and "devices=2" not in line])
def test_training_commands(command: str, verb: Verb, places: dict[str, str], texts: Path, pairs: Path) -> None:
    arguments = cut_down(shlex.split(command)[2:], places, texts, pairs)
    if "recipe=multi30k_tiny" in command:
        arguments += ["trainer.validate_every=1", "data.tokenizer.vocabulary=60"]
    code, out, err = verb("train", *arguments, "hydra.run.dir=run")
    assert code == 0, out + err
    assert Path("run/lr_find.json" if "lr_find=true" in command else "run/record.json").exists()


def test_a_multirun_makes_a_folder_a_job(verb: Verb) -> None:
    command = next(line for line in TRAINS if " -m " in line)
    arguments = [one.replace("seed=1,2,3", "seed=1,2") for one in shlex.split(command)[2:]]
    small = [option for option in SMALL if not option.startswith("model.dim")]
    code, out, err = verb("train", *arguments, *small, *AGREEMENT, "model.dim=12", "hydra.sweep.dir=sweep")
    assert code == 0, out + err
    assert len(list(Path("sweep").glob("*/record.json"))) == 6


def test_evaluation_and_prediction_commands(verb: Verb, texts: Path) -> None:
    code, out, err = verb("train", *SMALL, "model=textcnn", "data=csv", f"data.path={texts}", "hydra.run.dir=run")
    assert code == 0, out + err
    Path("texts.txt").write_text("a good film\n")
    shown = [line for line in COMMANDS if line.startswith(("python evaluate.py", "python predict.py"))]
    assert len(shown) >= 4
    for number, line in enumerate(shown):
        words = [word.replace("outputs/runs/...", "run").replace("=other", f"={texts}") for word in shlex.split(line)]
        name, arguments = words[1].removesuffix(".py"), words[2:]
        if name == "evaluate":
            arguments.append(f"hydra.run.dir=evaluated-{number}")
        code, out, err = verb(name, *arguments)
        assert code == 0 and out, err


def test_no_command_is_left_out() -> None:
    known = ("python train.py", "python evaluate.py", "python predict.py", "cat texts.txt | python predict.py")
    for line in COMMANDS:
        assert line in SETUP or line.startswith(known), line
    makefile = (ROOT / "Makefile").read_text()
    assert "train.py model=transformer" in makefile and "-m pytest" in makefile
    assert "make test" in (ROOT / ".ci" / "run").read_text()
