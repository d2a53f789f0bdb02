"""File sources: every text arrives as it was written, and bad input is named with its place and its cure."""

import csv
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hydra.utils import instantiate
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from seqarena.data.source import Source
from seqarena.data.sources.files import CsvFiles, Files, JsonLines, ParallelJsonLines, ParallelText
from seqarena.errors import InputError

Content = str | bytes
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
ODD = [
    "NA",
    "null",
    "007",
    "",
    " a ",
    'say ""it""',
    "two\nlines",
    "cr\ralone",
    "\r\n",
    "a\u2028b\x85c\x0bd\x0ce",
    "\ufeffx",
]


def write(folder: Path, files: Mapping[str, Content]) -> str:
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return str(folder)


def csv_files(path: str | None, **options: object) -> Source:
    return CsvFiles(path, **{"text": "text", "label": "label"} | options)  # type: ignore[arg-type]


def json_lines(path: str | None, **options: object) -> Source:
    return JsonLines(path, **{"text": "text", "label": "label"} | options)  # type: ignore[arg-type]


def pairs(path: str | None, **options: str) -> Source:
    return ParallelJsonLines(path, **{"source": "en", "target": "de"} | options)


def aligned(path: str | None, **options: str) -> Source:
    return ParallelText(path, **{"source": "en", "target": "de"} | options)


def rows(source: Source, split: str = "train") -> list[Mapping[str, str | int]]:
    return list(source.rows(split))


