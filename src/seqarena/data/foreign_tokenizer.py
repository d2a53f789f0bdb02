"""A tokenizer.json that something else wrote, made to fit: its special tokens become ours, with our ids.

Its tokens keep their order behind the four special ones. What it does with a text stays its own; only marks that it
would put around a text, cutting and padding are left out, since batches do that.
"""

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Library

from seqarena.data.pieces import SPECIAL
from seqarena.errors import InputError

NAMES = {
    "<pad>": ("<pad>", "[PAD]", "<|pad|>"),
    "<unk>": ("<unk>", "[UNK]", "<|unk|>"),
    "<s>": ("<s>", "[CLS]", "[BOS]", "<bos>", "<|startoftext|>"),
    "</s>": ("</s>", "[SEP]", "[EOS]", "<eos>", "<|endoftext|>"),
}
"""What others call our special tokens, likeliest first. One that the file lacks is added: it is trained like all."""


def adopted(path: Path, limit: int) -> str:
    """The content of a tokenizer.json, as `Tokenizer.load` takes it.

    InputError: the file is missing, no tokenizer, or has more than `limit` tokens.
    """
    if not path.is_file():
        raise InputError(f"data.tokenizer.file={path}: {'a folder, not a file' if path.is_dir() else 'no such file'}")
    try:
        text = path.read_text(encoding="utf-8")
        Library.from_str(text)
        library = Library.from_str(json.dumps(_renumbered(json.loads(text))))
    except Exception as error:  # the library knows no narrower class
        raise InputError(
            f"data.tokenizer.file={path} is not a tokenizer of the `tokenizers` library (a JSON file with its model): "
            f"{error}"
        ) from error
    size = library.get_vocab_size()
    if size > limit:
        raise InputError(
            f"data.tokenizer.file={path} has {size} tokens: write data.tokenizer.vocabulary={size} or more"
        )
    return library.to_str()


def _renumbered(content: dict[str, Any]) -> dict[str, Any]:
    model, added = content["model"], content["added_tokens"]
    scores = dict(model["vocab"]) if isinstance(model["vocab"], list) else None
    own = list(scores) if scores is not None else sorted(model["vocab"], key=model["vocab"].get)
    roles = _roles({*own, *(token["content"] for token in added)}, _unknown(model, own))
    order = [*SPECIAL, *(token for token in own if token not in roles)]
    if scores is None:
        model["vocab"] = {token: number for number, token in enumerate(order)}
        model["unk_token"] = SPECIAL[1]
    else:
        model["vocab"] = [[token, scores.get(token, 0.0)] for token in order]
        model["unk_id"] = 1
    if model.get("dropout"):
        model["dropout"] = None  # of merges: a text is always encoded the same here
    content["added_tokens"] = _added(added, roles, order)
    return content | {"post_processor": None, "truncation": None, "padding": None}


def _unknown(model: dict[str, Any], own: list[str]) -> str | None:
    """What the model calls the unknown token: Unigram tells its number, the others its name."""
    number = model.get("unk_id")
    return model.get("unk_token") if number is None else own[number]


def _roles(known: set[str], unknown: str | None) -> set[str]:
    """The file's names of our special tokens, the one that its model calls `unknown` among them."""
    names = NAMES | {SPECIAL[1]: (unknown, *NAMES[SPECIAL[1]])}
    return {next((name for name in names[ours] if name in known), ours) for ours in SPECIAL}


def _added(added: list[dict[str, Any]], roles: set[str], order: list[str]) -> list[dict[str, Any]]:
    """Our special tokens, and the other added ones of the file, those unknown to its model behind all."""
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    others = [token for token in added if token["content"] not in roles]
    places = {token: number for number, token in enumerate(order)}
    for token in others:
        places.setdefault(token["content"], len(places))
    found = [{"content": name, **plain} for name in SPECIAL] + others
    return sorted(({**token, "id": places[token["content"]]} for token in found), key=lambda token: token["id"])
