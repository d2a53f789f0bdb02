"""What happens to odd and to broken input: a table. `python tests/data/test_malformed.py` prints it with each message.

Nothing between the two outcomes exists: rows exactly as they were written, or one line for a person, with the file, the
place, the value and the cure.
"""

import datetime
import gzip
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from seqarena.data.source import Row, Source
from seqarena.data.sources.files import LabelledFiles, PairFiles, ParallelText, TranslationMemory
from seqarena.data.sources.folders import TextFolders
from seqarena.errors import InputError

FOLDER = "a folder"
UNREADABLE = "a file without permissions"


@dataclass(frozen=True)
class Link:
    """A symbolic link to another file of the case."""

    to: str


Content = str | bytes | Link
Files = Mapping[str, Content]


def labelled(form: str) -> Callable[..., Source]:
    return lambda **options: LabelledFiles(form, **{"text": "text", "label": "label"} | options)


def languages(kind: Callable[..., Source]) -> Callable[..., Source]:
    return lambda **options: kind(**{"source": "en", "target": "de"} | options)


SOURCES: dict[str, Callable[..., Source]] = {
    **{form: labelled(form) for form in ("csv", "tsv", "jsonl", "parquet")},
    "pairs": languages(PairFiles),
    "parallel_text": languages(ParallelText),
    "tmx": languages(TranslationMemory),
    "folders": TextFolders,
}
"""By the name of the YAML in conf/data."""


@dataclass(frozen=True)
class Case:
    """Files, how they are read, and what comes of it: `rows` as tuples by split, or what the message `says`."""

    name: str
    data: str
    files: Files
    rows: Mapping[str, Sequence[tuple[str | int, ...]]] | None = None
    says: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


def accepted(name: str, data: str, files: Files, /, *train: tuple[str | int, ...], **options: Any) -> Case:
    """All rows in the training split."""
    return Case(name, data, files, rows={"train": train}, options=options)


def refused(name: str, data: str, files: Files, /, *says: str, **options: Any) -> Case:
    return Case(name, data, files, says=says, options=options)


