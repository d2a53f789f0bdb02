"""Points of resumption on the disk: whole before they count, and passed over where a bit of them is another."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from seqarena.callbacks.resuming import BEFORE, LAST, ResumePoints, point


def test_a_point_is_on_the_disk_before_it_takes_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    (checkpoints / LAST).write_text("older")
    (tmp_path / "history.jsonl").write_text("")
    seen: list[tuple[str, bool]] = []

    def settled(descriptor: int) -> None:
        seen.append((Path(f"/proc/self/fd/{descriptor}").readlink().name, (checkpoints / BEFORE).exists()))

    monkeypatch.setattr(os, "fsync", settled)
    trainer = SimpleNamespace(save_checkpoint=lambda path: path.write_text("newer"), is_global_zero=True)
    ResumePoints(checkpoints)._save(cast(Any, trainer))
    assert seen == [(f"{LAST}.part", False), ("history.jsonl", False), ("checkpoints", True)]
    assert [(checkpoints / name).read_text() for name in (LAST, BEFORE)] == ["newer", "older"]


def test_a_point_of_which_one_bit_is_another_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in (LAST, BEFORE):
        torch.save({"weights": torch.ones(4096)}, tmp_path / name)
    assert point(tmp_path) == tmp_path / LAST
    raw = bytearray((tmp_path / LAST).read_bytes())
    raw[len(raw) // 2] ^= 1
    (tmp_path / LAST).write_bytes(raw)
    assert torch.load(tmp_path / LAST, weights_only=True)["weights"].unique().numel() == 2, "torch does not see it"
    assert point(tmp_path) == tmp_path / BEFORE and f"{LAST} is damaged" in caplog.text
