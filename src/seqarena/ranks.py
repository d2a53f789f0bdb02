"""Which process this is, known before there is a trainer: child processes are told by their environment."""

from lightning.pytorch.utilities import rank_zero_only


def is_first() -> bool:
    """Whether this is the one process that writes shared files."""
    return getattr(rank_zero_only, "rank", 0) == 0
