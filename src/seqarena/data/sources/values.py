"""One field of a record, checked: texts, labels and integers as a source may yield them."""

import re
from reprlib import repr as short

from seqarena.errors import InputError

_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def text(where: str, name: str, value: object) -> str:
    """The string itself, and nothing for null. InputError: another type, a NUL, a lone surrogate (half an emoji)."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{where}: {name!r} is {short(value)}, not text. Write it as a string, or drop the record.")
    if bad := _NOT_TEXT.search(value):
        what = "a NUL" if bad[0] == "\0" else f"half a surrogate pair (\\u{ord(bad[0]):04x})"
        raise InputError(f"{where}: {name!r} holds {what} at character {bad.start() + 1}. Delete it.")
    return value


def label(where: str, name: str, value: object) -> str:
    """A class's name: a string on one line, or an integer as its decimal string; nothing for null.

    InputError: true, false, 1.5, a list; a tab, a line break or another control character.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{where}: {name!r} is {short(value)}; a label is text or an integer. Write it as a string.")
    written = text(where, name, value)
    if bad := _CONTROL.search(written):
        raise InputError(
            f"{where}: {name!r} is {short(written)}; a label is a name, without {bad[0]!r} in it. Delete that, or is "
            "this the column of the texts?"
        )
    return written


def integer(where: str, name: str, value: object) -> int:
    """A stratum: an integer, or its decimal digits (at most 18, so that 64 bits hold it). InputError: all else."""
    if not _INTEGER.fullmatch(str(value)):
        raise InputError(
            f"{where}: {name!r} is {short(value)}, not an integer of at most 18 digits. "
            "Correct it, or take the column out of data.strata."
        )
    return int(str(value))
