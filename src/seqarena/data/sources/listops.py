"""ListOps: nested operations on digits, written in brackets; what is their value?

After Nangia and Bowman 2018, "ListOps: A Diagnostic Dataset for Latent Tree Learning", and its long form in Tay et al.
2021, "Long Range Arena". The task is theirs, written anew from their description: the smallest, the largest, the median
(of an even number of values the mean of the middle two, rounded down) or the sum modulo 10 of digits and of further
such operations. Here every token is one word, `max` and `end` instead of `[MAX` and `]`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from seqarena.data.source import Row
from seqarena.data.sources.generated import Generated, ends
from seqarena.errors import InputError

OPERATIONS: Mapping[str, Callable[[Sequence[int]], int]] = {
    "min": min,
    "max": max,
    "med": lambda values: sum(sorted(values)[(len(values) - 1) // 2 : len(values) // 2 + 1]) // (2 - len(values) % 2),
    "sm": lambda values: sum(values) % 10,
}
END = "end"
"""Closes an operation."""
NESTED = 0.25
"""How often an argument is an operation itself, where the depth allows one."""


@dataclass
class Open:
    """An operation while its arguments are being drawn; `missing` are still to come, and `digits` are no operations."""

    name: str
    missing: int
    values: list[int] = field(default_factory=list)
    digits: list[int] = field(default_factory=list)


class Expression(NamedTuple):
    """A whole expression: its tokens, what it comes to, how deep it nests, and its outermost operation."""

    tokens: list[str]
    value: int
    nesting: int
    root: Open


class ListOps(Generated):
    """Classification: an expression is the text, its value, a digit, the label.

        max 2 9 min 4 7 end 0 end  ->  9        nesting 2

    Operations have two to `arguments` arguments, and nest up to `depth` deep. An argument is an operation itself one
    time in four. The stratum `nesting` is the depth that an expression reaches. What is outside the two `lengths`, in
    tokens, is drawn again.

    Three columns are keys for lookup baselines (`baselines: [lookup_operator, ...]`), which use no nested value at all:
    `operator`, the outermost one; `operator_digits`, that and what it makes of those of its arguments that are digits;
    `operator_digits_nested`, that and the number of the others. With depth 10, 10 arguments and 500 to 2,000 tokens
    they reach 34.9, 49.3 and 50.0 % (13,000 to train, 3,000 to test; the most frequent label 16.0), close to what is
    known of the Long Range Arena (35.6, 47.7, 49.4 and 17.1). A model that is not above them has not shown that it
    looks inside.
    """

    name = "listops"
    strata: tuple[str, ...] = ("nesting",)

    def __init__(
        self,
        train: int,
        val: int,
        test: int,
        depth: int,
        arguments: int,
        lengths: Sequence[int],
        seed: int,
        test_lengths: Sequence[int] | None = None,
    ):
        """Sizes are numbers of expressions, 0 leaves a split out; `lengths` are the shortest and the longest in tokens.

        `test_lengths` are those of the test, if others. InputError names a bad option and the cure.
        """
        for option, number, least in (("depth", depth, 1), ("arguments", arguments, 2)):
            if not isinstance(number, int) or number < least:
                raise InputError(f"listops: {option}={number} is too small; write a whole number from {least}")
        self.depth, self.arguments = depth, arguments
        self.lengths = ends(self.name, "lengths", lengths, test_lengths, 4, "[10, 60]")
        super().__init__((train, val, test), seed, depth, arguments, self.lengths)

    def draw(self, rng: Random, split: str, index: int) -> Row | None:
        """An expression, None where it is too short or too long."""
        shortest, longest = self.lengths[split]
        found = expression(rng, self.depth, self.arguments, longest)
        if found is None or len(found.tokens) < shortest:
            return None
        name, digits = found.root.name, found.root.digits
        told = f"{name} {OPERATIONS[name](digits)}" if digits else name
        return {
            "text": " ".join(found.tokens),
            "label": str(found.value),
            "nesting": found.nesting,
            "operator": name,
            "operator_digits": told,
            "operator_digits_nested": f"{told} and {len(found.root.values) - len(digits)}",
        }


def expression(rng: Random, depth: int, arguments: int, longest: int) -> Expression | None:
    """A random one, None as soon as it cannot end within `longest` tokens."""
    stack = [_opened(rng, arguments)]
    tokens, nesting, root = [stack[0].name], 1, stack[0]
    while stack:
        here = stack[-1]
        if not here.missing:
            tokens.append(END)
            _close(stack)
        elif len(stack) < depth and rng.random() < NESTED:
            stack.append(_opened(rng, arguments))
            tokens.append(stack[-1].name)
            nesting = max(nesting, len(stack))
        else:
            here.digits.append(rng.randrange(10))
            tokens.append(str(here.digits[-1]))
            _take(here, here.digits[-1])
        if len(tokens) + len(stack) > longest:
            return None
    return Expression(tokens, OPERATIONS[root.name](root.values), nesting, root)


def _opened(rng: Random, arguments: int) -> Open:
    return Open(rng.choice(list(OPERATIONS)), rng.randint(2, arguments))


def _take(operation: Open, value: int) -> None:
    operation.values.append(value)
    operation.missing -= 1


def _close(stack: list[Open]) -> None:
    """The innermost operation is done: its value is an argument of the one around it."""
    done = stack.pop()
    if stack:
        _take(stack[-1], OPERATIONS[done.name](done.values))
