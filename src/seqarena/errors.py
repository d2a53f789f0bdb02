"""The one exception meant for a person: its message says what is wrong, where, and what to do; no traceback is shown."""


class InputError(Exception):
    """Something the user gave (a file, an option, a folder) cannot be used. The message names it, and the cure."""
