"""A run's folder from somebody who means no good: nothing in it is run, unpacked, let out or obeyed; keys stay in."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import AGREEMENT, Verb, finished_run
from omegaconf import OmegaConf

from seqarena.building import build
from seqarena.errors import InputError, explained
from seqarena.record import FILE, Record, begin
from seqarena.secrets import redacted, redacted_override

BEST, TOKEN = "checkpoints/best.ckpt", "hf_doNotTellAnyone"
ENCODER = {"_target_": "seqarena.models.textcnn.TextCNNEncoder", "dim": 8}
ATTACK = {"_target_": "shutil.copyfile", "src": FILE, "dst": "was-run"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small classifier; not to be changed."""
    return finished_run(tmp_path_factory.mktemp("finished"), *AGREEMENT, "model=textcnn")


@pytest.mark.parametrize(
    "node",
    [
        {**ENCODER, "more": ATTACK},
        {**ENCODER, "more": [ATTACK]},
        {**ENCODER, "more": [[1, {"deep": ATTACK}]]},
        {**ENCODER, "more": {"deep": [{"deeper": [ATTACK]}]}, "_convert_": "all"},
        {**ENCODER, "more": [ATTACK], "_partial_": True},
        {**ENCODER, "more": [{"_args_": [1]}]},
    ],
    ids=["an argument", "in a list", "in lists", "in nodes and lists", "of a partial", "arguments"],
)
def test_no_code_of_others_is_run_however_deep_it_is_hidden(
    node: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(FILE).write_text("{}")
    with pytest.raises(InputError, match=r"shutil.copyfile is not run|_args_ has no place"):
        build(OmegaConf.create({"encoder": node}))
    assert not Path("was-run").exists()


# damage and packing ---------------------------------------------------------------------------------------------------


def packed(run: Path) -> None:
    """The checkpoint as an archive that unpacks to much more than it holds."""
    with zipfile.ZipFile(run / BEST) as whole:
        parts = {one.filename: whole.read(one) for one in whole.infolist()}
    with zipfile.ZipFile(run / BEST, "w", zipfile.ZIP_DEFLATED) as bomb:
        for name, content in parts.items():
            bomb.writestr(name, content if not name.endswith("/data/0") else bytes(50_000_000))


def with_one_bit_changed(run: Path) -> None:
    """In the middle of a weight, where torch would not see it."""
    with zipfile.ZipFile(run / BEST) as whole:
        largest = max(whole.infolist(), key=lambda part: part.file_size)
    raw = bytearray((run / BEST).read_bytes())
    raw[largest.header_offset + 200 + largest.file_size // 2] ^= 1
    (run / BEST).write_bytes(raw)


@pytest.mark.parametrize("damage", [packed, with_one_bit_changed])
@pytest.mark.parametrize("command", [("predict", "run=run", "text=a"), ("train", "replay=run", "hydra.run.dir=new")])
def test_a_checkpoint_that_is_not_as_it_was_written_is_refused(
    verb: Verb, finished: Path, damage: Callable[[Path], None], command: tuple[str, ...]
) -> None:
    damage(Path(shutil.copytree(finished, "run")))
    code, out, err = verb(*command)
    assert code == 2 and f"{BEST} is damaged" in err and "Traceback" not in err and out == ""
    assert not Path("new", "history.jsonl").exists(), "it is found out before anything is trained"


# what is let out, and what is obeyed ----------------------------------------------------------------------------------


def test_a_record_cannot_ask_a_repetition_for_the_environment(
    verb: Verb, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE_ALONE", "not for others")
    run = Path(shutil.copytree(finished, "run"))
    told = json.loads((run / FILE).read_text())
    told["config"]["data"]["name"] = "${oc.env:MINE_ALONE}"
    (run / FILE).write_text(json.dumps(told))
    code, out, err = verb("train", "replay=run", "logger=none", "hydra.run.dir=new")
    assert code == 2 and "${oc.env:MINE_ALONE}" in err and "not for others" not in out + err
    assert not Path("new", FILE).exists()


def test_keys_of_the_environment_reach_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("SHORT_KEY", "1")
    tags = {"tags": ["mine", f"by {TOKEN}"], "steps": 11}
    assert redacted(tags) == {"tags": ["mine", "by (hidden)"], "steps": 11}
    assert redacted_override(f"logger.tags=[{TOKEN}]") == "logger.tags=[(hidden)]"
    names = {"model": {"name": "lstm"}, "data": {"name": "csv"}, "task": {"name": "classification"}}
    record = begin(tmp_path, {"seed": 1, "sweep": None, **names, **tags}, [], tmp_path, {})
    record.status, record.error = "failed", {"type": "OSError", "message": f"https://me:{TOKEN}@hub cannot be reached"}
    record.write(tmp_path)
    assert TOKEN not in (tmp_path / FILE).read_text() and Record.read(tmp_path).config["steps"] == 11


@pytest.mark.parametrize("option", ["+logger.api_key=s3cret", "++token=s3cret", "hydra.job.env_set.HF_TOKEN=s3cret"])
def test_a_key_among_the_options_is_refused_before_hydra_writes_it_down(verb: Verb, option: str) -> None:
    for name in ("train", "evaluate"):
        code, out, err = verb(name, option, "hydra.run.dir=new")
        assert code == 2 and "WANDB_API_KEY" in err and "s3cret" not in out + err and not Path("new").exists()


def test_a_terminal_obeys_no_message(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), explained(InputError):
        raise InputError("\x1b]0;mine\x07 is no label:\n\u202e take another")
    assert capsys.readouterr().err == "error: U+001B]0;mineU+0007 is no label:\nU+202E take another\n"


def test_a_converted_model_is_not_written_where_a_link_leads(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    from types import SimpleNamespace

    from seqarena.exporting.model_folder import converted

    (tmp_path / "run").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "run" / "export").symlink_to(tmp_path / "home")
    with (
        pytest.raises(InputError, match=r"export leads to .*home.*delete it"),
        converted(
            SimpleNamespace(folder=tmp_path / "run"),  # type: ignore[arg-type]
            "float32",
        ),
    ):
        pass
    assert not list((tmp_path / "home").iterdir())


def test_a_fifo_is_no_record(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / FILE)
    with pytest.raises(InputError, match="is missing"):
        Record.read(tmp_path)
