"""What files hold, as a hash: the same wherever they lie and whenever they were written."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path


def content_hash(
    options: Mapping[str, object], files: Mapping[str, Sequence[Path]], stamped: Collection[str] = ()
) -> str:
    """SHA-256 over the options (plain data) and the content of every split's files, in order.

    Of the splits that are `stamped` the files are not read: their names, sizes and times of change stand for them.
    """
    contents = {split: [_stamp(f) if split in stamped else _sha256(f) for f in each] for split, each in files.items()}
    return hashlib.sha256(json.dumps([options, contents], sort_keys=True).encode()).hexdigest()


def _stamp(file: Path) -> list[str | int]:
    told = file.stat()
    return [file.name, told.st_size, told.st_mtime_ns]


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
