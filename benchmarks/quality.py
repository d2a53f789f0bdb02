"""Whether speed costs quality: python benchmarks/quality.py FOLDER [--seeds 3] [--precision bf16-mixed] [--steps 800]

A small Transformer learns Multi30k (FOLDER) with every lever and in `--precision`; and without any in fp32, `plain`,
for which the same command is run with torch's own loss, dropout and attention and glibc's own settings in their places
(levers.py). Prints test BLEU of each seed, and the difference of the means with its 95 % interval (Welch). No time is
measured, so other programs may run beside it.
"""

import argparse
import json
import runpy
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from levers import PLAIN, without
from scipy.stats import ttest_ind

ROOT = Path(__file__).resolve().parents[1]
SIZE = ["recipe=multi30k_tiny", "model=transformer", "budget=parameters", "budget.target=1.5e6", "data.source=de",
        "data.target=en", "data.tokenizer.vocabulary=4000", "data.batch_tokens=2048", "task.decoding.beam=1",
        "trainer.average=0", "trainer.validate_every=400", "logger=none"]  # fmt: skip
"""As `sweeps=families_multi30k-small` has it."""


def bleu(plain: bool, options: list[str]) -> tuple[float, dict[str, str]]:
    """Test BLEU of a run in a process of its own, and the levers in its record."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(__file__)), "--plain"] if plain else [str(ROOT / "train.py")]
        asked = [*command, *SIZE, *options, f"hydra.run.dir={folder}/run"]
        done = subprocess.run([sys.executable, *asked], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(asked)} failed:\n{done.stderr[-2000:]}")
        record = json.loads(Path(folder, "run", "record.json").read_text(encoding="utf-8"))
    return record["metrics"]["test"]["bleu"], record["machine"]["levers"]


def train_plainly(options: list[str]) -> None:
    """train.py with every lever taken away, in this process."""
    sys.argv = [str(ROOT / "train.py"), *options]
    with ExitStack() as taken:
        for name in PLAIN:
            taken.enter_context(without(name))
        runpy.run_path(sys.argv[0], run_name="__main__")


def row(name: str, scores: list[float], levers: dict[str, str]) -> str:
    """A side's line of the table."""
    each = ", ".join(f"{score:.2f}" for score in scores)
    told = ", ".join(f"{lever}: {levers[lever]}" for lever in ("attention", "dropout bits", "allocator"))
    return f"| {name} | {each} | {statistics.mean(scores):.2f} | {statistics.stdev(scores):.2f} | {told} |"


def main() -> None:
    """Print the table as it grows, and the difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--precision", default="bf16-mixed", help="of the runs with levers")
    parser.add_argument("--steps", type=int, default=800)
    asked = parser.parse_args()
    sides = {f"all levers, {asked.precision}": (False, asked.precision), "plain, 32-true": (True, "32-true")}
    scores: dict[str, list[float]] = {name: [] for name in sides}
    levers: dict[str, dict[str, str]] = {}
    for seed in range(1, asked.seeds + 1):
        for name, (plain, precision) in sides.items():
            how = [f"trainer.precision={precision}", f"trainer.max_steps={asked.steps}", f"seed={seed}"]
            score, levers[name] = bleu(plain, [f"data.path={asked.folder.resolve()}", *how])
            scores[name].append(score)
            print(f"{name}, seed {seed}: {score:.2f}", file=sys.stderr, flush=True)
    print("| how | test BLEU by seed | mean | standard deviation | levers in the record |\n|---|---|---|---|---|")
    for name in sides:
        print(row(name, scores[name], levers[name]))
    with_levers, plainly = scores.values()
    interval = ttest_ind(with_levers, plainly, equal_var=False).confidence_interval()
    gap = statistics.mean(with_levers) - statistics.mean(plainly)
    print(f"\nwith levers minus plain: {gap:+.2f} BLEU, 95 % interval {interval.low:.2f} to {interval.high:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--plain"]:
        train_plainly(sys.argv[2:])
    else:
        main()
