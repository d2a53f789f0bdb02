"""Which numbers a finished run's record holds, by task, and which way each of them is better.

A key is `<split>/<metric>`, for the test also `test/<metric>/<axis>=<bucket>`, or `<group>/<measure>`, such as
`speed/tokens_per_s` or `probe/gradient_half_life`. Those that only runs of several processes have are not listed.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from seqarena.errors import InputError


class Better(Enum):
    """Which way a number is better."""

    MORE = "more"
    LESS = "less"
    NEITHER = "neither"


MORE, LESS, NEITHER = Better.MORE, Better.LESS, Better.NEITHER

LABELS: Mapping[str, Better] = {"accuracy": MORE, "f1_macro": MORE, "loss": LESS}

SCORES: Mapping[str, Mapping[str, Better]] = {
    "classification": LABELS,
    "tagging": LABELS,
    "translation": {"bleu": MORE, "chrf": MORE, "loss": LESS, "length_ratio": NEITHER, "empty_outputs": LESS},
}
"""Of validation and test. What baselines reach is no score of a model's."""

MEASURES: Mapping[str, Mapping[str, Better]] = {
    "speed": {
        "tokens_per_s": MORE,
        "padded_tokens_per_s": MORE,
        "examples_per_s": MORE,
        "padding_share": LESS,
        "step_ms": LESS,
        "data_wait_share": LESS,
        "latency_ms": LESS,
        "mfu": MORE,
    },
    "memory": {"peak_mib": LESS, "training_mib": LESS},
    "cost": {"steps": LESS, "train_seconds": LESS, "tokens": LESS, "train_flops": LESS},
    "flops": {"per_token_forward": LESS, "training_total": LESS},
    "parameters": {"total": LESS, "embedding": LESS, "other": LESS},
}

SEARCH: Mapping[str, Better] = {"decode_tokens_per_s": MORE}
"""Speed of a translation's test, beside that of its training."""

PROBE = "probe"
PROBES: Mapping[str, Better] = {
    "gradient_half_life": MORE,
    "gradient_zero_share": NEITHER,
    "perturbation_half_life": MORE,
    "attention_distance": NEITHER,
    "attention_entropy": NEITHER,
    "attention_climb": NEITHER,
    "positional_heads": NEITHER,
    "unshuffled_loss": LESS,
    "permutation_loss": NEITHER,
}
"""What the probes find after training, where they run: of attention, where there is any."""
LABEL_PROBES: Mapping[str, Better] = {"unshuffled_accuracy": MORE, "permutation_accuracy": NEITHER}
"""Of tasks that choose among labels, beside those."""

SPLITS = ("val", "test")


class Metric(NamedTuple):
    """A key in its parts: `group` is a split or a group of measures; `axis` and `bucket` are empty over everything."""

    group: str
    name: str
    better: Better
    axis: str = ""
    bucket: str = ""

    @property
    def key(self) -> str:
        """As it is written without a stratum: `test/accuracy`, `speed/tokens_per_s`."""
        return f"{self.group}/{self.name}"

    @property
    def stratified(self) -> bool:
        """Whether a record holds it by bucket too: scores of the test are."""
        return self.group == "test" and not self.axis


def by_machine(key: str) -> bool:
    """Whether a number depends on the machine and on the shape of batches beside the model: speed, memory and time."""
    return key.partition("/")[0] in ("speed", "memory") or key == "cost/train_seconds"


def measures(task: str, group: str) -> Mapping[str, Better]:
    """The numbers of a group in the record of a task's run, and which way each is better; none of an unknown group."""
    if group in SPLITS:
        return SCORES[task]
    if group == PROBE:
        return PROBES if "accuracy" not in SCORES[task] else {**PROBES, **LABEL_PROBES}
    found = MEASURES.get(group, {})
    return {**found, **SEARCH} if (task, group) == ("translation", "speed") else found


def keys(task: str) -> list[str]:
    """All keys of a task but those by bucket."""
    return [f"{group}/{name}" for group in (*SPLITS, *MEASURES, PROBE) for name in measures(task, group)]


def parse(key: str, task: str) -> Metric:
    """A key in its parts. InputError: a run of this task has no such number."""
    group, _, rest = key.partition("/")
    name, _, stratum = rest.partition("/")
    axis, equals, bucket = stratum.partition("=")
    known = measures(task, group)
    if name not in known:
        raise InputError(f"{key} is no metric of a {task}: there are {', '.join(keys(task))}")
    metric = Metric(group, name, known[name], axis, bucket)
    if "/" in rest and not (group == "test" and axis and equals and bucket):
        raise InputError(f"{key}: a stratum is written test/<metric>/<axis>=<bucket>, such as test/{name}/length=10-19")
    return metric
