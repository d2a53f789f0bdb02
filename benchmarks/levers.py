"""What each lever of a CPU training step is worth: python benchmarks/levers.py

One Transformer training step (4+4 layers of width 128, vocabulary 8,000, 256 sentence pairs of 15 tokens) with every
lever, against the same step with one of them taken away. The two sides take turns within one process (for the
allocator: in two processes) and the medians' ratio is printed. Run it on a quiet machine.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from seqarena.device import prepare_cpu
from seqarena.models.transformer import TransformerDecoder, TransformerEncoder

ROUNDS = 7
VOCABULARY, DIM, SENTENCES, LENGTH = 8000, 128, 256, 15


def plain_loss(y_ND: Tensor, weight_VD: Tensor, wanted_N: Tensor, smoothing: float) -> Tensor:
    """All logits at once, as torch does it."""
    return cross_entropy(y_ND @ weight_VD.T, wanted_N, reduction="sum", label_smoothing=smoothing)


PLAIN: dict[str, tuple[str, Callable[..., Any]]] = {
    "sliced loss": ("seqarena.tasks.loss.cross_entropy_sum", plain_loss),
    "cheap dropout": ("seqarena.models.dropout.bits", lambda device: "torch"),
    "explicit attention": ("seqarena.models.attention.kernel", lambda device: "fused"),
    "allocator": ("seqarena.device.keeps_memory", lambda: False),
}
"""What stands in the place of each lever where it is taken away."""


def step() -> Callable[[], None]:
    """One training step on fixed data, ready to be run again and again."""
    from seqarena.tasks import loss

    torch.manual_seed(0)
    options = (DIM, 4, 4, 256, 0.3, 0.1, "sinusoidal", 64, "pre", True, True)
    encoder, decoder = TransformerEncoder(*options), TransformerDecoder(*options, "full")
    table = torch.nn.Embedding(VOCABULARY, DIM)
    parameters = [*encoder.parameters(), *decoder.parameters(), *table.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    source, target = torch.randint(4, VOCABULARY, (2, SENTENCES, LENGTH))
    mask = torch.ones(SENTENCES, LENGTH, dtype=torch.bool)

    def run() -> None:
        encoded = encoder(table(source), mask)
        y, _ = decoder(table(target), encoded, decoder.start(encoded))
        total = loss.cross_entropy_sum(y.flatten(0, 1), table.weight, target.flatten(), 0.1)
        (total / target.numel()).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return run


def seconds(run: Callable[[], None]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def without(name: str) -> mock._patch:
    """The lever `name` taken away, as a context."""
    return mock.patch(*PLAIN[name])


def compare(name: str) -> tuple[float, float]:
    """Median milliseconds with the lever and without it."""
    run, times = step(), {True: [], False: []}
    run()
    for _ in range(ROUNDS):
        times[True].append(seconds(run))
        with without(name):
            times[False].append(seconds(run))
    return tuple(statistics.median(times[side]) * 1000 for side in (True, False))


def allocator() -> tuple[float, float]:
    """The same for the allocator's settings, each side in its own process."""
    times = {"with": [], "without": []}
    for _ in range(3):
        for side, found in times.items():
            command = [sys.executable, __file__, f"allocator-{side}"]
            found.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    return statistics.median(times["with"]), statistics.median(times["without"])


def main() -> None:
    """Print the table, or one side of the allocator's comparison."""
    with without("allocator") if sys.argv[1:] == ["allocator-without"] else nullcontext():
        prepare_cpu()
    if len(sys.argv) > 1:
        run = step()
        run()
        print(statistics.median(seconds(run) * 1000 for _ in range(ROUNDS)))
        return
    print("| lever | with it, ms | without, ms | ratio |\n|---|---|---|---|")
    for name in PLAIN:
        with_it, without_it = allocator() if name == "allocator" else compare(name)
        print(f"| {name} | {with_it:.0f} | {without_it:.0f} | {without_it / with_it:.2f} |")


if __name__ == "__main__":
    main()
