"""One field of a record, checked: texts, labels and integers as a source may yield them."""

import re
from reprlib import repr as short

from seqarena.errors import InputError

_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def text(where: str, name: str, value: object) -> str:
    """The string itself. InputError: another type, a NUL, or a lone surrogate (an emoji cut in half)."""
    if not isinstance(value, str):
        raise InputError(f"{where}: {name!r} is {short(value)}, not text. Put it in double quotes, or drop the line.")
    if bad := _NOT_TEXT.search(value):
        what = "a NUL" if bad[0] == "\0" else f"half a surrogate pair (\\u{ord(bad[0]):04x})"
        raise InputError(f"{where}: {name!r} holds {what} at character {bad.start() + 1}. Delete it.")
    return value


def label(where: str, name: str, value: object) -> str:
    """A class's name: a string, or an integer as its decimal string. InputError: true, false, null, 1.5, a list."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise InputError(f"{where}: {name!r} is {short(value)}; a label is text or an integer. Write it in quotes.")
    return text(where, name, value)


def integer(where: str, name: str, value: object) -> int:
    """A stratum: an integer, or its decimal digits (at most 18, so that 64 bits hold it). InputError: all else."""
    if not _INTEGER.fullmatch(str(value)):
        raise InputError(
            f"{where}: {name!r} is {short(value)}, not an integer of at most 18 digits. "
            "Correct it, or take the column out of data.strata."
        )
    return int(str(value))
