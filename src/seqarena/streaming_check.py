"""What does not go with training data that is streamed, as it needs all rows at once or the end of an epoch."""

from omegaconf import DictConfig

from seqarena.data.loading import AUTO
from seqarena.errors import InputError


def check_streaming(config: DictConfig) -> None:
    """Refuse everything at once that a stream cannot give; each with what to write instead."""
    if not config.data.get("streaming", False):
        return
    if reasons := [*_epochs(config), *_whole(config)]:
        raise InputError(
            "data.streaming=true reads training rows as they come and keeps none, so it does not go with "
            + "; ".join(f"{option} ({cure})" for option, cure in reasons)
        )


def refuse_report(config: DictConfig) -> None:
    """Refuse report=data of a stream."""
    if config.data.get("streaming", False):
        raise InputError("report=data counts all training rows, which data.streaming=true does not: leave one out")


def _epochs(config: DictConfig) -> list[tuple[str, str]]:
    """Options that wait for the end of an epoch, or count them."""
    how, found = config.trainer, []
    if how.max_epochs not in (None, -1) and config.budget.kind != "time":
        steps = " trainer.max_steps=<optimizer steps>" if how.max_steps in (None, -1) else ""
        found.append((f"trainer.max_epochs={how.max_epochs}", f"write trainer.max_epochs=null{steps}"))
    if how.validate_every is None and not config.lr_find:
        found.append(("trainer.validate_every=null", "write trainer.validate_every=<optimizer steps>"))
    if how.average:
        found.append((f"trainer.average={how.average}", "write trainer.average=0"))
    return found


def _whole(config: DictConfig) -> list[tuple[str, str]]:
    """Options that look at all training rows before the first is trained on."""
    data, found = config.data, []
    if data.get("baselines"):
        told = ",".join(data.baselines)
        found.append((f"data.baselines=[{told}], which learn from all rows", "write data.baselines=[]"))
    if data.get("sampling", "all") != "all":
        found.append((f"data.sampling={data.sampling}", "write data.sampling=all"))
    if data.batch_tokens == AUTO:
        found.append(("data.batch_tokens=auto, which measures the longest rows", "write data.batch_tokens=4096"))
    for option in ("class_weights", "drop_duplicates"):
        if data.get(option):
            found.append((f"data.{option}=true", f"write data.{option}=false"))
    if config.budget.kind == "flops":
        found.append(("budget=flops, which goes by the average length of all rows", "write budget=parameters"))
    if config.model.get("positions") == "learned" and data.max_length is None:
        cure = "write data.max_length=<tokens>, or model.positions=sinusoidal"
        found.append(("model.positions=learned for texts of any length", cure))
    return found
