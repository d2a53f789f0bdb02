"""The axes that every metric is shown by, and the lower edges of their buckets; the last bucket is open."""

from collections.abc import Mapping

from seqarena.errors import InputError


def check_buckets(buckets: object, strata: tuple[str, ...]) -> dict[str, list[int]]:
    """`data.buckets` as plain data. InputError: an axis that the data does not have, edges that do not rise."""
    if not isinstance(buckets, Mapping):
        raise InputError(f"data.buckets={buckets} must give edges by axis, such as {{length: [0, 10, 20]}}")
    axes = ("length", *strata)
    for axis, edges in buckets.items():
        if axis not in axes:
            raise InputError(f"data.buckets.{axis}: this data has no such axis, only {', '.join(axes)}")
        if not isinstance(edges, list) or not edges or not all(type(edge) is int for edge in edges):
            raise InputError(f"data.buckets.{axis}={edges} must be a list of whole numbers, the lower edges")
        if sorted(set(edges)) != edges:
            raise InputError(f"data.buckets.{axis}={edges} must rise: write {sorted(set(edges))}")
    return dict(buckets)
