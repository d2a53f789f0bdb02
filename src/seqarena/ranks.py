"""Which process this is, and of how many, known before there is a trainer: the environment tells child processes."""

import torch
from lightning.pytorch.utilities import rank_zero_only
from omegaconf import DictConfig


def is_first() -> bool:
    """Whether this is the one process that writes shared files."""
    return getattr(rank_zero_only, "rank", 0) == 0


def number(how: DictConfig) -> int:
    """The ranks of a run by its `trainer` options, where `auto` means all GPUs of a machine."""
    devices = how.devices if how.devices != "auto" else max(1, torch.cuda.device_count())
    return int(how.num_nodes * devices)
