"""Energy that a device has used, where it tells: an NVIDIA GPU by NVML, a processor by Linux's RAPL counters."""

import math
from collections.abc import Callable
from pathlib import Path

import torch

RAPL = Path("/sys/class/powercap")

Meter = Callable[[], float]
"""Joules since some moment in the past; differences alone mean anything."""


def meter(device: torch.device, local_rank: int) -> Meter:
    """A meter of this process's device; it says NaN where nothing tells.

    A processor's counters hold what everything on it uses, so of several processes of a machine the first reads them,
    and those of the others stand still.
    """
    if device.type == "cpu" and local_rank > 0:
        return lambda: 0.0
    found = {"cuda": _of_gpu, "cpu": _of_processor}.get(device.type, _untold)(device)
    return found or (lambda: math.nan)


def _untold(device: torch.device) -> None:
    return None


def _of_gpu(device: torch.device) -> Meter | None:
    """By the card's own counter, in millijoules; it needs the package nvidia-ml-py, and a Volta card or a newer one."""
    try:
        import pynvml

        pynvml.nvmlInit()
        card = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
        pynvml.nvmlDeviceGetTotalEnergyConsumption(card)
    except ImportError:
        return None
    except pynvml.NVMLError:
        return None
    return lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(card) / 1000


def _of_processor(device: torch.device) -> Meter | None:
    """The sum over packages (`intel-rapl:0`, not its parts `intel-rapl:0:1`), which AMD's are called as well."""
    packages = [Counter(one) for one in sorted(RAPL.glob("intel-rapl:[0-9]*")) if one.name.count(":") == 1]
    try:
        for one in packages:
            one.joules()
    except (OSError, ValueError):  # readable by root alone on most systems
        return None
    return (lambda: sum(one.joules() for one in packages)) if packages else None


class Counter:
    """A package's energy in joules, rising where the file's number, in microjoules, starts again from 0."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last = self._wrapped = 0

    def joules(self) -> float:
        """Since the counter's zero. OSError, ValueError: it cannot be read."""
        now = int((self._folder / "energy_uj").read_text())
        if now < self._last:
            self._wrapped += int((self._folder / "max_energy_range_uj").read_text())
        self._last = now
        return (self._wrapped + now) / 1e6
