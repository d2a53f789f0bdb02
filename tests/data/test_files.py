"""File sources: every text arrives as it was written, from every format and layout. What is refused: test_malformed."""

import io
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hydra import compose, initialize_config_dir

from seqarena.building import build
from seqarena.data.source import Source
from seqarena.data.sources.files import LabelledFiles, PairFiles, ParallelText, TranslationMemory
from seqarena.data.sources.folders import TextFolders
from seqarena.data.sources.lines import lines_of
from seqarena.data.sources.records import read
from seqarena.errors import InputError

Content = str | bytes
HEAD = "text,label\n"
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
    return LabelledFiles("csv", path=path, **{"text": "text", "label": "label"} | options)  # type: ignore[arg-type]


def pairs(path: str | None, **options: str) -> Source:
    return PairFiles(path=path, **{"source": "en", "target": "de"} | options)  # type: ignore[arg-type]


def aligned(path: str | None, **options: str) -> Source:
    return ParallelText(path=path, **{"source": "en", "target": "de"} | options)


def memory(path: str | None, **options: str) -> Source:
    return TranslationMemory(path=path, **{"source": "en", "target": "de"} | options)


def rows(source: Source, split: str = "train") -> list[Mapping[str, str | int]]:
    return list(source.rows(split))


def test_long_listings_are_cut(tmp_path: Path) -> None:
    write(tmp_path, {f"note{i:02}.md": "" for i in range(40)})
    with pytest.raises(InputError, match=r"'note11\.md' and 28 more"):
        csv_files(str(tmp_path)).splits()


@pytest.mark.parametrize("make", [csv_files, pairs, TextFolders])
def test_a_split_that_is_not_there(make: Callable[..., Source], tmp_path: Path) -> None:
    (tmp_path / "train" / "pos").mkdir(parents=True)
    write(tmp_path / "train" / "pos", {"1.txt": "a"})
    source = make(path=str(tmp_path))
    if make is not TextFolders:
        (tmp_path / "train").rename(tmp_path / "more")
        write(tmp_path, {"train.csv": HEAD})
    with pytest.raises(InputError, match="no test split, only train"):
        rows(source, "test")


@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_odd_texts_arrive_as_written(bom: str, tmp_path: Path) -> None:
    quoted = "".join('"' + text.replace('"', '""') + '",odd label\r\n' for text in ODD)
    write(tmp_path, {"train.csv": f"{bom}text,label\r\n{quoted}"})
    assert [row["text"] for row in rows(csv_files(str(tmp_path)))] == ODD
    assert {row["label"] for row in rows(csv_files(str(tmp_path)))} == {"odd label"}


def test_fields_longer_than_the_csv_module_allows_by_default(tmp_path: Path) -> None:
    long = "long " * 100_000
    assert rows(csv_files(write(tmp_path, {"train.csv": f"{HEAD}{long},x\n"})))[0]["text"] == long


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32-be", "cp1252"])
def test_lines_longer_than_what_is_decoded_at_a_time(encoding: str, tmp_path: Path) -> None:
    long = "häßlich " * 20_000
    write(tmp_path, {"train.en": f"{long}\na\n".encode(encoding), "train.de": f"b\n{long}".encode(encoding)})
    source = aligned(str(tmp_path), encoding=encoding)
    assert [tuple(row.values()) for row in rows(source)] == [(long, "b"), ("a", long)]


@pytest.mark.parametrize("longer", ["en", "de"])
def test_files_of_different_length_are_refused_with_both_counts(tmp_path: Path, longer: str) -> None:
    texts = {f"train.{side}": "a\n" * (50 if side == longer else 47) for side in ("en", "de")}
    with pytest.raises(InputError, match=r"(50 and .* 47|47 and .* 50) lines"):
        rows(aligned(write(tmp_path, texts)))


@pytest.mark.parametrize("spelling", ["val", "valid", "validation", "dev"])
def test_spellings_of_val_and_the_order_of_splits(spelling: str, tmp_path: Path) -> None:
    source = csv_files(write(tmp_path, {"test.csv": HEAD, f"{spelling}.csv": f"{HEAD}v,x\n", "train.csv": HEAD}))
    assert source.splits() == ("train", "val", "test")
    assert rows(source, "val") == [{"text": "v", "label": "x"}]


def test_a_folder_with_test_alone(tmp_path: Path) -> None:
    assert aligned(write(tmp_path, {"test.en": "", "test.de": "", "readme.md": ""})).splits() == ("test",)


def test_one_stratum_needs_no_list(tmp_path: Path) -> None:
    source = csv_files(write(tmp_path, {"train.csv": "text,label,d\na,x,5\n"}), strata="d")
    assert source.strata == ("d",)
    assert rows(source) == [{"text": "a", "label": "x", "d": 5}]


