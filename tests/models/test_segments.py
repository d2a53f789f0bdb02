"""Segments are read as texts of their own, by whatever encoder; nothing of the next one, or of padding, gets in."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf
from torch import Tensor

from seqarena.models.contract import Encoded, Encoder
from seqarena.models.convs2s import ConvS2SEncoder
from seqarena.models.local import LocalEncoder
from seqarena.models.recurrent import RecurrentEncoder
from seqarena.models.recurrent_block import RecurrentBlockEncoder
from seqarena.models.segments import HierarchicalEncoder, SegmentedEncoder
from seqarena.models.textcnn import TextCNNEncoder
from seqarena.models.transformer import TransformerEncoder

D, SEGMENT = 12, 4
LENGTHS = (11, 8, 3, 0, 1)
FOLDER = Path(__file__).parents[2] / "conf" / "model"
ATTENTION = ("sinusoidal", 64, "pre", True, True)

READERS: dict[str, Callable[[], Encoder]] = {
    "recurrent": lambda: RecurrentEncoder("gru", D, 1, True, 0.0, False, False),
    "textcnn": lambda: TextCNNEncoder(D, 1, [3, 4, 5], 0.0, False, False),
    "convs2s": lambda: ConvS2SEncoder(D, 2, 3, 2, "learned", SEGMENT, 0.0, True, False),
    "transformer": lambda: TransformerEncoder(D, 1, 2, 16, 0.0, 0.0, *ATTENTION),
    "local": lambda: LocalEncoder(D, 1, 2, 16, 1, 1, 0.0, 0.0, *ATTENTION),
    "block": lambda: RecurrentBlockEncoder("lstm", D, 1, True, 16, 0.0, "pre", True),
}


def texts() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.randn(len(LENGTHS), 11, D), torch.arange(11) < torch.tensor(LENGTHS)[:, None]


def alone(reader: Encoder, x_SD: Tensor) -> list[Encoded]:
    """Each segment of one text, read without anything else."""
    return [reader(part[None], torch.ones(1, len(part), dtype=torch.bool)) for part in x_SD.split(SEGMENT)]


def close(ours: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(ours, wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("family", READERS)
@torch.no_grad()
def test_segments_are_read_as_if_alone_and_pooled(family: str, pooling: str) -> None:
    torch.manual_seed(0)
    reader = READERS[family]().eval()
    x_BSD, mask_BS = texts()
    read = SegmentedEncoder(SEGMENT, pooling, reader).eval()(x_BSD, mask_BS)
    for row, length in enumerate(LENGTHS):
        parts = alone(reader, x_BSD[row, :length]) if length else []
        for name in ("states_BSD", "values_BSD"):
            wanted = torch.cat([getattr(part, name)[0] for part in parts]) if parts else x_BSD[row, :0]
            close(getattr(read, name)[row, :length], wanted)
            assert not getattr(read, name)[row, length:].any()
        summaries = torch.cat([part.summary_BD for part in parts]) if parts else torch.zeros(1, D)
        close(read.summary_BD[row], summaries.mean(0) if pooling == "mean" else summaries.amax(0))


@pytest.mark.parametrize("over", ["recurrent", "transformer"])
@pytest.mark.parametrize("family", READERS)
@torch.no_grad()
def test_the_document_is_read_from_the_segments_summaries(family: str, over: str) -> None:
    torch.manual_seed(0)
    reader, document = READERS[family]().eval(), READERS[over]().eval()
    x_BSD, mask_BS = texts()
    read = HierarchicalEncoder(SEGMENT, reader, document).eval()(x_BSD, mask_BS)
    for row, length in enumerate(LENGTHS):
        if not length:
            assert not read.summary_BD[row].any() and not read.states_BSD[row].any()
            continue
        parts = alone(reader, x_BSD[row, :length])
        summaries = torch.stack([part.summary_BD[0] for part in parts])[None]
        whole = document(summaries, torch.ones(1, len(parts), dtype=torch.bool))
        close(read.summary_BD[row], whole.summary_BD[0])
        for name in ("states_BSD", "values_BSD"):
            wanted = [getattr(part, name)[0] + own for part, own in zip(parts, whole.states_BSD[0], strict=True)]
            close(getattr(read, name)[row, :length], torch.cat(wanted))


@torch.no_grad()
def test_a_text_of_one_segment_is_what_its_reader_reads() -> None:
    reader = READERS["transformer"]().eval()
    x_BSD, mask_BS = texts()
    for ours, wanted in zip(SegmentedEncoder(64, "max", reader)(x_BSD, mask_BS), reader(x_BSD, mask_BS), strict=True):
        close(ours.float(), wanted.float())


@pytest.mark.parametrize("model", ["segmented", "hierarchical"])
def test_the_reader_is_chosen_by_name_and_can_be_ones_own(model: str) -> None:
    config = OmegaConf.create({"model": OmegaConf.load(FOLDER / f"{model}.yaml")})
    assert isinstance(instantiate(config.model.encoder).segment_encoder, TransformerEncoder)
    config.model.segment_reader = "lstm"
    assert isinstance(instantiate(config.model.encoder).segment_encoder, RecurrentEncoder)
    own = {"_target_": "seqarena.models.textcnn.TextCNNEncoder", "dim": 128, "layers": 1, "widths": [3, 5]}
    config.model.readers.mine = {**own, "dropout": 0.0, "residual": False, "norm": False}
    config.model.segment_reader = "mine"
    assert isinstance(instantiate(config.model.encoder).segment_encoder, TextCNNEncoder)


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ValueError, match=r"model\.pooling=sum .*mean, max"):
        SegmentedEncoder(SEGMENT, "sum", READERS["textcnn"]())
    with pytest.raises(ValueError, match="width 12 and documents at 24"):
        HierarchicalEncoder(SEGMENT, READERS["textcnn"](), RecurrentEncoder("rnn", 24, 1, True, 0.0, False, False))
