"""Readers under any input: what was written comes back exactly, and no bytes at all raise anything but InputError."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from seqarena.data.source import Source
from seqarena.data.sources.files import LabelledFiles, PairFiles, ParallelText, TranslationMemory
from seqarena.data.sources.folders import TextFolders
from seqarena.errors import InputError

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
FIELD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\n\r"))
XML = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"))
LABEL = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]))
PACKINGS: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "gb18030")

Rows = Sequence[Sequence[str]]


def as_csv(rows: Rows, encoding: str) -> bytes:
    stream = io.StringIO()
    csv.writer(stream).writerows([["text", "label"], *rows])
    return stream.getvalue().encode(encoding)


def as_tsv(rows: Rows, encoding: str) -> bytes:
    return "".join("\t".join(row) + "\n" for row in [["text", "label"], *rows]).encode(encoding)


def as_json(rows: Rows, encoding: str) -> bytes:
    lines = (json.dumps({"label": label, "text": text}, ensure_ascii=False) for text, label in rows)
    return "".join(line + "\n" for line in lines).encode(encoding)


def as_parquet(rows: Rows, encoding: str) -> bytes:
    stream = io.BytesIO()
    columns = {"text": [text for text, _ in rows], "label": [label for _, label in rows]}
    pq.write_table(pa.table(columns, schema=pa.schema([("text", pa.string()), ("label", pa.large_string())])), stream)
    return stream.getvalue()


WRITERS = {"csv": as_csv, "tsv": as_tsv, "jsonl": as_json, "parquet": as_parquet}


def read(source: Source) -> list[tuple[str | int, ...]]:
    return [tuple(row.values()) for row in source.rows("train")]


@pytest.mark.parametrize("form", WRITERS)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_any_text_comes_back_from_every_format(form: str, data: st.DataObject) -> None:
    plain = form == "tsv"
    rows = data.draw(st.lists(st.tuples(FIELD.filter(lambda t: '""' not in t) if plain else TEXT, LABEL)))
    encoding = data.draw(st.sampled_from(ENCODINGS))
    packing = data.draw(st.sampled_from([""] if form == "parquet" else list(PACKINGS)))
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"a.{form}{packing}"
        file.write_bytes(PACKINGS[packing](WRITERS[form](rows, encoding)))
        assert read(LabelledFiles(form, "text", "label", path=str(file), encoding=encoding)) == rows


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(TEXT, LABEL)))
def test_tab_separated_files_of_the_csv_module_come_back_with_quotes(rows: list[tuple[str, str]]) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "a.tsv"
        with file.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, "excel-tab").writerows([["text", "label"], *rows])
        assert read(LabelledFiles("tsv", "text", "label", path=str(file), quotes=True)) == rows


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(TEXT, TEXT)), st.sampled_from(["\n", "\r\n"]), st.sampled_from(ENCODINGS))
def test_any_line_comes_back_from_aligned_text(texts: list[tuple[str, str]], end: str, encoding: str) -> None:
    # A carriage return before the line feed cannot be told from a Windows line end, so no text ends in one here.
    cleaned = [tuple(text.replace("\n", " ").rstrip("\r") for text in pair) for pair in texts]
    with TemporaryDirectory() as folder:
        for side, language in enumerate(["en", "de"]):
            content = "".join(pair[side] + end for pair in cleaned)
            (Path(folder) / f"train.{language}").write_bytes(content.encode(encoding))
        assert read(ParallelText("en", "de", path=folder, encoding=encoding)) == cleaned


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(XML, XML)))
def test_any_segment_comes_back_from_a_translation_memory(texts: list[tuple[str, str]]) -> None:
    tuv = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = (tuv.format("EN-US", escape(source)) + tuv.format("de", escape(target)) for source, target in texts)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "a.tmx"
        file.write_text("<tmx>" + "".join(f"<tu>{unit}</tu>" for unit in units) + "</tmx>", encoding="utf-8")
        assert read(TranslationMemory("en", "de", path=str(file))) == texts


@settings(deadline=None, max_examples=25)
@given(st.lists(TEXT, min_size=1))
def test_any_text_file_comes_back_without_its_last_line_end(texts: list[str]) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / "x").mkdir()
        for number, text in enumerate(texts):
            (Path(folder) / "x" / f"{number:04}.txt").write_bytes((text + "\n").encode())
        assert read(TextFolders(folder)) == [(text.removesuffix("\r"), "x") for text in texts]


# What a reader might be given, by the parts that matter to it.
PARTS = st.sampled_from(
    [
        *(b'"', b",", b"\t", b"\n", b"\r", b"\0", b"text", b"label", b"{", b"}", b"[", b":", b"1e999", b"\xed\xa0\x80"),
        *(
            b"<tmx>",
            b"<tu>",
            b"<tuv xml:lang='en'>",
            b"<seg>",
            b"</seg>",
            b"</tuv>",
            b"</tu>",
            b"&x;",
            b"<!DOCTYPE tmx [",
        ),
        *(b"text,label\n", b"text\tlabel\n", b'{"text": "a", "label": 1}\n', b"\xff\xfe", b"\xef\xbb\xbf", b"]>"),
        *(b"\x1f\x8b", b"(\xb5/\xfd", b"PAR1"),
    ]
)
BYTES = st.one_of(st.binary(), st.lists(st.one_of(PARTS, st.binary(max_size=3))).map(b"".join))


def readers(file: Path, encoding: str) -> Mapping[str, Source]:
    path = str(file)
    return {
        **{form: LabelledFiles(form, "text", "label", path=path, encoding=encoding) for form in WRITERS},
        "quoted": LabelledFiles("tsv", "text", "label", path=path, encoding=encoding, quotes=True),
        "tmx": TranslationMemory("en", "de", path=path),
        "folders": TextFolders(str(file.parent.parent), files="*", encoding=encoding),
        "pairs": PairFiles("text", "label", train=path, encoding=encoding),
    }


@pytest.mark.parametrize("packing", PACKINGS)
@settings(deadline=None, max_examples=50)
@given(content=BYTES, damage=st.integers(0, 30), encoding=st.sampled_from([*ENCODINGS, "cp1252", "utf-7", "hz"]))
def test_no_bytes_raise_anything_but_input_errors(packing: str, content: bytes, damage: int, encoding: str) -> None:
    raw = PACKINGS[packing](content)
    raw = raw[: len(raw) - damage] if packing else raw
    with TemporaryDirectory() as folder:
        file = Path(folder) / "x" / f"a{packing}"
        file.parent.mkdir()
        file.write_bytes(raw)
        for source in readers(file, encoding).values():
            refused_or_read(source)


PARQUET = as_parquet([[f"text {n}", f"label {n % 3}"] for n in range(200)], "")


@settings(deadline=None, max_examples=50)
@given(st.integers(0, len(PARQUET) - 1), st.binary(min_size=1, max_size=8))
def test_damaged_parquet_raises_nothing_but_input_errors(place: int, damage: bytes) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "a.parquet"
        file.write_bytes(PARQUET[:place] + damage + PARQUET[place + len(damage) :])
        refused_or_read(LabelledFiles("parquet", "text", "label", path=str(file)))


def refused_or_read(source: Source) -> None:
    try:
        read(source)
    except InputError as error:
        assert "\n" not in str(error)
