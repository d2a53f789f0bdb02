"""Files that are replaced as a whole: a reader sees the old one or the new one."""

import os
import tempfile
from pathlib import Path


def replace(path: Path, text: str) -> None:
    """Write a text under a temporary name in the same folder, which is made if need be, and rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(part).chmod(0o644)
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
