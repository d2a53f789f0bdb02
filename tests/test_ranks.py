"""Two processes train and evaluate like one: the same weights, every example once, one folder."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from conftest import AGREEMENT, ROOT

OPTIONS = (
    "logger=none", "model=textcnn", "model.dim=24", "model.dropout=0", *AGREEMENT, "data.reader.train=110",
    "data.reader.val=13", "data.reader.test=17", "data.batch_examples=14", "schedule=constant",
)  # fmt: skip


def trained(folder: Path, *more: str) -> tuple[dict[str, torch.Tensor], Path]:
    command = [sys.executable, str(ROOT / "train.py"), *OPTIONS, *more, f"cache={folder.parent / 'cache'}"]
    done = subprocess.run(
        [*command, "trainer.max_epochs=1", f"hydra.run.dir={folder}"], cwd=folder.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"], folder


@pytest.mark.slow
def test_two_ranks_equal_one_process_that_accumulates(tmp_path: Path) -> None:
    one, first = trained(tmp_path / "one", "trainer=cpu", "trainer.accumulate=2")
    two, second = trained(tmp_path / "two", "trainer=ddp", "trainer.accelerator=cpu", "trainer.devices=2")
    for name, weight in one.items():
        torch.testing.assert_close(two[name], weight, atol=1e-6, rtol=1e-5)
    alone, shared = (pq.read_table(folder / "examples.parquet") for folder in (first, second))
    assert shared["id"].to_pylist() == alone["id"].to_pylist() == list(range(17))
    assert shared["prediction"].equals(alone["prediction"])
    records = [json.loads((folder / "record.json").read_text()) for folder in (first, second)]
    assert records[0]["metrics"] == pytest.approx(records[1]["metrics"], abs=1e-6)
    assert [record["machine"]["ranks"] for record in records] == [1, 2]
    assert records[0]["cost"]["tokens"] == records[1]["cost"]["tokens"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "one", "two"]
