"""Errors meant for a person: the message says what is wrong, where, and what to do; no traceback is shown."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class InputError(Exception):
    """Something the user gave (a file, an option, a folder) cannot be used. The message names it, and the cure."""


class Diverged(Exception):
    """The loss is no longer a number, or an absurd one. The message says at which step, and what to try."""


@contextmanager
def explained(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds into `error: <message>` on the standard error and exit code 2."""
    try:
        yield
    except kinds as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl+C ends the command with one word instead of a traceback, also while it is still starting."""
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None
