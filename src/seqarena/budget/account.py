"""The record's account of a budget: made before training, and put in words."""

from typing import Any

from omegaconf import DictConfig

from seqarena.budget.clock import timed
from seqarena.budget.width import SIZES, solved
from seqarena.data.module import DataModule
from seqarena.errors import InputError

KINDS = ("none", *SIZES, "time")


def check_kind(config: DictConfig) -> None:
    """Refuse a budget that there is not."""
    if config.budget.kind not in KINDS:
        raise InputError(f"budget.kind={config.budget.kind} is not known: write budget={', budget='.join(KINDS)}")


def settled(config: DictConfig, data: DataModule) -> tuple[DictConfig, dict[str, Any]]:
    """The config as the budget wants it, and the account of what was chosen: empty without a budget."""
    config, length = timed(config)
    config, width = solved(config, data)
    return config, length | width


def told(account: dict[str, Any]) -> str:
    """An account in one line: the target and what is reached of it, what was chosen, which trial it is."""
    parts = [_told_kind(account)] if "target" in account else []
    if "free_bytes" in account:
        each, free = account["bytes_per_token"] / 2**20, account["free_bytes"] / 2**30
        parts.append(f"batches of {account['batch_tokens']:,} tokens, {each:.2g} MiB each, of {free:.1f} GiB free")
    if "effective_tokens" in account:
        parts.append(f"{account['accumulate']} batches a step, {account['effective_tokens']:,} tokens")
    if "trials" in account:
        drawn = _listed(account["drawn"])
        parts.append(f"trial {account['trial']} of {account['trials']} (from 0): {drawn}")
    return "; ".join(parts)


def _told_kind(account: dict[str, Any]) -> str:
    kind, target, reached = account["kind"], account["target"], account.get("reached")
    if kind == "time":
        done = "" if reached is None else f", {reached:.2f} used, {account['steps']:,} steps"
        return f"{target:g} minutes of training{done}"
    off = reached / target - 1
    return f"{reached:,.0f} {SIZES[kind].unit} of {target:,.0f} ({off:+.1%}), by {_listed(account['chosen'])}"


def _listed(options: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in options.items()
    )
