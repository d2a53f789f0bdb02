"""The run's history on disk: `history.jsonl`, a line each time something is measured."""

import json
import math
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers.logger import Logger
from lightning.pytorch.utilities import rank_zero_only

from seqarena.history import FILE, read


class History(Logger):
    """Appends `{"step": optimizer step, key: number, ...}`; a number that is not finite is null."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._path = folder / FILE

    @property
    def name(self) -> str:
        """Lightning wants one."""
        return "history"

    @property
    def version(self) -> str:
        """Lightning wants one."""
        return ""

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """One line more. It is flushed at once, so a crash loses nothing."""
        line = {"step": step} | {key: value if math.isfinite(value) else None for key, value in metrics.items()}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")

    @rank_zero_only
    def rewind(self, step: int) -> None:
        """Forget what came after `step`, which a run resumed there will measure again."""
        if not self._path.exists():
            return
        kept = [line for line in read(self._path.parent) if line["step"] <= step]
        part = self._path.with_suffix(".part")
        part.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        part.replace(self._path)

    def log_hyperparams(self, *arguments: Any, **named: Any) -> None:
        """Nothing: the record holds the config."""
