"""What Ctrl+C ends a run with: one line that says where it stopped, and how it goes on."""

from pathlib import Path
from types import TracebackType

import lightning as L

from seqarena.callbacks.resuming import point
from seqarena.errors import INTERRUPTED
from seqarena.ranks import is_first
from seqarena.record import relative


class Interruption(L.Callback):
    """A context around a whole run, whose record is written by the time that this one is left.

    Lightning turns Ctrl+C into an exit with code 1; here it becomes a KeyboardInterrupt again, whose message says what
    to do. Ranks other than the first end without a word.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._step = 0

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        """Remember how far the run was."""
        self._step = trainer.global_step

    def __enter__(self) -> "Interruption":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not by_hand(error):
            return
        if not is_first():
            raise SystemExit(INTERRUPTED) from None
        raise KeyboardInterrupt(self._told()) from None

    def _told(self) -> str:
        """`at step 120: go on with ...`, where there is a point to go on from."""
        place = f"at step {self._step}" if self._step else "before its first step"
        if point(self._folder / "checkpoints") is not None:
            return f"{place}: go on with the same command and hydra.run.dir={relative(self._folder)}"
        return f"{place}, with no point saved yet to go on from: the same command begins anew"


def by_hand(error: BaseException | None) -> bool:
    """Whether it is a Ctrl+C, or Lightning's exit after one."""
    stop = error.__context__ if isinstance(error, SystemExit) else error
    return isinstance(stop, KeyboardInterrupt)
