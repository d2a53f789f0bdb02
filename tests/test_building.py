"""Nodes of a config: values of a wrong type are refused by the option's name, and code of others is never run."""

import re

import pytest
from composing import composed
from omegaconf import OmegaConf

from seqarena.building import build, filled
from seqarena.errors import InputError
from seqarena.tasks.decoding import Search


def built(group: str, *overrides: str) -> object:
    return build(OmegaConf.select(composed(*overrides), group))


@pytest.mark.parametrize("model", ["lstm", "gru", "rnn", "textcnn", "convs2s", "transformer"])
@pytest.mark.parametrize("half", ["encoder", "decoder"])
def test_every_option_of_a_model_knows_its_type(model: str, half: str) -> None:
    node = composed(f"model={model}").model[half]
    taken = [str(node._get_node(name)._value()) for name in node if name != "_target_"]
    for option in (told[2:-1] for told in taken if told.startswith("${")):
        with pytest.raises(InputError, match=rf"^{re.escape(option)}=.* must be "):
            built(f"model.{half}", f"model={model}", f"{option}=[[]]")


@pytest.mark.parametrize(
    "group,overrides,told",
    [
        ("model.encoder", ["model=lstm", "model.norm=none"], "model.norm=none must be true or false"),
        ("model.encoder", ["model=lstm", "model.bidirectional=no"], "model.bidirectional=no must be true or false"),
        ("model.encoder", ["model.residual=1"], "model.residual=1 must be true or false"),
        ("model.encoder", ["model.heads=true"], "model.heads=true must be a whole number"),
        ("model.encoder", ["model=textcnn", "model.widths=4"], "model.widths=4 must be a list of whole numbers"),
        ("model.encoder", ["model=textcnn", "model.widths=[3,x]"], 'model.widths=[3, "x"] must be a list'),
        ("model.decoder", ["model=lstm", "model.input_feeding=off"], "model.input_feeding=off must be true or false"),
        ("schedule", ["schedule=plateau", "schedule.patience=1.5"], "schedule.patience=1.5 must be a whole number"),
        ("data.reader", ["data.reader.seed=null"], "data.reader.seed=null must be a whole number"),
        ("data.reader", ["data.reader._target_=torch.optim.Adam"], "unexpected keyword"),
    ],
)
def test_a_value_of_another_type_is_refused_by_its_option(group: str, overrides: list[str], told: str) -> None:
    with pytest.raises(InputError, match=re.escape(told)):
        built(group, *overrides)


@pytest.mark.parametrize(
    "name",
    [
        "os.system", "builtins.eval", "seqarena.training.os.mkdir", "seqarena.data.sources.files.Path", "pathlib.Path",
        "seqarena.models.lookup.torch.save", "seqarena.models.transformer.nn.Linear", "torch.optim.Optimizer.step",
        "torch.optim.lr_scheduler.torch.load", "seqarena.models.nowhere.Encoder", "seqarena.models.transformer.nothing",
        "seqarena.record.begin", "seqarena.data.sources.generated.blake2b", "seqarena.models.recurrent.nullcontext", "",
    ],
)  # fmt: skip
def test_only_what_our_rooms_define_is_called(name: str) -> None:
    for node in ({"_target_": name}, {"_target_": "torch.optim.Adam", "lr": {"deep": {"_target_": name}}}):
        with pytest.raises(InputError, match="is not run"):
            build(OmegaConf.create(node))


def test_unnamed_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="_args_"):
        build(OmegaConf.create({"_target_": "torch.optim.Adam", "_args_": [1]}))


def test_options_without_a_target_are_checked_too() -> None:
    assert filled(Search, OmegaConf.create({"beam": 3}), "task.decoding").beam == 3
    with pytest.raises(InputError, match=r"task\.decoding\.cache=on must be true or false"):
        filled(Search, OmegaConf.create({"cache": "on"}), "task.decoding")
    with pytest.raises(InputError, match=r"task\.decoding\.bean is no option"):
        filled(Search, OmegaConf.create({"bean": 3}), "task.decoding")
