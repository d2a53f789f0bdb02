"""The verbs, run as a user runs them: with their own arguments, from another folder."""

import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.hydra import Hydra
from remembering import remember

ROOT = Path(__file__).parents[1]
os.environ["SEQARENA_ROOT"] = str(ROOT)
os.environ.setdefault("WANDB_SILENT", "true")
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE"  # no bf16 by itself, so tests compare in fp32 on every processor
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers share the cores: threads would wait for each other's
os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is imported
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # of the processes that tests start, the first alone compiles our code
remember()

Verb = Callable[..., tuple[int, str, str]]


@pytest.fixture
def verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Verb:
    """`verb("train", "model=lstm")` gives exit code, standard output and standard error.

    Hydra would compose the config twice, the first time to look for a mode: none of ours has one (test_config.py).
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Hydra, "get_mode", lambda *_, **__: None)

    def call(name: str, *arguments: str) -> tuple[int, str, str]:
        for left in ("SEQARENA_TEXT", "SEQARENA_RUNS"):  # what predict.py and compare.py leave behind in this process
            os.environ.pop(left, None)
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
        code = 0
        try:
            runpy.run_path(str(ROOT / f"{name}.py"), run_name="__main__")
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        out, err = capfd.readouterr()
        return code, out, err

    return call


SMALL = ("trainer=debug", "logger=none", "cache=cache", "model.dim=24")
"""Options that cut a training run down to seconds."""


def finished_run(home: Path, *options: str) -> Path:
    """The folder of a small run, trained in this process: for a fixture of a whole file, not to be changed."""
    from seqarena.training import train

    overrides = [*SMALL, *options, f"cache={home / 'cache'}"]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("train", overrides)
    (home / "run").mkdir()
    train(config, home / "run", overrides)
    return home / "run"


AGREEMENT = ("data.reader.train=40", "data.reader.val=12", "data.reader.test=12", "data.reader.distances=[4]")
NUMBERS = ("data.reader.train=40", "data.reader.val=12", "data.reader.test=12", "data.tokenizer.vocabulary=120")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A folder with train, val and test .csv."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for split, size in (("train", 24), ("val", 6), ("test", 8)):
        rows = "".join(f'"{word} film, number {split} {n}",{label}\n' for n in range(size // 2) for word, label in
                       (("good", "pos"), ("bad", "neg")))  # fmt: skip
        (folder / f"{split}.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    return folder


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """A folder with train, val and test in .en and .de."""
    folder = tmp_path / "pairs"
    folder.mkdir()
    for split, size in (("train", 24), ("val", 6), ("test", 8)):
        (folder / f"{split}.en").write_text("".join(f"a man has {n} {split} dogs .\n" for n in range(size)))
        (folder / f"{split}.de").write_text("".join(f"ein Mann hat {n} {split} Hunde .\n" for n in range(size)))
    return folder
