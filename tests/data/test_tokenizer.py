"""Tokenizers of every kind: what comes back, what is unknown, what is refused, files of others and of the past."""

import os
import signal
import unicodedata
from pathlib import Path

import pytest
from conftest import ROOT
from hydra import compose, initialize_config_dir
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, pre_tokenizers, trainers

from seqarena.data.batch import BEGIN, END, PAD, UNKNOWN
from seqarena.data.tokenizer import KINDS, SPECIAL, Tokenizer, TokenizerOptions, train
from seqarena.data.vocabulary import Vocabulary
from seqarena.errors import InputError
from seqarena.runs import build_task

TEXTS = ["Ein Mann, der (laut) lacht.", "a man's dog — 3 x 4 = 12!", "grün-weiß  gestreift", "我爱编程 。"]
HARD = [
    *(" leading", "trailing ", "two  and   three", "  ", "tab\tand\nline\r\nend", "\n", "\u00a0no\u3000break\u2028"),
    *("▁", " ▁▁ a▁b", "<s>", "<unk> </s><pad>[UNK]", "## #a ##b a##", "Ġ ĠĊ", "$1+1=2 <a|b> `c^d~"),
    *("👍🏽 👨‍👩‍👧‍👦 🇩🇪", "e\u0301 é n\u0303", "שָׁלוֹם עולם", "\u200f\u202bمرحبا\u202c", "a\u200db\u200cc\u200b"),
    *(
        "我爱编程",
        "我 爱 编程, ok。",
        "彼はサービスを3回使った。「はい」",
        "สวัสดีครับ ภาษาไทย",
        "ភាសាខ្មែរ",
        "x" * 250,
        "ﬁ İ ẞ",
    ),
]
OPEN = ["unigram", "bpe", "wordpiece", "char", "byte_bpe", "byte"]
"""Kinds that write any text whose characters they know; words must be known whole."""


def options(kind: str = "bpe", **changes: object) -> TokenizerOptions:
    return TokenizerOptions(**{"kind": kind, "vocabulary": 500, **changes})


def back(tokenizer: Tokenizer, text: str) -> str:
    return tokenizer.decode(tokenizer.encode([text])[0])


@pytest.mark.parametrize("kind", KINDS)
def test_hard_texts_come_back_as_they_were_written(kind: str) -> None:
    texts = [*TEXTS, *HARD]
    tokenizer = train(options(kind), texts)
    assert [tokenizer.decode(ids) for ids in tokenizer.encode(texts)] == texts
    assert not {PAD, UNKNOWN, BEGIN, END} & {one for ids in tokenizer.encode(texts) for one in ids}
    assert back(tokenizer, "") == "" and len(tokenizer) <= 500


LETTERS = sorted({letter for text in HARD for letter in text})
TRAINED = {kind: train(options(kind, vocabulary=900), [*HARD, " ".join(LETTERS)]) for kind in OPEN}


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.sampled_from(LETTERS), max_size=30))
def test_any_text_of_known_characters_comes_back(text: str) -> None:
    for kind, tokenizer in TRAINED.items():
        assert back(tokenizer, text) == text, kind


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_words_come_back_once_seen_and_bytes_are_never_unknown(text: str) -> None:
    assert back(train(options("word"), [text]), text) == text
    for kind in ("byte", "byte_bpe"):
        ids = TRAINED[kind].encode([text])[0]
        assert TRAINED[kind].decode(ids) == text and UNKNOWN not in ids


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.sampled_from("aÄÉß e\u0301\u0308ﬁ①Ａが　"), min_size=1, max_size=12))
def test_normalization_and_lower_casing_are_all_that_changes(text: str) -> None:
    for kind, form in (("char", "nfc"), ("bpe", "nfkc"), ("byte", "nfkc")):
        tokenizer = train(options(kind, normalization=form, lowercase=True), [text])
        assert back(tokenizer, text) == unicodedata.normalize(form.upper(), text).lower()
    assert back(train(options("char"), [text]), text) == text


