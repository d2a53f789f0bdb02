"""What CTranslate2 can express of a run; the rest is refused by the option's name before anything is converted."""

from importlib.util import find_spec

from omegaconf import DictConfig

from seqarena.errors import InputError

COMPUTE = ("float32", "int8")
HALVES = {
    "encoder": "seqarena.models.transformer.TransformerEncoder",
    "decoder": "seqarena.models.transformer.TransformerDecoder",
}
OPTIONS: dict[str, tuple[str, tuple[object, ...]]] = {
    "positions_kind": ("model.positions", ("sinusoidal", "learned", "rotary", "t5", "none")),
    "norm": ("model.norm", ("pre", "post")),
    "residual": ("model.residual", (True,)),
    "cross": ("model.cross_attention", ("full",)),
}
"""Of a constructor's argument: the option behind it, and the values that can be expressed. Other options may have any.

ALiBi is known to CTranslate2's decoders alone, and a sublayer without a norm has no residual sum there.
"""

POSITIONS = 4096
"""So many positions are written out where the kind has no limit of its own: CTranslate2 takes them as a table."""


def refuse(config: DictConfig, compute: str) -> None:
    """InputError: a run that cannot be converted, or not as `compute`, or not here."""
    if compute not in COMPUTE:
        raise InputError(f"compute={compute} is not known: choose one of {', '.join(COMPUTE)}")
    if config.task.name != "translation":
        raise InputError(f"engine=ctranslate2 translates, and this run is a {config.task.name}: write engine=torch")
    for half, target in HALVES.items():
        if config.model[half]._target_ != target:
            raise InputError(
                f"engine=ctranslate2 runs model=transformer alone, and the {half} of model={config.model.name} is "
                "another: write engine=torch"
            )
        _refuse_options(config.model[half])
    if find_spec("ctranslate2") is None:
        raise InputError("engine=ctranslate2 needs a package: pip install -c constraints.txt -e '.[ctranslate2]'")


def _refuse_options(half: DictConfig) -> None:
    for argument, (option, values) in OPTIONS.items():
        if argument in half and half[argument] not in values:
            told = ", ".join(str(value).lower() for value in values)
            raise InputError(
                f"{option}={str(half[argument]).lower()} cannot be expressed in CTranslate2, which knows {told}: "
                "write engine=torch"
            )


def longest(half: DictConfig) -> int | None:
    """The most tokens that the converted encoder or decoder can take; None where nothing limits them."""
    if half.positions_kind in ("rotary", "t5"):
        return None
    return int(half.max_positions) if half.positions_kind == "learned" else POSITIONS
