"""Whether a stream's memory stays the same however much it reads: python benchmarks/streaming.py [MB ...]

Synthetic pairs of so many megabytes each (10 and 100) are streamed once from the first row to the last, each in a fresh
process, so that its peak memory is its own.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from preparation import ROOT, write_pairs

PAIRS_A_MB = 3300
HEAD = ("data.tokenizer_rows=10000", "data.shuffle_buffer=5000")


def read(folder: str, cache: str, pairs: int) -> None:
    """Stream every pair once in this process; prints rows, batches, seconds and peak memory."""
    from hydra import compose, initialize_config_dir

    from seqarena.runs import build_data

    options = [f"data.path={folder}", "data.source=en", "data.target=de", "data.streaming=true", f"cache={cache}"]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        module = build_data(compose("train", ["data=parallel_text", *options, *HEAD]))
    module.prepare_data()
    module.setup()
    begun, rows, batches = time.perf_counter(), 0, 0
    for batch in module.train_dataloader():
        rows += module.on_before_batch_transfer(batch, 0).examples
        batches += 1
        if rows >= pairs * 0.95:  # those too long are left out, and a stream does not end
            break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    seconds = time.perf_counter() - begun
    print(json.dumps({"rows": rows, "batches": batches, "seconds": round(seconds, 1), "peak_mib": peak}))


def main(sizes: list[int]) -> None:
    """A line for each size."""
    print("| MB | rows | batches | s | peak, MiB |\n|---|---|---|---|---|")
    for size in sizes:
        with tempfile.TemporaryDirectory() as place:
            folder, pairs = Path(place) / "pairs", size * PAIRS_A_MB
            folder.mkdir()
            write_pairs(folder, pairs)
            megabytes = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
            command = [sys.executable, __file__, "--read", str(folder), f"{place}/cache", str(pairs)]
            found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            print(f"| {megabytes:.0f} | {' | '.join(f'{value:,}' for value in found.values())} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main([int(size) for size in sys.argv[1:]] or [10, 100])
