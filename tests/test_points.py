"""Points of resumption on the disk: whole before they count, and passed over where a bit of them is another."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from seqarena.callbacks import resuming
from seqarena.callbacks.resuming import BEFORE, LAST, ResumePoints, point
from seqarena.checkpoints import WholeFiles, write


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
    trainer = SimpleNamespace(save_checkpoint=lambda path: write("newer", path), is_global_zero=True)
    ResumePoints(checkpoints)._save(cast(Any, trainer))
    assert seen == [(f".{LAST}.part.part", False), ("history.jsonl", False), ("checkpoints", True)]
    assert torch.load(checkpoints / LAST, weights_only=True) == "newer"
    assert (checkpoints / BEFORE).read_text() == "older"


def test_a_point_made_on_a_gpu_is_taken_up_where_there_is_none() -> None:
    """The random state is of the device that a process trains on, whatever else the machine had."""
    torch.manual_seed(3)
    state = resuming._random_state(torch.device("cpu"))
    assert list(state) == ["cpu"]
    wanted = torch.randn(4)
    resuming._set_random_state(state | {"cuda": torch.zeros(16, dtype=torch.uint8)}, torch.device("cpu"))
    assert torch.equal(torch.randn(4), wanted)


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WholeFiles().save_checkpoint({"a": 1}, tmp_path / "in" / "best.ckpt")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        WholeFiles().save_checkpoint({"a": 2}, tmp_path / "in" / "best.ckpt")
    assert torch.load(tmp_path / "in" / "best.ckpt", weights_only=True) == {"a": 1}
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["best.ckpt"]


def test_a_point_of_which_one_bit_is_another_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in (LAST, BEFORE):
        torch.save({"weights": torch.ones(4096)}, tmp_path / name)
    assert point(tmp_path) == tmp_path / LAST
    raw = bytearray((tmp_path / LAST).read_bytes())
    raw[len(raw) // 2] ^= 1
    (tmp_path / LAST).write_bytes(raw)
    assert torch.load(tmp_path / LAST, weights_only=True)["weights"].unique().numel() == 2, "torch does not see it"
    assert point(tmp_path) == tmp_path / BEFORE and f"{LAST} is damaged" in caplog.text
