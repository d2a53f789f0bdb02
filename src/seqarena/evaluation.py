"""What one pass over a split found: scores, the same scores by stratum, and one row per example."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # who only wants the names of buckets, such as a sweep, need not wait for it
    import pyarrow as pa

Bucket = dict[str, str | int | float]
"""One stratum: `bucket` (its name, such as `10-19`), `n` (examples in it), then each metric by name."""


@dataclass(frozen=True)
class Evaluation:
    """Results of one split. Metric names carry no prefix here; `keys()` gives them in the house's grammar.

    `examples` has one row per example (in tagging, per query) in input order: `id`, `length`, the strata, the raw text
    (`text`, or `source` and `reference`), `label`/`reference`, `prediction`, and score statistics.
    `confusion` (rows: true class, columns: predicted) and `per_class` are there for classification and tagging only,
    `signature` for translation only. `speed` is what answering a test took, by one device.
    """

    split: str
    metrics: dict[str, float]
    strata: dict[str, list[Bucket]]
    examples: "pa.Table"
    speed: dict[str, float] = field(default_factory=dict)
    signature: dict[str, str] = field(default_factory=dict)
    confusion: list[list[int]] | None = None
    classes: list[str] | None = None
    per_class: list[Bucket] | None = None

    def keys(self) -> dict[str, float]:
        """`<split>/<metric>`, `<split>/<metric>/<axis>=<bucket>` and `speed/`, as history and W&B write them."""
        found = {f"{self.split}/{name}": value for name, value in self.metrics.items()}
        for axis, buckets in self.strata.items():
            for bucket in buckets:
                for name, value in bucket.items():
                    if name not in ("bucket", "n"):
                        found[f"{self.split}/{name}/{axis}={bucket['bucket']}"] = float(value)
        return found | {f"speed/{name}": value for name, value in self.speed.items()}


def by_bucket(values: Sequence[int], edges: Sequence[int]) -> list[tuple[str, list[int]]]:
    """Which examples fall into each bucket that holds any: its name (`10-19`, `4`, `50+`) and their places.

    `edges` are the lower edges in rising order; the last bucket is open, and values under the first edge form one too.
    """
    places: dict[int, list[int]] = {}
    for place, value in enumerate(values):
        places.setdefault(bisect_right(edges, value) - 1, []).append(place)
    return [(bucket_name(number, edges), places[number]) for number in sorted(places)]


def bucket_name(number: int, edges: Sequence[int]) -> str:
    """What the bucket from `edges[number]` on is called."""
    if number < 0:
        return f"under {edges[0]}"
    if number == len(edges) - 1:
        return f"{edges[number]}+"
    last = edges[number + 1] - 1
    return str(last) if last == edges[number] else f"{edges[number]}-{last}"
