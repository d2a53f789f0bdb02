"""Errors meant for a person: the message says what is wrong, where, and what to do; no traceback is shown."""

import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

INTERRUPTED = 130
"""Exit code after Ctrl+C."""

_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class InputError(Exception):
    """Something the user gave (a file, an option, a folder) cannot be used. The message names it, and the cure."""


class Changed(InputError):
    """What a run began with is another now, so that it may not go on. What it has left stands."""


class MachineError(Exception):
    """The machine failed the run: no memory, no room, a killed process. The message says what to lower or free."""


class Diverged(Exception):
    """The loss is no longer a number, or an absurd one. The message says at which step, and what to try.

    `examples` are the ids of the training examples whose batch was the first of this process to have such a loss.
    """

    def __init__(self, message: str, examples: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.examples = list(examples)


@contextmanager
def explained(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds into `error: <message>` on the standard error and exit code 2."""
    try:
        yield
    except kinds as error:
        print(f"error: {harmless(str(error))}", file=sys.stderr)
        raise SystemExit(2) from error


def harmless(text: str) -> str:
    """The same with characters that a terminal obeys, or that turn the order of others, written as `U+001B`."""
    return _OBEYED.sub(lambda found: f"U+{ord(found[0]):04X}", text)


@contextmanager
def unread() -> Iterator[None]:
    """Whoever reads the output and has seen enough, such as `head`, ends the command without a word."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still to be written goes nowhere
        raise SystemExit(128 + signal.SIGPIPE) from None


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl+C ends the command with one line, a closed pipe without one, also while it is still starting."""
    try:
        with unread():
            yield
    except KeyboardInterrupt as stop:
        print(f"interrupted {harmless(str(stop))}".rstrip(), file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