def written(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def parquet(**columns: Any) -> bytes:
    return written(pa.table(columns))


def packed(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


def zstd(text: str) -> bytes:
    return zstandard.ZstdCompressor().compress(text.encode())


def tmx(*units: str, head: str = "") -> str:
    return (
        f'<?xml version="1.0"?>\n{head}<tmx version="1.4">\n<header/>\n<body>\n'
        + "\n".join(units)
        + "\n</body></tmx>\n"
    )


def unit(**segments: str) -> str:
    parts = (f'<tuv xml:lang="{tag.replace("_", "-")}"><seg>{text}</seg></tuv>' for tag, text in segments.items())
    return f"<tu>{''.join(parts)}</tu>"


H = "text,label\n"
T = "text\tlabel\n"
J = '{"text": "a", "label": "x"}\n'
AX = ("a", "x")
LONG = "a,x\n" * 2000
JAPANESE = "日本語のテキストです。これは文章です。\n"
GERMAN = "Die Straße ist schön, über allem liegt Grün; Größe und Mühe"
PHRASES = "text,label\n" + "".join(f'"{GERMAN} {n}",gut\n' for n in range(9))
TWICE = written(pa.table([["a"], ["x"], ["b"]], names=["text", "label", "text"]))
FLIPPED = (lambda raw: raw[:-8] + bytes([raw[-8] ^ 1]) + raw[-7:])(packed(H + LONG))
FLOATS = parquet(text=["a", "b"], label=[1.0, 2.5])

CASES = [
    # empty and nearly so
    accepted("an empty file", "csv", {"train.csv": ""}),
    accepted("a byte order mark and nothing else", "csv", {"train.csv": b"\xef\xbb\xbf"}),
    accepted("a header only", "csv", {"train.csv": H}),
    accepted("a Parquet file without rows", "parquet",
        {"train.parquet": parquet(text=pa.array([], "string"), label=pa.array([], "string"))}),
    accepted("a translation memory without units", "tmx", {"train.tmx": tmx()}),
    accepted("blank lines", "csv", {"train.csv": f"\n{H}\na,x\n\r\n\n"}, AX),
    accepted("blank lines in JSON Lines", "jsonl", {"train.jsonl": f"\n{J} \r\n{J}\n"}, AX, AX),
    accepted("blank lines in aligned text are empty sides", "parallel_text",
        {"train.en": "\n\na", "train.de": "b\r\n\r\nc\n"}, ("", "b"), ("", ""), ("a", "c")),
    refused("an empty Parquet file", "parquet", {"train.parquet": b""}, "train.parquet:", "not a whole Parquet file",
        "again"),
    refused("an empty archive", "csv", {"train.csv.gz": b""}, "train.csv.gz:", "cut off", "again"),
    refused("an empty translation memory", "tmx", {"train.tmx": ""}, "train.tmx:1:", "no element found"),
    # columns and rows
    refused("a missing column", "csv", {"train.csv": "text,lable\n"}, "train.csv:1:", "'label'",
        "found 'text', 'lable'", "data.label=lable?"),
    refused("a header in another case", "tsv", {"train.tsv": "Text\tLABEL\n"}, "train.tsv:1:", "data.text=Text?"),
    refused("no header", "csv", {"train.csv": "so good,pos\nso bad,neg\n"}, "train.csv:1:", "'so good', 'pos'",
        "data.text=<column> data.label=<column>", "data.header=[text,label]"),
    accepted("no header, names given", "csv", {"train.csv": "pos,so good\nneg,so bad\n"}, ("so good", "pos"),
        ("so bad", "neg"), header=["label", "text"]),
    accepted("Tatoeba: no header, three columns", "pairs", {"train.tsv": 'Hi "you".\tHallo "du".\tCC-BY\n'},
        ('Hi "you".', 'Hallo "du".'), header=["en", "de", "from"]),
    refused("names given, and a header in the file", "csv", {"train.csv": H + "a,x\n"}, "train.csv:1:",
        "Leave data.header out", header=["text", "label"]),
    refused("names given for another number of columns", "tsv", {"train.tsv": "a\tx\tmore\n"}, "train.tsv:1:",
        "3 fields", "data.header has 2", header=["text", "label"]),
    refused("names given for JSON Lines", "pairs", {"train.jsonl": '{"en": "a", "de": "b"}\n'}, "data.header",
        "train.jsonl", "Leave", header=["en", "de"]),
    refused("one name for all columns", "csv", {"train.csv": H}, "data.header=text", "[label,text]", header="text"),
    refused("a column twice", "csv", {"train.csv": "text,label,text\n"}, "train.csv:1:", "'text'", "more than once",
        "Rename"),
    refused("a Parquet column twice", "parquet", {"train.parquet": TWICE}, "train.parquet:", "'text'",
        "more than once"),
    refused("a short row", "csv", {"train.csv": H + "a,x\nb\n"}, "train.csv:3:", "1 field ", "has 2"),
    refused("a long row", "csv", {"train.csv": H + '"a\nb",x\n\nc, d,x\n'}, "train.csv:5:", "3 fields", "has 2",
        "double quotes"),
    refused("a tab in a TSV text", "tsv", {"train.tsv": T + "a\tb\tx\n"}, "train.tsv:2:", "3 fields",
        "data.quotes=true"),
    refused("semicolons between the fields", "csv", {"train.csv": "text;label\na;x\n"}, "train.csv:1:",
        "data.delimiter=';'"),
    accepted("semicolons, said", "csv", {"train.csv": "text;label\na, b;x\n"}, ("a, b", "x"), delimiter=";"),
    refused("tabs in a .csv", "csv", {"train.csv": T + "a\tx\n"}, "train.csv:1:", "data=tsv"),
    refused("commas in a .tsv", "tsv", {"train.tsv": H + "a,x\n"}, "train.tsv:1:", "data=csv"),
    refused("a delimiter of two characters", "csv", {"train.csv": H}, "data.delimiter='||'", "one character",
        delimiter="||"),
    refused("one column for two uses", "csv", {"train.csv": H}, "data.label=text", "two uses", label="text"),
    refused("a missing Parquet column", "parquet", {"train.parquet": parquet(txt=["a"], label=["x"])}, "train.parquet:",
        "data.text=txt?"),
    refused("a missing JSON key", "jsonl", {"train.jsonl": J + '\n{"text": "a", "lable": 1}\n'}, "train.jsonl:3:",
        "'label'", "'text', 'lable'", "data.label=lable?"),
    refused("a missing language", "pairs", {"train.tsv": "en\tde\n"}, "train.tsv:1:", "'fr'", "'en', 'de'",
        "data.target_column", target="fr"),
    # quotes
    accepted("quoted newlines, commas, doubled quotes", "csv", {"train.csv": H + '"a\n""b"", c\r\nd",x\n'},
        ('a\n"b", c\r\nd', "x")),
    accepted("a quote in the middle", "csv", {"train.csv": H + 'a "b" c,x\n'}, ('a "b" c', "x")),
    refused("a quote never closed", "csv", {"train.csv": H + 'a,x\n"b,x\nc,x\n'}, "train.csv:3:", "unexpected end",
        "doubled"),
    refused("a quote inside quotes", "csv", {"train.csv": H + '"a"b",x\n'}, "train.csv:2:", "CSV", "doubled"),
    accepted("quotes in TSV are text", "tsv", {"train.tsv": T + '"a\tx\n"b" c\ty"\n""\tz\n'}, ('"a', "x"),
        ('"b" c', 'y"'), ('""', "z")),
    refused("TSV that looks quoted as in CSV", "tsv", {"train.tsv": T + '"say ""it"""\tx\n'}, "train.tsv:2:",
        "data.quotes=true", "data.quotes=false"),
    accepted("the same, quotes said to be text", "tsv", {"train.tsv": T + '"say ""it"""\tx\n'}, ('"say ""it"""', "x"),
        quotes=False),
    accepted("the same, quotes said to be quotes", "tsv", {"train.tsv": T + '"say ""it""\n\tnow"\tx\n'},
        ('say "it"\n\tnow', "x"), quotes=True),
    refused("quoted TSV, a quote never closed", "tsv", {"train.tsv": T + '"b\tx\nc\tx\n'}, "train.tsv:2:",
        "unexpected end", quotes=True),
    refused("quoted TSV with a line break, not said", "tsv", {"train.tsv": T + '"a\nb"\tx\n'}, "train.tsv:2:",
        "1 field", "data.quotes=true"),
    # line ends and other separators
    accepted("CRLF", "csv", {"train.csv": "text,label\r\na,x\r\n"}, AX),
    accepted("CRLF in aligned text", "parallel_text", {"train.en": "a\r\nb", "train.de": "c\nd\r\n"}, ("a", "c"),
        ("b", "d")),
    refused("a lone CR in a CSV row", "csv", {"train.csv": H + "a\rb,x\n"}, "train.csv:2:", "line break"),
    accepted("a lone CR in quotes", "csv", {"train.csv": H + '"a\rb",x\n'}, ("a\rb", "x")),
    accepted("a lone CR in TSV", "tsv", {"train.tsv": T + "a\rb\tx\n"}, ("a\rb", "x")),
    accepted("lone CRs are no lines", "parallel_text", {"train.en": "a\rb\n", "train.de": "c\rd\n"}, ("a\rb", "c\rd")),
    accepted("U+2028, U+0085, VT, FF, FS inside a line", "parallel_text",
        {"train.en": "a\u2028b\x85c\x0bd\x0ce\x1cf\n", "train.de": "x\u2029\n"},
        ("a\u2028b\x85c\x0bd\x0ce\x1cf", "x\u2029")),
    accepted("the same in CSV", "csv", {"train.csv": H + "a\u2028b\x85c\x0bd\x0ce\x1cf,x\n"},
        ("a\u2028b\x85c\x0bd\x0ce\x1cf", "x")),
    accepted("separators in JSON Lines", "jsonl", {"train.jsonl": '{"text": "a\u2028b\x85", "label": "x"}\n'},
        ("a\u2028b\x85", "x")),
    # texts that libraries take for something else
    accepted("NA, null, 007, empty and spaces in CSV", "csv", {"train.csv": H + "NA,null\nnull,007\n,nan\n a ,\n"},
        ("NA", "null"), ("null", "007"), ("", "nan"), (" a ", "")),
    accepted("the same in TSV", "tsv", {"train.tsv": T + "NA\tnull\nnull\t007\n\tnan\n a \t\n"}, ("NA", "null"),
        ("null", "007"), ("", "nan"), (" a ", "")),
    accepted("the same in JSON Lines", "jsonl",
        {"train.jsonl": '{"text": "NA", "label": "007"}\n{"text": null, "label": null}\n'}, ("NA", "007"), ("", "")),
    accepted("the same in Parquet", "parquet",
        {"train.parquet": parquet(text=["NA", None, "", "true"], label=["007", "null", None, "a label"])},
        ("NA", "007"), ("", "null"), ("", ""), ("true", "a label")),
    accepted("labels with spaces, in quotes and not", "csv", {"train.csv": H + 'a,very good\nb," bad "\n'},
        ("a", "very good"), ("b", " bad ")),
    accepted("integer labels", "jsonl",
        {"train.jsonl": '{"text": "a", "label": -3}\n{"text": "b", "label": 12345678901234567890}\n'}, ("a", "-3"),
        ("b", "12345678901234567890")),
    accepted("integer labels and dictionaries in Parquet", "parquet",
        {"train.parquet": parquet(text=pa.array(["a", "b", "a"]).dictionary_encode(),
        label=pa.array([1, 0, 1], "uint8"))}, ("a", "1"), ("b", "0"), ("a", "1")),
    accepted("large strings in Parquet", "parquet",
        {"train.parquet": parquet(text=pa.array(["a"], "large_string"), label=pa.array(["x"], "large_string"))}, AX),
    accepted("a Parquet column with a dot in its name", "parquet",
        {"train.parquet": parquet(**{"my.text": ["a"], "label": ["x"], "my": ["no"]})}, AX, text="my.text"),
    refused("a label with a tab", "csv", {"train.csv": H + 'a,x\nb,"x\ty"\n'}, "train.csv:3:", r"'x\ty'", r"'\t'",
        "Delete"),
    refused("a label with a line break", "jsonl", {"train.jsonl": '{"text": "a", "label": "x\\n"}\n'}, "train.jsonl:1:",
        r"'x\n'"),
    refused("a label with a point", "jsonl", {"train.jsonl": '{"text": "", "label": 1.0}\n'}, "train.jsonl:1:",
        "'label' is 1.0", "integer"),
    refused("a label that is not a number", "jsonl", {"train.jsonl": '{"text": "", "label": NaN}\n'}, "train.jsonl:1:",
        "'label' is nan"),
    refused("a label true", "jsonl", {"train.jsonl": '{"text": "", "label": true}\n'}, "train.jsonl:1:", "True",
        "string"),
    refused("float labels in Parquet", "parquet", {"train.parquet": FLOATS}, "train.parquet:row 1:", "'label' is 1.0",
        "integer"),
    refused("list labels in Parquet", "parquet", {"train.parquet": parquet(text=["a"], label=[["x"]])},
        "train.parquet:row 1:", "['x']"),
    refused("nested texts in Parquet", "parquet", {"train.parquet": parquet(text=[{"en": "a"}], label=["x"])},
        "train.parquet:row 1:", "{'en': 'a'}"),
    refused("numbers for texts in Parquet", "parquet",
        {"train.parquet": parquet(text=["1", "2"], label=[1, 2], n=[7, 8])}, "train.parquet:row 1:", "'n' is 7",
        text="n"),
    refused("a string in Parquet that is not UTF-8", "parquet",
        {"train.parquet": parquet(text=pa.array([b"ok", b"caf\xe9"]).view("string"), label=["x", "y"])},
        "train.parquet:", "not UTF-8", "0xe9"),
    refused("dates for labels in Parquet", "parquet",
        {"train.parquet": parquet(text=["a"], label=[datetime.date(2024, 1, 2)])}, "train.parquet:row 1:",
        "datetime.date(2024, 1, 2)", "text or an integer"),
    refused("bytes for texts in Parquet", "parquet", {"train.parquet": parquet(text=pa.array([b"a"]), label=["x"])},
        "train.parquet:row 1:", "b'a'"),
    refused("a number for a text", "jsonl", {"train.jsonl": '{"text": 7, "label": 1}\n'}, "train.jsonl:1:",
        "'text' is 7"),
    # strata
    accepted("strata", "csv", {"train.csv": "text,label,d\na,x,-07\nb,y,+5\n"}, ("a", "x", -7), ("b", "y", 5),
        strata=["d"]),
    accepted("strata of pairs", "pairs", {"train.jsonl": '{"en": "a", "de": "b", "d": 3}\n'}, ("a", "b", 3),
        strata="d"),
    refused("a stratum that is a word", "csv", {"train.csv": "text,label,d\na,x,3\nb,x,far\n"}, "train.csv:3:", "'d'",
        "'far'", "data.strata", strata=["d"]),
    refused("a stratum with a point", "csv", {"train.csv": "text,label,d\na,x,3.0\n"}, "train.csv:2:", "'3.0'",
        strata=["d"]),
    refused("a stratum too large", "csv", {"train.csv": f"text,label,d\na,x,{10**18}\n"}, "train.csv:2:", "18 digits",
        strata=["d"]),
    refused("a null stratum", "parquet",
        {"train.parquet": parquet(text=["a"], label=["x"], d=pa.array([None], "int8"))}, "train.parquet:row 1:", "None",
        strata=["d"]),
    refused("a missing stratum", "csv", {"train.csv": H}, "train.csv:1:", "'distance'", "data.strata",
        strata=["distance"]),
    refused("a reserved stratum", "csv", {"train.csv": "text,label,length,loss\n"},
        "data.strata=['length', 'd', 'loss']", "'length', 'loss'", "Rename", strata=["length", "d", "loss"]),
    refused("a stratum that is the text", "csv", {"train.csv": H}, "data.strata=['text']", "two uses", strata=["text"]),
    # encodings
    accepted("a UTF-8 byte order mark", "csv", {"train.csv": b"\xef\xbb\xbf" + H.encode() + b"a,x\n"}, AX),
    accepted("a byte order mark inside a text", "csv", {"train.csv": H + "\ufeffa,x\n"}, ("\ufeffa", "x")),
    accepted("UTF-16 with its mark", "csv", {"train.csv": (H + "ä,x\n").encode("utf-16")}, ("ä", "x")),
    accepted("UTF-32 with its mark", "tsv", {"train.tsv": (T + "ä\tx\n").encode("utf-32")}, ("ä", "x")),
    accepted("UTF-16 with its mark, another encoding said", "csv", {"train.csv": (H + "ä,x\n").encode("utf-16")},
        ("ä", "x"), encoding="cp1252"),
    accepted("UTF-16 without a mark, said", "csv", {"train.csv": (H + "ਊ\u0a0a,x\n").encode("utf-16-le")},
        ("ਊ\u0a0a", "x"), encoding="utf-16-le"),
    accepted("cp1252, said", "csv", {"train.csv": (H + "“café”,x\n").encode("cp1252")}, ("“café”", "x"),
        encoding="cp1252"),
    accepted("gb18030, said", "parallel_text", {"train.en": "a\n", "train.zh": "中文\n".encode("gb18030")},
        ("a", "中文"), encoding="gb18030", target="zh"),
    accepted("EBCDIC, said", "parallel_text",
        {"train.en": "a\nb".encode("cp037"), "train.de": "c\nd\n".encode("cp037")}, ("a", "c"), ("b", "d"),
        encoding="cp037"),
    refused("UTF-16 without a mark", "csv", {"train.csv": (H + "a,x\n").encode("utf-16-le")}, "train.csv:1:", "NUL",
        "probably utf-16-le", "data.encoding=utf-16-le"),
    refused("UTF-16 without a mark, the other order", "jsonl", {"train.jsonl": J.encode("utf-16-be")}, "train.jsonl:1:",
        "data.encoding=utf-16-be"),
    refused("UTF-16 said, the order not", "csv", {"train.csv": (H + "a,x\n").encode("utf-16-le")}, "train.csv:",
        "data.encoding=utf-16-le", encoding="utf-16"),
    refused("UTF-16 cut off", "csv", {"train.csv": (H + "a,x\n").encode("utf-16")[:-1]}, "train.csv:2:", "UTF-16-LE",
        "0x0a", "byte order mark"),
    refused("Latin-1 read as UTF-8", "csv", {"train.csv": H.encode() + b"a,x\ncaf\xe9,x\n"}, "train.csv:3:", "0xe9",
        "offset 18", "UTF-8", "data.encoding=cp1252", "iconv"),
    refused("German cp1252 read as UTF-8", "csv", {"train.csv": PHRASES.encode("cp1252")}, "train.csv:2:", "0xdf",
        "data.encoding=cp1252"),
    refused("the same after a byte order mark", "csv", {"train.csv": b"\xef\xbb\xbf" + H.encode() + b"\xe9,x\n"},
        "train.csv:2:", "offset 14", "save the file again"),
    refused("the same, packed", "csv", {"train.csv.gz": gzip.compress(PHRASES.encode("cp1252"))}, "train.csv.gz:2:",
        "0xdf", "data.encoding=cp1252"),
    refused("Japanese read as UTF-8", "parallel_text", {"train.en": "a\n", "train.de": JAPANESE.encode("shift_jis")},
        "train.de:1:", "0x93", "data.encoding=shift-jis"),
    refused("UTF-8 read as ASCII", "csv", {"train.csv": H + "café,x\n"}, "train.csv:2:", "0xc3", "data.encoding=utf-8",
        encoding="ascii"),
    refused("UTF-8 cut off inside a character", "csv", {"train.csv": H.encode() + b"a,x\nb,\xc3"}, "train.csv:3:",
        "0xc3"),
    refused("a surrogate as bytes", "csv", {"train.csv": H.encode() + b"\xed\xa0\x80,x\n"}, "train.csv:2:", "0xed"),
    refused("an encoding nobody knows", "csv", {"train.csv": H}, "data.encoding=utf8000", "Did you mean utf-8",
        encoding="utf8000"),
    refused("an encoding that is not of texts", "csv", {"train.csv": H}, "data.encoding=base64",
        "no such text encoding", encoding="base64"),
    refused("a NUL", "csv", {"train.csv": H + "a,x\nb\0c,x\n"}, "train.csv:3:", "NUL", "Delete"),
    refused("a NUL in aligned text", "parallel_text", {"train.en": "a\nb\0\n", "train.de": "a\nb\n"}, "train.en:2:",
        "NUL"),
    refused("a NUL in a translation memory", "tmx", {"train.tmx": tmx(unit(en="a\0", de="b"))}, "train.tmx:5:",
        "not well-formed"),
    refused("a NUL in JSON", "jsonl", {"train.jsonl": '{"text": "", "label": "\\u0000"}\n'}, "train.jsonl:1:",
        "'label'", "NUL"),
    refused("half an emoji in JSON", "jsonl", {"train.jsonl": J + '{"text": "ab\\ud83d", "label": 1}\n'},
        "train.jsonl:2:", "\\ud83d", "character 3", "Delete"),
    refused("an Excel workbook called .csv", "csv", {"train.csv": b"PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0\xb5"},
        "train.csv:1:", "Excel", "save the sheet as CSV"),
    refused("gzip called .csv", "csv", {"train.csv": packed(H)}, "train.csv:1:", "gzip", ".gz"),
    # archives
    accepted("gzip", "csv", {"train.csv.gz": packed(H + "a,x\n")}, AX),
    accepted("gzip in several members", "csv", {"train.csv.gz": packed(H) + packed("a,") + packed("x\n")}, AX),
    accepted("zstd in several frames", "jsonl", {"train.jsonl.zst": zstd(J) + zstd("") + zstd(J)}, AX, AX),
    accepted("aligned text, one side packed", "parallel_text", {"train.en.zst": zstd("a\n"), "train.de": "b\n"},
        ("a", "b")),
    accepted("a packed translation memory", "tmx", {"train.tmx.gz": packed(tmx(unit(en="a", de="b")))}, ("a", "b")),
    refused("gzip cut off", "csv", {"train.csv.gz": packed(H + LONG)[:-20]}, "train.csv.gz:", "cut off", "again"),
    refused("zstd cut off", "jsonl", {"train.jsonl.zst": zstd(J * 2000)[:-3]}, "train.jsonl.zst:", "cut off", "again"),
    refused("gzip that is none", "csv", {"train.csv.gz": H + "a,x\n"}, "train.csv.gz:", "not a sound .gz",
        "take the ending off"),
    refused("zstd that is none", "tsv", {"train.tsv.zst": T + "a\tx\n"}, "train.tsv.zst:", "not a sound .zst"),
    refused("gzip with a flipped bit", "csv", {"train.csv.gz": FLIPPED}, "train.csv.gz:", "not a sound .gz"),
    refused("gzip and then something else", "csv", {"train.csv.gz": packed(H) + b"more"}, "train.csv.gz:",
        "not a sound .gz"),
    refused("packed and plain, both there", "csv", {"train.csv": H, "train.csv.gz": packed(H)}, "train split", "twice",
        "'train.csv', 'train.csv.gz'"),
    refused("packed Parquet", "parquet", {"train.parquet.gz": gzip.compress(FLOATS)}, "train.parquet.gz:", "Unpack"),
    refused("Parquet cut off", "parquet", {"train.parquet": FLOATS[:-9]}, "train.parquet:", "not a whole Parquet file"),
    refused("Parquet that is none", "parquet", {"train.parquet": H * 9}, "train.parquet:", "not a whole Parquet file",
        "magic bytes"),
    # JSON Lines
    refused("broken JSON", "jsonl", {"train.jsonl": J + '{"text": "a", \n'}, "train.jsonl:2:", "not valid JSON",
        "one whole object"),
    refused("a list around all", "jsonl", {"train.json": "[" + J.strip() + ",\n"}, "train.json:1:", "without a list"),
    refused("a list on a line", "jsonl", {"train.jsonl": J + "[1]\n"}, "train.jsonl:2:", "[1], where an object"),
    refused("a number on a line", "jsonl", {"train.jsonl": "7\n"}, "train.jsonl:1:", "7, where an object"),
    refused("an object over several lines", "jsonl", {"train.json": '{\n"text": "a"\n}\n'}, "train.json:1:",
        "one whole object"),
    refused("far too deep", "jsonl", {"train.jsonl": "[" * 99999 + "\n"}, "train.jsonl:1:", "recursion"),
    refused("a key twice", "jsonl", {"train.jsonl": '{"text": "a", "text": "b", "label": 1}\n'}, "train.jsonl:1:",
        "twice"),
    # translation memories
    accepted("languages by their first part, in any case", "tmx",
        {"train.tmx": tmx(unit(EN_us="a", de_DE="b"),
        '<tu><tuv lang="EN"><seg>c</seg></tuv><tuv lang="De_at"><seg>d</seg></tuv></tu>')}, ("a", "b"), ("c", "d")),
    accepted("a language that units lack", "tmx",
        {"train.tmx": tmx(unit(en="a", fr="b"), unit(de="c"), unit(en="d", de="e"), unit())}, ("a", ""), ("", "c"),
        ("d", "e"), ("", "")),
    accepted("two segments in a language", "tmx", {"train.tmx": tmx(unit(en_US="a", en_GB="b", de="c"))}, ("a", "c"),
        ("b", "c")),
    accepted("one country asked for", "tmx", {"train.tmx": tmx(unit(en_US="a", en_GB="b", de="c"))}, ("b", "c"),
        source="en-gb"),
    accepted("codes inside segments", "tmx",
        {"train.tmx": tmx(unit(en="see <bpt i='1'>&lt;b&gt;</bpt>this<ept i='1'>&lt;/b&gt;</ept>, <hi>now</hi><ph/>",
        de="a &amp; &#x2028;\n b"))}, ("see this, now", "a & \u2028\n b")),
    accepted("a DOCTYPE that names the DTD", "tmx",
        {"train.tmx": tmx(unit(en="a", de="b"), head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n')}, ("a", "b")),
    accepted("UTF-16, declared", "tmx",
        {"train.tmx": tmx(unit(en="ä", de="b")).replace("?>", ' encoding="utf-16"?>').encode("utf-16")}, ("ä", "b")),
    accepted("cp1252, declared", "tmx",
        {"train.tmx": tmx(unit(en="“ä”", de="b")).replace('"1.0"', '"1.0" encoding="windows-1252"').encode("cp1252")},
        ("“ä”", "b")),
    refused("a DOCTYPE with entities", "tmx",
        {"train.tmx": tmx(unit(en="&x;", de="b"), head='<!DOCTYPE tmx [<!ENTITY x "boom">]>\n')}, "train.tmx:2:",
        "DOCTYPE", "Delete"),
    refused("an entity of a DTD that is not loaded", "tmx",
        {"train.tmx": tmx(unit(en="a&nbsp;b", de="b"), head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n')}, "train.tmx:6:",
        "&nbsp;", "Write the character"),
    refused("an entity that nobody defines", "tmx", {"train.tmx": tmx(unit(en="a&nbsp;b", de="b"))}, "train.tmx:5:",
        "undefined entity"),
    refused("broken XML", "tmx", {"train.tmx": tmx(unit(en="a", de="b"), "<tu><tuv></tu>")}, "train.tmx:6:",
        "mismatched tag"),
    refused("XML cut off", "tmx", {"train.tmx": tmx(unit(en="a", de="b"))[:-8]}, "train.tmx:6:", "not sound XML"),
    refused("another XML", "tmx", {"train.tmx": "<html><body/></html>"}, "train.tmx:1:", "<html>", "TMX"),
    refused("an encoding declared that nobody knows", "tmx",
        {"train.tmx": '<?xml version="1.0" encoding="klingon"?><tmx/>'}, "train.tmx:1:", "encoding"),
    refused("Latin-1 that declares nothing", "tmx", {"train.tmx": tmx(unit(en="é", de="b")).encode("latin-1")},
        "train.tmx:5:", "not well-formed"),
    refused("a language that is not there", "tmx", {"train.tmx": tmx(unit(en="a", fr_FR="b"))}, "train.tmx:", "'de'",
        "data.target", "found 'en', 'fr-FR'"),
    # aligned text
    refused("line-aligned files of unequal length", "parallel_text", {"train.en": "a\nb\nc", "train.de": "a\nb\n"},
        "train.en has 3", "train.de has 2", "Align"),
    refused("half of a pair", "parallel_text", {"train.en": "a\n"}, "train.de: missing", "'train.en'"),
    refused("two halves spelled apart", "parallel_text", {"dev.en": "", "valid.de": ""}, "val split",
        "'dev.en', 'valid.de'", "one of them"),
    refused("both sides the same", "parallel_text", {"train.en": ""}, "data.source_ending=en", "data.target_ending=en",
        target="en"),
    accepted("two files by what stands before their endings", "parallel_text",
        {"a b.en": "a\n", "a b.de.gz": packed("b\n")}, ("a", "b"), path="{}/a b"),
    Case("pairs by pattern, and one by name", "parallel_text",
        {"p-2.en": "c\n", "p-2.de": "d\n", "p-1.en": "a\n", "p-1.de": "b\n", "t.en": "e\n", "t.de": "f\n"},
        rows={"train": [("a", "b"), ("c", "d")], "test": [("e", "f")]}, options={"train": "{}/p-*", "test": "{}/t"}),
    refused("a pattern with half of a pair", "parallel_text", {"p-1.en": "", "p-1.de": "", "p-2.en": ""},
        "p-2.de: missing", "data.train=", train="{}/p-*"),
    refused("a name with its ending", "parallel_text", {"c.en": "", "c.de": ""}, "data.path=", "c.en: a file",
        "before these endings", path="{}/c.en"),
    # where files are
    Case("val and test spelled and packed", "csv",
        {"test.csv": H, "dev.csv.gz": packed(H + "v,x\n"), "train.csv": H + "a,x\n", "notes.md": ""},
        rows={"train": [AX], "val": [("v", "x")], "test": []}),
    Case("three files by name", "tsv", {"x.tsv": T + "a\tx\n", "y.tsv": T + "b\tx\n", "z.txt": T + "c\tx\n"},
        rows={"train": [AX], "val": [("b", "x")], "test": [("c", "x")]},
        options={"train": "{}/x.tsv", "val": "{}/y.tsv", "test": "{}/z.txt"}),
    Case("pairs in a format for each split", "pairs",
        {"train.csv": "en,de\na,b\n", "val.tsv": "en\tde\nc\td\n", "test.jsonl": '{"de": "f", "en": "e"}\n'},
        rows={"train": [("a", "b")], "val": [("c", "d")], "test": [("e", "f")]}),
    accepted("one file, whatever its name", "csv", {"reviews.txt": H + "a,x\n", "dev.csv": H}, AX,
        path="{}/reviews.txt"),
    accepted("a pattern, in the order of names", "jsonl",
        {"part-10.jsonl": J, "part-02.jsonl.gz": packed(J.replace('"a"', '"b"'))}, ("b", "x"), AX, path="{}/part-*"),
    accepted("a name with brackets", "csv", {"a[1].csv": H + "a,x\n"}, AX, path="{}/a[1].csv"),
    refused("a pattern without a match", "csv", {"a.csv": H}, "data.train=", "*.tsv: no file matches",
        "there is 'a.csv'", train="{}/*.tsv"),
    refused("a pattern over several splits", "parquet", {"train-0.parquet": FLOATS, "test-0.parquet": FLOATS},
        "'test-0.parquet', 'train-0.parquet'", "data.train=", path="{}/*.parquet"),
    refused("a path that is not there", "csv", {"my_data/x": ""}, "data.path=", "mydata: no such file or folder",
        "there is 'my_data'", path="{}/mydata"),
    refused("nothing given", "csv", {}, "write data.path=", "data.train=", "train.csv; val.csv; test.csv", path=None),
    refused("path and train", "csv", {"a.csv": H}, "data.path=", "data.train= are both given", path="{}",
        train="{}/a.csv"),
    refused("a split twice", "csv", {"train.csv": H, "val.csv": H, "dev.csv": H}, "val split", "'val.csv', 'dev.csv'",
        "Keep one"),
    refused("a split in two formats", "pairs", {"train.csv": "", "train.jsonl": ""}, "train split",
        "'train.csv', 'train.jsonl'"),
    refused("one file in two splits", "csv", {"a.csv": H}, "a.csv (train)", "a.csv (test) are one file",
        train="{}/a.csv", test="{}/*.csv"),
    refused("one file twice by a link", "csv", {"train.csv": H, "val.csv": Link("train.csv")}, "train.csv (train)",
        "val.csv (val) are one file"),
    refused("a split in another format", "csv", {"train.csv": H, "test.tsv": ""}, "test.tsv:", "test.csv", "Convert",
        "data.test="),
    refused("a split in another case", "csv", {"train.csv": H, "Dev.csv": H}, "Dev.csv:", "val.csv", "rename"),
    refused("a folder called train.csv", "csv", {"train.csv/a.csv": H},
        "train.csv: a folder that looks like the train split", "data.train="),
    refused("a folder where a file is needed", "csv", {"more/a.csv": H}, "more: a folder", "data.train needs a file",
        train="{}/more"),
    refused("a link to nothing", "csv", {"train.csv": Link("gone.csv")}, "train.csv: a link to nothing"),
    refused("a link to nothing, named", "csv", {"a.csv": Link("gone.csv")}, "a.csv: a link to nothing",
        train="{}/a.csv"),
    refused("a file that may not be read", "csv", {"train.csv": UNREADABLE}, "train.csv: cannot be read", "chmod"),
    refused("a folder without such files", "csv", {"notes.md": ""}, "no files to read", "train.csv; val.csv; test.csv",
        "'notes.md'"),
    refused("an empty folder", "parallel_text", {}, "train.en and train.de", "There is nothing"),
    refused("a column whose name is no UTF-8", "parquet", {"train.parquet": FLOATS.replace(b"label", b"\x80abel")},
        "train.parquet: a text that is not UTF-8", "Write the file again"),
    refused("shards of the Hub in a folder", "parquet", {"train-00000-of-00001.parquet": FLOATS}, "no files to read",
        "data.train=", "'train-00000-of-00001.parquet'"),
    refused("an ending that nobody knows", "pairs", {"a.xlsx": ""}, "a.xlsx:",
        "Known: .csv, .tsv, .jsonl, .json, .parquet", train="{}/a.xlsx"),
    refused("an ending of another format", "csv", {"a.jsonl": J}, "a.jsonl:", "Write data=jsonl", train="{}/a.jsonl"),
    # folders of text files
    Case("folders by split and class", "folders",
        {"train/pos/2.txt": "b", "train/pos/1.txt": "a\nc\n", "train/neg/1.txt.gz": packed("d\r\n"),
        "test/pos/1.txt": "", "train/urls.txt": "", "train/.DS_Store": ""},
        rows={"train": [("d", "neg"), ("a\nc", "pos"), ("b", "pos")], "test": [("", "pos")]}),
    accepted("folders by class", "folders", {"very good/1.txt": "a", "bad/1.txt": "b\n\n"}, ("b\n", "bad"),
        ("a", "very good")),
    accepted("some of the classes", "folders", {"train/pos/1.txt": "a", "train/unsup/1.txt": "b"}, ("a", "pos"),
        classes=["pos"]),
    accepted("files without endings", "folders", {"sci/49960": "caf\xe9".encode("latin-1"), "sci/x.md": "b"},
        ("café", "sci"), ("b", "sci"), files="*", encoding="latin-1"),
    accepted("other files passed over", "folders", {"sci/1.txt": "a", "sci/x.md": "b"}, ("a", "sci"), files="*.txt"),
    refused("other files", "folders", {"sci/1.txt": "a", "sci/x.md": "b"}, "x.md: a file", "*.txt", "data.files='*'"),
    refused("a folder inside a class", "folders", {"sci/more/1.txt": "a"}, "more: a folder", "*.txt"),
    refused("a folder without folders", "folders", {"1.txt": "a"}, "no folder of a class", "'1.txt'",
        "train/<class>/*.txt"),
    refused("a class without files", "folders", {"pos/1.txt": "a", "neg": FOLDER}, "neg: an empty folder"),
    refused("a class that is not there", "folders", {"pos/1.txt": "a"}, "['pos', 'neg']", "There is 'pos'",
        classes=["pos", "neg"]),
    refused("splits and classes mixed", "folders", {"train/pos/1.txt": "a", "neg/1.txt": "b"},
        "'neg' beside the splits 'train'", "data.train="),
    refused("a split twice in folders", "folders", {"train/pos/1.txt": "a", "val/pos/1.txt": "", "dev/pos/1.txt": "b"},
        "val split", "'val', 'dev'"),
    refused("a file where folders are needed", "folders", {"pos.txt": "a"}, "pos.txt: a file", "needs a folder",
        path="{}/pos.txt"),
    refused("Latin-1 in a text file", "folders", {"pos/1.txt": "caf\xe9".encode("latin-1")}, "1.txt:1:", "0xe9",
        "data.encoding=cp1252"),
    refused("a class with a tab in its name", "folders", {"p\tos/1.txt": "a"}, r"'p\tos'", "a label is a name"),
]  # fmt: skip


def laid_out(folder: Path, files: Files) -> None:
    for name, content in files.items():
        file = folder / name
        if content == FOLDER:
            file.mkdir(parents=True)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Link):
            file.symlink_to(folder / content.to)
        else:
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        if content == UNREADABLE:
            file.chmod(0)


def outcome(case: Case, folder: Path) -> dict[str, list[Row]] | str:
    """Rows by split, or the message."""
    laid_out(folder, case.files)
    named = case.options if {"path", "train", "test"} & set(case.options) else {"path": "{}", **case.options}
    options = {key: value.format(folder) if isinstance(value, str) else value for key, value in named.items()}
    try:
        source = SOURCES[case.data](**options)
        found = {split: list(source.rows(split)) for split in source.splits()}
        source.fingerprint()
        return found
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("case", CASES, ids=[f"{case.data}: {case.name}" for case in CASES])
def test_input_is_read_as_written_or_refused_with_its_place_and_cure(case: Case) -> None:
    if UNREADABLE in case.files.values() and os.geteuid() == 0:
        pytest.skip("root may read everything")
    with TemporaryDirectory() as folder:
        found = outcome(case, Path(folder))
    if case.rows is not None:
        assert isinstance(found, dict), found
        written = {split: [tuple(row.values()) for row in rows] for split, rows in found.items()}
        assert written == {split: list(rows) for split, rows in case.rows.items()}
    else:
        assert isinstance(found, str), found
        assert [part for part in case.says if part not in found] == [], found
        assert found.isprintable() and len(found) < 700
        assert folder in found or "data." in found


def test_names_of_cases_are_unique_and_many() -> None:
    names = [(case.data, case.name) for case in CASES]
    assert len(set(names)) == len(names) >= 60


def table() -> Iterator[str]:
    for case in CASES:
        with TemporaryDirectory() as folder:
            found = outcome(case, Path(folder))
            told = found.replace(f"{folder}/", "").replace(folder, ".") if isinstance(found, str) else _counted(found)
        yield f"{case.data:13} | {case.name:55} | {told}"


def _counted(found: Mapping[str, Sequence[Row]]) -> str:
    return "accepted: " + ", ".join(f"{split} {[tuple(row.values()) for row in rows]}" for split, rows in found.items())


if __name__ == "__main__":
    sys.stdout.write("\n".join(table()) + "\n")
