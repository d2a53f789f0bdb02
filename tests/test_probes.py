"""Probes on models whose answers are known, and in runs: nothing of the training may notice them."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from composing import composed
from conftest import AGREEMENT, NUMBERS, SMALL, Verb
from torch import Tensor, nn

from seqarena.callbacks.history import read
from seqarena.callbacks.probed import scores, texts_of
from seqarena.callbacks.probes import Probes, untouched
from seqarena.data.batch import TaggingBatch
from seqarena.errors import InputError
from seqarena.models.attention import listening
from seqarena.models.contract import Encoder, masked_mean
from seqarena.models.recurrent import RecurrentEncoder
from seqarena.models.textcnn import TextCNNEncoder
from seqarena.models.transformer import TransformerEncoder
from seqarena.preflight import check_config
from seqarena.probing import attention_maps, gradient_reach, permutation, perturbation_reach, sampling
from seqarena.probing.subject import Subject, Texts, by_distance, doubling, last
from seqarena.record import Record

LENGTHS = (20, 20, 13, 20, 7, 20, 20, 20, 20, 20)
WORDS = (4, 12)
DIM = 12


def texts(lengths: tuple[int, ...] = LENGTHS, seed: int = 1) -> Texts:
    """Random words; padding is 0."""
    shape, generator = (len(lengths), max(lengths)), torch.Generator().manual_seed(seed)
    mask_BS = torch.arange(shape[1]) < torch.tensor(lengths)[:, None]
    source_BS = torch.randint(*WORDS, shape, generator=generator) * mask_BS
    return Texts(torch.arange(len(lengths)), source_BS, mask_BS, torch.zeros_like(mask_BS))


def subject(
    read: Callable[[Tensor, Tensor], Tensor],
    spread: float = 1.0,
    score: Callable[[int, Tensor], dict[str, Tensor]] | None = None,
    words: tuple[int, int] = WORDS,
) -> Subject:
    """Embeddings of this spread, and what is read off them."""
    table = torch.randn(words[1], DIM, generator=torch.Generator().manual_seed(3)) * spread
    unscored: dict[str, Tensor] = {}
    return Subject(
        lambda ids: table[ids], read, lambda y_BD: y_BD.argmax(-1), score or (lambda *_: unscored), words, [texts()], 5
    )


def end_of(encoder: Encoder) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x_BSD, mask_BS: last(encoder(x_BSD, mask_BS).states_BSD, mask_BS)


def norms(probed: Subject) -> np.ndarray:
    return sampling.joined([gradient_reach.norms(probed, probed.texts[0], probed.generator())])


@pytest.mark.parametrize(("widths", "layers", "reach"), [([3], 1, 1), ([3, 5, 4], 1, 2), ([5], 2, 4), ([3], 4, 4)])
def test_gradients_of_convolutions_end_with_the_receptive_field(widths: list[int], layers: int, reach: int) -> None:
    torch.manual_seed(0)
    encoder = TextCNNEncoder(DIM, layers, widths, 0.0, False, False).eval()
    for name, bias in encoder.named_parameters():
        if name.endswith("bias"):
            nn.init.constant_(bias, 30.0)  # every unit is at work
    found_NK = norms(subject(end_of(encoder)))
    far_NK = found_NK[:, reach + 1 :]
    assert np.all(far_NK[~np.isnan(far_NK)] == 0) and np.all(found_NK[0, : reach + 1] > 0)
    told = gradient_reach.measure(subject(end_of(encoder)))
    ignored = np.mean([(length - min(length, reach + 1)) / length for length in LENGTHS])
    assert told.numbers["gradient_zero_share"].value == pytest.approx(ignored)


def recurrent(rate: float, bidirectional: bool) -> RecurrentEncoder:
    """An RNN near zero, where tanh is the identity: each step turns the state and shrinks it to this share."""
    encoder = RecurrentEncoder("rnn", DIM, 1, bidirectional, 0.0, False, False).eval()
    for recurrence in filter(None, (encoder.layers[0].ahead, encoder.layers[0].back)):
        own, hidden, *_ = recurrence.rnn.all_weights[0]
        with torch.no_grad():
            nn.init.eye_(own)
            nn.init.orthogonal_(hidden).mul_(rate)
    return encoder


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95])
def test_gradients_of_a_recurrence_fall_geometrically(rate: float) -> None:
    found_NK = norms(subject(end_of(recurrent(rate, bidirectional=False)), spread=1e-4))
    falls_NK = found_NK[:, 1:] / found_NK[:, :-1]
    assert np.allclose(falls_NK[~np.isnan(falls_NK)], rate, rtol=1e-3)
    told = gradient_reach.measure(subject(end_of(recurrent(rate, False)), spread=1e-4)).numbers["gradient_half_life"]
    assert told.reached and told.value == pytest.approx(math.log(0.5) / math.log(rate), rel=0.02)


def test_a_second_direction_reads_the_last_token_alone() -> None:
    """At the end of a text the backward half has just begun, so that from distance 1 on the forward half decides."""
    found_NK = norms(subject(end_of(recurrent(0.8, bidirectional=True)), spread=1e-4))
    falls_NK = found_NK[:, 2:] / found_NK[:, 1:-1]
    assert np.allclose(falls_NK[~np.isnan(falls_NK)], 0.8, rtol=1e-3) and np.all(found_NK[:, 1] < 0.8 * found_NK[:, 0])


def test_the_norm_is_that_of_the_jacobian() -> None:
    weight = torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(0))
    found = norms(subject(lambda x_BSD, mask_BS: (x_BSD @ weight.T).sum(1)))
    assert np.sqrt(np.mean(found[:, 0] ** 2)) == pytest.approx(weight.norm().item(), rel=0.1)


def test_distance_counts_from_the_end_and_long_texts_do_not_pass_for_far_tokens() -> None:
    mask_BS = torch.tensor([[True, True, True], [True, True, False]])
    turned = by_distance(torch.tensor([[1.0, 2, 3], [4, 5, 6]]), mask_BS)
    assert turned[0].tolist() == [3, 2, 1] and turned[1, :2].tolist() == [5, 4] and turned[1, 2].isnan()
    assert [doubling(longest) for longest in (1, 2, 5, 8, 9)] == [
        [0], [0, 1], [0, 1, 2, 4], [0, 1, 2, 4], [0, 1, 2, 4, 8],
    ]  # fmt: skip
    flat_NK = np.array([[9.0, 9, np.nan, np.nan], [1, 1, 1, 1]])
    weights_RN = sampling.weights(2, 0)
    assert sampling.means(flat_NK, weights_RN)[0].tolist() == [5, 5, 1, 1]
    assert sampling.ratios(flat_NK, weights_RN)[0].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("curve", "place", "reached"),
    [
        ((4, 3, 1, 1), 1.5, True),
        ((4, 1, 3, 1), 2.5, True),
        ((4, 1, 1, 3), 3, False),
        ((4, 1, np.nan, np.nan), 2 / 3, True),
    ],
)
def test_what_falls_and_rises_again_has_not_fallen(curve: tuple[float, ...], place: float, reached: bool) -> None:
    found = sampling.half_life(np.array([curve] * 3), sampling.weights(3, 0), range(4))
    assert (found.value, found.reached) == (pytest.approx(place), reached) and found.low == found.high


def test_buckets_of_distances_cover_each_once() -> None:
    values_NK = np.arange(100.0)[None]
    table, names, places = sampling.bucketed(values_NK)
    assert names[:10] == ["0", "1", "2", "3", "4", "5", "6", "7", "8-9", "10-11"] and names[-1] == "96-99"
    assert table[0].tolist() == pytest.approx(places)


def test_a_bag_of_words_is_moved_as_far_from_everywhere() -> None:
    one_word = subject(masked_mean, words=(4, 6))
    one_word.texts[0].source_BS.masked_fill_(one_word.texts[0].mask_BS, 4)  # of two words, so the other one is known
    found = perturbation_reach.measure(one_word)
    _, points = found.curves["perturbation_share"]
    assert [point.value.value for point in points] == pytest.approx([1.0] * len(points))
    assert not found.numbers["perturbation_half_life"].reached


def test_what_is_read_from_the_last_token_is_moved_from_there_alone() -> None:
    found = perturbation_reach.measure(subject(last))
    _, points = found.curves["perturbation"]
    moved = [point.value.value for point in points]
    assert moved[0] > 0.1 and moved[1:] == [0] * (len(points) - 1)
    assert [point.value.value > 0 for point in found.curves["perturbation_changed"][1]] == [True, *[False] * 5]
    assert found.numbers["perturbation_half_life"].value == pytest.approx(0.5)


def test_every_other_word_is_drawn_and_no_mark() -> None:
    source_BS = torch.tensor([[4, 7, 11, 3]]).expand(400, -1)
    drawn_BS = perturbation_reach.others(source_BS, WORDS, torch.Generator().manual_seed(0))
    for place, word in enumerate((4, 7, 11)):
        assert set(drawn_BS[:, place].tolist()) == set(range(*WORDS)) - {word}
    assert set(drawn_BS[:, 3].tolist()) <= set(range(*WORDS))


def scored(answer: Callable[[Tensor], Tensor]) -> Subject:
    """Right where `answer` to a text is what it is to the text as it was; ids are added up, which is exact."""
    truth_B = answer(texts().source_BS)
    return subject(last, score=lambda _, source_BS: {"accuracy": (answer(source_BS) == truth_B).double()})


def test_the_order_of_a_bag_of_words_is_worth_nothing() -> None:
    found = permutation.measure(scored(lambda source_BS: source_BS.sum(1)))
    assert found.numbers["unshuffled_accuracy"].value == 1 and found.numbers["permutation_accuracy"].value == 0
    assert all(point.value.value == 0 for point in found.curves["permutation_accuracy"][1])


def test_who_reads_the_last_token_loses_by_shuffling_it_and_by_nothing_else() -> None:
    ends_B = texts().mask_BS.sum(1) - 1
    found = permutation.measure(scored(lambda source_BS: source_BS[torch.arange(len(ends_B)), ends_B]))
    lost = [point.value.value for point in found.curves["permutation_accuracy"][1]]
    assert lost[0] > 0.5 and lost[1:] == [0] * 5


def test_shuffling_keeps_the_words_and_what_is_fixed() -> None:
    given = texts()
    given.fixed_BS[:, 1] = True
    found_BS = permutation.shuffled(given, 4, torch.Generator().manual_seed(0))
    for row, length in enumerate(LENGTHS):
        assert found_BS[row].sort().values.tolist() == given.source_BS[row].sort().values.tolist()
        assert torch.equal(found_BS[row, length - 4 :], given.source_BS[row, length - 4 :])
    assert torch.equal(found_BS[:, 1], given.source_BS[:, 1]) and not torch.equal(found_BS, given.source_BS)


def transformer(uniform: bool = False) -> TransformerEncoder:
    torch.manual_seed(0)
    encoder = TransformerEncoder(DIM, 2, 3, 16, 0.0, 0.0, "sinusoidal", 64, "pre", True, True).eval()
    if uniform:
        for layer in encoder.layers:
            nn.init.zeros_(layer.attention.query.weight)  # all scores are zero
    return encoder


def test_uniform_attention_looks_as_far_as_two_random_places_lie_apart() -> None:
    finding = attention_maps.measure(subject(end_of(transformer(uniform=True))))
    distance = np.mean([(n * n - 1) / (3 * n) for n in LENGTHS])
    assert [point.bucket for point in finding.curves["attention_distance"][1]] == [
        "1.1", "1.2", "1.3", "2.1", "2.2", "2.3",
    ]  # fmt: skip
    assert all(
        point.value.value == pytest.approx(distance, rel=1e-4) for point in finding.curves["attention_distance"][1]
    )
    assert finding.numbers["attention_entropy"].value == pytest.approx(np.mean(np.log(LENGTHS)), rel=1e-4)
    assert finding.numbers["attention_climb"].value == pytest.approx(0, abs=1e-4)
    assert finding.numbers["positional_heads"].value == 0


@pytest.mark.parametrize(("shift", "name"), [(-1, "previous"), (1, "next")])
def test_a_positional_head_is_known(shift: int, name: str) -> None:
    mask_BS = torch.arange(6) < torch.tensor([6, 4, 1])[:, None]
    weights = torch.eye(6).roll(shift, 1).expand(3, 2, 6, 6).clone()
    found = attention_maps.looks(weights * mask_BS[:, None, None], mask_BS)
    assert found[name][:2].tolist() == [[1, 1], [1, 1]] and found[name][2].isnan().all()
    assert found["entropy"][0].tolist() == [0, 0]


def test_maps_are_of_whole_texts_and_rows_sum_to_one() -> None:
    shown = attention_maps.maps(subject(end_of(transformer())))
    assert len(shown) == 4 * 6 and [(one.layer, one.head) for one in shown[:4]] == [(1, 1), (1, 2), (1, 3), (2, 1)]
    for one in shown:
        assert one.weights_nn.shape == (len(one.source_n),) * 2 and (one.source_n > 0).all()
        assert torch.allclose(one.weights_nn.sum(-1), torch.ones(len(one.source_n)))


def test_a_family_without_attention_says_nothing_of_it() -> None:
    probed = subject(end_of(recurrent(0.5, True)))
    assert attention_maps.measure(probed).plain() == {"numbers": {}, "curves": {}} and attention_maps.maps(probed) == []


def test_who_listens_changes_nothing_and_stops_listening() -> None:
    encoder, given = transformer(), torch.randn(2, 5, DIM)
    alone = encoder(given, torch.ones(2, 5, dtype=torch.bool)).states_BSD
    with listening() as heard:
        together = encoder(given, torch.ones(2, 5, dtype=torch.bool)).states_BSD
    encoder(given, torch.ones(2, 5, dtype=torch.bool))
    assert torch.equal(alone, together) and [tuple(one.shape) for one in heard] == [(2, 3, 5, 5)] * 2
    assert not any(one.requires_grad for one in heard)


def test_modes_and_random_numbers_are_given_back() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    module[0].eval()
    torch.manual_seed(4)
    expected = torch.rand(3)
    torch.manual_seed(4)
    with torch.inference_mode(), untouched(module):
        torch.rand(100)
        assert not module[1].training and not torch.is_inference_mode_enabled()
    assert torch.equal(torch.rand(3), expected) and module[1].training and not module[0].training


PROBED = ("probe=all", "probe.examples=10")


def weights(run: str) -> dict[str, Tensor]:
    return torch.load(Path(run, "checkpoints", "last.ckpt"), weights_only=True)["state_dict"]


def test_a_run_does_not_notice_its_probes_and_leaves_what_they_found(verb: Verb) -> None:
    options = (*SMALL, *AGREEMENT, "model=transformer", "model.dropout=0.3")
    assert verb("train", *options, "hydra.run.dir=plain")[0] == 0
    code, out, err = verb("train", *options, *PROBED, "hydra.run.dir=probed")
    assert code == 0, err
    plain, probed = weights("plain"), weights("probed")
    assert all(torch.equal(plain[name], probed[name]) for name in plain)
    before, after = Record.read(Path("plain")), Record.read(Path("probed"))
    assert before.probes == {} and list(after.probes) == ["start", "end"]
    own = {key: value for key, value in after.metrics.items() if key.startswith("probe/")}
    assert after.metrics == before.metrics | own
    # What a job is asked for differs, the data and the tokenizer it reads do not.
    assert after.hashes.pop("config") != before.hashes.pop("config")
    assert before.hashes == after.hashes
    kinds = ["gradient_reach", "perturbation_reach", "attention", "permutation"]
    assert list(after.probes["start"]) == list(after.probes["end"]) == kinds
    logged = [line for line in read(Path("probed")) if "probe/gradient/distance=0" in line]
    assert [line["step"] for line in logged] == [0, 4]
    assert logged[1]["probe/gradient_half_life"] == own["probe/gradient_half_life"]
    assert "gradient half life" in out and "at the start" in out
    page = Path("probed/probes.html").read_text(encoding="utf-8")
    assert page.count("<section>") == 5 and 'src="http' not in page
    maps = pq.read_table("probed/attention.parquet").to_pylist()
    assert maps and all(len(one["weights"]) == len(one["tokens"]) ** 2 for one in maps)
    texts = {one["id"]: one["text"] for one in pq.read_table("probed/examples.parquet").to_pylist()}
    for one in maps:
        words = " ".join(one["tokens"]).split()
        assert [word for word in texts[one["id"]].split() if word in words] == [w for w in words if w != "<unk>"]


def test_a_translation_is_probed_where_its_source_ends(verb: Verb) -> None:
    code, _, err = verb("train", *SMALL, *NUMBERS, *PROBED, "model=lstm", "data=numbers", "hydra.run.dir=run")
    assert code == 0, err
    found = Record.read(Path("run")).probes["end"]
    assert list(found) == ["gradient_reach", "perturbation_reach", "permutation"]
    assert list(found["permutation"]["numbers"]) == ["unshuffled_loss", "permutation_loss"]
    assert not Path("run/attention.parquet").exists()
    json.loads(Path("run/record.json").read_text(encoding="utf-8"))


def test_of_labelled_tokens_the_mean_of_each_text_counts_and_they_keep_their_places() -> None:
    given = texts((4, 4, 4))
    row_Q, place_Q, label_Q = torch.tensor([[0, 0, 2], [1, 3, 0], [5, 6, 7]])
    ids = torch.arange(3)
    batch = TaggingBatch(ids, given.source_BS, given.mask_BS, ids, row_Q, place_Q, label_Q, 12, 12)
    task = SimpleNamespace(examine=lambda batch: {"predicted": [5, 0, 7], "loss": [1.0, 3.0, 0.5]})
    found = scores(task, batch)
    assert found["accuracy"][[0, 2]].tolist() == [0.5, 1] and found["loss"][[0, 2]].tolist() == [2, 0.5]
    assert found["accuracy"][1].isnan()
    assert texts_of([7, 8, 9], batch).fixed_BS.nonzero().tolist() == [[0, 1], [0, 3], [2, 0]]


@pytest.mark.parametrize(("probes", "point"), [({"start": {}}, None), ({}, "resume.ckpt")])
def test_a_run_that_goes_on_is_not_looked_at_as_if_it_began(probes: dict[str, object], point: str | None) -> None:
    callback = Probes(None, None, SimpleNamespace(probes=probes), Path())  # type: ignore[arg-type]
    callback.on_fit_start(SimpleNamespace(ckpt_path=point), None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("probe.kinds=[gradients]", r"probe\.kinds=\[gradients\] must be a list of some of these: gradient_reach, "),
        ("probe.kinds=attention", r"probe\.kinds=attention must be a list"),
        ("probe.examples=0", r"probe\.examples=0 must be a whole number of 1 or more"),
        ("trainer.strategy=fsdp", "holds no whole model"),
    ],
)
def test_what_cannot_be_probed_is_said_before_anything_is_read(option: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_config(composed("probe=all", option))
