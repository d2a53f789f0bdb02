import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqarena.data.batching import TokenBatches, plan

LENGTHS = np.random.default_rng(0).integers(0, 60, 500)


def dealt(ranks: int, epoch: int = 0, **options) -> list[list[list[int]]]:
    found = []
    for rank in range(ranks):
        batches = TokenBatches(LENGTHS, 256, None, 7, rank, ranks, **options)
        batches.set_epoch(epoch)
        found.append(list(batches))
        assert len(found[-1]) == len(batches)
    return found


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
    except ValueError:  # every batch is one example already, and their number does not divide
        assert len(lengths) % ranks
        return
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert len(batches) % ranks == 0
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= tokens
        assert examples is None or len(batch) <= examples


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_share_an_epoch_without_repeating_or_losing_an_example(ranks: int) -> None:
    shares = dealt(ranks)
    assert len({len(share) for share in shares}) == 1
    assert sorted(i for share in shares for batch in share for i in batch) == list(range(len(LENGTHS)))


def test_the_order_follows_seed_and_epoch_and_the_number_of_batches_does_not() -> None:
    first, again, next_epoch = dealt(1), dealt(1), dealt(1, epoch=1)
    assert first == again
    assert first != next_epoch and len(first[0]) == len(next_epoch[0])


def test_similar_lengths_stand_together() -> None:
    padded = sum(len(b) * max(LENGTHS[i] for i in b) for b in dealt(1)[0])
    assert padded < 1.05 * LENGTHS.sum()


def test_fewer_examples_than_ranks_are_refused() -> None:
    with pytest.raises(ValueError, match="2 examples cannot be dealt to 3 ranks"):
        plan(np.array([1, 1]), 100, None, 3, None)
