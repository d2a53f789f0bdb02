"""A comparison from what was asked: runs found, set apart where they must be, summed up, judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seqarena.compare.advice import advise, elsewhere
from seqarena.compare.comparison import Advice, Banner, Block, Comparison, Run
from seqarena.compare.decisions import Manner
from seqarena.compare.factors import distinct, factors, given, grouped, studied
from seqarena.compare.guard import conditions, machines, outside, repeated, separated
from seqarena.compare.influences import logarithmic
from seqarena.compare.looks import looked
from seqarena.compare.pool import Pool, pooled
from seqarena.compare.records import Entry, Planned, Selection
from seqarena.compare.statistics import ALPHA
from seqarena.compare.summaries import Family, block, more_is_better, run
from seqarena.compare.verdict import verdict
from seqarena.errors import InputError
from seqarena.record import relative
from seqarena.sweep.metrics import by_machine, parse
from seqarena.sweep.question import SCALES, Question, available
from seqarena.sweep.question import read as read_question

HEADLINE = {"classification": "test/accuracy", "tagging": "test/accuracy", "translation": "test/bleu"}


@dataclass(frozen=True)
class Options:
    """What `compare` was asked beside the runs; conf/compare.yaml says what each option is."""

    metric: str | None = None
    baseline: str | None = None
    allow: tuple[str, ...] = ()
    paired: bool = False
    looks: int | None = None
    margin: float | None = None
    detect: float | None = None
    simultaneous: bool = False
    advise: bool = False
    limits: Mapping[str, float] = field(default_factory=dict)


def question_of(root: Path, selection: Selection) -> Question | None:
    """The sweep file that a sweep's folder was made from; None where it was no file's."""
    for scale in SCALES if selection.sweep is not None else ():
        for name in available(root):
            if selection.name == (name if scale == "full" else f"{name}-{scale}"):
                return read_question(root, name, scale)
    return None


def compare(
    selection: Selection, options: Options, question: Question | None = None, home: Path | None = None
) -> Comparison:
    """Everything that is shown of these runs. `home` remembers looks at a sweep's outcome; None remembers none.

    InputError: the runs cannot be compared at all, and why.
    """
    pools, banners = pools_of(selection, options, question)
    alpha, notes = _alpha(pools, options, home)
    keys = _studied(selection, question)
    blocks = [_block(pool, options, alpha, keys) for pool in pools]
    return Comparison(
        name=selection.name,
        blocks=blocks,
        banners=banners,
        verdict=None if question is None else verdict(question, pools, alpha),
        failures=[*_failures(pools), *(_planned(one) for one in selection.planned)],
        advice=_advice(blocks, banners, options),
        notes=notes,
    )


def pools_of(selection: Selection, options: Options, question: Question | None) -> tuple[list[Pool], list[Banner]]:
    """The runs in parts that may be compared, the largest first, and what sets them apart."""
    pools: list[Pool] = []
    banners: list[Banner] = []
    for task in dict.fromkeys(entry.record.task for entry in selection.entries):
        if task not in HEADLINE:
            raise InputError(f"{selection.entries[0].folder}: its task {task!r} is none of {', '.join(HEADLINE)}")
        entries = [entry for entry in selection.entries if entry.record.task == task]
        key = options.metric or (question.metric if question else HEADLINE[task])
        found, differing = _pools(selection, entries, key, question, options)
        pools, banners = pools + found, banners + differing
    return sorted(pools, key=lambda pool: -len(pool.entries)), banners


def _studied(selection: Selection, question: Question | None) -> list[str]:
    """The options under study: a sweep's grid, or what its command lines vary; of runs picked by hand none is known."""
    if question is not None:
        return [key for key in question.grid if key != question.over]
    return studied(selection.entries) if selection.sweep is not None else []


