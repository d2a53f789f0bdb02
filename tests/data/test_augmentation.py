"""Noise on training sources, class weights and oversampling, as they come out of the loader and of the training."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import lightning as L
import numpy as np
import pyarrow as pa
import pytest
import torch
from conftest import ROOT
from hydra import compose, initialize_config_dir
from torch.nn.functional import cross_entropy

from seqarena.data import tables
from seqarena.data.augmentation import Noise, dropped, swapped
from seqarena.data.batch import UNKNOWN, Batch
from seqarena.data.examples import Examples
from seqarena.data.module import BatchOptions, DataModule, loader
from seqarena.data.source import SPLITS, Row
from seqarena.errors import InputError
from seqarena.runs import build_data, build_task
from seqarena.tasks.task import SequenceTask

SIZE = 60
NOISY = BatchOptions(120, None, 0, 7, word_dropout=0.3, word_swap=0.3)


def ids(rng: np.random.Generator) -> pa.Array:
    rows = [rng.integers(4, 1000, length).tolist() for length in rng.integers(0, 20, SIZE)]
    return pa.array(rows, pa.list_(pa.int32()))


@pytest.fixture(params=["texts", "pairs"])
def examples(request: pytest.FixtureRequest, tmp_path: Path) -> Examples:
    rng = np.random.default_rng(0)
    columns = {"source_ids": ids(rng)}
    columns |= (
        {"class": pa.array([index % 3 for index in range(SIZE)], pa.int32())}
        if request.param == "texts"
        else {"target_ids": ids(rng)}
    )
    table = pa.table(columns)
    with pa.OSFile(str(tmp_path / "train.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return Examples(tables.opened(tmp_path / "train.arrow"), 12)


def by_example(batches: list[Batch]) -> dict[int, list[int]]:
    """The source tokens of each example, padding taken off."""
    return {
        index: row[mask].tolist()
        for batch in batches
        for index, row, mask in zip(batch.id_B.tolist(), batch.source_BS, batch.mask_BS, strict=True)
    }


def epochs(examples: Examples, options: BatchOptions, seed: int | None = 7, ranks: int = 1) -> list[dict]:
    """What two epochs read, over all ranks."""
    loaders = [loader(examples, options, seed, rank, ranks) for rank in range(ranks)]
    found = []
    for epoch in range(2):
        for one in loaders:
            one.sampler.set_epoch(epoch)
        found.append(by_example([batch for one in loaders for batch in one]))
    return found


def test_noise_depends_on_seed_epoch_and_example_whatever_the_rank_the_batch_and_the_worker(examples) -> None:
    wanted = epochs(examples, NOISY)
    assert wanted[0] != wanted[1] != epochs(examples, NOISY, seed=8)[1]
    assert epochs(examples, NOISY, ranks=2) == wanted
    assert epochs(examples, BatchOptions(30, 2, 0, 7, word_dropout=0.3, word_swap=0.3)) == wanted
    assert epochs(examples, BatchOptions(120, None, 2, 7, word_dropout=0.3, word_swap=0.3)) == wanted


def test_without_bucketing_lengths_are_mixed_and_batches_hold_what_the_longest_allow(examples) -> None:
    lengths_N = examples.lengths()
    most = 120 // lengths_N.max()
    for epoch in range(2):
        batches = loader(examples, BatchOptions(120, None, 0, 7, bucketing=False), 7, 0, 1)
        batches.sampler.set_epoch(epoch)
        drawn = [batch.id_B.tolist() for batch in batches]
        assert sorted(chain.from_iterable(drawn)) == list(range(SIZE)) and max(map(len, drawn)) == most
        assert len(drawn) == len(batches) == -(-SIZE // most)
        assert max(np.ptp(lengths_N[batch]) for batch in drawn) > 10
    evaluated = loader(examples, BatchOptions(120, None, 0, 7, bucketing=False), None, 0, 1)
    assert max(len(batch.id_B) for batch in evaluated) > most


def test_evaluation_and_training_without_noise_read_the_sources_as_they_are(examples) -> None:
    end = [] if examples.target is None else [3]
    true = {i: examples.sources([i])[0].tolist() + end for i in range(SIZE)}
    assert epochs(examples, NOISY, seed=None) == [true, true]
    assert epochs(examples, BatchOptions(120, None, 0, 7)) == [true, true]
    for found in epochs(examples, NOISY):
        assert {i: len(row) for i, row in found.items()} == {i: len(row) for i, row in true.items()}
        assert found != true
        assert all(set(row) <= {*true[i], UNKNOWN} for i, row in found.items())


def test_targets_are_never_changed(examples) -> None:
    if examples.target is None:
        return
    for batch in loader(examples, NOISY, 7, 0, 1):
        for index, wanted in zip(batch.id_B.tolist(), batch.wanted_BT.tolist(), strict=True):
            assert wanted[: wanted.index(3)] == examples.target.rows([index])[0].tolist()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_shares_are_what_they_say(share: float) -> None:
    rng, row = np.random.default_rng(0), np.arange(10, 40_010)
    lost = dropped(row, share, rng) == UNKNOWN
    assert lost.mean() == pytest.approx(share, abs=0.01)
    moved = swapped(row, share, rng) - row
    assert (moved != 0).mean() == pytest.approx(share, abs=0.01) and set(moved.tolist()) <= {-1, 0, 1}
    assert sorted((row + moved).tolist()) == row.tolist()


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_short_rows_keep_their_tokens(length: int) -> None:
    row = np.arange(10, 10 + length, dtype=np.int32)
    for seed in range(20):
        found = Noise(dropout=0.0, swap=0.9).on(row, np.random.default_rng(seed))
        assert sorted(found.tolist()) == row.tolist() == list(range(10, 10 + length))


def test_noise_differs_from_place_to_place_and_from_example_to_example(tmp_path: Path) -> None:
    table = pa.table({"source_ids": pa.array([list(range(4, 54))] * 40, pa.list_(pa.int32())), "class": [0] * 40})
    with pa.OSFile(str(tmp_path / "a"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    found = epochs(Examples(tables.opened(tmp_path / "a"), None), NOISY)
    assert len({tuple(row) for epoch in found for row in epoch.values()}) == 80
    lost = np.array([row for epoch in found for row in epoch.values()]) == UNKNOWN
    assert lost.any(0).all() and lost.mean() == pytest.approx(0.3, abs=0.03)


class Imbalanced:
    """Texts of which a sixth are of the rarer class."""

    strata: tuple[str, ...] = ()
    shortcuts: tuple[str, ...] = ()

    def splits(self) -> tuple[str, ...]:
        return SPLITS

    def rows(self, split: str) -> Iterator[Row]:
        for number in range(SIZE):
            rare = number % 6 == 0
            yield {"text": f"{split} {'bad' if rare else 'good film'} {number}", "label": "neg" if rare else "pos"}

    def fingerprint(self) -> str:
        return "imbalanced"


def configured(folder: Path, *more: str) -> tuple[DataModule, SequenceTask]:
    """Imbalanced texts, and a small model without dropout."""
    small = ("model=lstm", "model.dim=8", "model.dropout=0", "schedule=constant", "data.baselines=[]")
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("train", ["data=agreement", "data.buckets.length=[0]", *small, *more])
    config.cache = str(folder)
    module = build_data(config)
    module._source = Imbalanced()
    module.prepare_data()
    module.setup()
    torch.manual_seed(0)
    return module, build_task(config, module.vocabulary)


def weights_after_one_step(folder: Path, accumulate: int, *more: str) -> torch.Tensor:
    module, task = configured(folder, "data.batch_examples=null", *more)
    task._optimizer = lambda parameters: torch.optim.SGD(parameters, lr=1.0)
    L.Trainer(
        accelerator="cpu", max_epochs=1, accumulate_grad_batches=accumulate, limit_val_batches=0, logger=False,
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
    ).fit(task, datamodule=module)  # fmt: skip
    return torch.cat([parameter.detach().flatten() for parameter in task.parameters()])


def test_class_weights_make_classes_count_the_same_and_are_one_on_average(tmp_path: Path) -> None:
    module, _ = configured(tmp_path, "data.class_weights=true")
    counts = Counter(module.table("train")["label"].to_pylist())
    weights = dict(zip(module.vocabulary.labels, module.class_weights(), strict=True))
    assert weights == pytest.approx({"neg": 3.0, "pos": 0.6})
    assert sum(weights[label] * count for label, count in counts.items()) == pytest.approx(SIZE)
    assert configured(tmp_path)[0].class_weights() is None


def test_the_step_follows_the_gradient_of_the_weighted_mean_however_it_is_batched(tmp_path: Path) -> None:
    options = ("data.class_weights=true", "task.label_smoothing=0.1")
    whole = weights_after_one_step(tmp_path, 1, *options)
    pieces = weights_after_one_step(tmp_path, 1000, *options, "data.batch_tokens=20")
    torch.testing.assert_close(pieces, whole, atol=2e-6, rtol=1e-4)

    module, task = configured(tmp_path, *options)
    batch = module._splits["train"][list(range(SIZE))]
    loss_B = cross_entropy(task(batch.source_BS, batch.mask_BS), batch.label_B, reduction="none", label_smoothing=0.1)
    rare_B = batch.label_B == module.vocabulary.labels.index("neg")
    (loss_B[rare_B].mean() / 2 + loss_B[~rare_B].mean() / 2).backward()
    by_hand = torch.cat([(parameter - parameter.grad).detach().flatten() for parameter in task.parameters()])
    torch.testing.assert_close(whole, by_hand, atol=2e-6, rtol=1e-4)


def test_oversampling_repeats_training_examples_only(tmp_path: Path) -> None:
    module, _ = configured(tmp_path, "data.sampling=oversample")
    drawn = Counter(int(index) for batch in module.train_dataloader() for index in batch.id_B)
    labels = module.table("train")["label"].to_pylist()
    assert Counter(labels[index] for index in drawn.elements()) == {"pos": 50, "neg": 50}
    for evaluated in (module.val_dataloader(), module.test_dataloader()):
        assert sorted(int(index) for batch in evaluated for index in batch.id_B) == list(range(SIZE))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling": "some"}, "data.sampling=some is not known: choose one of all, oversample"),
        ({"sampling": "oversample", "class_weights": True}, "make up for rare classes twice: write one"),
        ({"sampling": "oversample"}, "data.sampling=oversample needs a class for each text"),
        ({"class_weights": True}, "data.class_weights=true needs a class for each text"),
    ],
)
@pytest.mark.parametrize("examples", ["pairs"], indirect=True)
def test_what_cannot_be_is_refused(examples, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        loader(examples, BatchOptions(100, None, 0, 1, **options), 1, 0, 1)


def test_the_options_of_the_config_reach_the_batches(tmp_path: Path) -> None:
    module, _ = configured(tmp_path, "data.word_dropout=0.5", "data.word_swap=0.25", "data.batch_tokens=99")
    assert module._batches == BatchOptions(99, 50, 0, 1, word_dropout=0.5, word_swap=0.25)
