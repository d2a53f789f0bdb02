"""A recurrence in a Transformer's block against the same written with torch's own modules, for every cell."""

import pytest
import torch
from torch import nn

from seqarena.models.recurrent_block import RecurrentBlockDecoder, RecurrentBlockEncoder

D = 12
CELLS = ["lstm", "gru", "rnn"]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("cell", CELLS)
@torch.no_grad()
def test_one_block_is_recurrence_and_feedforward_with_their_norms_and_sums(cell: str, norm: str) -> None:
    torch.manual_seed(0)
    encoder = RecurrentBlockEncoder(cell, D, 1, False, 20, 0.0, norm, True).eval()
    block, x_BSD = encoder.layers[0], torch.randn(2, 6, D)
    rnn = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[cell](D, D, batch_first=True)
    rnn.load_state_dict(block.reading.ahead.rnn.state_dict())
    inner, outer, normal = block.feedforward.inner, block.feedforward.outer, nn.LayerNorm(D)

    def feed(x: torch.Tensor) -> torch.Tensor:
        return outer(torch.relu(inner(x)))

    if norm == "pre":
        y_BSD = x_BSD + rnn(normal(x_BSD))[0]
        wanted = normal(y_BSD + feed(normal(y_BSD)))
    else:
        y_BSD = normal(x_BSD + rnn(x_BSD)[0])
        wanted = normal(y_BSD + feed(y_BSD))
    encoded = encoder(x_BSD, torch.ones(2, 6, dtype=torch.bool))
    torch.testing.assert_close(encoded.states_BSD, wanted)
    torch.testing.assert_close(encoded.summary_BD, wanted.mean(1))


@pytest.mark.parametrize("cell", CELLS)
@torch.no_grad()
def test_every_cell_writes_step_by_step_what_it_writes_at_once(cell: str) -> None:
    torch.manual_seed(0)
    encoder = RecurrentBlockEncoder(cell, D, 2, True, 20, 0.0, "pre", True).eval()
    decoder = RecurrentBlockDecoder(cell, D, 2, 3, 20, 0.0, 0.0, "pre", True).eval()
    encoded = encoder(torch.randn(2, 6, D), torch.arange(6) < torch.tensor([[6], [2]]))
    y_BTD, state, steps = torch.randn(2, 5, D), decoder.start(encoded), []
    for token_B1D in y_BTD.split(1, 1):
        out_B1D, state = decoder(token_B1D, encoded, state)
        steps.append(out_B1D)
    torch.testing.assert_close(torch.cat(steps, 1), decoder(y_BTD, encoded, decoder.start(encoded))[0])


def test_an_odd_width_and_an_unknown_cell_are_named() -> None:
    with pytest.raises(ValueError, match=r"model\.dim=14"):
        RecurrentBlockEncoder("lstm", 13, 1, True, 20, 0.0, "pre", True)
    with pytest.raises(ValueError, match="lstm, gru, rnn"):
        RecurrentBlockEncoder("elman", D, 1, True, 20, 0.0, "pre", True)
