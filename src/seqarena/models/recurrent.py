"""Recurrent networks: LSTM, GRU and plain tanh RNN, with attention from the decoder to the source.

Cells: Hochreiter & Schmidhuber 1997 (LSTM), Cho et al. 2014 (GRU), Elman 1990 (RNN), in torch's formulation. Decoder:
Luong et al. 2015 (dot attention, attentional vector, input feeding, section 3) or Bahdanau et al. 2015 (additive
attention). Dropout follows Zaremba et al. 2014, "Recurrent Neural Network Regularization": on connections that are not
recurrent, so between layers and on what leaves the network, never from one step to the next. `residual` adds each
layer's input to its output (Wu et al. 2016, section 3.1, but around every layer); `norm` normalises each layer's input
and the last output (pre-norm).
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from seqarena.models.contract import Decoder, Encoded, Encoder, State
from seqarena.models.dropout import Dropout
from seqarena.models.lookup import attention_of

BF16 = torch.bfloat16
Hidden: TypeAlias = tuple[Tensor, ...]
"""A layer's memory: (h,) or (h, c), each (B, H)."""


class Cell(NamedTuple):
    """A recurrence in torch: its module for whole sequences, its function for one step, its number of memories."""

    sequence: Callable[..., nn.RNNBase]
    step: Callable[..., Any]
    tensors: int


CELLS = {
    "lstm": Cell(nn.LSTM, torch.lstm_cell, 2),
    "gru": Cell(nn.GRU, torch.gru_cell, 1),
    "rnn": Cell(nn.RNN, torch.rnn_tanh_cell, 1),
}


def cell_of(name: str) -> Cell:
    """The cell called `name`; a ValueError lists the names there are."""
    if name not in CELLS:
        raise ValueError(f"cell={name!r} is unknown: write {', '.join(CELLS)}")
    return CELLS[name]


