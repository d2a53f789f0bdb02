"""Training speed against bare loops, Hugging Face and JoeyNMT: python benchmarks/training.py [--translation DIR] [...]

`bare` is our model in a bare loop, so the ratio to it is what Lightning, callbacks and logs leave; `tight` is the same
model by hand. Both make their steps between those of ours, in one process (beside.py), and the ratios are those of
blocks of steps. Hugging Face's Marian has the same batches (`pip install transformers`), JoeyNMT makes its own (joey.py
says how to install it): their processes take turns with ours, `--rounds` times. The table has medians, and of the
ratios the middle half; MFU is the share of a large matrix product's speed on this machine, at its best as any of the
runs began, that the model's own arithmetic reaches. Run it on a quiet machine.
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
from typing import Any, NamedTuple

import numpy as np
from works import SHORT, data_options, timed_options, works

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
HUGGINGFACE = ("transformer-translation",)
JOEYNMT = ("transformer-translation", "lstm-translation", "lstm-feeding-translation")
"""The works that others are asked to do, too."""


class Side(NamedTuple):
    """Somebody who does a work: the size of the model, and speeds beside those of ours in the same round or block."""

    parameters: float
    speeds: list[dict[str, float]]
    ours: list[dict[str, float]]


def ours(name: str, options: Sequence[str]) -> dict[str, float]:
    """By train.py, from its record; its own warm-up is left out by it."""
    with tempfile.TemporaryDirectory() as folder:
        _run(str(ROOT / "train.py"), *timed_options(name, options), f"hydra.run.dir={folder}/run")
        record = json.loads(Path(folder, "run", "record.json").read_text(encoding="utf-8"))
    speed, best = record["speed"], record["machine"]["matmul_flops"]
    return {
        "tokens": speed["tokens_per_s"],
        "examples": speed["examples_per_s"],
        "parameters": record["parameters"]["total"],
        "waited": speed["data_wait_share"],
        "flops": speed["mfu"] * best,
        "best": best,
    }


def printed(script: str, *arguments: str) -> Any:
    """The JSON in the last line that a script beside this file prints."""
    return json.loads(_run(str(HERE / script), *arguments).splitlines()[-1])


def peers(name: str, options: Sequence[str]) -> dict[str, Callable[[], dict[str, float]]]:
    """Those of others who do a work and are installed."""
    found: dict[str, Callable[[], dict[str, float]]] = {}
    if name in HUGGINGFACE and find_spec("transformers"):
        found["Hugging Face"] = partial(printed, "loop.py", "huggingface", name, *options)
    if name in JOEYNMT and find_spec("joeynmt"):
        found["JoeyNMT"] = partial(printed, "joey.py", name, *options)
    return found


def _run(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def loops(name: str, options: Sequence[str]) -> dict[str, Side]:
    """The bare loops, by turns with ours at every step."""
    sides = ["bare"] if name.endswith(SHORT) else ["bare", "tight"]
    found = printed("beside.py", name, ",".join(sides), *options)
    return {side: Side(found[side]["parameters"], found[side]["blocks"], found["ours"]["blocks"]) for side in sides}


def measured(name: str, options: Sequence[str], rounds: int) -> tuple[list[dict[str, float]], dict[str, Side]]:
    """Our own runs by themselves, and everybody else; every other round goes backwards, that no drift favours one."""
    asked: dict[str, Callable[[], dict[str, float]]] = {"ours": partial(ours, name, options), **peers(name, options)}
    found: dict[str, list[dict[str, float]]] = {side: [] for side in asked}
    for number in range(rounds):
        for side in list(asked)[:: -1 if number % 2 else 1]:
            found[side].append(asked[side]())
    mine = found.pop("ours")
    others = {side: Side(speeds[0]["parameters"], speeds, mine) for side, speeds in found.items()}
    return mine, {**loops(name, options), **others}


def median(speeds: list[dict[str, float]], key: str) -> float:
    """Of one side."""
    return statistics.median(one[key] for one in speeds)


def table(name: str, mine: list[dict[str, float]], others: dict[str, Side]) -> str:
    """A line for each side."""
    unit = "tokens" if "translation" in name else "examples"
    used = median(mine, "flops") / max(one["best"] for one in mine)
    shares = f"waiting for data {median(mine, 'waited'):.1%}, MFU {used:.2f}"
    lines = [line(name, "ours", mine[0]["parameters"], median(mine, unit), unit, shares)]
    for side, (parameters, speeds, beside) in others.items():
        ratios = [our[unit] / its[unit] for our, its in zip(beside, speeds, strict=True)]
        low, middle, high = np.percentile(ratios, [25, 50, 75])
        told = f"{middle:.2f} ({low:.2f} to {high:.2f})"
        lines.append(line(name, side, parameters, median(speeds, unit), unit, told))
    return "\n".join(lines)


def line(name: str, side: str, parameters: float, speed: float, unit: str, told: str) -> str:
    """One of the table."""
    return f"| {name} | {side} | {parameters / 1e6:.2f}M | {speed:,.0f} {unit}/s | {told} |"


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
        print(table(name, *measured(name, options, asked.rounds)), flush=True)


if __name__ == "__main__":
    main()
