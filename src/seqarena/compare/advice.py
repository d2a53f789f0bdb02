"""Which group to take under limits: the best that keeps them, or the cheapest not distinguishable from it."""

import math
from collections.abc import Collection, Mapping, Sequence

from seqarena.compare.comparison import Advice, Banner, Block, GroupSummary, PairSummary
from seqarena.compare.wording import short
from seqarena.errors import InputError
from seqarena.sweep.metrics import MEASURES, SEARCH, Better, by_machine

NAMED = {"parameters": "parameters/total", "flops": "flops/per_token_forward", "memory_mib": "memory/peak_mib"}
TIED = ("not distinguishable", "equal", "identical")
"""What is said of pairs that were decided, and not in favour of either."""
DECIDED = (*TIED, "better", "worse", "higher", "lower")
CHEAP = "parameters/total"
"""What is cheap where no limit is given."""


def elsewhere(block: Block, banners: Sequence[Banner]) -> set[str]:
    """Groups any of whose runs was timed on another machine than most of this block's; none where there is no most."""
    groups = {run.name: run.group for run in block.runs if run.score is not None}
    for banner in banners:
        if banner.differs != "machine" or banner.separates:
            continue
        here = sorted(([run for run in runs if run in groups] for runs in banner.values.values()), key=len)
        if len(here) > 1 and len(here[-1]) > len(here[-2]) > 0:
            return {groups[run] for runs in here[:-1] for run in runs}
    return set()


def advise(block: Block, limits: Mapping[str, float], odd: Collection[str] = ()) -> Advice:
    """The choice in a block. A limit is the most of a cost, the least of a speed. InputError: nobody measured it.

    Groups that are `odd`, timed on another machine, are left out where time or memory is limited.
    """
    keys = {name: key_of(block, name) for name in limits}
    left_out = sorted(odd) if any(map(by_machine, keys.values())) else []
    known = [group for group in block.groups if group.score and group.label not in left_out]
    fitting = [group for group in known if all(_fits(group, keys[n], limits[n]) for n in limits)]
    aside = f" Left out, as measured on another machine: {', '.join(left_out)}." if left_out else ""
    if not fitting:
        told = f"No model fits. {_closest(known, keys, limits)}".strip() + aside
        return Advice(block.title, dict(limits), None, [], [], told)
    top, others = fitting[0], fitting[1:]
    tied = [top, *(group for group in others if _no_different(block.pairs, top, group))]
    axis = next(iter(keys.values()), CHEAP)
    choice = min(tied, key=lambda group: _price(group, axis))
    open_ = [group.label for group in others if _word(block.pairs, top, group) not in DECIDED]
    return Advice(
        block=block.title,
        limits=dict(limits),
        choice=choice.label,
        fitting=[group.label for group in fitting],
        tied=[group.label for group in tied],
        text=_text(block, choice, tied, axis) + _floor(block, choice) + _for_now(top, open_) + aside,
    )


def key_of(block: Block, name: str) -> str:
    """The measure in the records that a limit is about. InputError: there is none."""
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


def _word(pairs: Sequence[PairSummary], top: GroupSummary, group: GroupSummary) -> str:
    """What is said of these two; nothing where they were not compared."""
    return next((pair.word for pair in pairs if {pair.a, pair.b} == {top.label, group.label}), "")


def _no_different(pairs: Sequence[PairSummary], top: GroupSummary, group: GroupSummary) -> bool:
    """Whether they were compared and are no different; one some of whose runs diverged is no cheap equal of another."""
    return _word(pairs, top, group) in TIED and group.converged == group.counted


def _for_now(top: GroupSummary, undecided: Sequence[str]) -> str:
    """What more runs may change."""
    if not undecided:
        return ""
    return f" For now: too few runs to tell {top.label} from {', '.join(undecided)}."


def _closest(groups: Sequence[GroupSummary], keys: Mapping[str, str], limits: Mapping[str, float]) -> str:
    """For each limit that nobody keeps, what it would have to be."""
    told = []
    for name, key in keys.items():
        known = [group for group in groups if key in group.costs]
        if known and not any(_fits(group, key, limits[name]) for group in known):
            best = min(known, key=lambda group: _price(group, key))
            told.append(f"limits.{name} would have to be {_kept(best.costs[key].value, _more(key))}, for {best.label}")
    return "; ".join(told) or "No model keeps all limits at once: loosen one of them."


def _kept(cost: float, more: bool) -> str:
    """A limit of four digits, as one types it, that this cost keeps."""
    if cost <= 0:
        return f"{cost:.4g}"
    step = 10.0 ** (math.floor(math.log10(cost)) - 3)
    return f"{step * (math.floor if more else math.ceil)(cost / step):.10g}"


def _floor(block: Block, choice: GroupSummary) -> str:
    """That the choice may be no better than answering the same always, where its interval reaches that."""
    chance, score = block.baselines.get("majority"), choice.score
    if chance is None or score is None or score.low is None or score.high is None:
        return ""
    reaches = score.high >= chance if block.more_is_better is False else score.low <= chance
    told = f"always answering the most frequent class scores ({chance * block.factor:.4g})"
    return f" Its interval reaches what {told}." if reaches else ""


def _text(block: Block, choice: GroupSummary, tied: Sequence[GroupSummary], axis: str) -> str:
    score = choice.score
    assert score is not None
    times = block.factor
    limits = (
        "" if score.low is None or score.high is None else f" ({score.low * times:.4g} to {score.high * times:.4g})"
    )
    cost = choice.costs.get(axis)
    price = f", {axis} {short(cost.value)}" if cost else ""
    text = f"Use {choice.label}: {block.metric} {score.value * times:.4g}{limits}{price}."
    if len(tied) > 1:
        others = ", ".join(group.label for group in tied if group is not choice)
        text += (
            f" It is the cheapest by {axis} of those that are not distinguishable from the top; the others: {others}."
        )
    return text
