"""What W&B would be sent of a comparison, read back from its offline log; a workspace's model, without a server."""

import json
from pathlib import Path
from typing import Any

import pytest
from made import make
from test_mirror import of_type, sent
from test_verb import ROOT, asked, sweep

from seqarena import wandb_run
from seqarena.compare import workspace
from seqarena.compare.comparing import Options, compare, question_of
from seqarena.compare.records import of_sweep
from seqarena.compare.verb import run
from seqarena.errors import InputError


def test_a_comparison_is_one_run_in_its_sweeps_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep(tmp_path)
    run(asked(sweep="s", publish="wandb", wandb={"project": "p"}), tmp_path, "python compare.py")
    told = capsys.readouterr().out
    assert "to upload this run: wandb sync " in told and "wandb:" not in told
    folder = tmp_path / "outputs/compare/s"
    records = sent(folder)
    (began,) = of_type(records, "run")
    assert (began["run_group"], began["job_type"], began["display_name"]) == ("s", "compare", "compare s")
    assert (began["project"], began["tags"]) == ("p", ["made"])
    tables = {path.name.rsplit("_", 2)[0]: json.loads(path.read_text()) for path in folder.rglob("media/table/*.json")}
    assert set(tables) >= {"leaderboard", "pairs", "by_distance_scores", "by_length_scores"}
    assert [row[0] for row in tables["leaderboard"]["data"]] == ["lstm", "gru"]
    assert tables["pairs"]["data"][0][-1].startswith("better")
    bucket, n, model, value, low, high = tables["by_distance_scores"]["data"][0]
    assert (bucket, n, model) == ("4-7", 60, "lstm") and low < value < high
    plots = {path.name.partition("_table_")[0] for path in folder.rglob("*_table_*.json")}
    assert plots >= {"scores", "by_distance", "curves"}
    (artifact,) = (one for one in of_type(records, "artifact") if one["type"] == "comparison")
    assert artifact["name"] == "compare-s"
    files = {one["path"] for one in artifact["manifest"]["contents"]}
    assert files == {"index.html", "results.csv", "table.md", "table.tex"}


def test_a_verdict_is_in_the_summary(tmp_path: Path) -> None:
    for name in ("sweeps", "conf"):
        (tmp_path / name).symlink_to(ROOT / name)
    for scaled, share in (("true", 0.9), ("false", 0.6)):
        for seed in (1, 2, 3):
            folder = tmp_path / "outputs/sweeps/attention_scaling-small"
            make(folder, "transformer", seed, share, options={"scaled_attention": scaled})
    run(asked(sweep="attention_scaling-small", publish="wandb"), tmp_path, "")
    records = sent(tmp_path / "outputs/compare/attention_scaling-small")
    summary = {key: one for update in of_type(records, "summary") for key, one in update.get("update", {}).items()}
    assert summary["verdict"] in ("supported", "undecided") and summary["claim"].startswith("Without the factor")


def test_a_service_that_fails_costs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **named: Any) -> None:
        raise ConnectionError("no route")

    sweep(tmp_path)
    monkeypatch.setattr("wandb.init", broken)
    with pytest.raises(InputError, match=r"no route.*is whole, in "):
        run(asked(sweep="s", publish="wandb"), tmp_path, "")
    assert (tmp_path / "outputs/compare/s/index.html").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"publish": "mlflow"}, "publish=mlflow is not known: write publish=wandb"),
        ({"publish": "wandb", "wandb": {"mode": "on"}}, "wandb.mode=on is not known"),
        ({"publish": "wandb", "watch": True}, "watch=true publishes nothing"),
    ],
)
def test_what_cannot_be_published(tmp_path: Path, options: dict[str, Any], told: str) -> None:
    sweep(tmp_path)
    with pytest.raises(InputError, match=told):
        run(asked(sweep="s", **options), tmp_path, "")


def test_the_workspace_groups_the_sweeps_runs_by_model(tmp_path: Path) -> None:
    pytest.importorskip("wandb_workspaces")
    sweep(tmp_path)
    selection = of_sweep(tmp_path, "s")
    found = compare(selection, Options(), question_of(ROOT, selection))
    made = workspace.of_sweep(found, "team", "p", "s")._to_model().model_dump(by_alias=True, mode="json")
    (runs,) = made["spec"]["section"]["runSets"]
    assert runs["grouping"] == [{"section": "config", "name": "model.value.name"}]
    asked_for = [(one["key"]["name"], one["value"]) for one in runs["filters"]["filters"]]
    assert asked_for == [("group", "s"), ("jobType", "train")]
    sections = {one["name"]: one["panels"] for one in made["spec"]["section"]["panelBankConfig"]["sections"]}
    assert list(sections) == ["Scores", "Learning", "Throughput", "By length", "By distance", "Cost"]
    (bars,) = sections["By distance"]
    assert bars["config"]["metrics"] == [f"test/accuracy/distance={name}" for name in ("4-7", "8-15", "16+")]


def test_no_key_means_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("wandb.login", lambda prompt: False)
    made = wandb_run.begin(
        tmp_path, mode="online", project="p", entity=None, name="n", group=None, job_type="compare", tags=[], config={}
    )
    assert made.settings.mode == "offline" and "wandb sync" in str(wandb_run.upload_hint(made))
    made.finish()
