"""Convolutions against torch's kernel, and what TextCNN and ConvS2S promise beyond the common laws."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d, glu

from seqarena.models.contract import Encoded
from seqarena.models.convolution import CausalConvolution, GatedCausal, SameConvolution, masked_max
from seqarena.models.convs2s import ConvS2SDecoder, ConvS2SEncoder, normalised, scale_gradient
from seqarena.models.textcnn import TextCNNDecoder, TextCNNEncoder

DIM = 8
MASK_BS = torch.arange(6) < torch.tensor([6, 2, 0])[:, None]


def kernel(linear: nn.Linear, width: int) -> Tensor:
    """The linear map's weight in the layout of torch's convolution: (maps, inputs, width)."""
    return linear.weight.unflatten(1, (width, -1)).transpose(1, 2)


def read(dim: int = DIM) -> Encoded:
    states_BSD = torch.randn(3, 6, dim) * MASK_BS[..., None]
    return Encoded(states_BSD, states_BSD.mean(1), MASK_BS, states_BSD)


def convs2s_encoder(limit: int = 16, kind: str = "learned", layers: int = 2) -> ConvS2SEncoder:
    return ConvS2SEncoder(DIM, layers, 3, layers, kind, limit, 0.0, True, False)


def convs2s_decoder(limit: int = 16, kind: str = "learned", layers: int = 2) -> ConvS2SDecoder:
    return ConvS2SDecoder(DIM, layers, 3, kind, limit, 0.0, True, False)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 9])
def test_same_convolution_equals_torchs(width: int) -> None:
    ours, x_BSD = SameConvolution(DIM, 5, width), torch.randn(3, 6, DIM)
    real_BDS = (x_BSD * MASK_BS[..., None]).transpose(1, 2)
    padded = nn.functional.pad(real_BDS, ((width - 1) // 2, width // 2))
    theirs_BSM = conv1d(padded, kernel(ours.linear, width), ours.linear.bias).transpose(1, 2)
    torch.testing.assert_close(ours(x_BSD, MASK_BS), theirs_BSM, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("pieces", [[6], [1] * 6, [4, 2], [2, 4]], ids=str)
def test_causal_convolution_equals_torchs_in_any_pieces(width: int, pieces: list[int]) -> None:
    ours, x_BTD = CausalConvolution(DIM, 5, width), torch.randn(3, 6, DIM)
    padded = nn.functional.pad(x_BTD.transpose(1, 2), (width - 1, 0))
    theirs_BTM = conv1d(padded, kernel(ours.linear, width), ours.linear.bias).transpose(1, 2)
    window_BWD, outputs = torch.zeros(3, width - 1, DIM), []
    for piece_BTD in x_BTD.split(pieces, 1):
        y_BTM, window_BWD = ours(piece_BTD, window_BWD)
        assert window_BWD.shape == (3, width - 1, DIM)
        outputs.append(y_BTM)
    torch.testing.assert_close(torch.cat(outputs, 1), theirs_BTM, atol=1e-5, rtol=1e-5)


def test_the_gate_is_torchs_glu() -> None:
    gated, x_BTD, window_BWD = GatedCausal(DIM, 3), torch.randn(2, 4, DIM), torch.randn(2, 2, DIM)
    y_BTM, _ = gated.convolution(x_BTD, window_BWD)
    torch.testing.assert_close(gated(x_BTD, window_BWD)[0], glu(y_BTM, -1))


def test_the_maximum_is_over_real_positions() -> None:
    x_BSD = -torch.rand(3, 6, DIM) - 1.0
    x_BSD[~MASK_BS] = 9.0
    found_BD = masked_max(x_BSD, MASK_BS)
    torch.testing.assert_close(found_BD[0], x_BSD[0].amax(0))
    torch.testing.assert_close(found_BD[1], x_BSD[1, :2].amax(0))
    assert not found_BD[2].any()


def test_textcnn_equals_kims_formula_on_a_long_text() -> None:
    encoder = TextCNNEncoder(9, 1, [1, 2, 4], 0.0, False, False)
    x_BSD = torch.randn(2, 6, 9)
    encoded = encoder(x_BSD, torch.ones(2, 6, dtype=torch.bool))
    parts = []
    for convolution, width in zip(encoder.layers[0].convolutions, (1, 2, 4), strict=True):
        padded = nn.functional.pad(x_BSD.transpose(1, 2), ((width - 1) // 2, width // 2))
        parts.append(conv1d(padded, kernel(convolution.linear, width), convolution.linear.bias).relu())
    states_BDS = torch.cat(parts, 1)
    torch.testing.assert_close(encoded.states_BSD, states_BDS.transpose(1, 2), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(encoded.summary_BD, states_BDS.amax(2), atol=1e-5, rtol=1e-5)


def test_textcnn_refuses_a_width_that_does_not_divide() -> None:
    with pytest.raises(ValueError, match=r"model\.dim=129"):
        TextCNNEncoder(128, 1, [3, 4, 5], 0.0, False, False)


def test_convs2s_decoder_equals_the_papers_formulas() -> None:
    decoder, encoded, x_BTD = convs2s_decoder(layers=2), read(), torch.randn(3, 5, DIM)
    found_BTD, _ = decoder(x_BTD, encoded, decoder.start(encoded))
    half = 0.5**0.5
    g_BTD = h_BTD = x_BTD + decoder.positions.table[:5]
    for layer in decoder.layers:
        before_BTD, linear = h_BTD, layer.gated.convolution.linear
        padded = nn.functional.pad(h_BTD.transpose(1, 2), (2, 0))
        h_BTD = glu(conv1d(padded, kernel(linear, 3), linear.bias).transpose(1, 2), -1)
        d_BTD = (layer.query(h_BTD) + g_BTD) * half
        context_BTD = torch.zeros_like(h_BTD)
        for b, length in enumerate((6, 2)):  # the third source is empty: its context is zero
            keys_SD, values_SD = encoded.states_BSD[b, :length], encoded.values_BSD[b, :length]
            context_BTD[b] = (d_BTD[b] @ keys_SD.T).softmax(-1) @ values_SD * length**0.5
        h_BTD = ((h_BTD + context_BTD) * half + before_BTD) * half
    torch.testing.assert_close(found_BTD, h_BTD, atol=1e-5, rtol=1e-4)


def test_convs2s_values_are_states_and_inputs() -> None:
    encoder, x_BSD = convs2s_encoder(), torch.randn(3, 6, DIM)
    encoded = encoder(x_BSD, MASK_BS)
    e_BSD = (x_BSD + encoder.positions.table[:6]) * MASK_BS[..., None]
    torch.testing.assert_close(encoded.values_BSD, (encoded.states_BSD + e_BSD) * 0.5**0.5)
    torch.testing.assert_close(encoded.summary_BD[1], encoded.states_BSD[1, :2].mean(0))


def test_the_gradient_is_scaled_and_the_value_is_not() -> None:
    x = torch.randn(5, requires_grad=True)
    y = scale_gradient(x, 0.25)
    assert torch.equal(y, x)
    (y * 3.0).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((5,), 0.75))


def test_decoders_send_the_convs2s_encoder_a_scaled_gradient_and_classifiers_a_whole_one() -> None:
    few, many, x_BSD = convs2s_encoder(), convs2s_encoder(), torch.randn(3, 6, DIM)
    many.load_state_dict(few.state_dict())
    many.attention_layers = 3 * few.attention_layers
    ratios = []
    for part in (0, 1):
        gradients = [
            torch.autograd.grad(encoder(x_BSD, MASK_BS)[part].square().sum(), encoder.positions.table)[0]
            for encoder in (few, many)
        ]
        ratios.append((gradients[0].norm() / gradients[1].norm()).item())
    assert ratios == pytest.approx([3.0, 1.0], rel=1e-4)


def test_dropout_covers_what_leaves_a_decoder() -> None:
    encoded, x_BTD = read(), torch.randn(3, 40, DIM)
    for decoder in (
        TextCNNDecoder(DIM, 1, 3, 0.5, True, False),
        ConvS2SDecoder(DIM, 1, 3, "none", 1, 0.5, True, False),
    ):
        y_BTD, _ = decoder(x_BTD, encoded, decoder.start(encoded))
        assert (y_BTD == 0).float().mean().item() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(("gain", "keep"), [(4.0, 0.8), (1.0, 1.0)])
def test_convs2s_weights_start_as_the_paper_says(gain: float, keep: float) -> None:
    linear = normalised(nn.Linear(600, 400), keep, gain)
    assert linear.weight.std().item() == pytest.approx((gain * keep / 600) ** 0.5, rel=0.02)
    assert not linear.bias.any()
    assert convs2s_encoder(4000).positions.table.std().item() == pytest.approx(0.1, rel=0.03)


def test_weights_are_normalised_row_by_row() -> None:
    linear = normalised(nn.Linear(6, 4), 1.0, 1.0)
    lengths, directions = linear.parametrizations.weight.original0, linear.parametrizations.weight.original1
    torch.testing.assert_close(linear.weight, lengths * directions / directions.norm(dim=1, keepdim=True))
    with torch.no_grad():
        lengths.fill_(2.0)
    torch.testing.assert_close(linear.weight.norm(dim=1), torch.full((4,), 2.0))


def test_the_limit_of_learned_positions_is_said_with_the_way_out() -> None:
    encoder, decoder, encoded = convs2s_encoder(4), convs2s_decoder(4), read()
    with pytest.raises(ValueError, match=r"6 tokens.*4 learned.*model\.max_positions=6"):
        encoder(torch.randn(3, 6, DIM), MASK_BS)
    x_BTD = torch.randn(3, 5, DIM)
    with pytest.raises(ValueError, match=r"model\.max_positions=5"):
        decoder(x_BTD, encoded, decoder.start(encoded))
    _, state = decoder(x_BTD[:, :4], encoded, decoder.start(encoded))
    with pytest.raises(ValueError, match=r"model\.max_positions=5"):
        decoder(x_BTD[:, 4:], encoded, state)


@pytest.mark.parametrize("kind", ["sinusoidal", "none"])
def test_positions_without_a_limit_go_past_it_alike_in_one_pass_and_step_by_step(kind: str) -> None:
    decoder, encoded, x_BTD = convs2s_decoder(4, kind), read(), torch.randn(3, 9, DIM)
    whole_BTD, state = decoder(x_BTD, encoded, decoder.start(encoded))[0], decoder.start(encoded)
    for t in range(9):
        y_BTD, state = decoder(x_BTD[:, t : t + 1], encoded, state)
        torch.testing.assert_close(y_BTD[:, 0], whole_BTD[:, t], atol=1e-5, rtol=1e-5)
    assert convs2s_encoder(4, kind)(torch.randn(3, 6, DIM), MASK_BS).states_BSD.isfinite().all()


def test_positions_within_attention_are_refused() -> None:
    with pytest.raises(ValueError, match="learned, sinusoidal, none"):
        convs2s_encoder(4, "rotary")
