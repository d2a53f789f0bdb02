"""A short form of benchmarks/kills.py: runs killed at random moments end as if nothing had happened."""

import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.slow
def test_killed_runs_end_as_whole_ones() -> None:
    command = [sys.executable, ROOT / "benchmarks" / "kills.py", "1", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0 and "0 runs that differ" in done.stdout, done.stdout + done.stderr
