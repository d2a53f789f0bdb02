"""What files hold, as a hash: the same wherever they lie and whenever they were written."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path


def content_hash(options: Mapping[str, object], files: Mapping[str, Sequence[Path]]) -> str:
    """SHA-256 over the options (plain data) and the content of every split's files, in order."""
    contents = {split: [_sha256(file) for file in each] for split, each in files.items()}
    return hashlib.sha256(json.dumps([options, contents], sort_keys=True).encode()).hexdigest()


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
