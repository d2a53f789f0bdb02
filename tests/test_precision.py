"""What `trainer.precision=auto` means on which machine; a run goes on, is tested and compared in what it began with."""

from pathlib import Path

import pytest
import torch
from conftest import AGREEMENT, SMALL, Verb

from seqarena import precision
from seqarena.record import Record


@pytest.mark.parametrize(
    ("instructions", "told", "expected"),
    [
        ({}, None, "32-true"),
        ({"avx2": True, "avx512_f": True}, None, "32-true"),
        ({"avx512_bf16": True}, None, "bf16-mixed"),
        ({"amx_bf16": True}, "ALL", "bf16-mixed"),
        ({"amx_bf16": True}, "avx512_core_amx", "bf16-mixed"),
        ({"amx_bf16": True}, "AVX512_CORE", "32-true"),
        ({"bf16": True}, None, "32-true"),  # ARM: not measured
    ],
)
def test_auto_on_a_processor(
    monkeypatch: pytest.MonkeyPatch, instructions: dict[str, bool], told: str | None, expected: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: instructions)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA")
    if told is not None:
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", told)
    assert precision.settled("auto", "cpu") == expected
    assert precision.settled("32-true", "cpu") == "32-true"


def test_auto_on_a_gpu_asks_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for fast, expected in ((True, "bf16-mixed"), (False, "32-true")):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, fast=fast: fast)
        assert precision.settled("auto", "gpu") == precision.settled("auto", "auto") == expected
        assert precision.settled("auto", "cpu") == "32-true"


def test_a_run_says_which_it_took_and_goes_on_in_no_other(
    verb: Verb, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = (*SMALL, *AGREEMENT, "model=textcnn", "hydra.run.dir=run")
    with monkeypatch.context() as fast:
        fast.setattr(precision, "cpu_is_fast", lambda: True)
        code, out, err = verb("train", *options)
        assert code == 0 and "bf16-mixed" in out, err
    record = Record.read(Path("run"))
    assert record.machine["precision"] == "bf16-mixed" and record.config["trainer"]["precision"] == "auto"
    code, out, err = verb("evaluate", "run=run", "hydra.run.dir=again")
    assert code == 0, err
    losses = [line.split()[-1] for line in out.splitlines() if line.split()[:1] == ["loss"]]
    assert float(losses[0]) == pytest.approx(record.metrics["test/loss"], abs=5e-5)
    record.status = "interrupted"
    record.write(Path("run"))
    code, _, err = verb("train", *options)
    assert code == 2 and "began in bf16-mixed" in err and "trainer.precision=bf16-mixed" in err