HEAD = "text,label\n"
J = '{"text": "a", "label": "x"}\n'
BAD: list[tuple[str, Callable[..., Source], dict[str, object], dict[str, Content], list[str]]] = [
    # what is wrong, the source, its options, the files, what the message says: place, value, cure
    ("csv header misses the text", csv_files, {"text": "txt"}, {"train.csv": HEAD},
     ["train.csv:1:", "'txt'", "'text', 'label'", "data.text=text?"]),
    ("csv header in another case", csv_files, {}, {"train.csv": "Text,LABEL\n"}, ["train.csv:1:", "data.text=Text?"]),
    ("csv header misses the label", csv_files, {}, {"train.csv": "text,y\n"},
     ["train.csv:1:", "'label'", "'text', 'y'", "data.label=<column>"]),
    ("csv header misses a stratum", csv_files, {"strata": ["distance"]}, {"train.csv": HEAD},
     ["train.csv:1:", "'distance'", "data.strata"]),
    ("csv without a header", csv_files, {}, {"train.csv": "so good,pos\nso bad,neg\n"},
     ["train.csv:1:", "'so good', 'pos'"]),
    ("csv name twice", csv_files, {}, {"train.csv": "text,label,text\n"}, ["train.csv:1:", "'text'", "more than once"]),
    ("csv row too short", csv_files, {}, {"train.csv": HEAD + "a,x\nb\n"}, ["train.csv:3:", "1 field ", "has 2"]),
    ("csv row too long", csv_files, {}, {"train.csv": HEAD + '"a\nb",x\n\nc, d,x\n'},
     ["train.csv:5:", "3 fields", "has 2", "double quotes"]),
    ("csv quote never closed", csv_files, {}, {"train.csv": HEAD + 'a,x\n"b,x\nc,x\n'},
     ["train.csv:3:", "unexpected end", "doubled"]),
    ("csv quote inside quotes", csv_files, {}, {"train.csv": HEAD + '"a"b",x\n'}, ["train.csv:2:", "CSV", "doubled"]),
    ("csv carriage return outside quotes", csv_files, {}, {"train.csv": HEAD + "a\rb,x\n"},
     ["train.csv:2:", "line break"]),
    ("csv stratum not a number", csv_files, {"strata": ["d"]}, {"train.csv": "text,label,d\na,x,3\nb,x,far\n"},
     ["train.csv:3:", "'d'", "'far'", "data.strata"]),
    ("csv stratum with a point", csv_files, {"strata": ["d"]}, {"train.csv": "text,label,d\na,x,3.0\n"},
     ["csv:2:", "'3.0'"]),
    ("csv stratum too large", csv_files, {"strata": ["d"]}, {"train.csv": f"text,label,d\na,x,{10**18}\n"},
     ["18 digits"]),
    ("csv latin-1", csv_files, {}, {"train.csv": HEAD.encode() + b"a,x\ncaf\xe9,x\n"},
     ["train.csv:3:", "0xe9", "offset 18", "UTF-8", "iconv"]),
    ("csv latin-1 after a byte order mark", csv_files, {}, {"train.csv": b"\xef\xbb\xbf" + HEAD.encode() + b"\xe9,x\n"},
     ["train.csv:2:", "offset 14"]),
    ("csv utf-16", csv_files, {}, {"train.csv": HEAD.encode("utf-16")}, ["train.csv:1:", "UTF-16", "UTF-8"]),
    ("csv NUL", csv_files, {}, {"train.csv": HEAD + "a,x\nb\0c,x\n"}, ["train.csv:3:", "NUL", "delete"]),
    ("csv surrogate in bytes", csv_files, {}, {"train.csv": HEAD.encode() + b"\xed\xa0\x80,x\n"},
     ["train.csv:2:", "0xed"]),
    ("one column for two uses", csv_files, {"label": "text"}, {"train.csv": HEAD}, ["data.label=text", "two uses"]),
    ("stratum with a reserved name", csv_files, {"text": "t", "strata": ["text"]}, {"train.csv": "t,label,text\n"},
     ["data.strata=['text']", "text or label"]),
    ("json broken", json_lines, {}, {"train.jsonl": J + '{"text": "a", \n'},
     ["train.jsonl:2:", "not valid JSON", "one"]),
    ("json list around all", json_lines, {}, {"train.jsonl": "[" + J.strip() + ",\n"}, ["jsonl:1:", "without a list"]),
    ("json not an object", json_lines, {}, {"train.jsonl": J + "[1]\n"}, ["train.jsonl:2:", "list", "object"]),
    ("json far too deep", json_lines, {}, {"train.jsonl": "[" * 99999 + "\n"}, ["train.jsonl:1:", "recursion"]),
    ("json key missing", json_lines, {}, {"train.jsonl": J + '\n{"text": "a", "lable": 1}\n'},
     ["train.jsonl:3:", "'label'", "'text', 'lable'", "data.label=lable?"]),
    ("json key twice", json_lines, {}, {"train.jsonl": '{"text": "a", "text": "b", "label": 1}\n'},
     ["jsonl:1:", "twice"]),
    ("json text a number", json_lines, {}, {"train.jsonl": '{"text": 7, "label": 1}\n'}, ["jsonl:1:", "'text' is 7"]),
    ("json text null", json_lines, {}, {"train.jsonl": '{"text": null, "label": 1}\n'}, ["jsonl:1:", "None", "quotes"]),
    ("json label true", json_lines, {}, {"train.jsonl": '{"text": "", "label": true}\n'},
     ["jsonl:1:", "True", "integer"]),
    ("json label with a point", json_lines, {}, {"train.jsonl": '{"text": "", "label": 1.0}\n'}, ["'label' is 1.0"]),
    ("json half an emoji", json_lines, {}, {"train.jsonl": J + '{"text": "ab\\ud83d", "label": 1}\n'},
     ["train.jsonl:2:", "\\ud83d", "character 3", "Delete"]),
    ("json NUL", json_lines, {}, {"train.jsonl": '{"text": "", "label": "\\u0000"}\n'}, ["jsonl:1:", "'label'", "NUL"]),
    ("json stratum", json_lines, {"strata": ["d"]}, {"train.jsonl": '{"text": "", "label": 1, "d": 2.5}\n'},
     ["is 2.5"]),
    ("pair key missing", pairs, {"target": "fr"}, {"train.jsonl": '{"en": "a", "de": "b"}\n'},
     ["train.jsonl:1:", "'fr'", "'en', 'de'", "data.target"]),
    ("pair of lists", pairs, {}, {"train.jsonl": '{"en": ["a"], "de": "b"}\n'}, ["train.jsonl:1:", "'en' is ['a']"]),
    ("both sides the same", aligned, {"target": "en"}, {"train.en": ""}, ["data.source=en", "data.target=en"]),
    ("aligned differ", aligned, {}, {"train.en": "a\nb\nc", "train.de": "a\nb\n"},
     ["train.en has 3", "train.de has 2"]),
    ("aligned half missing", aligned, {}, {"train.en": "a\n"}, ["train.de: missing", "'train.en'"]),
    ("aligned spelled apart", aligned, {}, {"dev.en": "", "valid.de": ""},
     ["val split", "'valid', 'dev'", "one of them"]),
    ("aligned NUL", aligned, {}, {"train.en": "a\nb\0\n", "train.de": "a\nb\n"}, ["train.en:2:", "NUL"]),
    ("two spellings", csv_files, {}, {"train.csv": HEAD, "val.csv": HEAD, "dev.csv": HEAD},
     ["'val', 'dev'", "Keep one"]),
    ("split in another format", csv_files, {}, {"train.csv": HEAD, "test.tsv": ""},
     ["test.tsv:", "test.csv", "Convert"]),
    ("split in another case", csv_files, {}, {"train.csv": HEAD, "Dev.csv": HEAD}, ["Dev.csv:", "val.csv", "rename"]),
    ("folder without files", csv_files, {}, {"notes.md": ""}, ["train.csv; val.csv; test.csv", "'notes.md'"]),
    ("empty folder", aligned, {}, {}, ["train.en and train.de", "There is nothing"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "options", "files", "says"), [case[1:] for case in BAD], ids=[case[0] for case in BAD]
)
def test_bad_input_is_named_with_its_place_and_cure(
    make: Callable[..., Source],
    options: dict[str, object],
    files: dict[str, Content],
    says: list[str],
    tmp_path: Path,
) -> None:
    source = make(write(tmp_path, files), **options)
    with pytest.raises(InputError) as error:
        for split in source.splits():
            rows(source, split)
    message = str(error.value)
    assert [part for part in says if part not in message] == [], message
    assert message.isprintable()
    if files and "two uses" not in message:
        assert str(tmp_path) in message


@pytest.mark.parametrize("make", [csv_files, json_lines, pairs, aligned])
def test_missing_path_says_what_lies_beside_it(make: Callable[..., Source], tmp_path: Path) -> None:
    (tmp_path / "my_data").mkdir()
    source = make(str(tmp_path / "mydata"))
    with pytest.raises(
        InputError, match=r"mydata: no such file or folder\. In .*'my_data'.*Expected: a folder with train"
    ):
        source.splits()


def test_a_pair_of_files_needs_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {"train.en": "a\n"})
    with pytest.raises(InputError, match="one file, where"):
        aligned(str(tmp_path / "train.en")).splits()


