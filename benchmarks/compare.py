"""How long a comparison takes of runs that are made up: python benchmarks/compare.py [runs] [examples].

Ten groups of equal size. The time is that of reading records and examples, deciding all pairs and writing the tables.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "compare"))

from made import config, make, right

from seqarena.compare import tables
from seqarena.compare.comparing import Options, compare
from seqarena.compare.records import of_folders

GROUPS = 10


def main(runs: int, examples: int) -> None:
    """Make runs, compare them, print seconds by part."""
    with tempfile.TemporaryDirectory() as made:
        home = Path(made) / "runs"
        for number in range(runs):
            heads, seed = number % GROUPS, number // GROUPS
            correct = right(number, 0.6 + 0.03 * heads, examples)
            make(
                home,
                "transformer",
                seed,
                0.8,
                options={"heads": heads},
                config=config("transformer", heads=heads),
                correct=correct,
            )
        begun = time.perf_counter()
        selection = of_folders(str(home))
        read = time.perf_counter()
        found = compare(selection, Options())
        decided = time.perf_counter()
        tables.write(found, Path(made) / "out")
        written = time.perf_counter()
    print("| runs | examples | pairs | reading, s | deciding, s | writing, s |\n|---|---|---|---|---|---|")
    seconds = " | ".join(f"{one:.2f}" for one in (read - begun, decided - read, written - decided))
    print(f"| {runs:,} | {examples:,} | {len(found.blocks[0].pairs)} | {seconds} |")


if __name__ == "__main__":
    main(*(int(one) for one in (*sys.argv[1:], *("1000", "1000")[len(sys.argv) - 1 :])))
