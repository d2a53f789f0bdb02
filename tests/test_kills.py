"""A short form of benchmarks/kills.py: runs killed at random moments end as if nothing had happened."""

import pytest
from conftest import ROOT


@pytest.mark.slow
def test_killed_runs_end_as_whole_ones(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from kills import main

    code = main(1, 1)
    told = capsys.readouterr().out
    assert code == 0 and "0 runs that differ" in told, told
