"""What depends on two parts of the config, or on config and machine, is checked here, before anything is trained."""

import math
from collections.abc import Mapping

import torch
from omegaconf import DictConfig

from seqarena.budget.account import check_kind
from seqarena.budget.clock import check_schedule
from seqarena.building import build, filled
from seqarena.compilation import check_compiler
from seqarena.data.module import DataModule
from seqarena.device import available_cores
from seqarena.errors import InputError
from seqarena.limits import check_limits
from seqarena.precision import HALF, PRECISIONS
from seqarena.probing.probes import ProbeOptions
from seqarena.streaming_check import check_streaming

FSDP = "fsdp"
SHARDED = ("auto", "32-true", "bf16-mixed", "bf16-true", "16-true")
"""The precisions that go with it."""
STRATEGIES = ("auto", "ddp", "ddp_spawn", "ddp_fork", FSDP)
ACCELERATORS = ("auto", "cpu", "gpu", "cuda", "mps")


def check_config(config: DictConfig) -> None:
    """Refuse, before any data is read, what cannot work on this machine or with this model."""
    check_limits(config)
    how = config.trainer
    check_machine(how.accelerator, how.precision, "trainer.")
    _check_devices(how)
    _check_sharding(how)
    if how.compile:
        check_compiler()
    check_kind(config)
    check_schedule(config)
    check_streaming(config)
    if config.budget.kind != "time":
        _check_length(how)
    _check_optimizer(config)
    _check_probes(config)
    if config.task.name == "translation" and "decoder" not in config.model:
        raise InputError(
            f"model={config.model.name} has no decoder, so it cannot translate, as data={config.data.name} asks"
        )


def check_machine(accelerator: str, precision: str, prefix: str) -> None:
    """Refuse an accelerator or a precision that is not known or not here; `prefix` stands before their names."""
    if accelerator not in ACCELERATORS:
        raise InputError(f"{prefix}accelerator={accelerator} is not known: choose one of {', '.join(ACCELERATORS)}")
    if precision not in PRECISIONS:
        raise InputError(f"{prefix}precision={precision} is not known: choose one of {', '.join(PRECISIONS)}")
    if accelerator in ("gpu", "cuda") and not torch.cuda.is_available():
        raise InputError(f"{prefix}accelerator={accelerator}: torch sees no GPU here; write {prefix}accelerator=cpu")
    if accelerator == "mps" and not torch.backends.mps.is_available():
        raise InputError(f"{prefix}accelerator=mps: torch sees no Apple GPU here; write {prefix}accelerator=cpu")
    if precision in HALF and not torch.cuda.is_available():
        raise InputError(
            f"{prefix}precision={precision} needs a GPU; write {prefix}precision=bf16-mixed or 32-true on a CPU"
        )


def _check_length(how: DictConfig) -> None:
    if how.max_steps in (None, -1) and how.max_epochs in (None, -1):
        raise InputError("the run would never end: write trainer.max_epochs=N or trainer.max_steps=N")
    for name in ("max_steps", "max_epochs"):
        if how[name] == 0:
            raise InputError(f"trainer.{name}=0 trains nothing: write 1 or more")


def _check_optimizer(config: DictConfig) -> None:
    """Make both once, on one weight: what torch refuses is refused before any data is read."""
    make_optimizer, make_schedule = build(config.optim), build(config.schedule)
    try:
        make_schedule(make_optimizer([torch.nn.Parameter(torch.zeros(1))]), total_steps=100)
    except (TypeError, ValueError) as error:
        raise InputError(f"optim or schedule: {error}") from error


def _check_probes(config: DictConfig) -> None:
    if filled(ProbeOptions, config.probe, "probe").kinds and config.trainer.strategy == FSDP:
        raise InputError("probe: trainer.strategy=fsdp holds no whole model to look at: write probe=none, or ddp")


