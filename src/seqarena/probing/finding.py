"""What a probe finds: single numbers, and curves over an axis such as the distance from the end of a text."""

from dataclasses import dataclass, field
from typing import Any

from seqarena.reach import Estimate


@dataclass(frozen=True)
class Point:
    """A value of a curve with its interval: at which bucket, where that lies on the axis, from how many examples."""

    bucket: str
    at: float
    n: int
    value: Estimate

    def plain(self) -> dict[str, Any]:
        """For a record."""
        value, low, high = self.value.value, self.value.low, self.value.high
        return {"bucket": self.bucket, "at": self.at, "n": self.n, "value": value, "low": low, "high": high}


@dataclass(frozen=True)
class Finding:
    """Numbers by name, and curves by name: each an axis and its points."""

    numbers: dict[str, Estimate] = field(default_factory=dict)
    curves: dict[str, tuple[str, list[Point]]] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """For a record."""
        curves = {
            name: {"axis": axis, "buckets": [point.plain() for point in points]}
            for name, (axis, points) in self.curves.items()
        }
        return {"numbers": {name: one.plain() for name, one in self.numbers.items()}, "curves": curves}

    def keys(self) -> dict[str, float]:
        """`probe/<number>` and `probe/<curve>/<axis>=<bucket>`, as history and W&B write them."""
        found = {f"probe/{name}": one.value for name, one in self.numbers.items()}
        for name, (axis, points) in self.curves.items():
            found |= {f"probe/{name}/{axis}={point.bucket}": point.value.value for point in points}
        return found
