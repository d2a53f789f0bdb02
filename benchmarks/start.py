"""How long a command takes to start: python benchmarks/start.py

`--help` and `--cfg job` (no torch imported), and the time from the command to the first optimizer step on cached data.
Medians of several runs; run it on a quiet machine.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRAIN = [sys.executable, str(ROOT / "train.py")]
SHORT = ["trainer.max_epochs=null", "trainer.max_steps=1", "trainer.log_every=1", "logger=none"]


def whole(*arguments: str) -> float:
    """Seconds of a command from start to end."""
    started = time.perf_counter()
    subprocess.run([*TRAIN, *arguments], check=True, capture_output=True)
    return time.perf_counter() - started


def first_step() -> float:
    """Seconds from the command to the first line of the history, which the first optimizer step writes."""
    with tempfile.TemporaryDirectory() as folder:
        history = Path(folder) / "run" / "history.jsonl"
        started = time.perf_counter()
        process = subprocess.Popen([*TRAIN, *SHORT, f"hydra.run.dir={folder}/run"], stdout=subprocess.DEVNULL)
        while process.poll() is None and not (history.exists() and history.stat().st_size):
            time.sleep(0.01)
        taken = time.perf_counter() - started
        process.wait()
        assert json.loads(history.read_text().splitlines()[0])["step"] == 1
    return taken


def main() -> None:
    """Print the table."""
    whole("--help"), first_step()  # files and caches are warm from here on
    print("| command | seconds |\n|---|---|")
    for name, measure in (
        ("`train.py --help`", lambda: whole("--help")),
        ("`train.py --cfg job`", lambda: whole("--cfg", "job")),
        ("to the first optimizer step", first_step),
    ):
        print(f"| {name} | {statistics.median(measure() for _ in range(5)):.2f} |", flush=True)


if __name__ == "__main__":
    main()
