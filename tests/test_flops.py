"""Operations counted by torch against a count by hand, and gradient checkpointing, which must change no number."""

from pathlib import Path

import pytest
import torch
from conftest import ROOT
from hydra import compose, initialize_config_dir
from torch import nn

from seqarena.data.batch import Batch
from seqarena.data.examples import classification_batch, translation_batch
from seqarena.flops import average_batch, flops_per_token, parameters, training_flops
from seqarena.models.convs2s import ConvS2SDecoder, ConvS2SEncoder
from seqarena.models.local import LocalDecoder, LocalEncoder
from seqarena.models.recurrent import RecurrentDecoder, RecurrentEncoder
from seqarena.models.recurrent_block import RecurrentBlockDecoder, RecurrentBlockEncoder
from seqarena.models.segments import HierarchicalEncoder, SegmentedEncoder
from seqarena.models.textcnn import TextCNNDecoder, TextCNNEncoder
from seqarena.models.transformer import TransformerDecoder, TransformerEncoder
from seqarena.recomputation import recompute_layers
from seqarena.runs import build
from seqarena.tasks.classification import Classification
from seqarena.tasks.decoding import Search
from seqarena.tasks.embedding import EmbeddingOptions
from seqarena.tasks.task import SequenceTask
from seqarena.tasks.translation import Translation

D, V, S, T, C = 12, 17, 7, 5, 3
PLAIN = EmbeddingOptions(None, False, 0.0)
ATTENTION = {"dropout": 0.0, "attention_dropout": 0.0, "positions_kind": "sinusoidal", "max_positions": 99}
SWITCHES = {"norm": "pre", "residual": True, "scaled": True}


class Words:
    """A target vocabulary of `V` words."""

    def __len__(self) -> int:
        return V

    def decode(self, ids: object) -> str:
        return str(ids)


def classifier(encoder: nn.Module) -> SequenceTask:
    return Classification(encoder, V, list("abc"), PLAIN, 0.0, 0.0, None, torch.optim.SGD, lambda *_: None, 1)  # type: ignore[arg-type]


def translator(encoder: nn.Module, decoder: nn.Module) -> SequenceTask:
    return Translation(
        encoder, decoder, V, Words(), True, True, "en", PLAIN, 0.0, Search(), torch.optim.SGD, lambda *_: None, 1
    )  # type: ignore[arg-type]


def texts() -> Batch:
    return classification_batch([0], [torch.ones(S).long().numpy()], torch.zeros(1, dtype=torch.long))


def pairs() -> Batch:
    """S source and T target tokens, marks included."""
    return translation_batch([0], [torch.ones(S - 1).long().numpy()], [torch.ones(T - 1).long().numpy()])


def attention(queries: int, keys: int) -> int:
    """Four projections, the scores and the weighted sum."""
    return 2 * (2 * queries * D * D + 2 * keys * D * D + 2 * queries * keys * D)


def feedforward(tokens: int, hidden: int) -> int:
    return 2 * 2 * tokens * D * hidden


HEAD = 2 * D * C


@pytest.mark.parametrize(("cell", "gates"), [("lstm", 4), ("gru", 3), ("rnn", 1)])
def test_recurrent(cell: str, gates: int) -> None:
    units = D // 2
    by_hand = 2 * S * 2 * (gates * units) * (D + units) + HEAD
    task = classifier(RecurrentEncoder(cell, D, 1, True, 0.0, False, False))
    assert flops_per_token(task, texts()) * S == by_hand


@pytest.mark.parametrize(("cell", "gates", "memories"), [("lstm", 4, 2), ("gru", 3, 1), ("rnn", 1, 1)])
def test_recurrent_translation(cell: str, gates: int, memories: int) -> None:
    """Without feeding: both recurrences, the bridge, products with the source, their sum, the attentional vector."""
    encoder = RecurrentEncoder(cell, D, 1, False, 0.0, False, False)
    decoder = RecurrentDecoder(cell, D, 1, "dot", False, 0.0, False, False)
    looking = 2 * 2 * T * S * D + 2 * T * 2 * D * D
    by_hand = 2 * (S + T) * gates * D * 2 * D + 2 * D * memories * D + looking + 2 * T * D * V
    assert flops_per_token(translator(encoder, decoder), pairs()) * (S + T) == pytest.approx(by_hand)


