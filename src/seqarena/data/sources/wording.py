"""How messages name things: short lists, and the nearest name to a mistyped one."""

from collections.abc import Iterable
from difflib import get_close_matches

SHOWN = 12
"""Names listed before a message says how many more there are."""


def listing(names: Iterable[str]) -> str:
    """`'a', 'b' and 3 more`, quoted so that spaces and odd characters show; `nothing` when there are none."""
    every = [repr(name) for name in names]
    rest = len(every) - SHOWN
    return ", ".join(every[:SHOWN]) + (f" and {rest} more" if rest > 0 else "") or "nothing"


def nearest(name: str, among: Iterable[str]) -> str | None:
    """The name that was probably meant, whatever its case; None when nothing comes near."""
    by_lower = {one.lower(): one for one in among}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[close[0]] if close else None