class Recurrence(nn.Module):
    """One layer in one direction, from width `dim` to width `units`."""

    def __init__(self, cell: str, dim: int, units: int) -> None:
        super().__init__()
        self.cell = cell_of(cell)
        self.units = units
        self.rnn = self.cell.sequence(dim, units, batch_first=True)
        initialise(self.rnn, units, forget=cell == "lstm")

    def forward(self, x_BTD: Tensor, hidden: Hidden | None = None) -> tuple[Tensor, Hidden]:
        """Read T inputs on from `hidden` (from zeros if None): the outputs (B, T, H) and the memory after them."""
        if x_BTD.size(1) == 1 and hidden is not None:
            y_BH, hidden = self.step(x_BTD[:, 0], hidden)
            return y_BH[:, None], hidden
        memory = None if hidden is None else tuple(part[None].contiguous() for part in hidden)  # as cuDNN demands
        if rounds_to_half(x_BTD.device):
            x_BTD, memory = x_BTD.float(), None if memory is None else tuple(part.float() for part in memory)
        with _kernels(x_BTD.device):
            y_BTH, last = self.rnn(x_BTD, None if memory is None else _packed(memory))
        return y_BTH, tuple(part[0] for part in _unpacked(last))

    def step(self, x_BD: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        """Read one input with the same weights: the output (B, H), also the memory's first tensor, and the memory."""
        hidden = _unpacked(self.cell.step(x_BD, _packed(hidden), *self.rnn.all_weights[0]))
        return hidden[0], hidden


def rounds_to_half(device: torch.device) -> bool:
    """Whether autocast to bfloat16 would hand cuDNN's recurrent layers float16, as torch does whatever was asked for.

    Nobody scales the loss in bf16-mixed, so their small gradients would be lost: they are computed in float32.
    """
    return device.type == "cuda" and torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == BF16


def _kernels(device: torch.device) -> AbstractContextManager[Any]:
    """What torch may use for a layer.

    oneDNN has no LSTM in bfloat16 for processors without such instructions, and fails; torch's own has.
    """
    if rounds_to_half(device):
        return torch.autocast("cuda", enabled=False)
    lacking = device.type == "cpu" and torch.is_autocast_enabled("cpu")
    if not lacking or torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return nullcontext()
    return torch.backends.mkldnn.flags(enabled=False)


def _packed(hidden: Hidden) -> Tensor | Hidden:
    """As torch's kernels want it: a lone tensor, or an LSTM's pair."""
    return hidden if len(hidden) > 1 else hidden[0]


def _unpacked(hidden: Tensor | Hidden) -> Hidden:
    return (hidden,) if isinstance(hidden, Tensor) else tuple(hidden)


@torch.no_grad()
def initialise(rnn: nn.RNNBase, units: int, forget: bool) -> None:
    """Gate by gate: orthogonal recurrent weights (Saxe et al. 2013), Glorot & Bengio's 2010 for the input, zero biases.

    `forget` sets the forget gate's bias to 1 (Jozefowicz et al. 2015), once: torch keeps two biases that are summed.
    """
    weight_in, weight_hidden, bias_in, bias_hidden = rnn.all_weights[0]
    for gate in weight_in.split(units):
        nn.init.xavier_uniform_(gate)
    for gate in weight_hidden.split(units):
        nn.init.orthogonal_(gate)
    nn.init.zeros_(bias_in)
    nn.init.zeros_(bias_hidden)
    if forget:
        nn.init.ones_(bias_in[units : 2 * units])


class Reading(nn.Module):
    """One layer of the encoder: all units left to right, or half of them in each direction."""

    def __init__(self, cell: str, dim: int, bidirectional: bool) -> None:
        super().__init__()
        units = dim // 2 if bidirectional else dim
        self.ahead = Recurrence(cell, dim, units)
        self.back = Recurrence(cell, dim, units) if bidirectional else None

    def forward(self, x_BSD: Tensor, reversal_BS: Tensor) -> Tensor:
        """Outputs (B, S, D); the second half of the width has read the sentence from its own end."""
        ahead, _ = self.ahead(x_BSD)
        if self.back is None:
            return ahead
        back, _ = self.back(_reordered(x_BSD, reversal_BS))
        return torch.cat((ahead, _reordered(back, reversal_BS)), -1)


def reversal(lengths_B: Tensor, longest: int) -> Tensor:
    """Indices (B, S) that turn each sentence around within its own length and leave its padding in place."""
    places_S = torch.arange(longest, device=lengths_B.device)
    turned_BS = lengths_B[:, None] - 1 - places_S
    return torch.where(turned_BS >= 0, turned_BS, places_S)


def _reordered(x_BSD: Tensor, order_BS: Tensor) -> Tensor:
    return x_BSD.gather(1, order_BS[..., None].expand_as(x_BSD))


class RecurrentEncoder(Encoder):
    """Layers of one or two directions; the summary is the last state, beside the first of the backward direction.

    With `bidirectional` each direction has dim/2 units, so an odd `dim` is a ValueError.
    Sequences are not packed: each backward layer reads the sentence turned around within its length, which gives the
    same numbers twice as fast on a CPU.
    """

    def __init__(
        self, cell: str, dim: int, layers: int, bidirectional: bool, dropout: float, residual: bool, norm: bool
    ) -> None:
        super().__init__()
        if bidirectional and dim % 2:
            raise ValueError(f"two directions share an even width, not {dim}: write model.dim={dim + 1}")
        self.dim, self.bidirectional, self.residual = dim, bidirectional, residual
        self.layers = nn.ModuleList(Reading(cell, dim, bidirectional) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) if norm else nn.Identity() for _ in range(layers + 1))
        self.dropout = Dropout(dropout)

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        """Read the sentences; see `Encoder`."""
        lengths_B = mask_BS.sum(1)
        order_BS = reversal(lengths_B, x_BSD.size(1))
        for depth, layer in enumerate(self.layers):
            inner_BSD = self.norms[depth](x_BSD)
            y_BSD = layer(self.dropout(inner_BSD) if depth else inner_BSD, order_BS)
            x_BSD = x_BSD + y_BSD if self.residual else y_BSD
        states_BSD = self.norms[-1](x_BSD).masked_fill(~mask_BS[..., None], 0.0)
        summary_BD = self._summary(states_BSD, lengths_B)
        return Encoded(states_BSD, summary_BD, mask_BS, states_BSD)

    def _summary(self, states_BSD: Tensor, lengths_B: Tensor) -> Tensor:
        rows_B = torch.arange(len(lengths_B), device=lengths_B.device)
        last_BD = states_BSD[rows_B, (lengths_B - 1).clamp(min=0)]
        if not self.bidirectional:
            return last_BD
        half = self.dim // 2
        return torch.cat((last_BD[:, :half], states_BSD[:, 0, half:]), -1)