def gated_layers(queries: int) -> int:
    """Of a convolutional decoder: a gated convolution of width 3, a query, its products with the source, their sum."""
    return 2 * queries * 3 * D * 2 * D + 2 * queries * D * D + 2 * 2 * queries * S * D


def test_convs2s() -> None:
    options = {"width": 3, "positions_kind": "learned", "max_positions": 99, "dropout": 0.0}
    encoder = ConvS2SEncoder(dim=D, layers=2, attention_layers=2, residual=True, norm=False, **options)  # type: ignore[arg-type]
    decoder = ConvS2SDecoder(dim=D, layers=2, residual=True, norm=False, **options)  # type: ignore[arg-type]
    reading = 2 * (2 * S * 3 * D * 2 * D)
    assert flops_per_token(classifier(encoder), texts()) * S == reading + HEAD
    by_hand = reading + 2 * gated_layers(T) + 2 * T * D * V
    assert flops_per_token(translator(encoder, decoder), pairs()) * (S + T) == pytest.approx(by_hand)


def test_textcnn_translation() -> None:
    encoder = TextCNNEncoder(D, 1, [3, 4, 5], 0.0, False, False)
    task = translator(encoder, TextCNNDecoder(D, 2, 3, 0.0, True, False))
    by_hand = sum(2 * S * width * D * (D // 3) for width in (3, 4, 5)) + 2 * gated_layers(T) + 2 * T * D * V
    assert flops_per_token(task, pairs()) * (S + T) == pytest.approx(by_hand)


def test_textcnn() -> None:
    by_hand = sum(2 * S * width * D * (D // 3) for width in (3, 4, 5)) + HEAD
    assert flops_per_token(classifier(TextCNNEncoder(D, 1, [3, 4, 5], 0.0, False, False)), texts()) * S == by_hand


def test_transformer_translation() -> None:
    encoder = TransformerEncoder(dim=D, layers=2, heads=3, feedforward=20, **ATTENTION, **SWITCHES)  # type: ignore[arg-type]
    decoder = TransformerDecoder(dim=D, layers=2, heads=3, feedforward=20, cross="full", **ATTENTION, **SWITCHES)  # type: ignore[arg-type]
    task = translator(encoder, decoder)
    layers = attention(S, S) + feedforward(S, 20) + attention(T, T) + attention(T, S) + feedforward(T, 20)
    by_hand = 2 * layers + 2 * T * D * V
    counted = flops_per_token(task, pairs()) * (S + T)
    assert counted == pytest.approx(by_hand)


def test_local_attention_computes_blocks_alone() -> None:
    """Four blocks of two queries, each with six keys around it and a global one; the global query meets all seven."""
    options = {"layers": 1, "heads": 3, "feedforward": 20, "window": 2}
    encoder = LocalEncoder(dim=D, global_tokens=1, **options, **ATTENTION, **SWITCHES)  # type: ignore[arg-type]
    scored, projected = 8 * (6 + 1) + S, 3 * S + 8 + 1
    reading = 2 * projected * D * D + 2 * 2 * scored * D + feedforward(S, 20)
    assert flops_per_token(classifier(encoder), texts()) * S == reading + HEAD
    decoder = LocalDecoder(dim=D, cross="full", **options, **ATTENTION, **SWITCHES)  # type: ignore[arg-type]
    written = 2 * (3 * T + 6) * D * D + 2 * 2 * 6 * 4 * D + attention(T, S) + feedforward(T, 20)  # three blocks of two
    counted = flops_per_token(translator(encoder, decoder), pairs()) * (S + T)
    assert counted == pytest.approx(reading + written + 2 * T * D * V)


def test_segments_attend_within_themselves() -> None:
    """Seven tokens are three segments of three."""
    readers = [
        TransformerEncoder(dim=D, layers=1, heads=3, feedforward=20, **ATTENTION, **SWITCHES)  # type: ignore[arg-type]
        for _ in range(2)
    ]
    alone = 3 * attention(3, 3) + feedforward(9, 20)
    assert flops_per_token(classifier(SegmentedEncoder(3, "max", readers[0])), texts()) * S == alone + HEAD
    over = attention(3, 3) + feedforward(3, 20)
    assert flops_per_token(classifier(HierarchicalEncoder(3, *readers)), texts()) * S == alone + over + HEAD


def test_recurrent_block_translation() -> None:
    encoder = RecurrentBlockEncoder("lstm", D, 1, True, 20, 0.0, "pre", True)
    decoder = RecurrentBlockDecoder("lstm", D, 1, 3, 20, 0.0, 0.0, "pre", True)
    reading = 2 * S * 2 * 4 * (D // 2) * (D + D // 2) + feedforward(S, 20)
    writing = 2 * T * 4 * D * 2 * D + attention(T, S) + feedforward(T, 20)
    counted = flops_per_token(translator(encoder, decoder), pairs()) * (S + T)
    assert counted == pytest.approx(reading + writing + 2 * T * D * V)


def test_lstm_translation_counts_every_step_of_input_feeding() -> None:
    encoder = RecurrentEncoder("lstm", D, 1, False, 0.0, False, False)
    decoder = RecurrentDecoder("lstm", D, 1, "dot", True, 0.0, False, False)
    counted = flops_per_token(translator(encoder, decoder), pairs()) * (S + T)
    recurrences = 2 * S * 4 * D * 2 * D + 2 * T * 4 * D * 3 * D
    assert counted >= recurrences + 2 * D * 2 * D + 2 * T * D * V  # and the bridge, the output layer, some attention
    assert counted <= 1.5 * recurrences + 2 * T * D * V


def test_counting_changes_nothing_and_training_is_three_times_as_much() -> None:
    task = classifier(RecurrentEncoder("gru", D, 1, True, 0.5, False, False)).train()
    state, random = {k: v.clone() for k, v in task.state_dict().items()}, torch.get_rng_state()
    flops_per_token(task, texts())
    assert task.training and torch.equal(random, torch.get_rng_state()) and torch.backends.mkldnn.enabled
    assert all(torch.equal(state[name], value) for name, value in task.state_dict().items())
    assert training_flops(10.0, 7) == 210


def test_parameters_count_a_tied_table_once() -> None:
    encoder = RecurrentEncoder("rnn", D, 1, False, 0.0, False, False)
    decoder = RecurrentDecoder("rnn", D, 1, "none", False, 0.0, False, False)
    size = parameters(translator(encoder, decoder))
    cells = 2 * (D * D + D * D + 2 * D) + D * D + D  # two cells and the bridge
    assert size == {"total": V * D + cells, "embedding": V * D, "other": cells}


def test_the_average_batch_has_average_lengths() -> None:
    import pyarrow as pa

    table = pa.table({"source_ids": [[1], [1, 2, 3], [1, 2, 3, 4, 5]]})
    assert average_batch(table, None).tokens == 3
    assert average_batch(table, 2).tokens == 2  # of 1, 2 and 2 once cut


@pytest.mark.parametrize("model", sorted(path.stem for path in Path(ROOT, "conf/model").glob("*.yaml")))
def test_recomputed_layers_give_the_same_gradients_under_the_same_names(model: str) -> None:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("train", [f"model={model}", "data=numbers", "model.dim=12", "model.dropout=0"])
    found = []
    for recomputed in (False, True):
        torch.manual_seed(0)
        task = translator(build(config.model.encoder), build(config.model.decoder))
        names = list(task.state_dict())
        if recomputed:
            recompute_layers(task)
        assert list(task.state_dict()) == names
        task.loss(pairs()).backward()
        found.append({name: p.grad for name, p in task.named_parameters()})
    for name, gradient in found[0].items():
        torch.testing.assert_close(found[1][name], gradient)
