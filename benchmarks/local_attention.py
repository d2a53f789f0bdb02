"""What one encoder layer costs by length, with full and with local attention: python benchmarks/local_attention.py

One training pass (forward and backward) of a layer of width 64 with one head over a single text, with a window of 64
and one global token. Each point runs in a process of its own; its memory is the peak it reaches above what it holds
after a pass over a short text. The last line has slopes in log-log over the four longest texts: 1 is linear, 2 is
quadratic. Time is processor time. Full attention takes some 10 GB: on a CPU it keeps several matrices of n² numbers.
"""

import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import torch

from seqarena.device import prepare_cpu
from seqarena.models.local import LocalEncoder
from seqarena.models.transformer import TransformerEncoder

LENGTHS = (256, 512, 1024, 2048, 4096, 8192, 16384)
ROUNDS = 3
DIM, HEADS, WINDOW = 64, 1, 64
Cost = tuple[float, float]
"""Seconds of all cores together, and MiB."""


def encoder(kind: str) -> TransformerEncoder:
    """One layer: full or local."""
    sizes = (DIM, 1, HEADS, 4 * DIM)
    rest = (0.0, 0.0, "sinusoidal", 1, "pre", True, True)
    return TransformerEncoder(*sizes, *rest) if kind == "full" else LocalEncoder(*sizes, WINDOW, 1, *rest)


def peak() -> float:
    """MiB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(kind: str, length: int) -> Cost:
    """Median seconds of processor time of a training pass, and the peak memory it adds."""
    torch.manual_seed(0)
    model, x, mask = encoder(kind), torch.randn(1, length, DIM), torch.ones(1, length, dtype=torch.bool)
    model(x[:, :8], mask[:, :8]).summary_BD.sum().backward()
    before, times = peak(), []
    for _ in range(ROUNDS):
        started = time.process_time()
        model(x, mask).summary_BD.sum().backward()
        times.append(time.process_time() - started)
    return statistics.median(times), peak() - before


def measured(kind: str, length: int) -> Cost:
    """The same in a fresh process."""
    command = [sys.executable, __file__, kind, str(length)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return tuple(json.loads(found))


def slope(lengths: Sequence[int], values: Sequence[float]) -> float:
    """The exponent of the power of the length that fits best."""
    return statistics.linear_regression([math.log(n) for n in lengths], [math.log(value) for value in values]).slope


def exponents(costs: dict[int, Cost]) -> Cost:
    """Of time and of memory, over the four longest texts."""
    longest = LENGTHS[-4:]
    return tuple(slope(longest, [costs[length][part] for length in longest]) for part in (0, 1))


def row(name: object, *costs: Cost, form: str) -> str:
    """A line of the table."""
    return f"{name!s:>9}" + "".join(f"{number:>14{form}}" for cost in costs for number in cost)


def main() -> None:
    """Print the table, or, given a kind and a length, one point of it."""
    prepare_cpu()
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
        return
    local, full = ({length: measured(kind, length) for length in LENGTHS} for kind in ("local", "full"))
    print(f"{'tokens':>9}" + "".join(f"{head:>14}" for head in ("local, s", "local, MiB", "full, s", "full, MiB")))
    for length in LENGTHS:
        print(row(length, local[length], full[length], form=".3f"))
    print(row("exponent", exponents(local), exponents(full), form=".2f"))


if __name__ == "__main__":
    main()
