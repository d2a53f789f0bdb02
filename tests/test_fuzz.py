"""Whatever stands in a run's or a sweep's folder is read, or refused by an InputError; on a page it stays text."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from made import make, translate
from omegaconf import OmegaConf
from tampering import BYTES, damaged, encoded, fuzz, tampered

from seqarena.compare import watching
from seqarena.compare.records import EXAMPLES, LEDGER, of_sweep, read_examples
from seqarena.compare.verb import run as compare_run
from seqarena.errors import InputError
from seqarena.history import FILE as HISTORY
from seqarena.history import read as read_history
from seqarena.record import FILE, Record
from seqarena.sweep import ledger
from seqarena.sweep.question import read as read_question

# what it is drawn from ------------------------------------------------------------------------------------------------

INTERVAL = {"value": 4.0, "low": 2.0, "high": 8.0, "reached": True}
CURVE = {"axis": "distance", "buckets": [{"at": 0, "value": 1.0}, {"at": 4, "value": 0.5}]}
LENGTHS = {"edges": [0, 8, 16], "counts": {"train": [1, 2, 0], "test": [1, 1, 1]}, "median": {"train": 8.0},
           "longest": {"train": 9}}  # fmt: skip
RICH: dict[str, Any] = {
    "error": {"type": "Diverged", "message": "loss is nan", "examples": [1]},
    "reach": {"distance": {"chance": 0.5, "effective_length": INTERVAL, "half_life": None}},
    "probes": {"end": {"gradient_reach": {"numbers": {"half_life": INTERVAL}, "curves": {"gradient_share": CURVE}}}},
    "soundness": {"card": "c", "broken": ["padding"]},
    "ledger": {"train": {"read": 9, "kept": 8, "empty": 1}, "test": {"read": 3}, "overlap": {"train-test": 0}},
    "data_report": {
        "lengths": {"source": LENGTHS}, "cut_share": {"train": 0.1}, "classes": {"train": {"yes": 4, "no": 4}},
        "suspects": {"count": 1, "examples": [{"text": "t", "labels": {"yes": 1, "no": 1}, "ids": [1, 2]}]},
    },
    "strata": {"distance": [{"bucket": "4", "n": 3, "accuracy": 0.5}]},
    "signature": {"bleu": "nrefs:1"},
}  # fmt: skip


SWEEP = "outputs/sweeps/s"
QUESTION = yaml.safe_load((ROOT / "sweeps" / "heads.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a sweep of two models, one of its runs diverged, and with one of translations."""
    root = tmp_path_factory.mktemp("fuzz")
    for model, share in (("lstm", 0.9), ("gru", 0.6)):
        for seed in (1, 2, 3):
            make(root / SWEEP, model, seed, share, **{name: one for name, one in RICH.items() if name != "error"})
    make(root / SWEEP, "gru", 4, None, status="diverged", error=RICH["error"])
    jobs = [{"folder": one.name, "overrides": ["seed=1"], "status": "done"} for one in (root / SWEEP).iterdir()]
    (root / SWEEP / LEDGER).write_text(json.dumps({"jobs": [*jobs, {**jobs[0], "folder": "planned"}]}))
    statistics = np.tile([20, 20, 15, 10, 5, 2, 20, 19, 18, 17], (12, 1))
    for model in ("lstm", "gru"):
        translate(root / "outputs/sweeps/t", model, 1, statistics)
    (root / "conf").symlink_to(ROOT / "conf")
    (root / "sweeps").mkdir()
    return root


@contextmanager
def holding(path: Path, content: bytes) -> Iterator[None]:
    """A file with other content for a while."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(before)


def compared(root: Path, sweep: str = "s", **options: Any) -> str | None:
    """The page of a sweep, or None where the comparison is refused."""
    config = OmegaConf.merge(OmegaConf.load(ROOT / "conf" / "compare.yaml"), {"runs": None, "sweep": sweep, **options})
    with suppress(InputError):
        compare_run(config, root, f"python compare.py sweep={sweep}")
        return (root / "outputs/compare" / sweep / "index.html").read_text(encoding="utf-8")
    return None


class Markup(HTMLParser):
    """Counts what could run, and finds what leads elsewhere."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts, self.wrong = 0, list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.wrong += [tag] if tag in ("img", "iframe", "object", "embed", "form", "base") else []
        self.wrong += [f"{name}={value}" for name, value in attrs if name.startswith("on")]
        self.wrong += [
            str(value) for name, value in attrs if name in ("href", "src") and ":" in str(value).split("/")[0]
        ]


# readers --------------------------------------------------------------------------------------------------------------


@fuzz(60)
@given(data=st.data())
def test_a_record_is_read_or_refused(project: Path, data: st.DataObject) -> None:
    folder = project / SWEEP / "lstm-seed1"
    told = (folder / FILE).read_bytes()
    content = data.draw(tampered(json.loads(told)).map(encoded) | damaged(told) | BYTES)
    with holding(folder / FILE, content), suppress(InputError):
        assert isinstance(Record.read(folder), Record)


