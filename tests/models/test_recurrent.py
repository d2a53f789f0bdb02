"""Recurrent networks against torch's own modules, hand-written loops and their papers' formulas."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqarena.models import recurrent
from seqarena.models.contract import Encoded, map_state
from seqarena.models.lookup import AdditiveAttention, DotAttention, masked_softmax
from seqarena.models.recurrent import CELLS, Recurrence, RecurrentDecoder, RecurrentEncoder, reversal

DIM = 10
LENGTHS = (7, 3, 1, 5)
MODULES = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}


def batch() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(len(LENGTHS), 7, DIM), torch.arange(7) < torch.tensor(LENGTHS)[:, None]


def read() -> Encoded:
    x_BSD, mask_BS = batch()
    states_BSD = x_BSD * mask_BS[..., None]
    return Encoded(states_BSD, states_BSD[:, 0], mask_BS, states_BSD)


def decoder(cell: str = "lstm", layers: int = 2, attention: str = "dot", feeding: bool = False) -> RecurrentDecoder:
    torch.manual_seed(1)
    return RecurrentDecoder(cell, DIM, layers, attention, feeding, 0.0, False, False).eval()


@pytest.mark.parametrize(
    ("kind", "dtype", "said"),
    [("cuda", torch.bfloat16, True), ("cuda", torch.float16, False), ("cpu", torch.bfloat16, False)],
)
def test_what_cudnn_would_round_to_half_is_told(
    monkeypatch: pytest.MonkeyPatch, kind: str, dtype: torch.dtype, said: bool
) -> None:
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: device == "cuda")
    monkeypatch.setattr(torch, "get_autocast_dtype", lambda device: dtype)
    assert recurrent.rounds_to_half(torch.device(kind)) is said


def test_cudnn_gets_float32_in_place_of_half_and_no_gaps_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    layer = Recurrence("lstm", DIM, DIM)
    layer.rnn.register_forward_pre_hook(lambda _, given: seen.extend([given[0], *given[1]]))
    x_BTD, hidden = torch.randn(2, 5, DIM), tuple(torch.randn(DIM, 2).T for _ in range(2))
    wanted, _ = layer(x_BTD, hidden)
    monkeypatch.setattr(recurrent, "rounds_to_half", lambda device: True)
    found, _ = layer(x_BTD.bfloat16(), tuple(part.bfloat16() for part in hidden))
    assert all(one.dtype is torch.float32 and one.is_contiguous() for one in seen) and len(seen) == 6
    torch.testing.assert_close(found, wanted, atol=0.02, rtol=0.02)


def torch_twin(encoder: RecurrentEncoder, cell: str, layers: int, bidirectional: bool) -> nn.RNNBase:
    """Torch's module with the encoder's weights."""
    units = DIM // 2 if bidirectional else DIM
    twin = MODULES[cell](DIM, units, layers, batch_first=True, bidirectional=bidirectional)
    with torch.no_grad():
        for depth, layer in enumerate(encoder.layers):
            for suffix, way in (("", layer.ahead), ("_reverse", layer.back)):
                for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh") if way is not None else ():
                    getattr(twin, f"{kind}_l{depth}{suffix}").copy_(getattr(way.rnn, f"{kind}_l0"))
    return twin


@pytest.mark.parametrize("cell", MODULES)
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_the_encoder_equals_torchs_packed_module(cell: str, layers: int, bidirectional: bool) -> None:
    encoder = RecurrentEncoder(cell, DIM, layers, bidirectional, 0.0, False, False)
    for weight in encoder.parameters():  # biases too must take part
        nn.init.normal_(weight, 0.0, 0.4)
    twin = torch_twin(encoder, cell, layers, bidirectional)
    x_BSD, mask_BS = batch()
    encoded = encoder(x_BSD, mask_BS)
    packed, last = twin(pack_padded_sequence(x_BSD, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False))
    theirs_BSD, _ = pad_packed_sequence(packed, batch_first=True)
    torch.testing.assert_close(encoded.states_BSD, theirs_BSD, atol=1e-6, rtol=1e-5)
    h = last[0] if cell == "lstm" else last
    final_BD = torch.cat((h[-2], h[-1]), -1) if bidirectional else h[-1]
    torch.testing.assert_close(encoded.summary_BD, final_BD, atol=1e-6, rtol=1e-5)


def test_residual_and_norm_mean_what_they_say() -> None:
    encoder = RecurrentEncoder("gru", DIM, 2, True, 0.0, True, True)
    x_BSD, mask_BS = batch()
    order_BS = reversal(torch.tensor(LENGTHS), 7)
    inner_BSD = x_BSD
    for norm, layer in zip(encoder.norms, encoder.layers, strict=False):
        inner_BSD = inner_BSD + layer(norm(inner_BSD), order_BS)
    expected_BSD = encoder.norms[-1](inner_BSD) * mask_BS[..., None]
    torch.testing.assert_close(encoder(x_BSD, mask_BS).states_BSD, expected_BSD)


def test_reversal_turns_each_sentence_within_its_length() -> None:
    assert reversal(torch.tensor([3, 0, 4]), 4).tolist() == [[2, 1, 0, 3], [0, 1, 2, 3], [3, 2, 1, 0]]


@pytest.mark.parametrize("cell", MODULES)
def test_steps_equal_the_sequence(cell: str) -> None:
    recurrence = Recurrence(cell, DIM, 6)
    for weight in recurrence.parameters():
        nn.init.normal_(weight, 0.0, 0.4)
    x_BSD, _ = batch()
    hidden = tuple(torch.randn(len(LENGTHS), 6) for _ in range(CELLS[cell].tensors))
    whole_BTH, last = recurrence(x_BSD, hidden)
    for t in range(7):
        y_BH, hidden = recurrence.step(x_BSD[:, t], hidden)
        torch.testing.assert_close(y_BH, whole_BTH[:, t])
    torch.testing.assert_close(hidden, last)


@pytest.mark.parametrize("cell", MODULES)
def test_weights_start_as_the_papers_say(cell: str) -> None:
    rnn = Recurrence(cell, DIM, 6).rnn
    for gate in rnn.weight_hh_l0.split(6):
        torch.testing.assert_close(gate @ gate.T, torch.eye(6), atol=1e-5, rtol=0)
    assert rnn.weight_ih_l0.abs().max() <= (6 / (DIM + 6)) ** 0.5
    bias = (rnn.bias_ih_l0 + rnn.bias_hh_l0).unflatten(0, (-1, 6))
    assert bias[:, 0].tolist() == {"lstm": [0, 1, 0, 0], "gru": [0, 0, 0], "rnn": [0]}[cell]


@pytest.mark.parametrize("cell", MODULES)
@pytest.mark.parametrize(
    ("attention", "feeding"), [("none", False), ("dot", False), ("dot", True), ("additive", False), ("additive", True)]
)
def test_one_pass_equals_steps_with_any_attention(cell: str, attention: str, feeding: bool) -> None:
    model, encoded = decoder(cell, attention=attention, feeding=feeding), read()
    y_BTD = torch.randn(len(LENGTHS), 5, DIM)
    whole_BTD, last = model(y_BTD, encoded, model.start(encoded))
    state = model.start(encoded)
    for t in range(5):
        out_BTD, state = model(y_BTD[:, t : t + 1], encoded, state)
        torch.testing.assert_close(out_BTD[:, 0], whole_BTD[:, t])
    shapes: list[list[torch.Size]] = [[], []]
    for kept, tree in zip(shapes, (state, last), strict=True):
        map_state(lambda part, kept=kept: kept.append(part.shape) or part, tree)  # type: ignore[misc]
    assert shapes[0] == shapes[1]
    torch.testing.assert_close(state[0], last[0])


def test_dot_attention_equals_a_loop() -> None:
    attention, encoded = DotAttention(DIM), read()
    query_BTD = torch.randn(len(LENGTHS), 3, DIM)
    found_BTD = attention(query_BTD, encoded, ())
    for b, length in enumerate(LENGTHS):
        for t in range(3):
            query_D, states_SD = query_BTD[b, t], encoded.states_BSD[b, :length]
            weights = [float(torch.exp(query_D @ state_D)) for state_D in states_SD]
            context_D = sum(w / sum(weights) * state_D for w, state_D in zip(weights, states_SD, strict=True))
            expected_D = torch.tanh(attention.vector.mix.weight @ torch.cat((context_D, query_D)))
            torch.testing.assert_close(found_BTD[b, t], expected_D, atol=1e-5, rtol=1e-5)


def test_additive_attention_equals_a_loop() -> None:
    attention, encoded = AdditiveAttention(DIM), read()
    query_BTD = torch.randn(len(LENGTHS), 3, DIM)
    found_BTD = attention(query_BTD, encoded, attention.start(encoded))
    for b, length in enumerate(LENGTHS):
        for t in range(3):
            states_SD = encoded.states_BSD[b, :length]
            hidden_SD = torch.tanh(attention.query.weight @ query_BTD[b, t] + attention.key(states_SD))
            context_D = torch.softmax(hidden_SD @ attention.score.weight[0], 0) @ states_SD
            expected_D = torch.tanh(attention.vector.mix.weight @ torch.cat((context_D, query_BTD[b, t])))
            torch.testing.assert_close(found_BTD[b, t], expected_D, atol=1e-5, rtol=1e-5)


def test_input_feeding_feeds_the_attentional_vector_before() -> None:
    model, encoded = decoder("gru", layers=1, feeding=True), read()
    y_BTD = torch.randn(len(LENGTHS), 4, DIM)
    found_BTD, _ = model(y_BTD, encoded, model.start(encoded))
    hidden, fed_BD = torch.tanh(model.bridge(encoded.summary_BD)), torch.zeros(len(LENGTHS), DIM)
    for t in range(4):
        h_BTD, hidden_1BD = model.layers[0].rnn(torch.cat((y_BTD[:, t], fed_BD), -1)[:, None], hidden[None])
        hidden, fed_BD = hidden_1BD[0], model.attention(h_BTD, encoded, ())[:, 0]
        torch.testing.assert_close(found_BTD[:, t], fed_BD)


def test_masked_softmax_gives_zeros_and_zero_gradients_where_nothing_is_allowed() -> None:
    scores = torch.randn(2, 3, requires_grad=True)
    weights = masked_softmax(scores, torch.tensor([[True, True, False], [False, False, False]]))
    assert weights[1].tolist() == [0, 0, 0] and weights[0, 2] == 0
    torch.testing.assert_close(weights[0].sum(), torch.tensor(1.0))
    (weights * torch.randn(2, 3)).sum().backward()
    assert scores.grad is not None and scores.grad[1].tolist() == [0, 0, 0] and scores.grad[0, :2].all()


def test_wrong_knobs_say_what_to_write() -> None:
    with pytest.raises(ValueError, match="lstm, gru, rnn"):
        Recurrence("lstn", 4, 4)
    with pytest.raises(ValueError, match=r"model\.dim=10"):
        RecurrentEncoder("lstm", 9, 1, True, 0.0, False, False)
    with pytest.raises(ValueError, match="none, dot or additive"):
        decoder(attention="luong")
    with pytest.raises(ValueError, match=r"model\.input_feeding=false"):
        decoder(attention="none", feeding=True)
