"""Keeps what others print out of the way; their real warnings stay."""

import logging
import warnings

HARMLESS = (
    r"The '\w+_dataloader' does not have many workers",
    r"It is recommended to use `self.log\(.*sync_dist=True",
    r".isinstance\(treespec, LeafSpec\)",
    r"Checkpoint directory .* exists and is not empty",  # that of a run that goes on
    r"`ModelCheckpoint\(monitor='val/\w+'\)` could not find the monitored key",  # an epoch without a validation
    r"You're resuming from a checkpoint that ended before the epoch ended",  # at the very batch: callbacks/resuming.py
    r"FSDP2-wrapped module \(\w+\) returned a view tensor",  # nothing changes what a layer has returned
    "TF32 acceleration on top of oneDNN",
)
"""Beginnings of warnings, as patterns, that say nothing about this program."""

LAUNCHER = "lightning.fabric.strategies.launchers.subprocess_script"
"""Says, as a note alone, that a process of the run has died, before it ends the others: on GPUs nobody else does."""


def quiet() -> None:
    """Silence Lightning's tips and notes, and warnings known to be harmless."""
    for name in ("lightning.pytorch", "lightning.fabric", "lightning"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger(LAUNCHER).setLevel(logging.INFO)
    logging.getLogger(LAUNCHER).addFilter(_warning)
    for message in HARMLESS:
        warnings.filterwarnings("ignore", message=message)


def _warning(note: logging.LogRecord) -> bool:
    """It is shown as one."""
    note.levelno, note.levelname = logging.WARNING, "WARNING"
    return True
