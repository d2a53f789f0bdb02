"""Evaluate a finished run: python evaluate.py run=outputs/runs/... [data.path=another test set]."""

import os
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from seqarena import usage
from seqarena.errors import InputError, explained, interruptible
from seqarena.secrets import refuse_secrets
from seqarena.spelling import spelled

ROOT = Path(__file__).resolve().parent
os.environ["SEQARENA_ROOT"] = str(ROOT)
with explained(InputError):
    refuse_secrets(sys.argv[1:])


@hydra.main(version_base="1.3", config_path="conf", config_name="evaluate")
def main(config: DictConfig) -> None:
    """Score, print the table, leave evaluation.json and examples.parquet behind."""
    from hydra.core.hydra_config import HydraConfig

    from seqarena.evaluating import evaluate, given
    from seqarena.models.contract import TooLong
    from seqarena.quiet import quiet
    from seqarena.report import show_evaluation
    from seqarena.runs import asked, open_run

    quiet()
    with explained(InputError, TooLong):
        run = open_run(asked(config), given(config.decoding))
        folder = Path(HydraConfig.get().runtime.output_dir)
        show_evaluation(run.folder.name, *evaluate(run, config, folder), folder)


if __name__ == "__main__":
    if usage.asked():
        usage.show("evaluate", str(__doc__), (), ROOT)
    else:
        with interruptible(), spelled(ROOT, "evaluate"):
            main()
