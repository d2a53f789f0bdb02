"""Options that are none are refused with the nearest that is one, and a + adds nothing that nobody reads."""

import pytest
from conftest import AGREEMENT, ROOT, SMALL, Verb
from omegaconf import OmegaConf

from seqarena.errors import InputError
from seqarena.spelling import refuse_unread


@pytest.mark.parametrize(
    ("verb_", "argument", "told"),
    [
        ("train", "trainer.max_step=3", "trainer.max_step is no option (did you mean trainer.max_steps?): there are"),
        ("train", "modl=lstm", "modl is no option (did you mean model?)"),
        ("train", "seeed=3", "seeed is no option (did you mean seed?)"),
        ("train", "model=lst", "model=lst is not there (did you mean model=lstm?): convs2s, gru,"),
        ("train", "data.path=a=b,{", "put a value with , = ( ) { } or quotes in it in quotes"),
        ("train", "+trainer.max_step=3", "trainer.max_step is no option (did you mean trainer.max_steps?)"),
        ("train", "+foo=3", "a + would add what nothing reads"),
        ("predict", "txt=a", "txt is no option (did you mean text?)"),
        ("predict", "batch=3", "run=... is needed"),
        ("evaluate", "split=val", "run=... is needed"),
        ("compare", "limits.parameter=3", "limits.parameter is no option (did you mean limits.parameters?)"),
    ],
)
def test_what_is_misspelled_is_said_in_a_line(verb: Verb, verb_: str, argument: str, told: str) -> None:
    code, out, err = verb(verb_, argument)
    assert code == 2 and told in err and out == ""
    assert err.startswith("error: ") and err.count("\n") == 1 and "HYDRA" not in err


def test_who_asks_for_hydras_own_words_gets_them(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    from hydra.errors import ConfigCompositionException

    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    with pytest.raises(ConfigCompositionException):
        verb("train", *SMALL, *AGREEMENT, "trainer.max_step=3")


@pytest.mark.parametrize("group", ["trainer", "task", "schedule", "optim", "budget", "probe", "model", "data"])
def test_what_some_file_of_a_group_has_may_be_added(group: str) -> None:
    for path in (ROOT / "conf" / group).glob("*.yaml"):
        keys = [f"+{group}.{key}=1" for key in OmegaConf.load(path) if key != "defaults"]
        refuse_unread(keys, ROOT, "train")
    with pytest.raises(InputError, match=rf"{group}\.qq is no option: there are"):
        refuse_unread([f"+{group}.qq=1"], ROOT, "train")


def test_what_is_the_users_own_or_is_checked_elsewhere_may_be_added() -> None:
    own = ["+data.reader.split=dev", "+data.buckets.year=[1990]", "+budget.space.lr.between=[1,2]", "+logger.tags=[a]"]
    refuse_unread([*own, "+hydra.launcher.ray.init.num_cpus=2", "-m", "+seed=1,2"], ROOT, "train")
