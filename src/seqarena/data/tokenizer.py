"""Tokenizers, trained on the training split only by the `tokenizers` library, or an existing tokenizer.json.

| kind | tokens | scripts without spaces | unknown |
|---|---|---|---|
| word | words, punctuation | single characters | a word, a character |
| bpe | merged pairs (Sennrich et al. 2016) | learnt parts | a character |
| unigram | likeliest parts (Kudo 2018) | learnt parts | characters |
| wordpiece | longest known parts (Wu et al. 2016), marked by their space instead of ## | single characters | a word |
| char | code points | as they are | a character |
| byte_bpe | merged bytes (Radford et al. 2019) | learnt parts | nothing |
| byte | UTF-8 bytes (Xue et al. 2022) | as they are | nothing |

Decoding gives the text back exactly, as lower-casing and normalization leave it, whenever no token is unknown; how
pieces are made for that is told in `pieces`. Two cases are not the text again: an unknown token shows as <unk>, and a
file's own decoder decides for kind=file. Where more characters occur than fit into the vocabulary, the most frequent
ones are its tokens and the others are unknown.

All kinds but unigram come out the same whenever they are trained; the library's unigram does not. So the JSON that
`Tokenizer.json` writes is the truth: it lies in the cache entry beside what it encoded, and in the run's folder.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer as Library
from tokenizers import models, trainers
from tokenizers.decoders import Decoder
from tokenizers.pre_tokenizers import ByteLevel, PreTokenizer
from tokenizers.pre_tokenizers import Sequence as PreTokenizers

from seqarena.data import pieces
from seqarena.data.foreign_tokenizer import adopted
from seqarena.data.marks import BEGIN, END, PAD, UNKNOWN
from seqarena.data.pieces import SPECIAL
from seqarena.errors import InputError

UNK = SPECIAL[UNKNOWN]
ALPHABET = sorted(ByteLevel.alphabet())
RESERVED = frozenset((PAD, BEGIN, END))


class Kind(NamedTuple):
    """How a kind is built. `min_count` is the usual one; None where nothing is counted."""

    model: Callable[[], models.Model]
    trainer: Callable[..., trainers.Trainer] | None
    split: PreTokenizer
    decoder: Decoder
    min_count: int | None = None
    spaced: bool = True
    smallest: int = len(SPECIAL) + 1


_words = partial(models.WordLevel, unk_token=UNK)
_pairs = partial(models.BPE, unk_token=UNK)
_parts = partial(models.WordPiece, unk_token=UNK, max_input_chars_per_word=pieces.LONGEST + 1)
_bytes = partial(models.BPE, vocab={token: i for i, token in enumerate([*SPECIAL, *ALPHABET])}, merges=[])
_all_bytes = len(SPECIAL) + len(ALPHABET)

KINDS = {
    "word": Kind(_words, trainers.WordLevelTrainer, pieces.WORDS, pieces.JOINED_WORDS, 1),
    "bpe": Kind(_pairs, trainers.BpeTrainer, pieces.RUNS, pieces.JOINED, 2),
    "unigram": Kind(
        models.Unigram, partial(trainers.UnigramTrainer, unk_token=UNK), pieces.RUNS, pieces.JOINED,
        smallest=len(SPECIAL) + 2,  # with characters alone in it, the library would overfill the vocabulary
    ),
    "wordpiece": Kind(
        _parts, partial(trainers.WordPieceTrainer, continuing_subword_prefix=""), pieces.WORDS, pieces.JOINED_WORDS, 2
    ),
    "char": Kind(_words, trainers.WordLevelTrainer, pieces.CHARACTERS, pieces.JOINED_CHARACTERS, 1, spaced=False),
    "byte_bpe": Kind(
        _pairs, partial(trainers.BpeTrainer, initial_alphabet=ALPHABET), pieces.BYTE_RUNS, pieces.JOINED_BYTE_RUNS, 2,
        smallest=_all_bytes,
    ),
    "byte": Kind(_bytes, None, pieces.BYTES, pieces.JOINED_BYTES, spaced=False, smallest=_all_bytes),
}  # fmt: skip


@dataclass(frozen=True)
class TokenizerOptions:
    """What a tokenizer is made with.

    `vocabulary` is the largest number of tokens, special ones included. `min_count` is the fewest times that a word, a
    character or a merged pair occurs; None is what is usual for the kind (1, 1, 2). `normalization` is none, nfc or
    nfkc, and comes before lower-casing. `file` is the tokenizer.json of kind=file: it is read here, so that its
    content is part of the key of what is prepared with it.
    InputError: an option that the kind cannot take, a file that is no tokenizer.
    """

    kind: str
    vocabulary: int
    min_count: int | None = None
    lowercase: bool = False
    joint: bool = True
    normalization: str = "none"
    file: str | None = None
    content: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        _check_choice("kind", self.kind, (*KINDS, "file"))
        _check_choice("normalization", self.normalization, tuple(pieces.FORMS))
        self._check_file()
        kind = KINDS.get(self.kind)
        if self.min_count is not None and (kind is None or kind.min_count is None):
            raise InputError(
                f"data.tokenizer.min_count={self.min_count}: kind={self.kind} counts nothing; write min_count=null"
            )
        if kind and self.vocabulary < kind.smallest:
            raise InputError(f"data.tokenizer.vocabulary={self.vocabulary}: kind={self.kind} needs {kind.smallest}")
        if self.file:
            object.__setattr__(self, "content", adopted(Path(self.file), self.vocabulary))

    def _check_file(self) -> None:
        if (self.kind == "file") != (self.file is not None):
            raise InputError("data.tokenizer.kind=file and data.tokenizer.file=PATH go together: write both")
        if self.kind == "file" and not self.joint:
            raise InputError("data.tokenizer.file is one vocabulary for both sides: write data.tokenizer.joint=true")


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InputError(f"data.tokenizer.{name}={value} is not known: choose one of {', '.join(choices)}")


class Tokenizer:
    """Texts to token ids and back."""

    def __init__(self, library: Library) -> None:
        self._library = library
        library.encode_special_tokens = True  # a text that holds "<s>" means those three characters

    def __len__(self) -> int:
        return self._library.get_vocab_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, without begin and end marks."""
        return [_free(found.ids) for found in self._library.encode_batch_fast(texts, add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, without padding, begin and end marks; unknown tokens show as <unk>."""
        return self._library.decode([i for i in ids if i not in RESERVED], skip_special_tokens=False)

    def json(self) -> str:
        """Everything needed to build it again."""
        return self._library.to_str()

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read what `json` wrote. InputError: the file is missing, damaged or of another origin."""
        if not path.is_file():
            raise InputError(f"{path} is missing: the tokenizer of this run should lie there")
        try:
            library = Library.from_file(str(path))
        except Exception as error:  # the library knows no narrower class
            raise InputError(f"{path} is not a tokenizer, or a damaged one: {error}; copy it again") from error
        if [library.id_to_token(i) for i in range(len(SPECIAL))] != SPECIAL:
            raise InputError(f"{path} is a tokenizer of another origin: its tokens 0 to 3 are not {' '.join(SPECIAL)}")
        return cls(library)


def _free(ids: list[int]) -> list[int]:
    """A file's tokenizer may find special tokens in a text; there they are unknown."""
    return ids if RESERVED.isdisjoint(ids) else [UNKNOWN if i in RESERVED else i for i in ids]


def train(options: TokenizerOptions, texts: Iterable[str]) -> Tokenizer:
    """A tokenizer of `options.kind` fitted to `texts`, which may be gone through twice: a list, not an iterator."""
    if options.content is not None:
        return Tokenizer(_from_file(options.content, options))
    kind = KINDS[options.kind]
    library = _untrained(kind, options)
    if kind.trainer is None:
        library.add_special_tokens(SPECIAL)
    elif not _fits(library, _trainer(kind, options), texts, options.vocabulary):
        kept = frequent(texts, library, options.vocabulary - kind.smallest + 1)
        library.pre_tokenizer = PreTokenizers([kind.split, pieces.without(kept)])
        library.train_from_iterator(texts, _trainer(kind, options))
        library.pre_tokenizer = kind.split
    return Tokenizer(library)


def _from_file(content: str, options: TokenizerOptions) -> Library:
    """The file's tokenizer, behind what the options do to a text."""
    library = Library.from_str(content)
    own = [library.normalizer] if library.normalizer else []
    library.normalizer = pieces.in_order([*pieces.normal(options.lowercase, options.normalization), *own])
    return library


def _untrained(kind: Kind, options: TokenizerOptions) -> Library:
    library = Library(kind.model())
    spaced = pieces.spaced() if kind.spaced else []
    library.normalizer = pieces.in_order([*pieces.normal(options.lowercase, options.normalization), *spaced])
    library.pre_tokenizer, library.decoder = kind.split, kind.decoder
    return library


def _trainer(kind: Kind, options: TokenizerOptions) -> trainers.Trainer:
    assert kind.trainer is not None
    make = partial(kind.trainer, vocab_size=options.vocabulary, special_tokens=SPECIAL, show_progress=False)
    return make() if kind.min_count is None else make(min_frequency=options.min_count or kind.min_count)


def _fits(library: Library, trainer: trainers.Trainer, texts: Iterable[str], size: int) -> bool:
    """Train; False if more characters occur than there is room for: Unigram refuses them, BPE takes them all."""
    try:
        library.train_from_iterator(texts, trainer)
    except Exception as error:  # the library knows no narrower class
        if "not large enough to contain all chars" in str(error):
            return False
        raise
    return library.get_vocab_size() <= size


def frequent(texts: Iterable[str], library: Library, room: int) -> str:
    """The `room` most frequent characters of the normalized texts; of those as frequent, the first by code."""
    counts = Counter[str]()
    for text in texts:
        counts.update(library.normalizer.normalize_str(text) if library.normalizer else text)
    return "".join(sorted(counts, key=lambda one: (-counts[one], one))[:room])