def test_long_listings_are_cut(tmp_path: Path) -> None:
    write(tmp_path, {f"note{i:02}.md": "" for i in range(40)})
    with pytest.raises(InputError, match=r"'note11\.md' and 28 more"):
        csv_files(str(tmp_path)).splits()


def test_a_split_that_is_not_there(tmp_path: Path) -> None:
    source = csv_files(write(tmp_path, {"train.csv": HEAD}))
    with pytest.raises(InputError, match="no test split, only train"):
        rows(source, "test")


def written_csv(file: Path, texts: list[str]) -> None:
    with file.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["text", "label"], *([text, text] for text in texts)])


def written_json(file: Path, texts: list[str], ascii_only: bool) -> None:
    lines = [json.dumps({"text": text, "label": text}, ensure_ascii=ascii_only) + "\n" for text in texts]
    file.write_text("".join(lines), encoding="utf-8", newline="")


@settings(deadline=None)
@given(st.lists(TEXTS))
def test_any_text_comes_back_from_csv_and_json(texts: list[str]) -> None:
    with TemporaryDirectory() as folder:
        written_csv(Path(folder) / "train.csv", texts)
        written_json(Path(folder) / "train.jsonl", texts, ascii_only=False)
        written_json(Path(folder) / "test.jsonl", texts, ascii_only=True)
        (Path(folder) / "test.csv").write_text(HEAD)
        wanted = [{"text": text, "label": text} for text in texts]
        assert rows(csv_files(folder)) == wanted
        assert rows(json_lines(folder)) == wanted == rows(json_lines(folder), "test")


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS)), st.sampled_from(["\n", "\r\n"]))
def test_any_line_comes_back_from_aligned_text(texts: list[tuple[str, str]], end: str) -> None:
    # A carriage return before the line feed cannot be told from a Windows line end, so no text ends in one here.
    cleaned = [[text.replace("\n", " ").rstrip("\r") for text in pair] for pair in texts]
    with TemporaryDirectory() as folder:
        for side, language in enumerate(["en", "de"]):
            write(Path(folder), {f"train.{language}": "\ufeff" + "".join(pair[side] + end for pair in cleaned)})
        assert rows(aligned(folder)) == [{"source": source, "target": target} for source, target in cleaned]


