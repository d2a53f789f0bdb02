"""Records of JSON Lines: one object on each line."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from reprlib import repr as short
from typing import Any

from seqarena.data.sources.columns import Record, require
from seqarena.data.sources.lines import lines
from seqarena.data.sources.wording import listing
from seqarena.errors import InputError

CURE = (
    'Each line must hold one whole object, such as {"name": "text", ...}, without a list around all (jq -c ".[]" takes '
    "one off)."
)


def json_records(file: Path, wanted: Mapping[str, str], encoding: str) -> Iterator[Record]:
    """Objects of a JSON Lines file, one on each line; blank lines are skipped (no object looks like one).

    InputError: a line that is not one JSON object, a key that stands twice in it, a wanted key that is missing.
    """
    for number, line in enumerate(lines(file, encoding), 1):
        if line.strip(" \t\r\n"):
            where = f"{file}:{number}"
            record = _json_object(where, line)
            require(where, "key", record, wanted)
            yield where, record


def _json_object(where: str, line: str) -> dict[str, object]:
    try:
        record = json.loads(line, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not valid JSON ({getattr(error, 'msg', error)}). {CURE}") from error
    if not isinstance(record, dict):
        raise InputError(f"{where}: {short(record)}, where an object is needed. {CURE}")
    return record


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError(f"a key stands twice among {listing(key for key, _ in pairs)}")
    return record
