"""Train one model on one dataset: python train.py model=transformer data=agreement."""

import os
from pathlib import Path

import hydra
from omegaconf import DictConfig

os.environ["SEQARENA_ROOT"] = str(Path(__file__).resolve().parent)


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(config: DictConfig) -> None:
    """Train with the composed config. Heavy imports come here, so that --help needs none."""
    from hydra.core.hydra_config import HydraConfig

    from seqarena.training import train

    train(config, Path(HydraConfig.get().runtime.output_dir))


if __name__ == "__main__":
    main()
