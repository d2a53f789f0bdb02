"""Datasets of the Hub: each named one in its own layout, downloaded from a small server, and every way it can fail."""

import json
import logging
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import datasets
import huggingface_hub
import pytest
from huggingface_hub import constants
from huggingface_hub.errors import HFValidationError, HTTPError, LocalEntryNotFoundError
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from seqarena.building import build
from seqarena.data.sources import hub_download
from seqarena.data.sources.hub import HubPairs, HubTexts
from seqarena.data.sources.hub_card import Card
from seqarena.data.sources.hub_layout import find, parse
from seqarena.errors import InputError
from seqarena.runs import build_data

datasets.disable_progress_bars()
CONF = Path(__file__).parents[2] / "conf"
Record = dict[str, Any]

ODD = [
    "NA",
    "null",
    "007",
    " a ",
    'say "it", twice',
    "two\nlines",
    "cr\r\nlf",
    "a\u2028b\x85c",
    "naïve 🙂 größer",
    "nan",
]
"""Texts that careless readers change."""


def texts(split: str, size: int = 60) -> list[str]:
    return [*ODD, *(f"{split} text {number}" for number in range(size - len(ODD)))]


def save(file: Path, records: Sequence[Record], features: datasets.Features | None = None) -> None:
    """Records as a file of the format that its name says."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".parquet":
        datasets.Dataset.from_list(list(records), features=features).to_parquet(file)
    else:
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        file.write_text(lines, encoding="utf-8", newline="")


class Labelled(NamedTuple):
    """A classification set as it lies on the Hub: where each split is, and how a record is written."""

    files: Mapping[str, Sequence[str]]
    record: Callable[[str, int], Record]
    names: Sequence[str]
    features: datasets.Features | None = None
    used: tuple[str, ...] = ("train", "test")

    def write(self, folder: Path) -> dict[str, list[Record]]:
        """Write every split, its records dealt over its files in order; return the rows that should come back."""
        rows: dict[str, list[Record]] = {}
        for split, files in self.files.items():
            labels = [number % len(self.names) for number in range(60)]
            records = [self.record(text, label) for text, label in zip(texts(split), labels, strict=True)]
            if split == "test" and split not in self.used:
                records = [record | {"label": -1} for record in records]
            for place, file in enumerate(files):
                start, end = 60 * place // len(files), 60 * (place + 1) // len(files)
                save(folder / file, records[start:end], self.features)
            names = [self.names[label] for label in labels]
            rows[split] = [dict(text=text, label=name) for text, name in zip(texts(split), names, strict=True)]
        return {split: rows[split] for split in self.used}


def numbered(text: str, label: int) -> Record:
    return {"text": text, "label": label}


def features(names: Sequence[str], text: str = "text", **more: str) -> datasets.Features:
    values = {name: datasets.Value(kind) for name, kind in {text: "string", **more}.items()}
    return datasets.Features({**values, "label": datasets.ClassLabel(names=list(names))})


def everywhere(pattern: str, *splits: str) -> dict[str, list[str]]:
    return {split: [pattern.format(split)] for split in splits}


NEWS, FEELING, SHORT = ["World", "Sports", "Business", "Sci/Tech"], ["negative", "positive"], ["neg", "pos"]
KINDS = ["DESC", "ENTY", "ABBR", "HUM", "NUM", "LOC"]
LABELLED = {
    "imdb": Labelled(everywhere("plain_text/{}-00000-of-00001.parquet", "train", "test", "unsupervised"), numbered,
                     SHORT, features(SHORT)),
    "ag_news": Labelled({"train": ["data/train-00000-of-00002-0a1b.parquet", "data/train-00001-of-00002-2c3d.parquet"],
                         "test": ["data/test-00000-of-00001.parquet"]}, numbered, NEWS, features(NEWS)),
    "sst2": Labelled(everywhere("data/{}-00000-of-00001.parquet", "train", "validation", "test"),
                     lambda text, label: {"idx": 0, "sentence": text, "label": label}, FEELING,
                     features(FEELING, "sentence", idx="int32"), ("train", "validation")),
    "rotten_tomatoes": Labelled(everywhere("{}.parquet", "train", "validation", "test"), numbered, SHORT,
                                features(SHORT), ("train", "validation", "test")),
    "trec": Labelled(everywhere("{}.jsonl", "train", "test"), lambda text, label: {
        "text": text, "label": 40 + label, "label_text": "x", "label_original": "X:x", "label_coarse": label,
        "label_coarse_text": "x", "label_coarse_original": KINDS[label]}, KINDS),
    "subj": Labelled(everywhere("{}.jsonl", "train", "test"), lambda text, label: {
        "text": text, "label": label, "label_text": ["objective", "subjective"][label]}, ["objective", "subjective"]),
    "hub": Labelled(everywhere("{}.jsonl", "train", "valid", "test"), numbered, ["0", "1", "2"], None,
                    ("train", "valid", "test")),
}  # fmt: skip


class Paired(NamedTuple):
    """A translation set as it lies on the Hub; `nested` puts both languages into the column `translation`."""

    files: Mapping[str, Sequence[str]]
    languages: tuple[str, str]
    nested: bool
    others: Sequence[str] = ()

    def write(self, folder: Path) -> dict[str, list[Record]]:
        """Write every split, its records dealt over its files in order; return the rows that should come back."""
        for file in self.others:
            save(folder / file, [{"translation": {"fr": "non", "en": "no"}}])
        rows: dict[str, list[Record]] = {}
        for split, files in self.files.items():
            rows[split] = [dict(source=text, target=f"<{text}>") for text in texts(split)]
            pairs = [{self.languages[0]: row["source"], self.languages[1]: row["target"]} for row in rows[split]]
            records = [{"translation": pair} for pair in pairs] if self.nested else pairs
            kind = datasets.Features({"translation": datasets.Translation(languages=list(self.languages))})
            for place, file in enumerate(files):
                start, end = 60 * place // len(files), 60 * (place + 1) // len(files)
                save(folder / file, records[start:end], kind if self.nested else None)
        return rows


ALL = ("train", "validation", "test")
THREE = [f"de-en/train-0000{number}-of-00003.parquet" for number in range(3)]
WMT = everywhere("de-en/{}-00000-of-00001.parquet", "validation", "test")
PAIRED = {
    "multi30k": Paired(everywhere("{}.jsonl", "train", "val", "test"), ("en", "de"), False),
    "iwslt14": Paired(everywhere("de-en/{}/0000.parquet", *ALL), ("de", "en"), True),
    "iwslt17": Paired(everywhere("iwslt2017-en-de/{}/0000.parquet", *ALL), ("en", "de"), True,
                      ["iwslt2017-en-fr/train/0000.parquet"]),
    "wmt14": Paired({"train": THREE, **WMT}, ("en", "de"), True, ["fr-en/train-00000-of-00001.parquet"]),
    "wmt16": Paired({"train": THREE, **WMT}, ("en", "de"), True, ["ro-en/train-00000-of-00001.parquet"]),
    "opus_books": Paired(everywhere("de-en/{}-00000-of-00001.parquet", "train"), ("en", "de"), True,
                         ["en-fr/train-00000-of-00001.parquet"]),
    "hub_pairs": Paired(everywhere("{}.jsonl", "train", "dev"), ("en", "tr"), True),
}  # fmt: skip
NEEDED = {"hub": ["data.text=text", "data.label=label"], "hub_pairs": ["data.source=en", "data.target=tr"]}
OURS = {"validation": "val", "valid": "val", "dev": "val"}


def composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", list(overrides))


def all_rows(source: Any) -> dict[str, list[Record]]:
    return {split: [dict(row) for row in source.rows(split)] for split in source.splits()}


def test_every_named_set_is_tested() -> None:
    ids = {path.stem for path in (CONF / "data").glob("*.yaml") if "base/hub" in path.read_text(encoding="utf-8")}
    assert ids == set(LABELLED) | set(PAIRED)


@pytest.mark.parametrize("name", [*LABELLED, *PAIRED])
def test_each_set_arrives_as_it_lies_on_the_hub(name: str, tmp_path: Path) -> None:
    made = LABELLED.get(name) or PAIRED[name]
    expected = {OURS.get(split, split): rows for split, rows in made.write(tmp_path / "folder").items()}
    more = ["data.baselines=[majority]"] if name in LABELLED else []
    config = composed(f"data={name}", f"data.path={tmp_path / 'folder'}", f"cache={tmp_path / 'cache'}",
                      *NEEDED.get(name, []), *more)  # fmt: skip
    assert all_rows(build(config.data.reader)) == expected
    data = build_data(config)
    data.prepare_data()
    data.setup()
    assert data.report["cut"] == [split for split in ("train", "val", "test") if split not in expected]
    assert sum(data.report["ledger"][split]["read"] for split in ("train", "val", "test")) == 60 * len(expected)
    if name in LABELLED:
        assert data.vocabulary.labels == sorted(LABELLED[name].names)


def test_the_datasets_library_reads_the_same_names(tmp_path: Path) -> None:
    LABELLED["ag_news"].write(tmp_path)
    source = HubTexts(None, "text", "label", str(tmp_path))
    theirs = datasets.Dataset.from_parquet(
        [str(file) for file in source.files("train")], cache_dir=str(tmp_path / "cache")
    )
    names = theirs.features["label"].int2str(theirs["label"])
    assert [(row["text"], row["label"]) for row in source.rows("train")] == list(
        zip(theirs["text"], names, strict=True)
    )


def test_a_pair_turns_round(tmp_path: Path) -> None:
    PAIRED["iwslt14"].write(tmp_path)
    there, back = HubPairs(None, "de", "en", str(tmp_path)), HubPairs(None, "en", "de", str(tmp_path))
    turned = [{"source": row["target"], "target": row["source"]} for row in there.rows("test")]
    assert list(back.rows("test")) == turned
    assert there.fingerprint() != back.fingerprint()


def test_a_copy_with_other_columns_is_read_by_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text('text,label\n"NA",positive\n"a ""b""\nc",negative\n')
    source = build(composed("data=sst2", f"data.path={tmp_path}").data.reader)
    assert list(source.rows("train")) == [
        {"text": "NA", "label": "positive"},
        {"text": 'a "b"\nc', "label": "negative"},
    ]


def test_secret_labels_are_said_and_their_split_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    LABELLED["sst2"].write(tmp_path)
    assert HubTexts(None, "sentence", "label", str(tmp_path)).splits() == ("train", "val")
    assert caplog.messages == [f"{tmp_path}: no label in the test split, so it is not used"]


@pytest.mark.parametrize(
    ("labels", "names", "arrive"),
    [
        ([-1, 0, 1], ["a", "b"], ["", "a", "b"]),  # some without a label: dropped and counted later
        ([-1, 0, 1], None, ["-1", "0", "1"]),  # a class called -1
        ([0, 1, 1], None, ["0", "1", "1"]),
        ([None, 1], ["a", "b"], ["", "b"]),
        (["b", "0", "other"], ["a", "b"], ["b", "a", "other"]),
    ],
)
def test_labels_and_their_names(labels: list[Any], names: list[str] | None, arrive: list[str], tmp_path: Path) -> None:
    save(tmp_path / "train.jsonl", [{"text": "x", "label": label} for label in labels])
    source = HubTexts(None, "text", "label", str(tmp_path), labels=names)
    assert [row["label"] for row in source.rows("train")] == arrive


def test_what_is_left_out_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    LABELLED["imdb"].write(tmp_path)
    with caplog.at_level(logging.INFO):
        HubTexts(None, "text", "label", str(tmp_path)).splits()
    assert "left out, being neither train nor val nor test: 'unsupervised'" in caplog.text


def test_a_stratum_is_not_called_like_a_column_of_ours(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"text": "a", "label": "x", "loss": 1}\n')
    with pytest.raises(InputError, match="'loss' cannot be a stratum"):
        HubTexts(None, "text", "label", str(tmp_path), strata=["loss"]).splits()


def test_a_single_file_is_train(tmp_path: Path) -> None:
    save(tmp_path / "reviews.jsonl", [numbered("a", 1)])
    source = HubTexts(None, "text", "label", str(tmp_path / "reviews.jsonl"))
    assert all_rows(source) == {"train": [{"text": "a", "label": "1"}]}


def test_fingerprint_follows_content_and_options_not_place(tmp_path: Path) -> None:
    for folder, number in (("a", 0), ("b", 0), ("c", 1)):
        save(tmp_path / folder / "train.jsonl", [{"text": "a", "other": "b", "label": number}])
    made = [HubTexts(None, "text", "label", str(tmp_path / folder)).fingerprint() for folder in "abc"]
    other = HubTexts(None, "other", "label", str(tmp_path / "a")).fingerprint()
    named = HubTexts(None, "text", "label", str(tmp_path / "a"), labels=["x"]).fingerprint()
    assert made[0] == made[1]
    assert len({*made, other, named}) == 4


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("data/train-00001-of-00002-0a1b.parquet", ("default", "train", 1, 2, "parquet")),
        ("de-en/train/0003.parquet", ("de-en", "train", 3, None, "parquet")),
        ("de-en/partial-train/0000.parquet", ("de-en", "partial-train", 0, None, "parquet")),
        ("validation.csv.gz", ("default", "validation", None, None, "csv.gz")),
        ("a/b/test.jsonl.zst", ("a/b", "test", None, None, "jsonl.zst")),
        ("README.md", None),
        ("imdb.py", None),
    ],
)
def test_names_of_files(name: str, told: tuple[Any, ...] | None) -> None:
    assert parse(name) == told


def card(*configs: Record) -> Card:
    return Card({"configs": list(configs)})


def declaring(split: str, path: str) -> Card:
    return card({"config_name": "x", "data_files": [{"split": split, "path": path}]})


TWO = [f"data/train-0000{number}-of-00003.parquet" for number in (0, 2)]
BAD_LAYOUTS: list[tuple[str, list[str], Card, str | None, list[str]]] = [
    # what is wrong, the names, what README.md declares, data.config, what the message says
    ("a shard is missing", TWO, card(), None, ["1 of 3 shards", "train-00001-of-00003", "Download"]),
    ("a declared shard is missing", TWO, declaring("train", "data/train-*"), None, ["00001-of-00003"]),
    ("a converted shard is missing", ["c/train/0001.parquet"], card(), None, ["1 of 2", "train-0000"]),
    ("partial conversion", ["c/partial-train/0000.parquet", "c/test/0000.parquet"], card(), None,
     ["c/partial-train/0000.parquet", "did not convert the whole"]),
    ("two spellings", ["train.csv", "val.csv", "dev.csv"], card(), None, ["the val split", "'dev', 'val'", "Keep one"]),
    ("two formats", ["train.csv", "train.jsonl"], card(), None, ["more than once", "'train.csv', 'train.jsonl'"]),
    ("two versions", ["data/train-00000-of-00001-aa.parquet", "data/train-00000-of-00001-bb.parquet"], card(), None,
     ["more than once"]),
    ("whole and in shards", ["train.parquet", "train-00000-of-00001.parquet"], card(), None, ["more than once"]),
    ("wrong config", ["de-en/train.csv", "fr-en/train.csv"], card(), "de_en",
     ["no config 'de_en'", "'de-en', 'fr-en'", "data.config=de-en?"]),
    ("a config where there are none", ["train.csv"], card(), "zh", ["'zh'", "'default'", "data.config=<name>"]),
    ("no config chosen", ["de-en/train.csv", "fr-en/train.csv"], card(), None,
     ["'de-en', 'fr-en'", "data.config=<name>"]),
    ("declared file is missing", ["a.csv"], declaring("test", "b.csv"), None, ["'b.csv'", "test split", "'a.csv'"]),
    ("a script only", ["imdb.py", "README.md"], card(), None, ["'README.md', 'imdb.py'", "refs/convert/parquet"]),
    ("declared splits of other names", ["a.csv"], declaring("all", "a.csv"), None, ["'x'", "only 'all'"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "declared", "config", "says"), [c[1:] for c in BAD_LAYOUTS], ids=[c[0] for c in BAD_LAYOUTS]
)
def test_bad_layouts_are_named(names: list[str], declared: Card, config: str | None, says: list[str]) -> None:
    with pytest.raises(InputError) as error:
        find("the set", names, declared, config)
    assert [part for part in ["the set", *says] if part not in str(error.value)] == [], error.value


@pytest.mark.parametrize(
    ("data_files", "found"),
    [
        ("b.csv", {"train": ["b.csv"]}),
        (["b.csv", "a.csv"], {"train": ["b.csv", "a.csv"]}),
        ([{"split": "train", "path": ["b.csv", "x/*.csv"]}, {"split": "dev", "path": "a.csv"}],
         {"train": ["b.csv", "x/c.csv", "x/d.csv"], "val": ["a.csv"]}),
        ([{"split": "train", "path": "**/*.csv"}], {"train": ["a.csv", "b.csv", "x/c.csv", "x/d.csv"]}),
        ([{"split": "train", "path": "*.csv"}, {"split": "more", "path": "x/*"}], {"train": ["a.csv", "b.csv"]}),
    ],
)  # fmt: skip
def test_readme_declares_files(data_files: object, found: Record) -> None:
    names = ["README.md", "a.csv", "b.csv", "x/c.csv", "x/d.csv"]
    layout = find("the set", names, card({"config_name": "only", "data_files": data_files}), None)
    assert {split: list(files) for split, files in layout.files.items()} == found


def test_the_default_config() -> None:
    configs = [{"config_name": name, "data_files": f"{name}.csv"} for name in ("a", "b")]
    assert find("the set", ["a.csv", "b.csv"], card(configs[0], configs[1] | {"default": True}), None).config == "b"
    assert find("the set", ["train.csv", "more/train.csv"], card(), None).config == "default"


def test_readme_is_read_from_the_folder(tmp_path: Path) -> None:
    save(tmp_path / "one.jsonl", [numbered("a", 1)])
    save(tmp_path / "two.jsonl", [numbered("b", 0)])
    head = "configs:\n- config_name: x\n  data_files:\n  - split: train\n    path: [two.jsonl, one.jsonl]\n"
    (tmp_path / "README.md").write_text(f"---\n{head}---\n# A set\n")
    assert [row["text"] for row in HubTexts(None, "text", "label", str(tmp_path)).rows("train")] == ["b", "a"]
    (tmp_path / "README.md").write_text("---\nconfigs: [\n---\n")
    with pytest.raises(InputError, match=r"README\.md: the YAML"):
        HubTexts(None, "text", "label", str(tmp_path)).splits()


@pytest.mark.parametrize(
    ("records", "source", "says"),
    [
        ([{"text": "a", "label": 3}], {"labels": ["x", "y"]}, ["train.jsonl:1", "is 3", "0 to 1", "'x', 'y'"]),
        ([{"text": "a", "label": 0}], {"text": "txt"}, ["'txt'", "'text', 'label'", "data.text=text?"]),
        ([{"text": "a", "label": 0}], {"label": ["lable", "y"]}, ["'lable'", "data.label=label?"]),
        ([{"text": "a", "label": -1}], {}, ["no text of the training split has a label in 'label'"]),
        ([{"text": "a", "label": 0}], {"text": "label"}, ["two uses"]),
        ([{"text": "a", "label": 0}], {"strata": ["text"]}, ["cannot be a stratum"]),
        ([{"text": "a", "label": True}], {}, ["True", "integer"]),
    ],
)
def test_bad_texts_are_named(records: list[Record], source: Record, says: list[str], tmp_path: Path) -> None:
    save(tmp_path / "train.jsonl", records)
    options = {"text": "text", "label": "label"} | source
    with pytest.raises(InputError) as error:
        all_rows(HubTexts(None, path=str(tmp_path), **options))
    assert [part for part in says if part not in str(error.value)] == [], error.value


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"translation": {"en": "a", "fr": "b"}}, ["no language 'de'", "'en', 'fr'", "data.target"]),
        ({"translation": "a"}, ["'translation' is 'a'", "texts by language"]),
        ({"en": "a"}, ["no key 'de'", "data.target"]),
    ],
)
def test_bad_pairs_are_named(record: Record, says: list[str], tmp_path: Path) -> None:
    save(tmp_path / "train.jsonl", [record])
    with pytest.raises(InputError) as error:
        all_rows(HubPairs(None, "en", "de", str(tmp_path)))
    assert [part for part in ["train.jsonl:1", *says] if part not in str(error.value)] == [], error.value


def test_no_language_is_translated_into_itself(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"data\.source=en data\.target=en: the same"):
        HubPairs(None, "en", "en", str(tmp_path)).splits()


def test_damaged_parquet_and_missing_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        HubTexts(None, "text", "label", str(tmp_path / "nowhere")).splits()
    with pytest.raises(InputError, match=r"data\.id=<owner/name>"):
        HubTexts(None, "text", "label").splits()
    (tmp_path / "train.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match=r"train\.parquet: not a"):
        HubTexts(None, "text", "label", str(tmp_path)).splits()


COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    """Serves one folder as the dataset me/set, at one commit, and refuses others as the Hub does."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, []  # type: Path, list[str]
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(request.path).path)
        status, content, head = self.found(path)
        if request.command == "GET":
            self.asked.append(path)
        request.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **head}.items():
            request.send_header(name, value)
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(content)

    def found(self, path: str) -> tuple[int, bytes, dict[str, str]]:
        """Status, content and headers of what lies at a path."""
        for name, status, code in (
            ("no/such", 404, "RepoNotFound"),
            ("a/gated", 403, "GatedRepo"),
            ("a/broken", 403, ""),
        ):
            if name in path:
                return status, b"", {"X-Error-Code": code}
        if path in ("/api/datasets/me/set/revision/main", "/api/datasets/me/set"):
            return 200, json.dumps({"id": "me/set", "sha": COMMIT}).encode(), {}
        if path.startswith("/api/datasets/me/set/tree/"):
            files = sorted(file for file in self.folder.rglob("*") if file.is_file())
            told = [{"type": "file", "path": file.relative_to(self.folder).as_posix(), "size": file.stat().st_size,
                     "oid": "0" * 40} for file in files]  # fmt: skip
            return 200, json.dumps(told).encode(), {}
        start = f"/datasets/me/set/resolve/{COMMIT}/"
        if path.startswith(start):
            name = path.removeprefix(start)
            content = (self.folder / name).read_bytes()
            return 200, content, {"ETag": f'"{abs(hash(name)):040x}"', "X-Repo-Commit": COMMIT}
        return 404, b"", {"X-Error-Code": "RevisionNotFound"}