@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_odd_texts_arrive_as_written(bom: str, tmp_path: Path) -> None:
    quoted = "".join('"' + text.replace('"', '""') + '",odd label\r\n' for text in ODD)
    write(tmp_path, {"train.csv": f"{bom}text,label\r\n{quoted}"})
    assert [row["text"] for row in rows(csv_files(str(tmp_path)))] == ODD
    assert {row["label"] for row in rows(csv_files(str(tmp_path)))} == {"odd label"}


def test_unquoted_fields_stay_text(tmp_path: Path) -> None:
    source = csv_files(write(tmp_path, {"train.csv": 'text,other,label\nNA,1,007\n,2,null\n a"b ,3,\n'}))
    assert rows(source) == [
        {"text": "NA", "label": "007"}, {"text": "", "label": "null"}, {"text": ' a"b ', "label": ""}
    ]  # fmt: skip


def test_fields_longer_than_the_csv_module_allows_by_default(tmp_path: Path) -> None:
    long = "long " * 100_000
    assert rows(csv_files(write(tmp_path, {"train.csv": f"{HEAD}{long},x\n"})))[0]["text"] == long


def test_blank_lines_are_no_rows_in_csv_and_json_but_are_in_aligned_text(tmp_path: Path) -> None:
    write(tmp_path, {"train.csv": f"\n{HEAD}\na,x\n\r\n\n", "train.jsonl": f"\n{J} \r\n{J}\n"})
    write(tmp_path, {"train.en": "\n\na", "train.de": "b\r\n\r\nc\n"})
    assert len(rows(csv_files(str(tmp_path)))) == 1
    assert len(rows(json_lines(str(tmp_path)))) == 2
    assert [tuple(row.values()) for row in rows(aligned(str(tmp_path)))] == [("", "b"), ("", ""), ("a", "c")]


def test_separators_inside_a_line_stay_inside(tmp_path: Path) -> None:
    odd = "a\u2028b\u2029c\x85d\re\x0bf\x0cg\x1ch"
    source = aligned(write(tmp_path, {"train.en": f"{odd}\nx\r", "train.de": "1\r\n2"}))
    assert rows(source) == [{"source": odd, "target": "1"}, {"source": "x\r", "target": "2"}]


