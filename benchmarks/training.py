"""Training speed against bare loops, Hugging Face and JoeyNMT: python benchmarks/training.py [--translation DIR] [...]

Each work runs in processes of its own, ours and the others by turns, `--rounds` times; the table has medians, and the
ratio of ours to each with the smallest and the largest of the rounds; MFU is the share of a large matrix product's
speed on this machine that the model's own arithmetic reaches. `bare` is our model in a bare loop, so the ratio
to it is what Lightning, callbacks and logs leave; `tight` is the same model by hand. Batches are the same for all three
and for Hugging Face's Marian, measured where transformers is installed (`pip install transformers`); JoeyNMT makes its
own (joey.py says how to install it). Run it on a quiet machine.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from works import SHORT, WARM, data_options, works

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
HUGGINGFACE = ("transformer-translation",)
JOEYNMT = ("transformer-translation", "lstm-translation", "lstm-feeding-translation")
"""The works that others are asked to do, too."""


def ours(name: str, options: Sequence[str]) -> dict[str, float]:
    """By train.py, from its record; its own warm-up is left out by it."""
    steps = WARM + works()[name].steps
    with tempfile.TemporaryDirectory() as folder:
        asked = [*options, "trainer.max_epochs=null", f"trainer.max_steps={steps}", "logger=none"]
        timed = [f"trainer.log_every={WARM}", "trainer.validate_every=1000000"]
        timed += ["task.decoding.ratio=0", "task.decoding.extra=1"] if "data.target=de" in options else []
        _run(str(ROOT / "train.py"), *asked, *timed, f"hydra.run.dir={folder}/run")
        record = json.loads(Path(folder, "run", "record.json").read_text(encoding="utf-8"))
    speed = record["speed"]
    return {
        "tokens": speed["tokens_per_s"],
        "examples": speed["examples_per_s"],
        "parameters": record["parameters"]["total"],
        "waited": speed["data_wait_share"],
        "mfu": speed["mfu"],
    }


def bare(side: str, name: str, options: Sequence[str]) -> dict[str, float]:
    """By the loop beside this file."""
    return json.loads(_run(str(HERE / "loop.py"), side, name, *options).splitlines()[-1])


def joeynmt(name: str, options: Sequence[str]) -> dict[str, float]:
    """By JoeyNMT's own."""
    return json.loads(_run(str(HERE / "joey.py"), name, *options).splitlines()[-1])


def sides(name: str, options: Sequence[str]) -> dict[str, Callable[[], dict[str, float]]]:
    """Everybody who does a work."""
    found: dict[str, Callable[[], dict[str, float]]] = {"ours": partial(ours, name, options)}
    found["bare"] = partial(bare, "bare", name, options)
    if not name.endswith(SHORT):
        found["tight"] = partial(bare, "tight", name, options)
    if name in HUGGINGFACE and find_spec("transformers"):
        found["Hugging Face"] = partial(bare, "huggingface", name, options)
    if name in JOEYNMT and find_spec("joeynmt"):
        found["JoeyNMT"] = partial(joeynmt, name, options)
    return found


def _run(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def measured(sides: dict[str, Callable[[], dict[str, float]]], rounds: int) -> dict[str, list[dict[str, float]]]:
    """Every side so many times, by turns."""
    found: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, run in sides.items():
            found[side].append(run())
    return found


def median(rounds: list[dict[str, float]], key: str) -> float:
    """Of one side."""
    return statistics.median(one[key] for one in rounds)


def table(name: str, found: dict[str, list[dict[str, float]]]) -> str:
    """A line for each side."""
    unit = "tokens" if "translation" in name else "examples"
    lines = []
    for side, rounds in found.items():
        ratios = [mine[unit] / other[unit] for mine, other in zip(found["ours"], rounds, strict=True)]
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        each = f"{median(rounds, unit):,.0f} {unit}/s"
        size = f"{rounds[0]['parameters'] / 1e6:.2f}M"
        told = (
            ratio
            if side != "ours"
            else f"waiting for data {median(rounds, 'waited'):.1%}, MFU {median(rounds, 'mfu'):.2f}"
        )
        lines.append(f"| {name} | {side} | {size} | {each} | {told} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table as it grows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--translation", help="a folder of Multi30k; without it, generated number words")
    parser.add_argument("--classification", help="a folder with train, val, test .csv; without it, generated sentences")
    parser.add_argument("--precision", default="32-true", help="of all sides")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("works", nargs="*", default=list(works()), help=f"of {', '.join(works())}")
    asked = parser.parse_args()
    print("| work | by | parameters | speed | ours is so many times as fast |\n|---|---|---|---|---|")
    for name in asked.works:
        data = data_options(name, asked.translation, asked.classification)
        options = [*works()[name].options, *data, f"trainer.precision={asked.precision}"]
        print(table(name, measured(sides(name, options), asked.rounds)), flush=True)


if __name__ == "__main__":
    main()
