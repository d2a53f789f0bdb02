"""The loggers of a run: the history on disk always, and what conf/logger adds to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger

from seqarena.callbacks.history import History
from seqarena.callbacks.mirror import Mirror
from seqarena.errors import InputError
from seqarena.record import Record


@contextmanager
def loggers(options: dict[str, Any], folder: Path, record: Record) -> Iterator[list[Logger]]:
    """History and the logger of `options`; a mirror is closed however the block is left."""
    name = options["name"]
    if name == "wandb":
        mirror = Mirror(folder, record, **{key: value for key, value in options.items() if key != "name"})
        failed = True
        try:
            yield [History(folder), mirror]
            failed = False
        finally:
            mirror.finish(failed)
    elif name == "csv":
        yield [History(folder), CSVLogger(folder, name="csv", version="")]
    elif name == "tensorboard":
        if find_spec("tensorboard") is None:
            raise InputError("logger=tensorboard needs a package: pip install tensorboard; or write logger=csv")
        yield [History(folder), TensorBoardLogger(folder, name="tensorboard", version="")]
    elif name == "none":
        yield [History(folder)]
    else:
        raise InputError(f"logger.name={name} is not known: write logger=wandb, csv, tensorboard or none")
