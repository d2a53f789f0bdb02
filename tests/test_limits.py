"""Options out of their limits, each refused with its name, its value and what it may be."""

import pytest
from conftest import ROOT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from seqarena.errors import InputError
from seqarena.limits import LIMITS, check_values
from seqarena.preflight import check_config


def composed(*overrides: str):
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("train", list(overrides))


@pytest.fixture(scope="module")
def configs():
    return [composed("data=numbers"), composed("model=textcnn"), composed("model=convs2s", "schedule=plateau")]


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_belongs_to_an_option_and_holds(name: str, configs) -> None:
    config = next(one for one in configs if OmegaConf.select(one, name, default="absent") != "absent").copy()
    check_values(config)
    for value in ("abc", LIMITS[name].lowest - 1, True, float("nan")):
        OmegaConf.update(config, name, value)
        with pytest.raises(InputError, match=f"{name}=.* must be a"):
            check_values(config)


@pytest.mark.parametrize(
    "override,told",
    [
        ("model.lr=0", "model.lr=0 must be a number from 1e-12"),
        ("model.dropout=1.5", "from 0 to 0.99"),
        ("trainer.clip=-1", "0 or more, or null"),
        ("trainer.precision=foo", "32-true, bf16-mixed"),
        ("trainer.precision=16-mixed", "needs a GPU"),
        ("trainer.accelerator=foo", "auto, cpu, gpu"),
        ("trainer=ddp", "trainer.devices=2"),
        ("trainer.max_epochs=null", "never end"),
        ("trainer.devices=0", "at least one"),
    ],
)
def test_options_are_refused_with_what_to_write(override: str, told: str) -> None:
    more = ["trainer.accelerator=cpu"] if override == "trainer=ddp" else []
    with pytest.raises(InputError, match=told.replace(".", r"\.")):
        check_config(composed(override, *more))
