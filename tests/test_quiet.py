"""What others print is out of the way; what a person has to know is not."""

import logging

from seqarena.quiet import LAUNCHER, quiet


class Ear(logging.Handler):
    """Keeps what it hears."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append((record.levelname, record.getMessage()))


def test_the_death_of_a_rank_is_a_warning_and_other_notes_are_not_heard() -> None:
    quiet()
    fabric, ear = logging.getLogger("lightning.fabric"), Ear()
    fabric.addHandler(ear)
    logging.getLogger("lightning.fabric.utilities.seed").info("Seed set to 1")
    logging.getLogger(LAUNCHER).info("process 7 has ended")
    fabric.removeHandler(ear)
    assert ear.heard == [("WARNING", "process 7 has ended")]
