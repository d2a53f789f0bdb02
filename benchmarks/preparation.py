"""How long data takes to prepare, how much memory that needs, and how fast the second start is.

    python benchmarks/preparation.py                      # 4.5 million synthetic pairs, as many as WMT14 en-de has
    python benchmarks/preparation.py 100000               # fewer
    python benchmarks/preparation.py <folder> en de       # your own line-aligned files

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

ROOT = Path(__file__).parents[1]
os.environ["SEQARENA_ROOT"] = str(ROOT)


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


def start(folder: str, source: str, target: str, cache: str, processes: int) -> None:
    """One start up to the first batch, in this process; prints its seconds and its peak memory."""
    from hydra import compose, initialize_config_dir

    from seqarena.runs import build_data

    begun, workers = time.perf_counter(), [0]
    Thread(target=watch_workers, args=(workers,), daemon=True).start()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        options = [f"data.path={folder}", f"data.source={source}", f"data.target={target}", f"cache={cache}"]
        data = build_data(compose("train", ["data=parallel_text", *options]))
    data._processes = processes
    data.prepare_data()
    prepared = time.perf_counter()
    data.setup()
    batch = next(iter(data.train_dataloader()))
    told = {
        "prepared_s": round(prepared - begun, 2),
        "first_batch_s": round(time.perf_counter() - begun, 2),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "peak_of_a_worker_mib": workers[0],
        "batch": list(batch.source_BS.shape),
        "kept": data.report["ledger"]["train"]["kept"],
    }
    print(json.dumps(told))


def measured(*arguments: str) -> dict[str, float]:
    """What `start` printed in a fresh process."""
    command = [sys.executable, __file__, "--start", *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> None:
    """Write pairs or take those of a folder; start twice; show both."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("what", nargs="?", default="4500000")
    reader.add_argument("languages", nargs="*", default=["en", "de"])
    reader.add_argument("--processes", default=str(len(os.sched_getaffinity(0))))
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "pairs" if asked.what.isdigit() else Path(asked.what).absolute()
        if asked.what.isdigit():
            folder.mkdir()
            write_pairs(folder, int(asked.what))
        for name in ("first start", "second start"):
            found = measured(str(folder), *asked.languages, str(Path(place) / "cache"), asked.processes)
            print(f"{name}: {json.dumps(found)}")
        size = sum(file.stat().st_size for file in (Path(place) / "cache").rglob("*") if file.is_file())
        print(f"cache: {size / 2**20:,.0f} MiB")
        shutil.rmtree(Path(place) / "cache")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--start"]:
        folder, source, target, cache, processes = sys.argv[2:]
        start(folder, source, target, cache, int(processes))
    else:
        main()
