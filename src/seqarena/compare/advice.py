"""Which group to take under limits: the best that keeps them, or the cheapest not distinguishable from it."""

from collections.abc import Mapping, Sequence

from seqarena.compare.comparison import Advice, Block, GroupSummary, PairSummary
from seqarena.errors import InputError
from seqarena.sweep.metrics import MEASURES, SEARCH, Better

NAMED = {"parameters": "parameters/total", "flops": "flops/per_token_forward", "memory_mib": "memory/peak_mib"}
DECIDED = ("better", "worse", "higher", "lower")
CHEAP = "parameters/total"
"""What is cheap where no limit is given."""


def advise(block: Block, limits: Mapping[str, float]) -> Advice:
    """The choice in a block. A limit is the most of a cost, the least of a speed. InputError: nobody measured it."""
    keys = {name: _key(block, name) for name in limits}
    fitting = [group for group in block.groups if group.score and all(_fits(group, keys[n], limits[n]) for n in limits)]
    labels = [group.label for group in fitting]
    if not fitting:
        return Advice(
            block.title, dict(limits), None, [], [], f"No model fits. {_closest(block, keys, limits)}".strip()
        )
    tied = [fitting[0], *(group for group in fitting[1:] if _no_different(block.pairs, fitting[0], group))]
    axis = next(iter(keys.values()), CHEAP)
    choice = min(tied, key=lambda group: _price(group, axis))
    return Advice(
        block=block.title,
        limits=dict(limits),
        choice=choice.label,
        fitting=labels,
        tied=[group.label for group in tied],
        text=_text(block, choice, tied, axis),
    )


def _key(block: Block, name: str) -> str:
    known = dict.fromkeys(key for group in block.groups for key in group.costs)
    found = [key for key in known if key in (name, NAMED.get(name)) or key.rpartition("/")[2] == name]
    if not found:
        names = [*NAMED, *(key.rpartition("/")[2] for key in known if key not in NAMED.values())]
        raise InputError(f"limits.{name}: no run measured it; there are {', '.join(dict.fromkeys(names))}")
    return found[0]


def _more(key: str) -> bool:
    group, _, name = key.partition("/")
    return {**MEASURES[group], **SEARCH}.get(name) is Better.MORE


def _fits(group: GroupSummary, key: str, limit: float) -> bool:
    cost = group.costs.get(key)
    return cost is not None and (cost.value >= limit if _more(key) else cost.value <= limit)


def _price(group: GroupSummary, key: str) -> float:
    cost = group.costs.get(key)
    if cost is None:
        return float("inf")
    return -cost.value if _more(key) else cost.value


def _no_different(pairs: Sequence[PairSummary], top: GroupSummary, group: GroupSummary) -> bool:
    """Whether nothing is decided between these; a group some of whose runs diverged is no cheap equal of another."""
    decided = any({pair.a, pair.b} == {top.label, group.label} and pair.word in DECIDED for pair in pairs)
    return not decided and group.converged == group.counted


def _closest(block: Block, keys: Mapping[str, str], limits: Mapping[str, float]) -> str:
    """For each limit that nobody keeps, what it would have to be."""
    told = []
    for name, key in keys.items():
        known = [group for group in block.groups if key in group.costs]
        if known and not any(_fits(group, key, limits[name]) for group in known):
            best = min(known, key=lambda group: _price(group, key))
            told.append(f"limits.{name} would have to be {best.costs[key].value:,.4g}, for {best.label}")
    return "; ".join(told) or "No model keeps all limits at once: loosen one of them."


def _text(block: Block, choice: GroupSummary, tied: Sequence[GroupSummary], axis: str) -> str:
    score = choice.score
    assert score is not None
    times = block.factor
    limits = (
        "" if score.low is None or score.high is None else f" ({score.low * times:.4g} to {score.high * times:.4g})"
    )
    cost = choice.costs.get(axis)
    price = f", {axis} {cost.value:,.4g}" if cost else ""
    text = f"Use {choice.label}: {block.metric} {score.value * times:.4g}{limits}{price}."
    if len(tied) > 1:
        others = ", ".join(group.label for group in tied if group is not choice)
        text += (
            f" It is the cheapest by {axis} of those that are not distinguishable from the top; the others: {others}."
        )
    return text
