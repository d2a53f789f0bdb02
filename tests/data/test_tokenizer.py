import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqarena.data.batch import BEGIN, END, PAD, UNKNOWN
from seqarena.data.tokenizer import SPECIAL, Tokenizer, TokenizerOptions, train
from seqarena.errors import InputError

TEXTS = ["Ein Mann, der (laut) lacht.", "a man's dog — 3 x 4 = 12!", "grün-weiß  gestreift", "我爱编程 。"]


def options(kind: str = "bpe", **changes: object) -> TokenizerOptions:
    return TokenizerOptions(
        **{"kind": kind, "vocabulary": 300, "min_count": 1, "lowercase": False, "joint": True, **changes}
    )


@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_known_text_comes_back_as_it_was_written(kind: str) -> None:
    tokenizer = train(options(kind), TEXTS)
    assert [tokenizer.decode(ids) for ids in tokenizer.encode(TEXTS)] == TEXTS


@given(st.text(alphabet="abc .,-'?ä我", min_size=1).filter(lambda text: not text.startswith(" ")))
def test_bpe_gives_any_text_of_its_characters_back(text: str) -> None:
    tokenizer = train(options(), ["abc .,-'?ä我 a b c ä 我", *TEXTS])
    assert tokenizer.decode(tokenizer.encode([text])[0]) == text


def test_special_tokens_come_first_and_their_spelling_in_a_text_means_nothing() -> None:
    tokenizer = train(options("word"), [*TEXTS, "<s> </s> <pad>"])
    assert [SPECIAL[i] for i in (PAD, UNKNOWN, BEGIN, END)] == ["<pad>", "<unk>", "<s>", "</s>"]
    assert not {PAD, BEGIN, END} & set(tokenizer.encode(["<s> x </s><pad>"])[0])
    assert tokenizer.decode([BEGIN, *tokenizer.encode(["3 x 4"])[0], END, PAD, PAD]) == "3 x 4"


def test_loading_gives_the_same_tokenizer(tmp_path) -> None:
    tokenizer = train(options(), TEXTS)
    (tmp_path / "t.json").write_text(tokenizer.json(), encoding="utf-8")
    again = Tokenizer.load(tmp_path / "t.json")
    assert again.encode([*TEXTS, "<s>"]) == tokenizer.encode([*TEXTS, "<s>"]) and len(again) == len(tokenizer)


def test_options_that_cannot_be_used_are_named() -> None:
    with pytest.raises(InputError, match=r"tokenizer\.kind=wrod.*word, bpe"):
        train(options("wrod"), TEXTS)
    with pytest.raises(InputError, match=r"vocabulary=4"):
        train(options(vocabulary=4), TEXTS)
    with pytest.raises(InputError, match="missing"):
        Tokenizer.load(__import__("pathlib").Path("nowhere.json"))
