r"""How a text falls into pieces before a model sees it, and how pieces make the text again.

    "Ein Mann (laut)  lacht."  ->  " Ein" " Mann" " " "(" "laut" ")" " " " lacht" "."

A space goes to the word behind it, and the text gets one in front, so a word is the same piece wherever it stands;
punctuation and all other white space stand alone. Decoding joins the pieces and takes one leading space away. Nothing
is replaced by a mark and nothing dropped, so every text comes back as it was. No space is put before punctuation, nor
before a script that is written without spaces: those pieces never carry one.
"""

from tokenizers import Regex
from tokenizers.decoders import ByteLevel as FromBytes
from tokenizers.decoders import Decoder, Fuse, Replace, Strip
from tokenizers.decoders import Sequence as Decoders
from tokenizers.normalizers import NFC, NFKC, Lowercase, Normalizer, Prepend
from tokenizers.normalizers import Replace as Replaced
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import ByteLevel as ToBytes
from tokenizers.pre_tokenizers import PreTokenizer, Split
from tokenizers.pre_tokenizers import Sequence as PreTokenizers

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
"""The tokens that every vocabulary begins with: their ids are PAD, UNKNOWN, BEGIN and END of `marks`."""

LONGEST = 100
"""The most characters of a word; a longer one is cut, since WordPiece takes quadratic time and Unigram much memory."""

PUNCTUATION = r"\p{P}$+<=>^`|~"  # with the symbols of ASCII, as the library's own Punctuation has it
SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
ALONE = rf"[\s{PUNCTUATION}]"


def split(pattern: str) -> PreTokenizer:
    """Each match of a pattern (Oniguruma's syntax) is a piece, and so is what lies between two."""
    return Split(Regex(pattern), "isolated")


WORDS = split(rf" ?[^\s{PUNCTUATION}{SPACELESS}]{{1,{LONGEST}}}|[{SPACELESS}]\p{{M}}*|{ALONE}")
"""Words; in Chinese, Japanese, Thai and the like, where no space ends a word, single characters with their marks."""

RUNS = split(rf" ?[^\s{PUNCTUATION}]{{1,{LONGEST}}}|{ALONE}")
"""Words; in a script without spaces everything between two punctuation marks, for a model that finds parts itself."""

CHARACTERS = split(r"[\s\S]")
"""Code points, spaces among them."""

BYTES = ToBytes(add_prefix_space=False, use_regex=False)
"""The text whole, its UTF-8 bytes written as the 256 letters of GPT-2."""

BYTE_RUNS = PreTokenizers([RUNS, BYTES])

_FIRST_SPACE = Strip(" ", 1, 0)
JOINED: Decoder = Decoders([Fuse(), _FIRST_SPACE])
JOINED_WORDS: Decoder = Decoders([Replace(SPECIAL[1], f" {SPECIAL[1]}"), Fuse(), _FIRST_SPACE])
"""An unknown piece is mostly a word and hides its space; no other piece holds `<` and a letter."""
JOINED_CHARACTERS: Decoder = Fuse()
JOINED_BYTES: Decoder = FromBytes()
JOINED_BYTE_RUNS: Decoder = Decoders([FromBytes(), _FIRST_SPACE])

FORMS: dict[str, list[Normalizer]] = {"none": [], "nfc": [NFC()], "nfkc": [NFKC()]}
"""Unicode's normal forms by the name of the option."""


def normal(lowercase: bool, normalization: str) -> list[Normalizer]:
    """What changes a text for good, in its order."""
    return [*FORMS[normalization], *([Lowercase()] if lowercase else [])]


def spaced() -> list[Normalizer]:
    """A space in front, unless the text begins with what never carries one."""
    return [Prepend(" "), Replaced(Regex(rf"\A (?=[{PUNCTUATION}{SPACELESS}])"), "")]


def in_order(steps: list[Normalizer]) -> Normalizer | None:
    """All of them as one."""
    return Normalizers(steps) if steps else None


def without(kept: str) -> PreTokenizer:
    """Leaves out every character that is not one of `kept`."""
    return Split(Regex("[^" + "".join(f"\\x{{{ord(one):x}}}" for one in kept) + "]"), "removed")
