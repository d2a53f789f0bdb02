"""A Weights & Biases run as all of ours begin: quiet, offline unless asked for, and never with a prompt."""

import logging
from pathlib import Path
from typing import Any

from seqarena.record import relative

log = logging.getLogger(__name__)


def begin(
    folder: Path,
    *,
    mode: str,
    project: str,
    entity: str | None,
    name: str,
    group: str | None,
    job_type: str,
    tags: list[str],
    config: dict[str, Any],
) -> Any:
    """A run that keeps its files in `folder`. Without an API key an online one is kept offline, with a warning."""
    import wandb

    if mode == "online" and not wandb.login(prompt=False):
        log.warning("W&B: no API key is set, so the run is kept offline")
        mode = "offline"
    return wandb.init(
        dir=folder,
        mode="online" if mode == "online" else "offline",
        project=project,
        entity=entity,
        name=name,
        group=group,
        job_type=job_type,
        tags=tags,
        config=config,
        reinit="finish_previous",  # one that an error left open is not gone on with
        settings=wandb.Settings(
            silent=True, console="off", x_disable_meta=True, disable_git=True, save_code=False, init_timeout=30
        ),
    )


def upload_hint(run: Any) -> str | None:
    """How an offline run is uploaded; None of an online one."""
    if run.settings.mode != "offline":
        return None
    return f"W&B is offline; to upload this run: wandb sync {relative(Path(run.dir).parent)}"
