"""How time and memory of a training step grow with the length of a text: python benchmarks/length.py [model ...]

For each conf/model, one step of its encoder (forward, backward, optimizer) on BATCH random texts of each length, as the
YAML has it, on one thread. Each cell is a process of its own, since peak memory never goes down; time is the median
processor time of STEPS steps, memory the peak of the process beyond that of a step on SHORT tokens. The exponent of
either is the slope of a line through the logarithms: 1 is linear, 2 the square. It is fitted to the three longest
lengths, as short texts cost what a call costs.
"""

import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LENGTHS = (64, 128, 256, 512, 1024)
BATCH, STEPS, SHORT, FITTED = 4, 3, 16, 3


def models() -> list[str]:
    """The YAMLs there are."""
    return sorted(path.stem for path in (ROOT / "conf" / "model").glob("*.yaml"))


def measure(model: str, length: int) -> tuple[float, float]:
    """Milliseconds of a step, and MiB beyond those of a short one, in this process."""
    step = training(model)
    step(SHORT)
    held = peak_mib()
    times = [step(length) for _ in range(1 + STEPS)]
    return statistics.median(times[1:]), peak_mib() - held


def training(model: str) -> Callable[[int], float]:
    """A step on texts of so many tokens, which says how many milliseconds it took."""
    import torch
    from hydra import compose, initialize_config_dir

    from seqarena.building import build
    from seqarena.device import prepare_cpu

    prepare_cpu()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("train", [f"model={model}", f"++model.max_positions={LENGTHS[-1]}"])
    encoder = build(config.model.encoder)
    optimizer = torch.optim.AdamW(encoder.parameters())

    def step(length: int) -> float:
        x_BSD, mask_BS = torch.randn(BATCH, length, encoder.dim), torch.ones(BATCH, length, dtype=torch.bool)
        began = time.process_time()
        encoder(x_BSD, mask_BS).summary_BD.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        return 1000 * (time.process_time() - began)

    return step


def peak_mib() -> float:
    """The most memory that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def apart(model: str, length: int) -> tuple[float, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--cell", model, str(length)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(told[0]), float(told[1])


def exponent(lengths: Sequence[int], costs: Sequence[float]) -> float:
    """The slope of the least-squares line through the logarithms."""
    x, y = [math.log(one) for one in lengths], [math.log(one) for one in costs]
    return statistics.linear_regression(x, y).slope


def main(chosen: Sequence[str]) -> None:
    """Print the table: a row a model, a column a length, then the exponents."""
    heads = "".join(f"{length:>16}" for length in LENGTHS)
    print(f"{'ms / MiB a step':20}{heads}{'time':>8}{'memory':>8}", flush=True)
    for model in chosen:
        cells = [apart(model, length) for length in LENGTHS]
        told = "".join(f"{f'{ms:.0f} / {mib:.0f}':>16}" for ms, mib in cells)
        slopes = "".join(f"{exponent(LENGTHS[-FITTED:], costs[-FITTED:]):8.2f}" for costs in zip(*cells, strict=True))
        print(f"{model:20}{told}{slopes}", flush=True)


if __name__ == "__main__":
    os.environ["SEQARENA_ROOT"] = str(ROOT)
    if sys.argv[1:2] == ["--cell"]:
        print(*measure(sys.argv[2], int(sys.argv[3])))
    else:
        main(sys.argv[1:] or models())
