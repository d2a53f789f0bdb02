"""Compare finished runs: python compare.py sweep=NAME, or runs=<glob>, or runs=<folder>,<folder>."""

import os
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from seqarena import usage
from seqarena.errors import interruptible
from seqarena.spelling import spelled

ROOT = Path(__file__).resolve().parent
os.environ["SEQARENA_ROOT"] = str(ROOT)
for argument in sys.argv[1:]:  # patterns are taken as they stand: in Hydra's grammar commas and brackets mean something
    if argument.startswith("runs="):
        os.environ["SEQARENA_RUNS"] = argument.removeprefix("runs=")
        sys.argv.remove(argument)


@hydra.main(version_base="1.3", config_path="conf", config_name="compare")
def main(config: DictConfig) -> None:
    """Print the tables and the verdict; leave results.csv, table.md, table.tex and index.html behind."""
    from seqarena.compare.verb import run
    from seqarena.errors import InputError, explained

    with explained(InputError):
        run(config, ROOT, "python compare.py " + " ".join(sys.argv[1:]))


if __name__ == "__main__":
    if usage.asked():
        usage.show("compare", str(__doc__), (), ROOT)
    else:
        with interruptible(), spelled(ROOT, "compare"):
            main()
