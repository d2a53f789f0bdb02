"""Sentences a second by engine: python benchmarks/decoding.py [run=FOLDER] [sentences=64]

Greedy search and a beam of 5, by torch and by CTranslate2 in float32 and in int8, over the same sentences at once. The
model is that of `transformer-translation` (works.py) with random weights, 12 words a sentence, and 16 tokens are
written for each, as random weights hardly ever end a target; or it is that of a run, with its test texts and lengths.
Hugging Face's Marian of the same size, as shipped, is asked where transformers is installed. `products` is what bounds
them all: the matrix products of the same search in float32, and nothing else. All take turns, each in a process of its
own, and the median of `ROUNDS` counts; ratios are those of torch's speed to it. Run it on a quiet machine.
"""

import copy
import dataclasses
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
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
ROUNDS, INNER = 3, 3
SENTENCES = 64
WORK, LENGTH, WRITTEN = "transformer-translation", 12, 16
SIZES = 8000, 256, 1024, 3
"""Of that work: words, width, width of the feed-forward layers, layers of either side."""
ENGINES = (("torch", "float32"), ("ctranslate2", "float32"), ("ctranslate2", "int8"))
PRODUCTS = ("products", "float32")
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


def own(asked: dict[str, str], name: str, compute: str) -> list[float]:
    """Seconds of each search by one of our engines, in this process: the median of some behind a first one."""
    prepare_cpu()
    with tempfile.TemporaryDirectory() as folder:
        run = open_run(Path(absolute(asked["run"])), {}) if "run" in asked else untrained(Path(folder))
        texts = sentences(run, int(asked.get("sentences", SENTENCES)))
        return [timed(partial(answering(run, beam, name, compute), texts)) for beam in BEAMS]


def answering(run: Run, beam: int, name: str, compute: str) -> Answering:
    """An engine with a search of this width."""
    task = copy.copy(run.task)
    task.decoding = dataclasses.replace(task.decoding, beam=beam)
    return engine(dataclasses.replace(run, task=task), name, compute, "cpu")


def timed(work: Callable[[], object]) -> float:
    """Seconds: the median of a few times behind a first one."""
    work()
    taken = []
    for _ in range(INNER):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def products(count: int) -> list[float]:
    """Seconds that the products of weights take alone in each search: of the encoder, and of every step."""
    prepare_cpu()
    words, dim, inner, layers = SIZES
    square, up, down, out = (torch.randn(shape) for shape in ((dim, dim), (inner, dim), (dim, inner), (words, dim)))
    reading = [*[square] * 4, up, down, square, square] * layers  # the last two: what cross-attention keeps
    writing = [*[square] * 6, up, down] * layers + [out]

    def through(rows: int, weights: list[torch.Tensor]) -> None:
        inputs = {width: torch.ones(rows, width) for width in (dim, inner)}
        for weight in weights:
            torch.nn.functional.linear(inputs[weight.shape[1]], weight)

    def searching(beam: int) -> None:
        through(count * (LENGTH + 1), reading)
        for _ in range(WRITTEN):
            through(count * beam, writing)

    with torch.inference_mode():
        return [timed(partial(searching, beam)) for beam in BEAMS]


def elsewhere(*command: str) -> list[float]:
    """What a process of its own prints: threads of one engine would be in the way of another's."""
    done = subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True)
    return [float(line) for line in done.stdout.split()]


def sides(arguments: list[str], asked: dict[str, str]) -> dict[tuple[str, str], Callable[[], list[float]]]:
    """Everybody who decodes."""
    found: dict[tuple[str, str], Callable[[], list[float]]] = {
        kind: partial(elsewhere, __file__, *arguments, f"side={':'.join(kind)}") for kind in ENGINES
    }
    if "run" not in asked:
        found[PRODUCTS] = partial(elsewhere, __file__, *arguments, f"side={':'.join(PRODUCTS)}")
    if "run" not in asked and find_spec("transformers") is not None:
        sizes = *SIZES, int(asked.get("sentences", SENTENCES)), LENGTH, WRITTEN
        found["Hugging Face", "float32"] = partial(elsewhere, str(HERE / "marian.py"), *map(str, sizes))
    return found


def table(found: dict[tuple[str, str], list[list[float]]], count: int) -> str:
    """A line for each search and engine."""
    lines = ["| beam | engine | compute | sentences/s | torch is so many times as fast |", "|---|---|---|---|---|"]
    for place, beam in enumerate(BEAMS):
        for (name, compute), rounds in found.items():
            mine, its = (statistics.median(one[place] for one in each) for each in (found[ENGINES[0]], rounds))
            lines.append(f"| {beam} | {name} | {compute} | {count / its:,.0f} | {its / mine:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table; or one engine's seconds, a line a search."""
    arguments = sys.argv[1:]
    asked = dict(argument.split("=", 1) for argument in arguments)
    if "side" in asked:
        side = tuple(asked["side"].split(":"))
        count = int(asked.get("sentences", SENTENCES))
        print(*(products(count) if side == PRODUCTS else own(asked, *side)), sep="\n")
        return
    every = sides(arguments, asked)
    found: dict[tuple[str, str], list[list[float]]] = {side: [] for side in every}
    for _ in range(ROUNDS):
        for side, run in every.items():
            found[side].append(run())
    print(table(found, int(asked.get("sentences", SENTENCES))))


if __name__ == "__main__":
    main()