@pytest.fixture
def fake_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A Hub on this machine, and an empty cache."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    found = FakeHub(tmp_path / "hub")
    monkeypatch.setattr(constants, "ENDPOINT", found.url)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", found.url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_a_set_is_downloaded_once_and_only_what_is_needed(
    fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = PAIRED["wmt14"].write(fake_hub.folder)
    (fake_hub.folder / "README.md").write_text("# A set without configs\n")
    (fake_hub.folder / "wmt.py").write_text("raise SystemExit('run')\n")
    with caplog.at_level(logging.INFO):
        source = HubPairs("me/set", "en", "de", config="de-en")
        rows, fingerprint = all_rows(source), source.fingerprint()
    assert rows == {OURS.get(split, split): rows for split, rows in expected.items()}
    assert COMMIT in caplog.text
    fetched = {path.split(f"{COMMIT}/")[1] for path in fake_hub.asked if "/resolve/" in path}
    assert fetched == {"README.md", *THREE, *(file for files in WMT.values() for file in files)}
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    fake_hub.asked.clear()
    again = HubPairs("me/set", "en", "de", config="de-en")
    assert all_rows(again) == rows
    local = HubPairs(None, "en", "de", str(fake_hub.folder), config="de-en")
    assert fingerprint == again.fingerprint() == local.fingerprint()
    assert fake_hub.asked == []
    with pytest.raises(InputError, match="cannot be downloaded: HF_HUB_OFFLINE is set"):
        HubPairs("me/set", "en", "fr", config="fr-en").splits()


