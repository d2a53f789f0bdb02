"""Options out of their limits, each refused with its name, its value and what it may be."""

import re

import pytest
from composing import composed
from omegaconf import OmegaConf

from seqarena.errors import InputError
from seqarena.limits import LIMITS, check_limits, plain
from seqarena.preflight import check_config


@pytest.fixture(scope="module")
def configs():
    budgets = [composed("budget=flops", "budget.target=1e6"), composed("budget=time", "budget.minutes=1")]
    return [
        composed("data=numbers"),
        composed("model=textcnn"),
        composed("model=convs2s", "schedule=plateau"),
        composed("model=local_transformer"),
        composed("model=hierarchical"),
        composed("data=csv", "data.path=folder"),
        *budgets,
    ]


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_belongs_to_an_option_and_holds(name: str, configs) -> None:
    config = next(one for one in configs if OmegaConf.select(one, name, default="absent") != "absent").copy()
    check_limits(config)
    for value in ("abc", LIMITS[name].lowest - 1, True, float("nan")):
        OmegaConf.update(config, name, value)
        with pytest.raises(InputError, match=f"{name}=.* must be a"):
            check_limits(config)


@pytest.mark.parametrize(
    "override,told",
    [
        ("model.lr=0", "model.lr=0 must be a number from 1e-12"),
        ("model.dropout=1.5", "from 0 to 0.99"),
        ("trainer.clip=0", "1e-12 or more, or null"),
        ("trainer.precision=foo", "32-true, bf16-mixed"),
        ("trainer.precision=16-mixed", "needs a GPU"),
        ("trainer.accelerator=foo", "auto, cpu, gpu"),
        ("trainer=ddp", "trainer.devices=2"),
        ("trainer.precision=64-true", "trainer.precision=64-true does not go with trainer=fsdp"),
        ("trainer.compile=true", "trainer.compile=true does not go with trainer=fsdp"),
        ("trainer.max_epochs=null", "never end"),
        ("trainer.devices=0", "trainer.devices=0 must be a whole number from 1"),
        ("trainer.devices=abc", "whole number from 1, or auto"),
        ("trainer.devices=[0]", "whole number from 1, or auto"),
        ("trainer.devices=null", "whole number from 1, or auto"),
        ("trainer.strategy=foo", "auto, ddp"),
        ("trainer.accelerator=mps", "no Apple GPU"),
        ("trainer.max_steps=0", "trains nothing"),
        ("trainer.max_epochs=0", "trains nothing"),
        ("trainer.deterministic=no", "trainer.deterministic=no must be true or false"),
        ("lr_find=maybe", "lr_find=maybe must be true or false"),
        ("schedule.floor=5", "from 0 to 1"),
        ("seed=5e9", "from 0 to 4294967295"),
        ("seed=-1", "from 0 to 4294967295"),
        ("optim.betas=[0.9]", "optim.betas=[0.9] must be a list of 2 numbers"),
        ("optim.betas=[0.9,2]", "Invalid beta"),
        ("optim._target_=os.system", "is not run"),
        ("optim._target_=torch.optim.lr_scheduler.os.system", "is not run"),
        ("schedule.warmup=abc", "schedule.warmup=abc must be a number"),
    ],
)
def test_options_are_refused_with_what_to_write(override: str, told: str) -> None:
    more = ["trainer.strategy=fsdp"] if "fsdp" in told else []
    if override == "trainer=ddp":
        more = ["trainer.accelerator=cpu"]
    with pytest.raises(InputError, match=re.escape(told)):
        check_config(composed(override, *more))


@pytest.mark.parametrize("chosen", ["foo", "null"])
def test_a_reader_that_is_not_listed_is_refused_with_those_that_are(chosen: str) -> None:
    with pytest.raises(
        InputError, match=rf"model\.segment_reader={'None' if chosen == 'null' else chosen} .*transformer, lstm"
    ):
        plain(composed("model=segmented", f"model.segment_reader={chosen}"))
