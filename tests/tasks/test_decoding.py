"""Search against exhaustive search, for any batch size, with the cache on and off, over every architecture."""

import itertools
from pathlib import Path

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf
from torch import Tensor, nn

from seqarena.models.contract import Decoder, Encoded, State
from seqarena.tasks.decoding import Search, search

MODELS = sorted(Path(__file__).parents[2].glob("conf/model/*.yaml"))
VOCABULARY, BEGIN, END = 9, 2, 3


class Table(Decoder):
    """Next-token scores depend on the last token and the step alone: small enough to search exhaustively."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.dim = VOCABULARY
        self.scores = nn.Parameter(torch.randn(steps, VOCABULARY, VOCABULARY) * 2)

    def start(self, encoded: Encoded) -> State:
        return torch.zeros(len(encoded.mask_BS), dtype=torch.long)

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        tokens_BT = x_BTD.argmax(-1)
        steps_BT = state[:, None] + torch.arange(x_BTD.shape[1])
        return self.scores[steps_BT, tokens_BT] + encoded.summary_BD[:, None], state + x_BTD.shape[1]


def table_search(seed: int, how: Search, sentences: int = 5) -> tuple[list[list[int]], Table, Encoded]:
    torch.manual_seed(seed)
    decoder = Table(4)
    mask = torch.ones(sentences, 1, dtype=torch.bool)
    states = torch.zeros(sentences, 1, VOCABULARY)
    encoded = Encoded(states, torch.randn(sentences, VOCABULARY), mask, states)
    return search(one_hot, decoder, nn.Identity(), encoded, how), decoder, encoded


def one_hot(ids: Tensor) -> Tensor:
    return nn.functional.one_hot(ids, VOCABULARY).float()


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_beam_as_wide_as_everything_finds_the_best_target(seed: int, penalty: float) -> None:
    limit = 3
    how = Search(beam=6**2 * 7, length_penalty=penalty, ratio=0.0, extra=limit)
    found, decoder, encoded = table_search(seed, how)
    words = [1, 4, 5, 6, 7, 8]
    for sentence, tokens in enumerate(found):
        scores = {}
        for length in range(limit):
            for target in itertools.product(words, repeat=length):
                total, last = 0.0, BEGIN
                for step, token in enumerate((*target, END)):
                    logits = decoder.scores[step, last] + encoded.summary_BD[sentence]
                    logits = logits.masked_fill(
                        torch.isin(torch.arange(VOCABULARY), torch.tensor([0, BEGIN])), float("-inf")
                    )
                    total, last = total + logits.log_softmax(-1)[token].item(), token
                scores[target] = total / (length + 1) ** penalty
        assert tuple(tokens) == max(scores, key=scores.__getitem__)


def test_greedy_takes_the_likeliest_token_until_the_end_mark_or_the_limit() -> None:
    found, decoder, encoded = table_search(3, Search(ratio=0.0, extra=4))
    for sentence, tokens in enumerate(found):
        last = BEGIN
        for step in range(4):
            logits = decoder.scores[step, last] + encoded.summary_BD[sentence]
            logits[[0, BEGIN]] = float("-inf")
            last = int(logits.argmax())
            if step == 3 or last == END:
                assert len(tokens) == step
                break
            assert tokens[step] == last


def untrained(path: Path) -> tuple[nn.Module, Decoder, nn.Embedding]:
    config = OmegaConf.create({"model": OmegaConf.load(path)})
    config.model.dim = 24
    torch.manual_seed(1)
    encoder, decoder = instantiate(config.model.encoder).eval(), instantiate(config.model.decoder).eval()
    table = nn.Embedding(40, 24)
    nn.init.normal_(table.weight, 0.0, 0.7)
    return encoder, decoder, table


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
@pytest.mark.parametrize("beam", [1, 4])
def test_the_batch_and_the_cache_change_nothing(path: Path, beam: int) -> None:
    encoder, decoder, table = untrained(path)
    lengths = torch.tensor([1, 9, 4, 7, 2, 9, 3])
    mask = torch.arange(9)[None] < lengths[:, None]
    ids = torch.randint(4, 40, (7, 9), generator=torch.Generator().manual_seed(2)) * mask

    def found(size: int, cache: bool) -> list[list[int]]:
        how, targets = Search(beam=beam, ratio=1.0, extra=3, cache=cache), []
        for first in range(0, 7, size):
            part, seen = ids[first : first + size], mask[first : first + size]
            width = int(seen.sum(1).max())
            with torch.no_grad():
                encoded = encoder(table(part[:, :width]), seen[:, :width])
            targets += search(table, decoder, lambda y: y @ table.weight.T, encoded, how)
        return targets

    whole = found(7, True)
    assert len({tuple(target) for target in whole}) > 1
    assert found(1, True) == found(3, True) == whole
    assert found(7, False) == found(1, False) == whole
    assert all(len(target) < length + 3 for target, length in zip(whole, lengths.tolist(), strict=True))


def test_an_empty_source_is_translated_to_something_short() -> None:
    encoder, decoder, table = untrained(MODELS[0])
    encoded = encoder(table(torch.zeros(1, 1, dtype=torch.long)), torch.zeros(1, 1, dtype=torch.bool))
    assert len(search(table, decoder, lambda y: y @ table.weight.T, encoded, Search(beam=2, extra=5))[0]) <= 4
