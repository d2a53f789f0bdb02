"""Sentences a second by engine: python benchmarks/decoding.py [run=FOLDER] [sentences=64]

Greedy search and a beam of 5, by torch and by CTranslate2 in float32 and in int8, over the same sentences at once. The
model is that of `transformer-translation` (works.py) with random weights, 12 words a sentence, and 16 tokens are
written for each, as random weights hardly ever end a target; or it is that of a run, with its test texts and lengths.
Hugging Face's Marian of the same size, as shipped and in a process of its own, is asked where transformers is
installed. All take turns and the median of `ROUNDS` counts; ratios are those of torch's speed to it. Run it on a quiet
machine.
"""

import copy
import dataclasses
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import torch
from works import composed, works

from seqarena.data.tokenizer import TokenizerOptions, train
from seqarena.data.vocabulary import Vocabulary
from seqarena.device import prepare_cpu
from seqarena.predicting import Answering, engine
from seqarena.runs import Run, absolute, build_task, open_run

HERE = Path(__file__).resolve().parent
ROUNDS = 5
WORK, LENGTH, WRITTEN = "transformer-translation", 12, 16
ENGINES = (("torch", "float32"), ("ctranslate2", "float32"), ("ctranslate2", "int8"))
BEAMS = (1, 5)
WORDS = [f"w{number}" for number in range(7996)]  # and four marks


def untrained(folder: Path) -> Run:
    """A Transformer with random weights, which writes 16 tokens whatever it reads."""
    limit = ["task.decoding.ratio=0", f"task.decoding.extra={WRITTEN}"]
    config = composed(["data=multi30k", "data.path=none", *works()[WORK].options, *limit])
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
    return [" ".join(rng.choices(WORDS, k=LENGTH)) for _ in range(count)]


def answering(run: Run, beam: int) -> Iterator[Answering]:
    """Every engine with a search of this width."""
    task = copy.copy(run.task)
    task.decoding = dataclasses.replace(task.decoding, beam=beam)
    for name, compute in ENGINES:
        yield engine(dataclasses.replace(run, task=task), name, compute, "cpu")


def measured(run: Run, texts: list[str], others: bool) -> dict[tuple[int, str, str], float]:
    """Median sentences a second of every search by every engine."""
    made = {(beam, *kind): each for beam in BEAMS for kind, each in zip(ENGINES, answering(run, beam), strict=True)}
    times: dict[tuple[int, str, str], list[float]] = {key: [] for key in made}
    for number in range(ROUNDS + 1):
        for key, answer in made.items():
            started = time.perf_counter()
            answer(texts)
            if number:  # the first round warms up
                times[key].append(time.perf_counter() - started)
        if others and number:
            for beam, seconds in zip(BEAMS, huggingface(run, len(texts)), strict=True):
                times.setdefault((beam, "Hugging Face", "float32"), []).append(seconds)
    return {key: len(texts) / statistics.median(seconds) for key, seconds in sorted(times.items())}


def huggingface(run: Run, sentences: int) -> list[float]:
    """Seconds of both searches by Marian."""
    sizes = len(run.vocabulary.source), 256, 1024, 3, sentences, LENGTH, WRITTEN
    command = [sys.executable, str(HERE / "marian.py"), *map(str, sizes)]
    return [float(line) for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]


def main() -> None:
    """Print the table."""
    asked = dict(argument.split("=", 1) for argument in sys.argv[1:])
    prepare_cpu()
    with tempfile.TemporaryDirectory() as folder:
        run = open_run(Path(absolute(asked["run"])), {}) if "run" in asked else untrained(Path(folder))
        others = "run" not in asked and find_spec("transformers") is not None
        found = measured(run, sentences(run, int(asked.get("sentences", 64))), others)
    print("| beam | engine | compute | sentences/s | torch is so many times as fast |\n|---|---|---|---|---|")
    for (beam, name, compute), speed in found.items():
        print(f"| {beam} | {name} | {compute} | {speed:,.0f} | {found[beam, 'torch', 'float32'] / speed:.2f} |")


if __name__ == "__main__":
    main()