class RecurrentDecoder(Decoder):
    """Layers left to right, begun from the source's summary; the top one looks at the source.

    `attention` is none, dot or additive. With `input_feeding` each step also reads the attentional vector of the step
    before (Luong et al. 2015, section 3.3), undropped since the connection is recurrent; it then runs as a loop, where
    otherwise a layer is one kernel call for all T. Feeding without attention is a ValueError. The state is
    (a memory per layer, the fed vector or nothing, what the attention prepared).
    """

    def __init__(
        self,
        cell: str,
        dim: int,
        layers: int,
        attention: str,
        input_feeding: bool,
        dropout: float,
        residual: bool,
        norm: bool,
    ) -> None:
        super().__init__()
        if input_feeding and attention == "none":
            raise ValueError(
                "input feeding feeds an attentional vector: write model.input_feeding=false, or model.attention=dot"
            )
        self.dim, self.residual, self.input_feeding = dim, residual, input_feeding
        self.stepwise = input_feeding
        width = 2 * dim if input_feeding else dim
        self.layers = nn.ModuleList(Recurrence(cell, dim if depth else width, dim) for depth in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) if norm else nn.Identity() for _ in range(layers + 1))
        self.tensors = cell_of(cell).tensors
        self.bridge = nn.Linear(dim, dim * layers * self.tensors)
        self.attention = attention_of(attention, dim)
        self.dropout = Dropout(dropout)

    def start(self, encoded: Encoded) -> State:
        """Each layer's memory is tanh(W summary), a W each (Bahdanau et al. 2015, A.2.2); the fed vector is zero."""
        parts = self.bridge(encoded.summary_BD).tanh().split(self.dim, -1)
        hidden = tuple(parts[i : i + self.tensors] for i in range(0, len(parts), self.tensors))
        fed = torch.zeros_like(encoded.summary_BD) if self.input_feeding else ()
        return hidden, fed, self.attention.start(encoded)

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        """Write on from `state`; see `Decoder`."""
        pieces = x_BTD.split(1, 1) if self.input_feeding else (x_BTD,)
        outputs = []
        for piece in pieces:
            y_BTD, state = self._advance(piece, encoded, state)
            outputs.append(y_BTD)
        return self.dropout(torch.cat(outputs, 1)), state

    def _advance(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        """All T at once without input feeding, T = 1 with it."""
        hidden, fed, prepared = state
        memories = []
        for depth, layer in enumerate(self.layers):
            inner_BTD = self.norms[depth](x_BTD)
            inner_BTD = self.dropout(inner_BTD) if depth else self._with_fed(inner_BTD, fed)
            y_BTD, memory = layer(inner_BTD, hidden[depth])
            x_BTD = x_BTD + y_BTD if self.residual else y_BTD
            memories.append(memory)
        y_BTD = self.attention(self.norms[-1](x_BTD), encoded, prepared)
        return y_BTD, (tuple(memories), y_BTD[:, -1] if self.input_feeding else (), prepared)

    def _with_fed(self, x_BTD: Tensor, fed: State) -> Tensor:
        return torch.cat((x_BTD, fed[:, None]), -1) if isinstance(fed, Tensor) else x_BTD
