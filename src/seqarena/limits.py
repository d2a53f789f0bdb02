"""Which values the numeric options may have, in one table: a value outside is refused before anything is read."""

from typing import Any, NamedTuple

from omegaconf import DictConfig, OmegaConf

from seqarena.errors import InputError


class Limit(NamedTuple):
    """A number between `lowest` and `highest`, both allowed; `whole` excludes fractions, `empty` allows null.

    `word` may stand instead of a number.
    """

    lowest: float
    highest: float = float("inf")
    whole: bool = False
    empty: bool = False
    word: str | None = None

    def told(self) -> str:
        """The limit in words."""
        kind = "a whole number" if self.whole else "a number"
        range_ = (
            f"from {_plain(self.lowest)} to {_plain(self.highest)}"
            if self.highest < float("inf")
            else f"of {_plain(self.lowest)} or more"
        )
        others = (", or null" if self.empty else "") + (f", or {self.word}" if self.word else "")
        return f"{kind} {range_}{others}"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e11 else f"{number:g}"


COUNT, SHARE = Limit(1, whole=True), Limit(0.0, 0.99)
MAYBE = Limit(1, whole=True, empty=True)
LIMITS = {
    "seed": Limit(0, 2**32 - 1, whole=True),
    **dict.fromkeys(("model.dim", "model.layers", "model.heads", "model.feedforward", "model.width"), COUNT),
    **dict.fromkeys(("model.max_positions", "model.decoder_layers", "model.decoder_width"), COUNT),
    **dict.fromkeys(("model.window", "model.segment"), COUNT),
    "model.global_tokens": Limit(0, whole=True),
    **dict.fromkeys(("model.dropout", "model.attention_dropout", "model.embedding.dropout"), SHARE),
    **dict.fromkeys(("task.head_dropout", "task.label_smoothing"), SHARE),
    **dict.fromkeys(("data.word_dropout", "data.word_swap"), SHARE),
    "model.lr": Limit(1e-12, 1e12),
    "model.embedding.std": Limit(1e-12, empty=True),
    "task.max_norm": Limit(1e-12, empty=True),
    "task.decoding.beam": COUNT,
    "task.decoding.length_penalty": Limit(0, 10),
    "task.decoding.ratio": Limit(0, 100),
    "task.decoding.extra": Limit(1, whole=True),
    **dict.fromkeys(("trainer.accumulate", "trainer.num_nodes", "trainer.log_every"), COUNT),
    "data.batch_tokens": Limit(1, whole=True, word="auto"),
    "trainer.effective_tokens": MAYBE,
    **dict.fromkeys(("data.batch_examples", "trainer.validate_every", "trainer.early_stopping"), MAYBE),
    **dict.fromkeys(("data.workers", "data.cut_seed", "trainer.average", "schedule.patience"), Limit(0, whole=True)),
    **dict.fromkeys(("data.shuffle_buffer", "data.tokenizer_rows"), COUNT),
    "data.tokenizer.vocabulary": Limit(5, whole=True),
    "data.tokenizer.min_count": MAYBE,
    "data.max_ratio": Limit(1, empty=True),
    "trainer.max_steps": Limit(-1, whole=True),
    "trainer.max_epochs": Limit(-1, whole=True, empty=True),
    "trainer.clip": Limit(1e-12, empty=True),
    "schedule.warmup": Limit(0),
    "schedule.floor": Limit(0, 1),
    "schedule.factor": Limit(1e-6, 1e6),
    "probe.examples": COUNT,
    "budget.target": Limit(1),
    "budget.minutes": Limit(0.001),
    "budget.trials": MAYBE,
    "budget.trial": Limit(0, whole=True, empty=True),
    "optim.weight_decay": Limit(0),
    "optim.eps": Limit(0),
}
NAMED = dict.fromkeys(("model.segment_reader", "model.document_reader"), "model.readers")
"""Options that name one of those listed at another."""
CHOICES = {"logger.mode": ("offline", "online")}
"""Options that are one of these words."""
ABSENT = object()
SWITCHES = (
    *("data.bucketing", "data.class_weights", "data.drop_duplicates", "data.streaming", "lr_find", "task.tied"),
    *("trainer.deterministic", "trainer.gradient_checkpointing", "trainer.compile"),
)
"""Options that are true or false and go to no signature that says so."""


def check_report(wanted: object) -> None:
    """Refuse a report that there is not."""
    if wanted not in (None, "data", "model"):
        raise InputError(f"report={wanted} is not known: write report=data, report=model, or null to train")


def check_limits(config: DictConfig) -> None:
    """Refuse the first option whose value is out of its limits; options that this run does not have are passed over."""
    check_report(config.get("report"))
    for name in SWITCHES:
        if not isinstance(value := OmegaConf.select(config, name, default=False), bool):
            raise InputError(f"{name}={'null' if value is None else value} must be true or false")
    for name, choices in CHOICES.items():
        if (value := OmegaConf.select(config, name, default=choices[0])) not in choices:
            raise InputError(f"{name}={value} is not known: write {name}={f' or {name}='.join(choices)}")
    for name in LIMITS:
        check_limit(config, name)


def check_limit(config: DictConfig, name: str) -> None:
    """Refuse the value of one numeric option if it is out of its limits."""
    value, limit = OmegaConf.select(config, name, default=ABSENT), LIMITS[name]
    if value is ABSENT or (value is None and limit.empty) or (value == limit.word and limit.word):
        return
    kinds = (int,) if limit.whole else (int, float)
    number = isinstance(value, kinds) and not isinstance(value, bool)
    if not number or not limit.lowest <= value <= limit.highest:
        raise InputError(f"{name}={'null' if value is None else value} must be {limit.told()}")


def refuse_missing(config: DictConfig) -> None:
    """Name the first option that the data needs and nobody gave."""
    for key in config.data:
        if OmegaConf.is_missing(config.data, key):
            name = config.data.name
            raise InputError(f"data={name} needs data.{key}=...; conf/data/{name}.yaml says what it is")


def refuse_unlisted(config: DictConfig) -> None:
    """Name the first option that takes what its list does not hold."""
    for name, place in NAMED.items():
        listed, chosen = OmegaConf.select(config, place), OmegaConf.select(config, name, default=ABSENT)
        if listed and chosen != ABSENT and chosen not in [*listed]:
            raise InputError(f"{name}={chosen} is not known: choose one of {', '.join(listed)}, or add it to {place}")


def plain(config: DictConfig) -> dict[str, Any]:
    """The config as plain data, every interpolation resolved."""
    refuse_missing(config)
    refuse_unlisted(config)
    return OmegaConf.to_container(config, resolve=True)  # type: ignore[return-value]
