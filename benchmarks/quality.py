"""Whether speed costs quality: python benchmarks/quality.py FOLDER [--seeds 3] [--halves 1] [--steps 600] [--kept AT]

A small Transformer learns Multi30k (FOLDER): without any lever in fp32, `plain`, for which the same command is run with
torch's own loss, dropout and attention and glibc's own settings in their places (levers.py); with every lever in fp32;
and with every lever in bf16-mixed, of which `--halves` runs are made, as a processor without bf16 instructions takes
four times as long for it. Prints test BLEU of each seed, and the difference of each mean to plain's with its 95 %
interval over seeds (Student's, the variances taken for one, so that a single run has an interval too). Runs stay in
AT, where finished ones are not run again. No time is measured, so other programs may run beside it.
"""

import argparse
import json
import runpy
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from levers import PLAIN, without
from scipy.stats import ttest_ind

ROOT = Path(__file__).resolve().parents[1]
SIZE = ["recipe=multi30k_tiny", "model=transformer", "budget=parameters", "budget.target=1.5e6", "data.source=de",
        "data.target=en", "data.tokenizer.vocabulary=4000", "data.batch_tokens=2048", "task.decoding.beam=1",
        "trainer.average=0", "trainer.validate_every=400", "logger=none"]  # fmt: skip
"""As `sweeps=families_multi30k-small` has it."""


class Side(NamedTuple):
    """One way to train, and what came of it."""

    name: str
    plain: bool
    precision: str
    scores: list[float]
    levers: dict[str, str]

    def run(self, seed: int, kept: Path, options: list[str]) -> None:
        """Add the test BLEU of a seed, from a process of its own or from the record that one has left."""
        folder = kept / f"{self.name.replace(', ', '-').replace(' ', '-')}-seed{seed}"
        asked = [*SIZE, *options, f"trainer.precision={self.precision}", f"seed={seed}", f"hydra.run.dir={folder}"]
        command = [str(Path(__file__)), "--plain"] if self.plain else [str(ROOT / "train.py")]
        if not finished(folder):
            done = subprocess.run([sys.executable, *command, *asked], capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{' '.join([*command, *asked])} failed:\n{done.stderr[-2000:]}")
        record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
        self.scores.append(record["metrics"]["test/bleu"])
        self.levers.update(record["machine"]["levers"])
        print(f"{self.name}, seed {seed}: {self.scores[-1]:.2f}", file=sys.stderr, flush=True)

    def row(self) -> str:
        """The line of the table."""
        each = ", ".join(f"{score:.2f}" for score in self.scores)
        spread = f"{statistics.stdev(self.scores):.2f}" if len(self.scores) > 1 else ""
        told = ", ".join(f"{lever}: {self.levers[lever]}" for lever in ("attention", "dropout bits", "allocator"))
        return f"| {self.name} | {each} | {statistics.mean(self.scores):.2f} | {spread} | {told} |"

    def beside(self, plain: "Side") -> str:
        """How far it is from the plain one."""
        gap = statistics.mean(self.scores) - statistics.mean(plain.scores)
        interval = ttest_ind(self.scores, plain.scores).confidence_interval()
        return f"{self.name} minus plain: {gap:+.2f} BLEU, 95 % interval {interval.low:.2f} to {interval.high:.2f}"


def finished(folder: Path) -> bool:
    """Whether a run has ended well there."""
    path = folder / "record.json"
    return path.is_file() and json.loads(path.read_text(encoding="utf-8"))["status"] == "done"


def train_plainly(options: list[str]) -> None:
    """train.py with every lever taken away, in this process."""
    sys.argv = [str(ROOT / "train.py"), *options]
    with ExitStack() as taken:
        for name in PLAIN:
            taken.enter_context(without(name))
        runpy.run_path(sys.argv[0], run_name="__main__")


def main() -> None:
    """Print the table, and the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--halves", type=int, default=1)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--kept", type=Path, default=ROOT / "outputs" / "quality")
    asked = parser.parse_args()
    options = [f"data.path={asked.folder.resolve()}", f"trainer.max_steps={asked.steps}"]
    plain = Side("plain, 32-true", True, "32-true", [], {})
    others = [Side(f"all levers, {kind}", False, kind, [], {}) for kind in ("32-true", "bf16-mixed")]
    for side, seeds in zip([plain, *others], (asked.seeds, asked.seeds, asked.halves), strict=True):
        for seed in range(1, seeds + 1):
            side.run(seed, asked.kept.resolve(), options)
    print("| how | test BLEU by seed | mean | standard deviation | levers in the record |\n|---|---|---|---|---|")
    print("\n".join(side.row() for side in [plain, *others]))
    print("", *(side.beside(plain) for side in others), sep="\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--plain"]:
        train_plainly(sys.argv[2:])
    else:
        main()
