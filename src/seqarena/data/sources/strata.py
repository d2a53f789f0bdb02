"""Names of strata: integer columns of the user's beside those that the project adds."""

from collections.abc import Collection, Sequence

from seqarena.data.sources.wording import listing
from seqarena.errors import InputError

RESERVED = (
    "id", "text", "label", "source", "target", "reference",
    "length", "class", "source_ids", "target_ids", "tokens", "bleu_statistics",
    "prediction", "correct", "confidence", "loss", "majority", "tfidf",
)  # fmt: skip
"""Columns that examples have already, from the source, the preparation or the evaluation."""


def refuse_reserved(strata: Collection[str]) -> None:
    """InputError if a stratum is called like a column that the project adds."""
    taken = [name for name in strata if name in RESERVED]
    if taken:
        raise InputError(
            f"data.strata={list(strata)}: {listing(taken)} cannot be a stratum, because examples have a column of that "
            "name already. Rename it in the files."
        )


def names_of(strata: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (strata,) if isinstance(strata, str) else tuple(strata)