@pytest.mark.parametrize("empty", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("make", [csv_files, json_lines, pairs, aligned])
def test_empty_files_have_no_rows(make: Callable[..., Source], empty: bytes, tmp_path: Path) -> None:
    source = make(write(tmp_path, {name: empty for name in ["train.csv", "train.jsonl", "train.en", "train.de"]}))
    assert source.splits() == ("train",)
    assert rows(source) == []


def test_length_is_compared_before_any_row(tmp_path: Path) -> None:
    source = aligned(write(tmp_path, {"train.en": "a\n" * 50, "train.de": "a\n" * 49}))
    with pytest.raises(InputError, match=r"50 and .* 49 lines"):
        next(source.rows("train"))


@pytest.mark.parametrize("spelling", ["val", "valid", "validation", "dev"])
def test_spellings_of_val_and_the_order_of_splits(spelling: str, tmp_path: Path) -> None:
    source = csv_files(write(tmp_path, {"test.csv": HEAD, f"{spelling}.csv": f"{HEAD}v,x\n", "train.csv": HEAD}))
    assert source.splits() == ("train", "val", "test")
    assert rows(source, "val") == [{"text": "v", "label": "x"}]


def test_one_file_is_train_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path, {"reviews.txt": f"{HEAD}a,x\n", "dev.csv": HEAD})
    source = csv_files(str(tmp_path / "reviews.txt"))
    assert source.splits() == ("train",)
    assert rows(source) == [{"text": "a", "label": "x"}]


def test_a_folder_with_test_alone(tmp_path: Path) -> None:
    assert aligned(write(tmp_path, {"test.en": "", "test.de": "", "readme.md": ""})).splits() == ("test",)


def test_labels_and_strata_by_type(tmp_path: Path) -> None:
    content = '{"text": "a", "label": -3, "d": 5}\n{"text": "b", "label": "-3", "d": "-07"}\n'
    source = json_lines(write(tmp_path, {"train.jsonl": content}), strata=["d"])
    assert rows(source) == [{"text": "a", "label": "-3", "d": 5}, {"text": "b", "label": "-3", "d": -7}]
    assert json_lines(str(tmp_path), strata="d").strata == ("d",)


def test_direction_turns_round(tmp_path: Path) -> None:
    write(tmp_path, {"train.jsonl": '{"en": "a", "de": "b"}\n', "train.en": "a\n", "train.de": "b\n"})
    for make in (pairs, aligned):
        there, back = make(str(tmp_path)), make(str(tmp_path), source="de", target="en")
        assert rows(there) == [{"source": "a", "target": "b"}]
        assert rows(back) == [{"source": "b", "target": "a"}]
        assert there.fingerprint() != back.fingerprint()


def test_fingerprint_follows_content_and_options_not_place(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    write(here, {"train.csv": f"{HEAD}a,x\n", "val.csv": HEAD})
    shutil.copytree(here, there)
    first = csv_files(str(here)).fingerprint()
    assert csv_files(str(there)).fingerprint() == first
    os.utime(there / "train.csv", (0, 0))
    assert csv_files(str(there)).fingerprint() == first
    others = [csv_files(str(here), text="label", label="text"), csv_files(str(here), strata=["d"])]
    assert len({first, *(source.fingerprint() for source in others)}) == 3
    (there / "val.csv").rename(there / "test.csv")
    moved = csv_files(str(there)).fingerprint()
    write(there, {"train.csv": f"{HEAD}b,x\n"})
    assert len({first, moved, csv_files(str(there)).fingerprint()}) == 3


CONF = Path(__file__).parents[2] / "conf" / "data"


@pytest.mark.parametrize("name", ["csv", "jsonl", "parallel_text"])
def test_yaml_fits_the_constructor_and_says_what_is_missing(name: str) -> None:
    data = OmegaConf.merge({"source": "en", "target": "de"}, OmegaConf.load(CONF / f"{name}.yaml"))
    assert data.name == name
    named = OmegaConf.is_missing(data, "path")
    if named:
        data.path = "/nowhere/at/all"
    source = instantiate(OmegaConf.create({"data": data}).data.reader)
    assert isinstance(source, Files)
    assert source.shortcuts == ()
    expected = (
        "nowhere" if named else r"give data\.path=<folder>, a folder with train\..*https://huggingface\.co/datasets/"
    )
    with pytest.raises(InputError, match=expected):
        source.splits()
