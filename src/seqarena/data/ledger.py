"""Every example read is accounted for: kept, or dropped with a reason and a count."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Ledger:
    """Counts of one split. `read` is the sum of `kept` and the reasons; `notes` count kept examples that stand out."""

    read: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    """The labels that training does not know, by how often they came."""

    def keep(self) -> None:
        """One more example read and kept."""
        self.read += 1
        self.kept += 1

    def drop(self, reason: str) -> None:
        """One more example read and dropped."""
        self.read += 1
        self.dropped[reason] += 1

    def discard(self, reason: str, count: int) -> None:
        """Examples that were kept at first are dropped after all."""
        self.kept -= count
        self.dropped[reason] += count

    def plain(self) -> dict[str, Any]:
        """For the record: read, kept, each reason and each note that occurred."""
        if self.read != self.kept + sum(self.dropped.values()):
            raise RuntimeError(f"the ledger does not add up: {self}")
        return {"read": self.read, "kept": self.kept, **dict(self.dropped), **dict(self.notes)}


def counted(counts: Mapping[str, int]) -> str:
    """`401 read, 380 kept, 20 truncated, 1 empty`."""
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
