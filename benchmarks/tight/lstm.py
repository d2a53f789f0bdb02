"""An LSTM translator by hand: two directions, dot attention, with or without input feeding, tied embeddings."""

import torch
from tight.transformer import drop
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear


class Translator(nn.Module):
    """`forward` is the summed loss of a batch."""

    def __init__(self, vocabulary: int, dim: int, feeding: bool, rate: float) -> None:
        super().__init__()
        self.feeding, self.rate = feeding, rate
        self.table = nn.Embedding(vocabulary, dim, padding_idx=0)
        nn.init.normal_(self.table.weight, 0, 0.1)
        self.ahead = nn.LSTM(dim, dim // 2, batch_first=True)
        self.back = nn.LSTM(dim, dim // 2, batch_first=True)
        self.bridge = nn.Linear(dim, 2 * dim)
        self.writer = nn.LSTM(2 * dim if feeding else dim, dim, batch_first=True)
        self.mix = nn.Linear(2 * dim, dim, bias=False)

    def read(self, x: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """States, and the last of each direction. The way back starts at each sentence's own end."""
        lengths = real.sum(1)
        places = torch.arange(x.size(1))
        turned = lengths[:, None] - 1 - places
        order = torch.where(turned >= 0, turned, places)[..., None]
        ahead = self.ahead(x)[0]
        back = self.back(x.gather(1, order.expand_as(x)))[0]
        back = back.gather(1, order.expand_as(back))
        last = ahead[torch.arange(len(x)), lengths - 1]
        return torch.cat((ahead, back), -1) * real[..., None], torch.cat((last, back[:, 0]), -1)

    def attended(self, h: Tensor, states: Tensor, unread: Tensor) -> Tensor:
        weights = (h @ states.transpose(1, 2)).masked_fill(unread, float("-inf")).softmax(-1)
        return self.mix(torch.cat((weights @ states, h), -1)).tanh()

    def write(self, x: Tensor, states: Tensor, unread: Tensor, summary: Tensor) -> Tensor:
        h, c = self.bridge(summary).tanh().chunk(2, -1)
        if not self.feeding:
            return self.attended(self.writer(x, (h[None], c[None]))[0], states, unread)
        fed, outputs = torch.zeros_like(h), []
        for one in x.unbind(1):
            h, c = torch.lstm_cell(torch.cat((one, fed), -1), (h, c), *self.writer.all_weights[0])
            fed = self.attended(h[:, None], states, unread)[:, 0]
            outputs.append(fed)
        return torch.stack(outputs, 1)

    def forward(self, source: Tensor, given: Tensor, wanted: Tensor, smoothing: float) -> Tensor:
        states, summary = self.read(drop(self.table(source), self.rate), source != 0)
        y = self.write(drop(self.table(given), self.rate), states, (source == 0)[:, None], summary)
        real = wanted != 0
        logits = linear(drop(y, self.rate)[real], self.table.weight)
        return cross_entropy(logits, wanted[real], reduction="sum", label_smoothing=smoothing)
