"""Train one model on one dataset: python train.py model=transformer data=agreement."""

import os
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from seqarena import usage
from seqarena.errors import InputError, explained, interruptible
from seqarena.secrets import refuse_secrets
from seqarena.spelling import refuse_unread, spelled
from seqarena.sweep.extras import refuse_missing_plugins
from seqarena.sweep.naming import named
from seqarena.sweep.question import expand

ROOT = Path(__file__).resolve().parent
os.environ["SEQARENA_ROOT"] = str(ROOT)
with explained(InputError):
    refuse_secrets(sys.argv[1:])
    sys.argv[1:] = named(expand(sys.argv[1:], ROOT))
    refuse_missing_plugins(sys.argv[1:])
    refuse_unread(sys.argv[1:], ROOT, "train")


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(config: DictConfig) -> float | None:
    """Train with the composed config. Heavy imports come here, so that --help needs none."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    hydra_config = HydraConfig.get()
    if hydra_config.mode == RunMode.MULTIRUN:
        from seqarena.sweep.worker import run_in_worker

        return run_in_worker(ROOT / "train.py", config, hydra_config)

    from seqarena.data_report import report_data
    from seqarena.errors import Diverged, MachineError
    from seqarena.models.contract import TooLong
    from seqarena.replaying import replay
    from seqarena.soundness.card import report_model
    from seqarena.training import find_rate, train

    folder = Path(hydra_config.runtime.output_dir)
    with explained(InputError, Diverged, MachineError, TooLong):
        if config.report == "model":
            report_model(config)
        elif config.report is not None:
            report_data(config, folder)
        elif config.lr_find:
            find_rate(config, folder)
        elif config.replay is not None:
            replay(config, folder, list(hydra_config.overrides.task))
        else:
            train(config, folder, list(hydra_config.overrides.task))
    return None


if __name__ == "__main__":
    if usage.asked():
        groups = ("model", "data", "optim", "schedule", "trainer", "logger", "budget", "probe", "recipe", "sweeps")
        usage.show("train", str(__doc__), groups, ROOT)
    else:
        with interruptible(), spelled(ROOT, "train"):
            main()