@pytest.mark.parametrize(
    "kind,text,count",
    [
        ("word", "我爱编程", 4),  # nothing ends a word in these scripts, so each character is one
        ("word", "สวัสดี", 4),  # marks stay with their letters
        ("word", "我爱 Python 3。", 5),
        ("wordpiece", "我爱编程", 4),
        ("bpe", "我爱编程", 1),
        ("char", "我爱 ab", 5),
        ("byte", "我a", 4),
    ],
)
def test_how_many_tokens_a_text_is(kind: str, text: str, count: int) -> None:
    tokenizer = train(options(kind, min_count=None if kind == "byte" else 1), [text] * 3)
    assert len(tokenizer.encode([text])[0]) == count and back(tokenizer, text) == text


def test_a_word_is_the_same_token_wherever_it_stands() -> None:
    first, middle = train(options("word"), TEXTS).encode(["Mann lacht", "Ein Mann"])
    assert first[0] == middle[1]


def test_what_is_unknown_shows() -> None:
    assert back(train(options("word"), TEXTS), "Ein Hund lacht.") == "Ein <unk> lacht."
    assert back(train(options("wordpiece"), TEXTS), "Ein Hund lacht.") == "Ein <unk> lacht."
    assert back(train(options("char"), TEXTS), "Ein Hut") == "Ein <unk>ut"
    assert back(train(options("bpe"), TEXTS), "Ein Hut") == "Ein <unk>ut"
    assert back(train(options("unigram"), TEXTS), "Ein Hut") == "Ein <unk>ut"


def test_min_count_leaves_rare_words_and_characters_out() -> None:
    texts = ["a a b", "a c"]
    assert len(train(options("word", min_count=2), texts)) == 4 + 1
    assert len(train(options("char", min_count=2), texts)) == 4 + 2
    assert len(train(options("bpe", min_count=3), texts)) < len(train(options("bpe", min_count=1), texts))


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram", "wordpiece", "char"])
def test_of_more_characters_than_tokens_the_most_frequent_are_kept(kind: str) -> None:
    texts = ["".join(map(chr, range(0x4E00, 0x4E64))), "我爱编程" * 3, "]^-&\\"]
    tokenizer = train(options(kind, vocabulary=8 + (kind == "unigram")), texts)
    assert 8 <= len(tokenizer) <= 9 and back(tokenizer, "我爱编程") == "我爱编程"
    known = {tokenizer.decode([token]) for token in range(4, len(tokenizer))}
    assert {one for one in known if len(one) == 1} == set("我爱编程")
    assert "<unk>" in back(tokenizer, chr(0x4E05))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "unigram"])