def _pools(
    selection: Selection, entries: Sequence[Entry], key: str, question: Question | None, options: Options
) -> tuple[list[Pool], list[Banner]]:
    metric, over, keys = parse(key, entries[0].record.task), _over(question), _studied(selection, question)
    for name, size in (("margin", options.margin), ("detect", options.detect)):
        if size is not None and logarithmic(metric):
            raise InputError(f"{name}={size:g} is a difference, and {key} is compared by ratios: leave it out")
    if metric.axis:
        raise InputError(f"metric={key}: name the metric over all examples; its strata are shown beside it")
    parts, banners = separated(entries, metric, keys, options.allow)
    if not by_machine(metric.key):
        banners += machines(entries)
    labelled = grouped(entries, over)
    values = {label: factors(every[0].record, keys, over) for label, every in labelled.items()}
    banners += outside(labelled, values) if selection.sweep is not None else []
    pools, repeats = [], []
    for part in parts:
        chosen = {id(entry) for entry in part}
        groups = {label: kept for label, every in labelled.items() if (kept := [e for e in every if id(e) in chosen])}
        firsts = {label: distinct(every, over) for label, every in groups.items()}
        stand = {id(entry) for every in firsts.values() for entry in every}
        repeats += [entry for entry in part if id(entry) not in stand]
        pools.append(pooled(firsts, values, _unrecorded(selection.planned, groups, over), metric))
    return pools, [*banners, *repeated(repeats)]


def _over(question: Question | None) -> str:
    return question.over if question else "seed"


def _unrecorded(planned: Sequence[Planned], groups: Mapping[str, Sequence[Entry]], over: str) -> dict[str, int]:
    """Planned jobs that left no record, by the group whose command line they share."""
    lines = {label: given(every[0].record.overrides, over) for label, every in groups.items()}
    return {label: sum(given(one.overrides, over) == line for one in planned) for label, line in lines.items()}


def _alpha(pools: Sequence[Pool], options: Options, home: Path | None) -> tuple[float, list[str]]:
    """The error of a family, divided by the looks that were planned, or by those that were taken."""
    if options.looks is not None:
        told = f"{options.looks} looks were planned: alpha is {ALPHA}/{options.looks}"
        return ALPHA / options.looks, [told] if options.looks > 1 else []
    groups: dict[str, list[str]] = {}
    for label, one in ((label, one) for pool in pools for label, one in pool.members.items()):
        groups.setdefault(label, []).extend(entry.record.run for entry in one.counted)
    if home is None or any(one.missing for pool in pools for one in pool.members.values()):
        return ALPHA, []
    taken = looked(home, groups)
    told = f"seeds were added after a comparison; alpha is now {ALPHA}/{taken}"
    return ALPHA / taken, [told] if taken > 1 else []


def _block(pool: Pool, options: Options, alpha: float, keys: Sequence[str]) -> Block:
    manner = Manner(
        alpha=alpha,
        more_is_better=more_is_better(pool.metric),
        paired=options.paired,
        margin=options.margin,
        detect=options.detect,
        simultaneous=options.simultaneous,
    )
    known = next((entry for entry in pool.entries if entry.has_examples), pool.entries[0])
    shared = {name: value for name, value in conditions(known, pool.metric, keys).items() if value is not None}
    return block(pool, Family(manner, options.baseline, shared))


def _failures(pools: Sequence[Pool]) -> list[Run]:
    """Runs that are no result, or a bad one."""
    every = [(entry, one.label) for pool in pools for one in pool.members.values() for entry in one.entries]
    return [run(entry, label, None) for entry, label in every if entry.record.status != "done"]


def _planned(one: Planned) -> Run:
    told = f"{' '.join(one.overrides)}: {one.status}, no record yet"
    return Run(one.folder.name, relative(one.folder), "", "", None, "missing", False, False, None, {}, told)


def _advice(blocks: Sequence[Block], banners: Sequence[Banner], options: Options) -> list[Advice]:
    if options.limits and not options.advise:
        raise InputError("limits are for advice: write advise=true, too")
    if options.advise and options.baseline is not None:
        raise InputError("advise=true needs every pair decided: leave baseline out")
    told = [] if "machine" in options.allow else banners
    return [advise(one, options.limits, elsewhere(one, told)) for one in blocks] if options.advise else []