def test_direction_turns_round(tmp_path: Path) -> None:
    unit = '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>'
    write(tmp_path, {"train.jsonl": '{"en": "a", "de": "b"}\n', "train.en": "a\n", "train.de": "b\n"})
    write(tmp_path, {"train.tmx": f"<tmx><body>{unit}</body></tmx>"})
    for make in (pairs, aligned, memory):
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
    by_name = csv_files(None, train=str(here / "train.csv"), val=str(here / "v*.csv"))
    assert by_name.fingerprint() == first
    os.utime(there / "train.csv", (0, 0))
    assert csv_files(str(there)).fingerprint() == first
    options: list[Mapping[str, object]] = [
        {"text": "label", "label": "text"},
        {"strata": ["d"]},
        {"encoding": "cp1252"},
        {"header": ["text", "label"]},
        {"delimiter": ";"},
    ]
    others = [csv_files(str(here), **option).fingerprint() for option in options]
    assert len({first, *others}) == 1 + len(options)
    (there / "val.csv").rename(there / "test.csv")
    moved = csv_files(str(there)).fingerprint()
    write(there, {"train.csv": f"{HEAD}b,x\n"})
    assert len({first, moved, csv_files(str(there)).fingerprint()}) == 3


def test_fingerprint_of_folders_follows_the_class(tmp_path: Path) -> None:
    for name, label in (("one", "pos"), ("two", "pos"), ("three", "neg")):
        (tmp_path / name / label).mkdir(parents=True)
        write(tmp_path / name / label, {"1.txt": "a"})
    one, two, three = (TextFolders(str(tmp_path / name)).fingerprint() for name in ("one", "two", "three"))
    assert one == two != three


def test_parquet_is_read_in_batches_and_only_where_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [str(number) for number in range(5000)]
    pq.write_table(pa.table({"text": texts, "label": texts, "more": [[1]] * 5000}), tmp_path / "a.parquet")
    asked: list[tuple[int, list[str]]] = []
    iterate = pq.ParquetFile.iter_batches

    def noted(file: pq.ParquetFile, size: int, columns: list[str]) -> object:
        asked.append((size, columns))
        return iterate(file, size, columns=columns)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", noted)
    records = list(read(tmp_path / "a.parquet", {"text": "data.text", "label": "data.label"}))
    assert [record["text"] for _, record in records] == texts
    assert records[4321][0].endswith("a.parquet:row 4322") and set(records[0][1]) == {"text", "label"}
    assert asked == [(1024, ["text", "label"])]


@pytest.mark.parametrize("sizes", [[1, 1, 1, 1, 1, 1], [2, 1, 100], [3, 2, 1, 100], [100]])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "cp1252"])
def test_a_pipe_may_give_its_bytes_in_any_portions(sizes: list[int], encoding: str) -> None:
    class Pipe(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return super().read1(portions.pop(0) if portions else 1)

    portions = list(sizes)
    content = "ä\r\nb\n\nc"
    declared = "utf-8" if encoding.startswith("utf") and encoding != "utf-16-le" else encoding
    found = list(lines_of(Pipe(content.encode(encoding)), "standard input", declared))
    assert found == ["ä\r\n", "b\n", "\n", "c"]


def test_a_line_of_a_pipe_is_there_before_the_next_one() -> None:
    class Pipe(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return self.readline()

    pipe = Pipe(b"a\nb\n")
    assert next(lines_of(pipe, "standard input")) == "a\n"
    assert pipe.read() == b"b\n"


CONF = Path(__file__).parents[2] / "conf" / "data"
OWN = {
    "csv": {"a.csv": "x,a\n"},
    "tsv": {"a.tsv": "x\ta\n"},
    "jsonl": {"a.jsonl": '{"text": "a", "label": "x"}\n'},
    "parquet": {"a.parquet": b""},
    "folders": {},
    "pairs": {"a.tsv": "b\ta\n"},
    "parallel_text": {"a.en": "a\n", "a.de": "b\n"},
    "tmx": {"a.tmx": '<tmx><tu><tuv lang="en"><seg>a</seg></tuv><tuv lang="de"><seg>b</seg></tuv></tu></tmx>'},
}
"""The datasets that are files of the user's, with one example each."""


def from_yaml(name: str, *options: str) -> Source:
    languages = ["data.source=en", "data.target=de"] if name in ("pairs", "parallel_text", "tmx") else []
    with initialize_config_dir(str(CONF.parent), version_base="1.3"):
        config = compose("train", [f"data={name}", *languages, *options])
    assert config.data.name == name
    return build(config.data.reader)


@pytest.mark.parametrize("name", OWN)
def test_every_yaml_reads_its_files(name: str, tmp_path: Path) -> None:
    write(tmp_path, OWN[name])
    pq.write_table(pa.table({"text": ["a"], "label": ["x"]}), tmp_path / "a.parquet")
    (tmp_path / "x").mkdir()
    write(tmp_path / "x", {"1.txt": "a"})
    place = {"folders": "", "parallel_text": "a"}.get(name, f"a.{'tsv' if name == 'pairs' else name}")
    header = {
        "csv": ["data.header=[label,text]"],
        "tsv": ["data.header=[label,text]"],
        "pairs": ["data.header=[de,en]"],
    }
    source = from_yaml(name, f"data.train={tmp_path / place}", *header.get(name, []))
    assert source.splits() == ("train",)
    assert [tuple(row.values()) for row in source.rows("train")] in ([("a", "x")], [("a", "b")])
    assert len(source.fingerprint()) == 64


@pytest.mark.parametrize("name", OWN)
def test_every_yaml_says_what_is_missing(name: str) -> None:
    with pytest.raises(InputError, match="nowhere"):
        from_yaml(name, "data.path=/nowhere/at/all").splits()
    with pytest.raises(InputError, match=r"write data\.path=.*data\.train="):
        from_yaml(name).splits()
