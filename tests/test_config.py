"""Every YAML composes and builds; nothing in conf/ is on paper only."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from composing import composed
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf, open_dict
from remembering import forgetting

from seqarena.building import build
from seqarena.data.preparation import Vocabulary
from seqarena.data.tokenizer import TokenizerOptions, train
from seqarena.errors import InputError
from seqarena.limits import plain
from seqarena.runs import build_data, build_task

ROOT = Path(__file__).parents[1]
GROUPS = ("model", "data", "optim", "schedule", "trainer", "logger", "budget", "probe", "recipe")
os.environ["SEQARENA_ROOT"] = str(ROOT)


def names(group: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / "conf" / group).glob("*.yaml"))


@cache
def vocabulary() -> Vocabulary:
    options = TokenizerOptions("word", 100, 1, False, True)
    tokenizer = train(options, ["a b c d e f g"])
    return Vocabulary(tokenizer, tokenizer, ["x", "y"])


def filled(config: DictConfig) -> DictConfig:
    """With the options that a user has to give."""
    for key in config.data:
        if OmegaConf.is_missing(config.data, key):
            config.data[key] = "somewhere"
    return config


@pytest.mark.parametrize("group,name", [(group, name) for group in GROUPS for name in names(group)])
def test_every_option_of_every_group_composes_and_builds(group: str, name: str) -> None:
    config = filled(composed(f"{group}={name}"))
    assert build_task(config, vocabulary()).monitor in ("accuracy", "bleu")
    build_data(config)
    assert plain(config)["seed"] == 1


@cache
def plainly(*overrides: str) -> dict[str, Any]:
    """A config with its interpolations as they are written; not to be changed."""
    return OmegaConf.to_container(filled(composed(*overrides)))  # type: ignore[return-value]


def paired(model: str, data: str) -> dict[str, Any]:
    """What Hydra composes of the two: the dataset's config, with this model's node in the place of the default's."""
    return plainly(f"data={data}") | {"model": plainly(f"model={model}")["model"]}


@cache
def task_of(parts: str) -> str:
    """The name of the task that is built of these parts of a config, as JSON: many datasets have the same."""
    return type(build_task(OmegaConf.create(json.loads(parts)), vocabulary())).__name__.lower()


@pytest.mark.parametrize("data", names("data"))
@pytest.mark.parametrize("model", names("model"))
def test_every_model_goes_with_every_dataset(model: str, data: str) -> None:
    whole = paired(model, data)
    parts = {part: whole[part] for part in ("model", "task", "optim", "schedule", "trainer")}
    data_read = {"target": whole["data"].get("target"), "tokenizer": {"joint": whole["data"]["tokenizer"].get("joint")}}
    assert task_of(json.dumps(parts | {"data": data_read})) == whole["task"]["name"]


@pytest.mark.parametrize("number,model", enumerate(names("model")))
def test_a_pair_is_what_hydra_itself_composes(number: int, model: str) -> None:
    data = names("data")[number * 4 % len(names("data"))]
    groups, values = [f"model={model}", f"data={data}"], ["seed=3", "model.dim=96"]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        _, remembered = (compose("train", [*groups, *rest], return_hydra_config=True) for rest in (["seed=2"], values))
        with forgetting():
            whole = compose("train", [*groups, *values], return_hydra_config=True)
    assert OmegaConf.to_container(whole) == OmegaConf.to_container(remembered)
    with open_dict(whole):
        del whole["hydra"]
    assert OmegaConf.to_container(whole) == OmegaConf.to_container(composed(*groups, *values))
    assert paired(model, data) == plainly(f"model={model}", f"data={data}")


@pytest.mark.parametrize("data", names("data"))
def test_a_dataset_changes_no_model(data: str) -> None:
    assert plainly(f"data={data}")["model"] == plainly()["model"]


def test_no_config_chooses_a_mode() -> None:
    """By which Hydra would take a run for a multirun; conftest.py counts on it."""
    for name in ("train", "evaluate", "predict", "compare"):
        with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
            assert compose(name, return_hydra_config=True).hydra.mode is None


@pytest.mark.parametrize("path", sorted((ROOT / "conf" / "tuned").glob("*.yaml")), ids=lambda path: path.stem)
def test_what_suits_a_model_under_a_recipe_is_used_and_can_be_overridden(path: Path) -> None:
    recipe, model = path.stem.rsplit("-", 1)
    assert recipe in names("recipe") and model in names("model")
    tuned = OmegaConf.load(path)
    config = composed(f"recipe={recipe}", f"model={model}")
    assert config.model.lr == tuned.model.lr and config.model.dim == tuned.model.dim
    assert composed(f"recipe={recipe}", f"model={model}", "model.lr=0.5").model.lr == 0.5


@pytest.mark.parametrize("name", ["evaluate", "predict"])
def test_the_other_verbs_compose(name: str) -> None:
    assert composed("run=somewhere", config=name).run == "somewhere"


def test_each_file_says_what_it_is_in_its_first_lines() -> None:
    for path in (ROOT / "conf").rglob("*.yaml"):
        head = [line for line in path.read_text(encoding="utf-8").splitlines()[:2] if not line.startswith("# @package")]
        assert path.parent.name == "tuned" or head[0].startswith("# "), path


def test_an_option_that_a_dataset_needs_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"data=parallel_text needs data\.source="):
        build_data(composed("data=parallel_text"))


def test_nothing_foreign_is_built() -> None:
    with pytest.raises(InputError, match=r"os\.system is not run"):
        build(OmegaConf.create({"_target_": "os.system", "command": "true"}))


def test_a_width_that_heads_do_not_divide_says_what_to_write() -> None:
    with pytest.raises(InputError, match=r"model\.dim=30.*4 heads.*model\.dim=32"):
        build_task(composed("model.dim=30"), vocabulary())
