"""Numbers and lists as people read them: true minus, thin spaces, no negative zero, no unit on another line."""

import re
from collections.abc import Sequence

THIN = "\u202f"
HARD = "\u00a0"
NOTHING = "–"
DIVERGED = "diverged: no number, a crash, or validation no better than a constant answer"
"""What a run that finished may be called, too, and so is said wherever the word is."""

_CONTROLS = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
_APART = re.compile(r"(?<=\d) (?=(%|points|BLEU|chrF|ms|min|MiB|M\b|\d))")


def num(value: float, digits: int = 1, sign: bool = False) -> str:
    """1234.56 as `1 234.6` with a thin space; `sign` shows a plus, too."""
    text = f"{abs(value):,.{digits}f}".replace(",", THIN)
    if float(f"{abs(value):.{digits}f}") == 0:
        return text
    return ("−" if value < 0 else "+" if sign else "") + text


def short(value: float | None) -> str:
    """Three significant digits at most: `8.4k`, `12 M`, `0.44`."""
    if value is None:
        return NOTHING
    for size, letter in ((1e9, f"{HARD}G"), (1e6, f"{HARD}M"), (1e4, "k")):
        if abs(value) >= size:
            scaled = value / (1e3 if letter == "k" else size)
            return num(scaled, 0 if abs(scaled) >= 100 or letter == "k" else 1) + letter
    whole = abs(value) >= 100 or value == int(value)
    return num(value, 0 if whole else 1 if abs(value) >= 1 else 2)


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return "".join(names) if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"


def visible(text: str) -> str:
    """The same with characters that turn, end or hide a line shown as `U+202E`."""
    return _CONTROLS.sub(lambda one: f"U+{ord(one[0]):04X}", text)


def unbroken(text: str) -> str:
    """The same with a number and its unit kept on one line."""
    return _APART.sub(HARD, text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 run`, `3 runs`."""
    return f"{num(number, 0)}{HARD}{one if number == 1 else many or one + 's'}"
