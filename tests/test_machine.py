"""What a device can do and what it uses: the peak of matrix products, counters of energy."""

import math
from pathlib import Path

import pytest
import torch

from seqarena.callbacks import energy
from seqarena.callbacks.peak import dtype, matmul_flops
from seqarena.device import available_cores

CPU = torch.device("cpu")


def package(root: Path, name: str, microjoules: int) -> Path:
    folder = root / name
    folder.mkdir(exist_ok=True)
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text("10000000\n")
    return folder


def test_energy_of_all_packages_over_a_wrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "RAPL", tmp_path)
    package(tmp_path, "intel-rapl:0", 9_000_000)
    package(tmp_path, "intel-rapl:1", 1_000_000)
    package(tmp_path, "intel-rapl:0:0", 500)  # a part of the first
    read = energy.meter(CPU, 0)
    began = read()
    package(tmp_path, "intel-rapl:0", 2_000_000)  # 3 more: over the range of 10 and on from 0
    package(tmp_path, "intel-rapl:1", 1_500_000)
    assert read() - began == pytest.approx(3.5)
    assert energy.meter(CPU, 1)() == 0  # the first process of the machine counts for all


def test_what_tells_nothing_is_not_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "RAPL", tmp_path)
    assert math.isnan(energy.meter(CPU, 0)())
    (tmp_path / "intel-rapl:0").mkdir()
    assert math.isnan(energy.meter(CPU, 0)())
    package(tmp_path, "intel-rapl:0", 0).joinpath("energy_uj").write_text("none")
    assert math.isnan(energy.meter(CPU, 0)())
    assert math.isnan(energy.meter(torch.device("meta"), 0)())


def test_the_peak_is_that_of_the_clock_and_draws_no_random_number(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1000))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))
    before = torch.get_rng_state()
    assert matmul_flops(CPU, torch.float32) == 2 * 512**3
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        ("32-true", torch.float32),
        ("bf16-mixed", torch.bfloat16),
        ("bf16-true", torch.bfloat16),
        ("16-mixed", torch.float16),
        ("64-true", torch.float64),
    ],
)
def test_products_are_of_the_precisions_kind(precision: str, expected: torch.dtype) -> None:
    assert dtype(precision) == expected


def test_threads_are_no_more_than_what_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # joblib counts no more, as under a container's quota
    assert available_cores() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert available_cores() == 3
