"""Which examples make up a batch: each exactly once an epoch, within the budget, on any number of ranks, resumable."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqarena.data.batching import TokenBatches, oversampled, plan
from seqarena.data.examples import classification_batch, tagging_batch, translation_batch
from seqarena.errors import InputError

LENGTHS = np.random.default_rng(0).integers(0, 60, 300)
CLASSES = np.random.default_rng(1).choice(3, len(LENGTHS), p=[0.7, 0.22, 0.08])


def sampler(rank: int, ranks: int, **options) -> TokenBatches:
    return TokenBatches(LENGTHS, 256, None, 7, rank, ranks, **options)


def dealt(ranks: int, epoch: int = 0, **options) -> list[list[list[int]]]:
    """The batches of each rank."""
    found = []
    for rank in range(ranks):
        batches = sampler(rank, ranks, **options)
        batches.set_epoch(epoch)
        drawn = list(batches)
        assert {one.epoch for one in drawn} == {epoch} and len(drawn) == len(batches)
        found.append([one.indices for one in drawn])
    return found


def flat(shares: list[list[list[int]]]) -> list[int]:
    return [index for share in shares for batch in share for index in batch]


@given(
    st.lists(st.integers(0, 300), min_size=8, max_size=80),
    st.integers(1, 200),
    st.one_of(st.none(), st.integers(1, 9)),
    st.integers(1, 4),
    st.integers(0, 3),
)
def test_every_example_is_in_exactly_one_batch_within_the_budget(lengths, tokens, examples, ranks, seed) -> None:
    try:
        batches = plan(np.array(lengths), tokens, examples, ranks, np.random.default_rng(seed))
    except InputError:  # every batch is one example already, and their number does not divide
        assert len(lengths) % ranks
        return
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert len(batches) % ranks == 0
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= tokens
        assert examples is None or len(batch) <= examples


def test_an_example_longer_than_the_budget_is_a_batch_by_itself() -> None:
    batches = plan(np.array([3, 90, 3, 70, 3]), 12, None, 1, None)
    assert [batch.tolist() for batch in batches] == [[0, 2, 4], [3], [1]]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_share_an_epoch_without_repeating_or_losing_an_example(ranks: int) -> None:
    for epoch in (0, 1):
        shares = dealt(ranks, epoch)
        assert len({len(share) for share in shares}) == 1
        assert sorted(flat(shares)) == list(range(len(LENGTHS)))


def test_the_order_follows_seed_and_epoch_and_the_number_of_batches_does_not() -> None:
    first, again, next_epoch = dealt(1), dealt(1), dealt(1, epoch=1)
    assert first == again
    assert first != next_epoch and len(first[0]) == len(next_epoch[0])


def test_similar_lengths_stand_together() -> None:
    padded = sum(len(b) * max(LENGTHS[i] for i in b) for b in dealt(1)[0])
    assert padded < 1.05 * LENGTHS.sum()


def test_the_batch_of_an_idle_rank_can_be_made_for_every_task() -> None:
    none = torch.zeros(0).long()
    made = (
        classification_batch([], [], none),
        translation_batch([], [], []),
        tagging_batch([], [], [], [], np.zeros(0, int)),
    )
    assert [batch.examples for batch in made] == [0, 0, 0]


def test_fewer_examples_than_ranks_are_refused_in_training_and_leave_a_rank_idle_in_evaluation() -> None:
    lengths_N = np.array([1, 1])
    with pytest.raises(InputError, match="2 training examples are too few for 3 ranks: write fewer devices"):
        plan(lengths_N, 100, None, 3, None)
    dealt = [[drawn.indices for drawn in TokenBatches(lengths_N, 100, None, None, rank, 3)] for rank in range(3)]
    assert sorted(dealt) == [[[]], [[0]], [[1]]]


@pytest.mark.parametrize("options", [{}, {"classes_N": CLASSES}], ids=["all", "oversample"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_resumed_epoch_gives_exactly_the_rest_wherever_it_stopped(ranks: int, options: dict) -> None:
    whole, after = dealt(ranks, 3, **options), dealt(ranks, 4, **options)
    for stop in range(len(whole[0]) + 1):
        for rank in range(ranks):
            stopped = sampler(rank, ranks, **options)
            stopped.set_epoch(3)
            begun = [one.indices for one, _ in zip(stopped, range(stop), strict=False)] if stop else []
            resumed = sampler(rank, ranks, **options)
            resumed.load_state_dict({"epoch": 3, "taken": stop})
            resumed.set_epoch(3)  # as the trainer does before the epoch goes on
            for _ in range(2):  # and it may ask for an iterator twice
                rest = [one.indices for one in resumed]
                assert begun + rest == whole[rank] and len(resumed) == len(whole[rank])
            resumed.set_epoch(4)
            assert [one.indices for one in resumed] == after[rank]


def test_the_state_says_how_many_batches_were_taken() -> None:
    batches = sampler(0, 2)
    assert batches.state_dict() == {"epoch": 0, "taken": 0}
    batches.set_epoch(5)
    for count, _ in enumerate(batches, 1):
        assert batches.state_dict() == {"epoch": 5, "taken": count}
    resumed = sampler(0, 2)
    resumed.load_state_dict({"epoch": 5, "taken": 2})
    assert resumed.state_dict() == {"epoch": 5, "taken": 2}
    next(iter(resumed))
    assert resumed.state_dict() == {"epoch": 5, "taken": 3}
    batches.set_epoch(6)
    assert batches.state_dict() == {"epoch": 6, "taken": 0}


def test_a_state_of_more_batches_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="1000 batches of an epoch were taken"):
        sampler(0, 1).load_state_dict({"epoch": 0, "taken": 1000})


@pytest.mark.parametrize("ranks", [1, 2])
def test_oversampling_makes_classes_equal_and_the_members_of_one_nearly_as_frequent_as_each_other(ranks: int) -> None:
    most = Counter(CLASSES.tolist()).most_common(1)[0][1]
    drawn = []
    for epoch in range(4):
        indices = flat(dealt(ranks, epoch, classes_N=CLASSES))
        assert set(indices) == set(range(len(LENGTHS)))
        assert Counter(CLASSES[indices].tolist()) == dict.fromkeys(range(3), most)
        times = Counter(indices)
        for one in range(3):
            members = [times[index] for index in np.flatnonzero(one == CLASSES).tolist()]
            assert max(members) - min(members) <= 1
        drawn.append(times)
    assert drawn[0] != drawn[1]
    assert flat(dealt(ranks, 2, classes_N=CLASSES)) == flat(dealt(ranks, 2, classes_N=CLASSES))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), min_size=6, max_size=60),
    st.integers(1, 150),
    st.integers(0, 9),
)
def test_oversampled_epochs_have_equally_many_batches_within_the_budget(examples, tokens, seed) -> None:
    lengths, classes = (np.array(column) for column in zip(*examples, strict=True))
    batches = TokenBatches(lengths, tokens, None, seed, classes_N=classes)
    for epoch in range(5):
        batches.set_epoch(epoch)
        drawn = [one.indices for one in batches]
        assert len(drawn) == len(batches)
        assert all(len(batch) == 1 or len(batch) * lengths[batch].max() <= tokens for batch in drawn)


def test_the_rest_of_a_rare_class_is_what_ranks_first() -> None:
    chosen = oversampled(np.array([0, 0, 0, 0, 0, 1, 1]), np.array([6, 0, 1, 2, 3, 4, 5]))
    assert sorted(chosen.tolist()) == [0, 1, 2, 3, 4, 5, 5, 6, 6, 6]
