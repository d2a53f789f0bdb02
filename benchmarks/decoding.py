"""Sentences a second by engine: python benchmarks/decoding.py [run=FOLDER] [sentences=64]

Greedy search and a beam of 5, by torch and by CTranslate2 in float32 and in int8, over the same sentences at once. The
model has the size of recipe=multi30k_tiny and random weights, 12 words a sentence, and 16 tokens are written for each,
as random weights hardly ever end a target; or it is that of a run, with its test texts and lengths. The six take turns
and the median of `ROUNDS` counts; ratios are to torch with the same search. Run it on a quiet machine.
"""

import copy
import dataclasses
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import torch
from hydra import compose, initialize_config_dir

from seqarena.data.tokenizer import TokenizerOptions, train
from seqarena.data.vocabulary import Vocabulary
from seqarena.device import available_cores, prepare_cpu
from seqarena.predicting import Answering, engine
from seqarena.runs import Run, absolute, build_task, open_run

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
ENGINES = (("torch", "float32"), ("ctranslate2", "float32"), ("ctranslate2", "int8"))
BEAMS = (1, 5)
WORDS = [f"w{number}" for number in range(7996)]  # and four marks


def untrained(folder: Path) -> Run:
    """The recipe's Transformer with random weights, which writes 16 tokens whatever it reads."""
    os.environ["SEQARENA_ROOT"] = str(ROOT)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        limit = ["task.decoding.ratio=0", "task.decoding.extra=16"]
        config = compose("train", ["recipe=multi30k_tiny", "model=transformer", "data.path=none", *limit])
    tokenizer = train(TokenizerOptions("word", 8000), [" ".join(WORDS)])
    vocabulary = Vocabulary(tokenizer, tokenizer, [])
    torch.manual_seed(0)
    return Run(folder, config, vocabulary, build_task(config, vocabulary).eval(), "32-true")


def sentences(run: Run, count: int) -> list[str]:
    """The first test texts of a run that has any, or 12 words each."""
    own = run.folder / "examples.parquet"
    if own.is_file():
        return pq.read_table(own, columns=["source"])["source"].to_pylist()[:count]
    rng = random.Random(0)
    return [" ".join(rng.choices(WORDS, k=12)) for _ in range(count)]


def answering(run: Run, beam: int) -> Iterator[Answering]:
    """Every engine with a search of this width."""
    task = copy.copy(run.task)
    task.decoding = dataclasses.replace(task.decoding, beam=beam)
    for name, compute in ENGINES:
        yield engine(dataclasses.replace(run, task=task), name, compute, "cpu")


def measured(run: Run, texts: list[str]) -> dict[tuple[int, str, str], float]:
    """Median sentences a second of every search by every engine."""
    made = {(beam, *kind): each for beam in BEAMS for kind, each in zip(ENGINES, answering(run, beam), strict=True)}
    times: dict[tuple[int, str, str], list[float]] = {key: [] for key in made}
    for number in range(ROUNDS + 1):
        for key, answer in made.items():
            started = time.perf_counter()
            answer(texts)
            if number:  # the first round warms up
                times[key].append(time.perf_counter() - started)
    return {key: len(texts) / statistics.median(seconds) for key, seconds in times.items()}


def main() -> None:
    """Print the table."""
    asked = dict(argument.split("=", 1) for argument in sys.argv[1:])
    prepare_cpu()
    with tempfile.TemporaryDirectory() as folder:
        run = open_run(Path(absolute(asked["run"])), {}) if "run" in asked else untrained(Path(folder))
        found = measured(run, sentences(run, int(asked.get("sentences", 64))))
    print(f"{'beam':>4} {'engine':12} {'compute':8} {'sentences/s':>12} {'ratio':>6}   ({available_cores()} cores)")
    for (beam, name, compute), speed in found.items():
        print(f"{beam:4} {name:12} {compute:8} {speed:12.0f} {speed / found[beam, 'torch', 'float32']:6.2f}")


if __name__ == "__main__":
    main()