def test_training_gives_the_same_tokenizer_each_time(kind: str) -> None:
    assert len({train(options(kind), [*TEXTS, *HARD]).json() for _ in range(3)}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_come_first_and_loading_gives_the_same(kind: str, tmp_path: Path) -> None:
    tokenizer = train(options(kind), TEXTS)
    (tmp_path / "t.json").write_text(tokenizer.json(), encoding="utf-8")
    again = Tokenizer.load(tmp_path / "t.json")
    assert again.encode([*HARD, *TEXTS]) == tokenizer.encode([*HARD, *TEXTS]) and len(again) == len(tokenizer)
    vocabulary = Library.from_file(str(tmp_path / "t.json")).get_vocab()
    assert [vocabulary[name] for name in SPECIAL] == [PAD, UNKNOWN, BEGIN, END]
    assert sorted(vocabulary.values()) == list(range(len(again)))
    assert again.decode([BEGIN, *again.encode([TEXTS[0]])[0], END, PAD]) == TEXTS[0]


@pytest.mark.parametrize(
    "kind,ids,told",
    [
        ("word", [20, 28, 4, 1, 14, 1, 1], "a mann <unk>s<unk><unk>"),
        ("bpe", [39, 18, 39, 52, 28, 39, 1, 31, 1, 39, 1], "a Mann <unk>s<unk> <unk>"),
    ],
)
def test_a_tokenizer_of_the_first_version_still_reads_and_writes_the_same(kind: str, ids: list[int], told: str) -> None:
    tokenizer = Tokenizer.load(Path(__file__).parent / "tokenizers" / f"{kind}.json")
    assert tokenizer.encode(["a Mann <s> q"]) == [ids] and tokenizer.decode(ids) == told
    for text in TEXTS:
        assert back(tokenizer, text) == (text.lower() if kind == "word" else text)


def foreign(kind: str) -> Library:
    """A tokenizer as others write it: other names and numbers of special tokens, marks around every text."""
    if kind == "wordpiece":
        library = Library(models.WordPiece(unk_token="[UNK]"))
        library.pre_tokenizer, library.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(
            special_tokens=["[MASK]", "[UNK]", "[SEP]", "[PAD]", "[CLS]"], vocab_size=90
        )
    elif kind == "unigram":
        library = Library(models.Unigram())
        library.pre_tokenizer, library.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        trainer = trainers.UnigramTrainer(special_tokens=["</s>", "<pad>", "<unk>"], unk_token="<unk>", vocab_size=90)
    elif kind == "word":
        library = Library(models.WordLevel(unk_token="<oov>"))
        library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        trainer = trainers.WordLevelTrainer(special_tokens=["<oov>"])
    else:
        library = Library(models.BPE())
        library.pre_tokenizer, library.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        )
    library.train_from_iterator(TEXTS, trainer)
    library.add_tokens(["<extra>"])
    library.enable_padding()
    library.enable_truncation(3)
    return library


@pytest.mark.parametrize("kind", ["wordpiece", "unigram", "word", "byte_bpe"])
def test_a_file_of_others_keeps_its_tokens_and_gets_our_ids(kind: str, tmp_path: Path) -> None:
    library = foreign(kind)
    library.save(str(tmp_path / "theirs.json"))
    tokenizer = train(options("file", vocabulary=1000, file=str(tmp_path / "theirs.json")), ["nothing of this"])
    library.no_truncation()
    for text in [*TEXTS, "a <extra> man"]:
        (ids,) = tokenizer.encode([text])
        ours = Library.from_str(tokenizer.json())
        theirs = library.encode(text, add_special_tokens=False)
        tokens = [{"[UNK]": "<unk>", "<oov>": "<unk>"}.get(token, token) for token in theirs.tokens]
        assert [ours.id_to_token(one) for one in ids] == tokens and not {PAD, BEGIN, END} & set(ids)
        if "<unk>" not in tokens:
            assert tokenizer.decode(ids) == library.decode(theirs.ids)
    assert not {PAD, BEGIN, END} & set(tokenizer.encode(["</s> a </s>"])[0])
    (tmp_path / "ours.json").write_text(tokenizer.json(), encoding="utf-8")
    assert Tokenizer.load(tmp_path / "ours.json").encode(TEXTS) == tokenizer.encode(TEXTS)
    assert sorted(ours.get_vocab().values()) == list(range(len(tokenizer)))


def test_a_file_is_normalized_as_the_options_say_and_its_content_tells_it_apart(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(train(options(), [text.lower() for text in TEXTS]).json(), encoding="utf-8")
    first = options("file", file=str(path), lowercase=True)
    assert back(train(first, []), TEXTS[0]) == TEXTS[0].lower()
    path.write_text(train(options(), TEXTS).json(), encoding="utf-8")
    assert options("file", file=str(path), lowercase=True) != first


@pytest.mark.parametrize("content", ["", "{}", '{"model": {}}', "\x00\x01", "[1]", '{"version": "1.0", "model"'])
def test_a_file_that_is_no_tokenizer_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"t\.json is not a tokenizer"):
        Tokenizer.load(path)
    with pytest.raises(InputError, match=r"data\.tokenizer\.file=.*t\.json is not a tokenizer"):
        options("file", file=str(path))


