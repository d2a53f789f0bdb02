"""A vocabulary or a checkpoint with any bytes in it is read, or refused by an InputError."""

import io
import json
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tampering import BYTES, damaged, encoded, fuzz, tampered

from seqarena.data.tokenizer import Tokenizer, TokenizerOptions, train
from seqarena.data.vocabulary import Vocabulary, hashes_of
from seqarena.errors import InputError
from seqarena.weights import weights_of


def vocabulary(folder: Path) -> Path:
    tokenizer = train(TokenizerOptions("word", 30, 1), ["the key to the cabinets is here"])
    Vocabulary(tokenizer, None, ["no", "yes"], 8, {"length": [0, 4]}).save(folder)
    return folder


@fuzz(40)
@given(data=st.data(), name=st.sampled_from(["source.json", "vocabulary.json"]))
def test_a_vocabulary_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    folder = vocabulary(tmp_path_factory.getbasetemp() / "vocabulary")
    told = (folder / name).read_bytes()
    (folder / name).write_bytes(data.draw(tampered(json.loads(told)).map(encoded) | damaged(told) | BYTES))
    with suppress(InputError):
        found = Vocabulary.load(folder)
        hashes_of(folder)
        assert isinstance(found.source, Tokenizer) and found.source.encode(["the key", ""])


def checkpoint() -> bytes:
    file = io.BytesIO()
    torch.save({"state_dict": torch.nn.Linear(3, 2).state_dict(), "epoch": 1}, file)
    return file.getvalue()


@fuzz(40)
@given(content=damaged(checkpoint()) | BYTES)
def test_a_checkpoint_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.ckpt"
    path.write_bytes(content)
    task = torch.nn.Linear(3, 2)
    with suppress(InputError):
        task.load_state_dict(weights_of(path, task))