def test_two_ranks_download_at_once(fake_hub: FakeHub) -> None:
    PAIRED["iwslt14"].write(fake_hub.folder)
    with ThreadPoolExecutor(2) as ranks:
        first, second = ranks.map(lambda _: all_rows(HubPairs("me/set", "de", "en")), range(2))
    assert first == second
    assert [len(rows) for rows in first.values()] == [60, 60, 60]


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("no/such", {}, ["data.id=no/such", "no such dataset", "hf auth login"]),
        ("a/gated", {}, ["a/gated is gated", "/datasets/a/gated", "hf auth login"]),
        ("a/broken", {}, ["refuses access (403)"]),
        ("me/set", {"revision": "v9"}, ["data.revision=v9", "me/set has no such branch"]),
        ("me/set", {"revision": "f" * 40}, ["data.revision=ffff", "no such branch"]),
        ("me/set", {"config": "en-de"}, ["me/set: no config 'en-de'", "'default'"]),
        ("me/set/too", {}, ["data.id=me/set/too", "owner/name"]),
        ("me/set", {"text": "sentence"}, ["train.jsonl:1", "'sentence'", "'text', 'label'"]),
    ],
)
def test_what_the_hub_refuses_is_explained(fake_hub: FakeHub, name: str, options: Record, says: list[str]) -> None:
    save(fake_hub.folder / "train.jsonl", [numbered("a", 1)])
    with pytest.raises(InputError) as error:
        all_rows(HubTexts(name, **{"text": "text", "label": "label"} | options))
    assert [part for part in says if part not in str(error.value)] == [], error.value
    assert str(error.value).isprintable()