def _check_devices(how: DictConfig) -> None:
    if how.devices == "auto" and how.accelerator == "cpu":
        raise InputError("trainer.devices=auto means nothing on a CPU: write trainer.devices=2 for two processes")
    if how.strategy not in STRATEGIES:
        raise InputError(f"trainer.strategy={how.strategy} is not known: choose one of {', '.join(STRATEGIES)}")
    if how.devices == "auto":
        return
    if not isinstance(how.devices, int) or isinstance(how.devices, bool) or how.devices < 1:
        raise InputError(f"trainer.devices={how.devices} must be a whole number from 1, or auto")
    gpus = torch.cuda.device_count()
    if how.accelerator != "cpu" and gpus and how.devices > gpus:
        raise InputError(f"trainer.devices={how.devices}, but torch sees {gpus} GPUs: write trainer.devices={gpus}")


def _check_sharding(how: DictConfig) -> None:
    """Refuse what goes with ddp, but not with weights that are shared out."""
    if how.strategy == FSDP and how.precision not in SHARDED:
        raise InputError(
            f"trainer.precision={how.precision} does not go with trainer=fsdp: choose one of {', '.join(SHARDED)}, or "
            "write trainer=ddp"
        )
    if how.strategy == FSDP and how.compile:
        raise InputError("trainer.compile=true does not go with trainer=fsdp: write trainer.compile=false, or ddp")


def check_data(config: DictConfig, data: DataModule) -> list[str]:
    """Refuse what model and data together cannot do; return warnings about what they can do but hardly should."""
    limit = config.model.get("max_positions")
    longest = max(int(data.longest(split)) for split in ("train", "val", "test"))
    if config.model.get("positions") == "learned" and limit is not None and longest > limit:
        shorter = f"or data.max_length={limit - 2}, " if limit > 2 else ""
        raise InputError(
            f"the longest text has {longest} tokens, but model.max_positions={limit} are learned: write "
            f"model.max_positions={longest}, {shorter}or model.positions=sinusoidal"
        )
    steps = total_steps(config, data)
    warmup = config.schedule.get("warmup", 0)
    warnings = []
    if warmup >= 1 and warmup > steps:
        warnings.append(
            f"the warm-up of {warmup:g} steps is longer than the run of {steps}: the rate never reaches its peak; "
            "write schedule.warmup=0.1 for a tenth of the run"
        )
    for split, labels in data.report["unknown_labels"].items():
        if labels:
            told = ", ".join(f"{label!r} {count}" for label, count in labels.items())
            count = sum(labels.values())
            warnings.append(f"{split}: {count} examples are left out, as training lacks their labels: {told}")
    cores = available_cores()
    if config.data.workers > cores:
        warnings.append(f"data.workers={config.data.workers} is more than the {cores} cores of this process")
    return warnings + untrained(data.report["unknown_share"], config.data.word_dropout)


def untrained(unknown: Mapping[str, float], word_dropout: float) -> list[str]:
    """A warning where <unk> is in texts to come and in none that is learned from: its vector stays as it began.

    `unknown` are the shares of unknown tokens by split; training's goes by another name where it is streamed.
    """
    later = max(unknown[split] for split in ("val", "test"))
    if not later or word_dropout or any(share for split, share in unknown.items() if split not in ("val", "test")):
        return []
    return [
        f"no training text holds an unknown token, and up to {later:.1%} of the tokens of val and test are: what <unk> "
        "means is never learned; write data.tokenizer.min_count=2, or data.word_dropout=0.02"
    ]


def total_steps(config: DictConfig, data: DataModule) -> float:
    """Optimizer steps of the run: of max_steps and max_epochs, the one that comes first; infinity without both."""
    how = config.trainer
    by_epochs: float = math.inf
    if how.max_epochs not in (None, -1) and config.budget.kind != "time":
        by_epochs = how.max_epochs * math.ceil(len(data.train_dataloader()) / how.accumulate)
    by_steps = math.inf if how.max_steps in (None, -1) else how.max_steps
    return min(by_epochs, by_steps)
