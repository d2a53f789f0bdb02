"""ConvS2S: Gehring et al. 2017, "Convolutional Sequence to Sequence Learning".

Positions added to the input (section 3.1), gated convolutions with scaled residuals (3.2), attention in every decoder
layer (3.3), normalised variances and scaled gradients (3.4), initial weights (3.5), weight normalisation (Salimans &
Kingma 2016) of every linear map. Dropout sits on the input of every block and on the output (4.2).

Departures: all widths are equal, so the paper's linear maps between embedding and convolution widths fall away;
`residual` can be switched off; `norm` puts LayerNorm on each block's input and on the last output; positions may also
be sinusoidal or none; the summary, which the paper does not have, is the mean of the last block's real states. The task
owns the embedding: its deviation of 0.1 (3.5) is in the YAML.
"""

from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from seqarena.models.contract import Decoder, Encoded, Encoder, State, masked_mean, more_read, none_read
from seqarena.models.convolution import HALF, GatedCausal, GatedSame, first_window
from seqarena.models.dropout import Dropout
from seqarena.models.lookup import look
from seqarena.models.positions import Positions, positions

POSITIONS = ("learned", "sinusoidal", "none")


def scale_gradient(x: Tensor, factor: float) -> Tensor:
    """`x` itself, whose gradient arrives multiplied by `factor`."""
    return x.detach() + (x - x.detach()) * factor


def normalised(linear: nn.Linear, keep: float, gain: float) -> nn.Linear:
    """Weights from N(0, gain · keep / inputs), zero biases (section 3.5), then weight normalisation.

    `keep` is the probability that dropout spares an input; `gain` is 4 before a gated linear unit, otherwise 1.
    """
    nn.init.normal_(linear.weight, 0.0, (gain * keep / linear.in_features) ** 0.5)
    nn.init.zeros_(linear.bias)
    return weight_norm(linear)


def positions_of(kind: str, dim: int, limit: int) -> Positions:
    """What is added to the input. Kinds that live within attention are a ValueError here."""
    if kind not in POSITIONS:
        raise ValueError(f"model.positions={kind} does not go with convolutions: choose one of {', '.join(POSITIONS)}")
    made = positions(kind, dim, limit)
    for table in made.parameters():
        nn.init.normal_(table, 0.0, 0.1)
    return made


def encoder_block(dim: int, width: int, dropout: float) -> GatedSame:
    """A gated convolution with the paper's weights."""
    block = GatedSame(dim, width)
    normalised(block.convolution.linear, 1.0 - dropout, 4.0)
    return block


class ConvS2SEncoder(Encoder):
    """Gated convolutions of `width`. Decoders sum values (z + e) · sqrt(.5): the last block's output and the input.

    The gradient that `attention_layers` of a decoder send back is divided by twice their number (section 3.4, as in the
    authors' code; the embedding's is not). Learned positions end at `max_positions`; a longer text is a ValueError.
    """

    def __init__(
        self,
        dim: int,
        layers: int,
        width: int,
        attention_layers: int,
        positions_kind: str,
        max_positions: int,
        dropout: float,
        residual: bool,
        norm: bool,
    ) -> None:
        super().__init__()
        self.dim, self.residual, self.attention_layers = dim, residual, attention_layers
        self.positions = positions_of(positions_kind, dim, max_positions)
        self.blocks = nn.ModuleList(encoder_block(dim, width, dropout) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) if norm else nn.Identity() for _ in range(layers + 1))
        self.dropout = Dropout(dropout)

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        """Read the sentences; see `Encoder`."""
        hidden = ~mask_BS[..., None]
        e_BSD = self.dropout(self.positions(x_BSD, 0)).masked_fill(hidden, 0.0)
        z_BSD = e_BSD
        for norm, block in zip(self.norms, self.blocks, strict=False):
            y_BSD = block(self.dropout(norm(z_BSD)), mask_BS)
            z_BSD = (z_BSD + y_BSD) * HALF if self.residual else y_BSD
        z_BSD = self.norms[-1](z_BSD).masked_fill(hidden, 0.0)
        states_BSD = scale_gradient(z_BSD, 0.5 / self.attention_layers)
        return Encoded(states_BSD, masked_mean(z_BSD, mask_BS), mask_BS, (states_BSD + e_BSD) * HALF)


class ConvS2SLayer(nn.Module):
    """A gated causal convolution, then attention: c = sum over the values, (h + c · sqrt(m)) · sqrt(.5).

    The query is (W h + g) · sqrt(.5), g being the embedded target. A mean of m values has 1/m of their variance, which
    sqrt(m) restores (section 3.4); m is the source's real length.
    """

    def __init__(self, dim: int, width: int, dropout: float) -> None:
        super().__init__()
        self.gated = GatedCausal(dim, width)
        self.query = normalised(nn.Linear(dim, dim), 1.0, 1.0)
        normalised(self.gated.convolution.linear, 1.0 - dropout, 4.0)

    def forward(self, x_BTD: Tensor, g_BTD: Tensor, encoded: Encoded, window_BWD: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (B, T, D) and the window after them."""
        h_BTD, window_BWD = self.gated(x_BTD, window_BWD)
        context_BTD = look((self.query(h_BTD) + g_BTD) * HALF, encoded)
        length_B11 = encoded.mask_BS.sum(1)[:, None, None]
        return (h_BTD + context_BTD * length_B11.sqrt()) * HALF, window_BWD


class ConvS2SDecoder(Decoder):
    """Gated causal convolutions with attention in each.

    The state is (how many tokens were read, a window (B, width - 1, D) per layer). Learned positions end at
    `max_positions`, in one pass and step by step; a longer target is a ValueError.
    """

    def __init__(
        self,
        dim: int,
        layers: int,
        width: int,
        positions_kind: str,
        max_positions: int,
        dropout: float,
        residual: bool,
        norm: bool,
    ) -> None:
        super().__init__()
        self.dim, self.width, self.residual = dim, width, residual
        self.positions = positions_of(positions_kind, dim, max_positions)
        self.layers = nn.ModuleList(ConvS2SLayer(dim, width, dropout) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) if norm else nn.Identity() for _ in range(layers + 1))
        self.dropout = Dropout(dropout)

    def start(self, encoded: Encoded) -> State:
        """Nothing read, windows of zeros."""
        return none_read(encoded), tuple(first_window(encoded, self.width) for _ in self.layers)

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        """Write on from `state`; see `Decoder`. All rows of a batch have read the same number of tokens."""
        read_BT0, windows = state
        assert isinstance(read_BT0, Tensor)
        g_BTD = x_BTD = self.dropout(self.positions(x_BTD, read_BT0.size(1)))
        after = []
        for depth, layer in enumerate(self.layers):
            y_BTD, window = layer(self.dropout(self.norms[depth](x_BTD)), g_BTD, encoded, windows[depth])
            x_BTD = (x_BTD + y_BTD) * HALF if self.residual else y_BTD
            after.append(window)
        return self.dropout(self.norms[-1](x_BTD)), (more_read(read_BT0, g_BTD.size(1)), tuple(after))
