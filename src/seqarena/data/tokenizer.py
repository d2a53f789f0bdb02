"""Tokenizers, trained on the training split only, by the `tokenizers` library.

Spaces become the mark U+2581 in front of the word that follows (as in SentencePiece) and punctuation stands alone, so
joining the tokens again gives the text back as it was written.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from seqarena.data.batch import BEGIN, END, PAD
from seqarena.errors import InputError

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]


@dataclass(frozen=True)
class TokenizerOptions:
    """What a tokenizer is trained with. `vocabulary` is the largest number of tokens, special ones included."""

    kind: str
    vocabulary: int
    min_count: int
    lowercase: bool
    joint: bool


class Tokenizer:
    """Texts to token ids and back."""

    def __init__(self, library: Library) -> None:
        self._library = library
        library.encode_special_tokens = True  # a text that holds "<s>" means those three characters

    def __len__(self) -> int:
        return self._library.get_vocab_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, without begin and end marks."""
        return [found.ids for found in self._library.encode_batch_fast(texts, add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, without padding, begin and end marks; unknown tokens show as <unk>."""
        return self._library.decode([i for i in ids if i not in (PAD, BEGIN, END)], skip_special_tokens=False)

    def json(self) -> str:
        """Everything needed to build it again."""
        return self._library.to_str()

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read what `json` wrote."""
        if not path.is_file():
            raise InputError(f"{path} is missing: the tokenizer of this run should lie there")
        return cls(Library.from_file(str(path)))


def train(options: TokenizerOptions, texts: Iterable[str]) -> Tokenizer:
    """A tokenizer of `options.kind` fitted to `texts`."""
    kinds = {
        "word": (models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer),
        "bpe": (models.BPE(unk_token="<unk>"), trainers.BpeTrainer),
    }
    if options.kind not in kinds:
        raise InputError(f"data.tokenizer.kind={options.kind} is not known: choose one of {', '.join(kinds)}")
    if options.vocabulary <= len(SPECIAL):
        raise InputError(f"data.tokenizer.vocabulary={options.vocabulary} leaves no room beside the special tokens")
    model, trainer = kinds[options.kind]
    library = Library(model)
    library.normalizer = normalizers.Lowercase() if options.lowercase else None
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(prepend_scheme="always"), pre_tokenizers.Punctuation("isolated")]
    )
    library.decoder = decoders.Metaspace(prepend_scheme="always")
    library.train_from_iterator(
        texts,
        trainer(
            vocab_size=options.vocabulary,
            min_frequency=options.min_count,
            special_tokens=SPECIAL,
            show_progress=False,
        ),
    )
    return Tokenizer(library)
