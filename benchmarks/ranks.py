"""Whether several processes train and evaluate like one: python benchmarks/ranks.py [OPTION ...]

The same optimizer steps by one, two and three processes on a CPU, with ddp and fsdp: each step reads the same six
batches, which a process alone takes one after the other. In double precision as well, where rounding is too small for
Adam to blow it up: what is apart there would be a difference of method. Options change the run, such as `model=lstm`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[1]
BATCHES = 6
"""An optimizer step's, in all."""
OPTIONS = (
    "data=numbers", "data.source=en", "data.target=de", "data.reader.train=600", "data.reader.val=60",
    "data.reader.test=100", "data.tokenizer.vocabulary=300", "data.batch_examples=5", "model=transformer",
    "model.dim=64", "model.dropout=0", "trainer.accelerator=cpu", "trainer.max_epochs=2", "logger=none",
)  # fmt: skip
STRATEGIES = {"32-true": ("ddp", "fsdp"), "64-true": ("ddp",)}
"""By precision: fsdp has no double one."""
SHOWN = ("bleu", "accuracy", "chrf", "f1_macro", "loss")
"""The test's metrics, where the task has them."""


def trained(home: Path, precision: str, strategy: str, ranks: int, options: list[str]) -> Path:
    """The folder of a run."""
    folder = home / f"{precision}-{strategy}-{ranks}"
    places = (
        f"trainer.precision={precision}",
        f"trainer={strategy}",
        f"trainer.devices={ranks}",
        f"trainer.accumulate={BATCHES // ranks}",
    )
    folders = (f"cache={home / 'cache'}", f"hydra.run.dir={folder}")
    command = [sys.executable, str(ROOT / "train.py"), *OPTIONS, *places, *folders, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


def row(folder: Path, one: Path) -> list[str]:
    """Metrics, speed and how far the weights are from those of one process."""
    record: dict[str, Any] = json.loads((folder / "record.json").read_text())
    weights, wanted = (
        torch.load(run / "checkpoints/last.ckpt", weights_only=True)["state_dict"] for run in (folder, one)
    )
    metrics = [f"{record['metrics'][f'test/{name}']:.6f}" for name in SHOWN if f"test/{name}" in record["metrics"]]
    apart = max((weights[name] - value).abs().max().item() for name, value in wanted.items())
    machine = record["machine"]
    return [
        machine["precision"],
        str(machine["ranks"]),
        *metrics,
        f"{record['speed']['tokens_per_s']:,.0f}",
        f"{apart:.1e}",
    ]


def shown(*cells: str) -> None:
    """Print a line of the table."""
    print(*(f"{cell:>14}" for cell in cells), flush=True)


def main(options: list[str]) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for precision, strategies in STRATEGIES.items():
            one = trained(home, precision, "cpu", 1, options)
            known = json.loads((one / "record.json").read_text())["metrics"]
            names = [f"test {name}" for name in SHOWN if f"test/{name}" in known]
            shown("strategy", "precision", "ranks", *names, "tokens/s", "weights apart")
            shown("one process", *row(one, one))
            for strategy in strategies:
                for ranks in (2, 3):
                    shown(strategy, *row(trained(home, precision, strategy, ranks, options), one))


if __name__ == "__main__":
    main(sys.argv[1:])
