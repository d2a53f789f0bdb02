"""Every switch of the Transformer keeps the laws, and with all of them as in the paper it is torch's own."""

import pytest
import torch
from torch import nn

from seqarena.models.contract import Encoded
from seqarena.models.transformer import TransformerDecoder, TransformerEncoder

PLAIN = {
    "dim": 16, "layers": 2, "heads": 4, "feedforward": 24, "dropout": 0.0, "attention_dropout": 0.0,
    "positions_kind": "sinusoidal", "max_positions": 32, "norm": "pre", "residual": True, "scaled": True,
}  # fmt: skip
VARIANTS = [{"positions_kind": kind} for kind in ("learned", "rotary", "alibi", "t5", "none")]
VARIANTS += [
    {"norm": "post"},
    {"norm": "none"},
    {"residual": False},
    {"scaled": False},
    {"cross": "mean"},
    {"cross": "none"},
]


def built(changes: dict) -> tuple[TransformerEncoder, TransformerDecoder]:
    torch.manual_seed(0)
    options = {**PLAIN, **changes}
    cross = options.pop("cross", "full")
    return TransformerEncoder(**options).eval(), TransformerDecoder(**options, cross=cross).eval()


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_no_switch_lets_padding_or_the_future_in(changes: dict) -> None:
    encoder, decoder = built(changes)
    x_BSD, y_BTD = torch.randn(2, 9, 16), torch.randn(2, 6, 16)
    mask_BS = torch.arange(9)[None] < torch.tensor([9, 4])[:, None]
    encoded, alone = encoder(x_BSD, mask_BS), encoder(x_BSD[1:, :4], mask_BS[1:, :4])
    torch.testing.assert_close(encoded.summary_BD[1:], alone.summary_BD, atol=1e-5, rtol=1e-4)
    whole, _ = decoder(y_BTD, encoded, decoder.start(encoded))
    state, steps = decoder.start(encoded), []
    for step in range(6):
        y, state = decoder(y_BTD[:, step : step + 1], encoded, state)
        steps.append(y)
    torch.testing.assert_close(torch.cat(steps, 1), whole, atol=1e-5, rtol=1e-4)
    part, _ = decoder(y_BTD[1:, :3], alone, decoder.start(alone))
    torch.testing.assert_close(part, whole[1:, :3], atol=1e-5, rtol=1e-4)


def test_each_switch_changes_the_output() -> None:
    x_BSD, mask_BS = torch.randn(2, 9, 16), torch.ones(2, 9, dtype=torch.bool)
    seen = []
    for changes in [{}, *VARIANTS]:
        encoder, decoder = built(changes)
        encoded = encoder(x_BSD, mask_BS)
        seen.append(decoder(x_BSD, encoded, decoder.start(encoded))[0])
    assert all(not torch.allclose(a, b, atol=1e-3) for i, a in enumerate(seen) for b in seen[:i])


def copied(theirs: nn.MultiheadAttention, ours: nn.Module) -> None:
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
    theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_it_is_torchs_transformer_on_shared_weights(norm: str) -> None:
    encoder, decoder = built({"norm": norm, "positions_kind": "none", "layers": 1})
    options = {"dropout": 0.0, "batch_first": True, "norm_first": norm == "pre"}
    reader, writer = nn.TransformerEncoderLayer(16, 4, 24, **options), nn.TransformerDecoderLayer(16, 4, 24, **options)
    mine, yours = encoder.layers[0], decoder.layers[0]
    copied(reader.self_attn, mine.attention)
    copied(writer.self_attn, yours.attention)
    copied(writer.multihead_attn, yours.cross)
    for theirs, ours in ((reader, mine), (writer, yours)):
        theirs.linear1.load_state_dict(ours.feedforward.inner.state_dict())
        theirs.linear2.load_state_dict(ours.feedforward.outer.state_dict())
    x_BSD, y_BTD = torch.randn(3, 7, 16), torch.randn(3, 5, 16)
    mask_BS = torch.arange(7)[None] < torch.tensor([7, 3, 5])[:, None]
    encoded = encoder(x_BSD, mask_BS)
    last = nn.LayerNorm(16) if norm == "pre" else nn.Identity()
    read = last(reader(x_BSD, src_key_padding_mask=~mask_BS))
    torch.testing.assert_close(encoded.states_BSD[mask_BS], read[mask_BS], atol=1e-5, rtol=1e-4)
    causal = ~torch.ones(5, 5, dtype=torch.bool).tril()
    wanted = last(writer(y_BTD, read, tgt_mask=causal, memory_key_padding_mask=~mask_BS))
    found, _ = decoder(y_BTD, encoded, decoder.start(encoded))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)


def test_values_that_are_not_known_are_named() -> None:
    for change, told in (({"norm": "per"}, "pre, post, none"), ({"positions_kind": "sin"}, "sinusoidal, learned")):
        with pytest.raises(ValueError, match=told):
            built(change)
    with pytest.raises(ValueError, match=r"model\.dim=18"):
        built({"dim": 17, "heads": 3})


@pytest.mark.parametrize(
    ("cross", "depends"), [("full", (True, True)), ("mean", (True, False)), ("none", (False, False))]
)
def test_what_of_the_source_reaches_the_decoder(cross: str, depends: tuple[bool, bool]) -> None:
    """It depends on the mean of the states, and on the states behind an equal mean."""
    _, decoder = built({"cross": cross})
    mask_BS = torch.ones(1, 4, dtype=torch.bool)
    states_BSD, y_BTD = torch.randn(1, 4, 16), torch.randn(1, 3, 16)
    shift_D = torch.randn(16)  # not the same to each feature, which a LayerNorm would take out
    other_BSD = states_BSD + torch.tensor([1.0, -1.0, 2.0, -2.0])[None, :, None]

    def written(states_BSD: torch.Tensor, summary_BD: torch.Tensor) -> torch.Tensor:
        encoded = Encoded(states_BSD, summary_BD, mask_BS, states_BSD)
        return decoder(y_BTD, encoded, decoder.start(encoded))[0]

    plain = written(states_BSD, states_BSD.mean(1))
    of_mean, of_states = (
        written(states_BSD + shift_D, states_BSD.mean(1) + shift_D),
        written(other_BSD, states_BSD.mean(1)),
    )
    assert (not torch.allclose(plain, of_mean), not torch.allclose(plain, of_states)) == depends


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match="full, mean, none"):
        built({"cross": "some"})