OFFLINE = ["me/set is not on this machine", "`hf download me/set --repo-type dataset --revision v1 --local-dir FOLDER`",
           "data.path=FOLDER"]  # fmt: skip


def refused_at_once(*says: str) -> None:
    start = time.monotonic()
    with pytest.raises(InputError) as error:
        HubTexts("me/set", "text", "label", revision="v1").splits()
    assert time.monotonic() - start < 2
    assert [part for part in [*OFFLINE, *says] if part not in str(error.value)] == [], error.value


def test_without_a_network_the_other_way_is_said_at_once(fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setattr(constants, "ENDPOINT", url)
    refused_at_once(f"{url} does not answer")
    monkeypatch.setattr(hub_download, "PATIENCE", 0.2)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(1) or [])
    refused_at_once("does not answer")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    refused_at_once("HF_HUB_OFFLINE is set")


@pytest.mark.parametrize("raised", [HTTPError("cut off"), LocalEntryNotFoundError("gone"), HFValidationError("bad")])
def test_a_download_that_breaks_is_explained(
    raised: Exception, fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> str:
        raise raised

    save(fake_hub.folder / "train.jsonl", [numbered("a", 1)])
    monkeypatch.setattr(huggingface_hub, "snapshot_download", breaks)
    with pytest.raises(InputError, match=r"hf download me/set|is not a name"):
        HubTexts("me/set", "text", "label").splits()


@pytest.mark.parametrize(
    ("given", "url", "proxy"),
    [
        ({}, "https://huggingface.co", None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "https://huggingface.co", "http://proxy:3128"),
        ({"HTTPS_PROXY": "proxy:3128"}, "https://huggingface.co", "http://proxy:3128"),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "http://mirror", None),
        ({"ALL_PROXY": "socks5://proxy:1080"}, "http://mirror", "socks5://proxy:1080"),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "huggingface.co"}, "https://huggingface.co", None),
    ],
)
def test_the_proxy_is_knocked_at(given: Record, url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert hub_download._proxy(url) == proxy