def test_a_tokenizer_of_others_in_a_run_is_named(tmp_path: Path) -> None:
    foreign("wordpiece").save(str(tmp_path / "source.json"))
    with pytest.raises(InputError, match=r"source\.json is a tokenizer of another origin"):
        Tokenizer.load(tmp_path / "source.json")
    with pytest.raises(InputError, match=r"nowhere\.json is missing"):
        Tokenizer.load(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"labels": 3, "max_length": null}', '{"labels": [], "max_length": "p95"}']
)
def test_a_broken_vocabulary_is_named(content: str, tmp_path: Path) -> None:
    Vocabulary(train(options(), TEXTS), None, ["a", "b"]).save(tmp_path)
    (tmp_path / "vocabulary.json").write_text('{"labels": ["a"], "max_length": null}')  # as the first version wrote it
    assert Vocabulary.load(tmp_path).labels == ["a"]
    (tmp_path / "vocabulary.json").write_text(content)
    with pytest.raises(InputError, match=r"vocabulary\.json is .*damaged"):
        Vocabulary.load(tmp_path)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kinds", [("word", "char"), ("byte", "unigram")])
def test_separate_vocabularies_have_embeddings_of_their_own(kinds: tuple[str, str], tied: bool) -> None:
    source, target = (train(options(kind), TEXTS) for kind in kinds)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        changes = ["data=numbers", "data.tokenizer.joint=false", f"task.tied={str(tied).lower()}", "model.dim=24"]
        task = build_task(compose("train", changes), Vocabulary(source, target, []))
    sizes = sorted(weight.shape[0] for name, weight in task.named_parameters() if weight.shape[1:] == (24,))
    assert len(source) in sizes and sizes.count(len(target)) == (1 if tied else 2)


@pytest.mark.parametrize(
    "changes,told",
    [
        ({"kind": "wrod"}, r"kind=wrod .*word, bpe.*file"),
        ({"normalization": "nfd"}, r"normalization=nfd .*none, nfc, nfkc"),
        ({"vocabulary": 4}, r"vocabulary=4: kind=bpe needs 5"),
        ({"kind": "byte", "vocabulary": 100}, r"vocabulary=100: kind=byte needs 260"),
        ({"kind": "byte", "min_count": 2}, r"min_count=2: kind=byte counts nothing"),
        ({"kind": "unigram", "min_count": 1}, r"min_count=1: kind=unigram counts nothing"),
        ({"kind": "file"}, r"kind=file and data\.tokenizer\.file=PATH go together"),
        ({"file": "x.json"}, r"kind=file and data\.tokenizer\.file=PATH go together"),
        ({"kind": "file", "file": "x.json", "joint": False}, r"joint=true"),
        ({"kind": "file", "file": "nowhere.json"}, r"file=nowhere\.json: no such file"),
        ({"kind": "file", "file": "/"}, r"file=/: a folder"),
        ({"kind": "file", "file": str(Path(__file__).parent / "tokenizers" / "bpe.json"), "vocabulary": 9}, "has 60"),
    ],
)
def test_options_that_cannot_be_used_are_named(changes: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        options(**changes)  # type: ignore[arg-type]


def test_a_forked_process_tokenizes_and_says_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library leaves its threads in a fork by itself, unless TOKENIZERS_PARALLELISM=true: then it would hang."""
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    tokenizer = train(options(), TEXTS * 50)
    tokenizer.encode(TEXTS * 50)
    if not (child := os.fork()):
        signal.alarm(20)  # ends the child should it hang
        os._exit(0 if tokenizer.encode(TEXTS * 50) else 1)
    assert os.waitpid(child, 0)[1] == 0 and capfd.readouterr().err == ""
