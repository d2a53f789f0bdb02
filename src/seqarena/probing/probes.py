"""The probes by name, and running some of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from seqarena.errors import InputError
from seqarena.probing import attention_maps, gradient_reach, permutation, perturbation_reach
from seqarena.probing.finding import Finding
from seqarena.probing.subject import Subject

ATTENTION = "attention"

KINDS: Mapping[str, Callable[[Subject], Finding]] = {
    "gradient_reach": gradient_reach.measure,
    "perturbation_reach": perturbation_reach.measure,
    ATTENTION: attention_maps.measure,
    "permutation": permutation.measure,
}


@dataclass(frozen=True)
class ProbeOptions:
    """Which probes run, on how many validation examples. InputError: there is no such probe."""

    kinds: Sequence[str]
    examples: int

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                told = self.kinds if isinstance(self.kinds, str) else f"[{','.join(self.kinds)}]"
                raise InputError(f"probe.kinds={told} must be a list of some of these: {', '.join(KINDS)}")


def probed(subject: Subject, kinds: Sequence[str]) -> dict[str, Finding]:
    """What each of the probes finds; a probe that has nothing to say about this model is left out."""
    found = {kind: KINDS[kind](subject) for kind in kinds}
    return {kind: finding for kind, finding in found.items() if finding.numbers}
