"""How long data takes to prepare, how much memory that needs, and how fast the second start is.

    python benchmarks/preparation.py                         # 4.5 million synthetic pairs, as many as WMT14 en-de has
    python benchmarks/preparation.py 100000                  # fewer
    python benchmarks/preparation.py --translation <folder>  # Multi30k

Each stage runs in a fresh process, so that its peak memory is its own.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from threading import Thread

from joblib import cpu_count

ROOT = Path(__file__).parents[1]
os.environ["SEQARENA_ROOT"] = str(ROOT)
MEASURES = ("prepared_s", "first_batch_s", "peak_mib", "peak_of_a_worker_mib")


def write_pairs(folder: Path, pairs: int) -> None:
    """Sentences of 6 to 46 made-up words, Zipf-like, the target a reordered relative of the source."""
    rng = random.Random(1)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(60_000)]
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))
    stock = [rng.choices(words, cum_weights=weights, k=rng.randint(5, 45)) for _ in range(50_000)]
    stems = [(" ".join(one), " ".join(word + "en" for word in reversed(one))) for one in stock]
    for split, count in (("train", pairs), ("val", 3000), ("test", 3000)):
        with (folder / f"{split}.en").open("w") as source, (folder / f"{split}.de").open("w") as target:
            for _ in range(count):  # a stem with a word of its own: few are equal
                (one, other), word = rng.choice(stems), rng.choice(words)
                source.write(f"{one} {word} .\n")
                target.write(f"{word}en {other} .\n")


def watch_workers(peaks: list[int]) -> None:
    """Keep the highest memory of any child, in MiB, in `peaks`; to getrusage a child begins with its parent's peak."""
    while True:
        for child in Path("/proc/self/task").glob("*/children"):
            for process in child.read_text().split():
                with suppress(OSError):
                    told = Path(f"/proc/{process}/status").read_text()
                    peaks[0] = max(peaks[0], *(int(kib) // 1024 for kib in re.findall(r"VmHWM:\s+(\d+)", told)), 0)
        time.sleep(0.1)


def start(data: str, folder: str, cache: str, processes: int) -> None:
    """One start up to the first batch, in this process; prints its seconds and its peak memory."""
    from hydra import compose, initialize_config_dir

    from seqarena.runs import build_data

    begun, workers = time.perf_counter(), [0]
    Thread(target=watch_workers, args=(workers,), daemon=True).start()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        options = [f"data.path={folder}", "data.source=en", "data.target=de", f"cache={cache}"]
        module = build_data(compose("train", [f"data={data}", *options]))
    module._processes = processes
    module.prepare_data()
    prepared = time.perf_counter()
    module.setup()
    next(iter(module.train_dataloader()))
    told = {
        "prepared_s": round(prepared - begun, 2),
        "first_batch_s": round(time.perf_counter() - begun, 2),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "peak_of_a_worker_mib": workers[0],
        "kept": module.report["ledger"]["train"]["kept"],
    }
    print(json.dumps(told))


def measured(*arguments: str) -> dict[str, float]:
    """What `start` printed in a fresh process."""
    command = [sys.executable, __file__, "--start", *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> None:
    """Write pairs or take those of a folder; start twice; show both."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("pairs", nargs="?", type=int, default=4_500_000)
    reader.add_argument("--translation", type=Path)
    reader.add_argument("--processes", default=str(cpu_count()))
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = asked.translation.absolute() if asked.translation else Path(place) / "pairs"
        if not asked.translation:
            folder.mkdir()
            write_pairs(folder, asked.pairs)
        print("| start | pairs kept | prepared, s | first batch, s | peak, MiB | of a worker, MiB | cache, MiB |")
        print("|---|---|---|---|---|---|---|")
        for name in ("first", "second"):
            data = "multi30k" if asked.translation else "parallel_text"
            found = measured(data, str(folder), str(Path(place) / "cache"), asked.processes)
            size = sum(file.stat().st_size for file in (Path(place) / "cache").rglob("*") if file.is_file())
            numbers = (f"{found[key]:,}" for key in ("kept", *MEASURES))
            print(f"| {name} | {' | '.join(numbers)} | {size / 2**20:,.0f} |", flush=True)
        shutil.rmtree(Path(place) / "cache")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--start"]:
        *places, processes = sys.argv[2:]
        start(*places, int(processes))
    else:
        main()