@fuzz(40)
@given(data=st.data())
def test_a_history_is_read_or_refused(project: Path, data: st.DataObject) -> None:
    folder = project / SWEEP / "lstm-seed1"
    lines = [json.loads(line) for line in (folder / HISTORY).read_bytes().splitlines()]
    changed = tampered(lines).map(lambda told: b"".join(encoded(line) + b"\n" for line in told))
    content = data.draw(changed | damaged((folder / HISTORY).read_bytes()) | BYTES)
    with holding(folder / HISTORY, content), suppress(InputError):
        for line in read_history(folder):
            assert isinstance(line["step"], int)
            assert all(value is None or isinstance(value, int | float) for value in line.values())


@fuzz(40)
@given(data=st.data())
def test_a_ledger_is_read_or_refused_and_a_sweep_goes_on_without_it(project: Path, data: st.DataObject) -> None:
    folder = project / SWEEP
    told = (folder / LEDGER).read_bytes()
    content = data.draw(tampered(json.loads(told)).map(encoded) | damaged(told) | BYTES)
    with holding(folder / LEDGER, content):
        with suppress(InputError):
            assert all(one.folder.parent == folder for one in of_sweep(project, "s").planned)
        with suppress(InputError):
            watching.ahead(folder)
        assert isinstance(ledger.times(folder), dict)
        ledger.write(folder, {}, [])


@fuzz(25)
@given(data=st.data())
def test_a_question_file_is_read_or_refused(project: Path, data: st.DataObject) -> None:
    whole = yaml.safe_dump(QUESTION)
    changed = tampered(QUESTION).map(lambda told: yaml.safe_dump(told).encode())
    content = data.draw(changed | damaged(whole.encode()) | BYTES)
    (project / "sweeps" / "mine.yaml").write_bytes(content)
    for scale in ("small", "full"):
        with suppress(InputError):
            assert read_question(project, "mine", scale).jobs


# the page -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scripts(project: Path) -> int:
    """How many a page of records has that nobody tampered with."""
    page = compared(project)
    assert page is not None
    return Markup(page).scripts


@fuzz(3)
@given(data=st.data(), metric=st.sampled_from([None, None, "test/f1_macro", "speed/tokens_per_s", "val/accuracy"]))
def test_whatever_records_hold_stays_text_on_the_page(
    project: Path, scripts: int, data: st.DataObject, metric: str | None
) -> None:
    folder = project / SWEEP / data.draw(st.sampled_from(["lstm-seed1", "gru-seed4"]))
    told = json.loads((folder / FILE).read_text())
    with holding(folder / FILE, encoded(data.draw(tampered(told)))):
        page = compared(project, metric=metric, allow=["code", "versions", "budget", "decoding", "signature"])
    markup = Markup(page or "")
    assert not markup.wrong and (page is None or markup.scripts == scripts)


COLUMN = st.sampled_from(
    [[None], [float("nan")], [float("inf")], [-1], [2**62], ["<script>hit()</script>"], [b"\xff"], [True], [[1]], [[]]]
)


@fuzz(6)
@given(sweep=st.sampled_from(["s", "t"]), data=st.data())
def test_whatever_examples_hold_is_compared_or_refused(project: Path, sweep: str, data: st.DataObject) -> None:
    path = project / "outputs/sweeps" / sweep / "lstm-seed1" / EXAMPLES
    table = pq.read_table(path)
    name = data.draw(st.sampled_from([*table.column_names]))
    column = pa.array(data.draw(COLUMN) * len(table))
    if pa.types.is_binary(column.type):
        column = pa.Array.from_buffers(pa.string(), len(column), column.buffers())
    file = io.BytesIO()
    pq.write_table(table.set_column(table.column_names.index(name), name, column), file)
    content = data.draw(st.just(file.getvalue()) | damaged(path.read_bytes()))
    with holding(path, content):
        page = compared(project, sweep)
    assert not Markup(page or "").wrong


def test_a_column_whose_name_is_no_utf8_is_refused(project: Path) -> None:
    path = project / SWEEP / "lstm-seed1" / EXAMPLES
    with (
        holding(path, path.read_bytes().replace(b"correct", b"\x80orrect")),
        pytest.raises(InputError, match="cannot be read"),
    ):
        read_examples(path.parent)


@pytest.mark.parametrize("tree", [{"jobs": [{"folder": "../../x", "overrides": [], "status": "queued"}]}])
def test_no_path_leads_out_of_a_sweep(project: Path, tree: dict[str, Any]) -> None:
    with (
        holding(project / SWEEP / LEDGER, encoded(tree)),
        pytest.raises(InputError, match=r"jobs.0.folder: .* not '../../x'"),
    ):
        of_sweep(project, "s")
