"""Preparation by many processes at once: one makes the entry, whoever is killed meanwhile, and nobody reads half of it.

The processes are forks of one that imports no torch, so that eight of them start in half a second.
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BEGIN = """
import hashlib, json, os, signal, sys, time
from pathlib import Path

from seqarena.data import preparation
from seqarena.data.filtering import Filters
from seqarena.data.preparation import Preparation, prepare
from seqarena.data.sources.files import ParallelText
from seqarena.data.tokenizer import TokenizerOptions

assert "torch" not in sys.modules
folder, how = Path(sys.argv[1]), Preparation("translation", TokenizerOptions("word", 100), Filters(3), 1)
source = ParallelText("en", "de", str(folder / "pairs"))
die = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
"""

EIGHT = (
    BEGIN
    + """
make, stages = preparation._make, json.loads(sys.argv[2])

def begun(kind):
    return len(list(folder.glob(f"{kind}-*")))

def made(*given):
    place = begun("made")
    (folder / f"made-{os.getpid()}").touch()
    while begun("begun") < 8:  # so that all others have to wait for this one
        time.sleep(0.01)
    stage = stages[place] if place < len(stages) else None
    if hasattr(preparation, str(stage)):
        setattr(preparation, stage, die)
    make(*given)
    if stage == "renaming":
        die()

def content(entry):
    files = sorted(path for path in entry.rglob("*") if path.is_file())
    return [(path.relative_to(entry).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]

preparation._make = made
children = []
for _ in range(8):
    if (child := os.fork()) == 0:
        (folder / f"begun-{os.getpid()}").touch()
        entry = prepare(source, how, folder / "cache")
        (folder / f"found-{os.getpid()}").write_text(json.dumps([entry.name, content(entry)]))
        os._exit(0)
    children.append(child)
print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]))
"""
)

POOL = (
    BEGIN
    + """
import multiprocessing
from seqarena.data import encoding, gathering

def told(*given):
    print(json.dumps([child.pid for child in multiprocessing.active_children()]), flush=True)
    die()

if __name__ == "__main__":
    encoding.LARGE, gathering.CHUNK = 2, 4
    encoding.tables.write = lambda parts, *rest, write=encoding.tables.write: write(
        (told() if multiprocessing.active_children() else part for part in parts), *rest
    )
    prepare(source, how, folder / "cache", processes=2)
"""
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pairs").mkdir()
    for split, size in (("train", 24), ("val", 3), ("test", 4)):
        for side in ("en", "de"):
            lines = "".join(f"{side} {split} {'word ' * (n % 3)}{n}\n" for n in range(size))
            (tmp_path / "pairs" / f"{split}.{side}").write_text(lines)
    return tmp_path


@pytest.mark.parametrize(
    "stages", [[], ["fit", "encode", "survey", "renaming"]], ids=["all of them well", "four killed on the way"]
)
def test_eight_processes_get_the_one_entry_that_one_of_them_made(folder: Path, stages: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EIGHT, str(folder), json.dumps(stages)], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    killed = len(stages)
    assert sorted(json.loads(done.stdout)) == [-signal.SIGKILL] * killed + [0] * (8 - killed), done.stderr
    assert len(list(folder.glob("made-*"))) == killed + 1
    found = [json.loads(path.read_text()) for path in folder.glob("found-*")]
    assert len(found) == 8 - killed and all(one == found[0] for one in found)
    name, files = found[0]
    assert [file for file, _ in files if not file.startswith("vocabulary/")] == [
        "report.json", "test.arrow", "train.arrow", "val.arrow",
    ]  # fmt: skip
    assert sorted(path.name for path in (folder / "cache").iterdir()) == [".locks", name]


def test_what_a_killed_process_had_started_ends_with_it(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", POOL, str(folder)], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    workers = json.loads(done.stdout)
    assert workers
    until = time.monotonic() + 60
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(alive, workers))


def alive(process: int) -> bool:
    """Whether a process runs: a zombie does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
