"""A sweep file: a question, the claim that it tests, the runs that test it, and what would support or refute the claim.

`sweeps/NAME.yaml` is plain YAML with the keys of `KEYS`. `python train.py sweeps=NAME` becomes an ordinary multirun
before Hydra starts; whatever is wrong with the file is an error by then, before the first job.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from seqarena.errors import InputError
from seqarena.sweep.axes import Axes, axes
from seqarena.sweep.checking import check_metric, check_rules
from seqarena.sweep.metrics import PROBE
from seqarena.sweep.overrides import assignment, key_of, written
from seqarena.sweep.reading import Place, items, load, mapping, nearest, options, text, values
from seqarena.sweep.rules import Rule, parse

FOLDER = "sweeps"
KEYS = ("question", "claim", "source", "cannot", "fixed", "grid", "metric", "over", "verdict", "scale")
SCALES = ("small", "full")
DATA = "agreement"
"""What conf/train.yaml trains on where nothing is said."""


@dataclass(frozen=True)
class Question:
    """A sweep file at one scale.

    `claim` is the sentence as it is said, `source` where; `cannot` is what this sweep leaves open. `fixed` holds Hydra
    overrides of every run, `grid` the lists whose product is run, `over` is the grid key that values are averaged over.
    How `supported` and `refuted` decide is said in `sweep/rules.py`.
    """

    name: str
    scale: str
    question: str
    claim: str
    source: str
    cannot: str
    fixed: Mapping[str, Any]
    grid: Mapping[str, Sequence[Any]]
    metric: str
    over: str
    supported: tuple[Rule, ...]
    refuted: tuple[Rule, ...]

    @property
    def jobs(self) -> int:
        """How many runs it takes."""
        return prod(len(values) for values in self.grid.values())

    @property
    def folder(self) -> str:
        """What its folder in outputs/sweeps is called."""
        return self.name if self.scale == "full" else f"{self.name}-{self.scale}"

    def points(self) -> list[list[str]]:
        """The overrides of each run."""
        fixed = [assignment(key, value) for key, value in self.fixed.items()]
        return [
            [*fixed, *(assignment(key, value) for key, value in zip(self.grid, combination, strict=True))]
            for combination in product(*self.grid.values())
        ]

    def overrides(self) -> dict[str, str]:
        """The overrides of the multirun, by key."""
        fixed = {key: assignment(key, value) for key, value in self.fixed.items()}
        grid = {key: f"{key}={','.join(map(written, values))}" for key, values in self.grid.items()}
        place = "hydra.sweep.dir"
        own = {"sweep": f"sweep={self.name}", place: f"{place}=${{oc.env:SEQARENA_ROOT}}/outputs/sweeps/{self.folder}"}
        return fixed | grid | own


def expand(argv: list[str], root: Path) -> list[str]:
    """Arguments in which `sweeps=NAME` and `scale=small|full` have become a multirun; others are returned as they are.

    An override that the user gives takes the place of the file's for the same key. InputError: no such sweep or scale,
    or something is wrong with the file.
    """
    asked = [one for one in argv if one.startswith("sweeps=")]
    if not asked:
        return argv
    if len(asked) > 1:
        raise InputError(f"{' '.join(asked)}: one sweep at a time")
    scales = [one for one in argv if one.startswith("scale=")]
    scale = scales[-1].partition("=")[2] if scales else SCALES[0]
    question = read(root, asked[0].partition("=")[2], scale)
    rest = [one for one in argv if one not in (*asked, *scales, "-m", "--multirun")]
    given = [one for one in rest if key_of(one)]
    keys = {key_of(one) for one in given}
    own = [told for key, told in question.overrides().items() if key not in keys]
    return ["-m", *(one for one in rest if one not in given), *own, *given]


def available(root: Path) -> list[str]:
    """The names of all sweeps."""
    return sorted(path.stem for path in (root / FOLDER).glob("*.yaml"))


def read(root: Path, name: str, scale: str) -> Question:
    """`sweeps/NAME.yaml` at a scale, checked. InputError names the file, the key, and what is wrong."""
    if name not in available(root):
        raise InputError(f"sweeps={name} is not there: {FOLDER}/ has {nearest(name, available(root))}")
    if scale not in SCALES:
        raise InputError(f"scale={scale} is not known: write scale={' or scale='.join(SCALES)}")
    place = Place(f"{FOLDER}/{name}.yaml")
    told = mapping(place, load(root / FOLDER / f"{name}.yaml", place), KEYS)
    scales = mapping(place.at("scale"), told["scale"], SCALES)
    for one in SCALES:
        mapping(place.at("scale").at(one), scales[one], (), ("fixed", "grid", "verdict"))
    question = _parse(place, told, name, scale)
    _check(root, place, question)
    return question


def _parse(place: Place, told: dict[str, Any], name: str, scale: str) -> Question:
    ours, there = told["scale"][scale], place.at("scale").at(scale)
    metric = text(place.at("metric"), told["metric"])
    verdict = place.at("verdict") if "verdict" not in ours else there.at("verdict")
    rules = mapping(verdict, ours.get("verdict", told["verdict"]), ("supported", "refuted"))
    return Question(
        name=name,
        scale=scale,
        question=text(place.at("question"), told["question"]),
        claim=text(place.at("claim"), told["claim"]),
        source=text(place.at("source"), told["source"]),
        cannot=text(place.at("cannot"), told["cannot"]),
        fixed=options(place.at("fixed"), told["fixed"]) | options(there.at("fixed"), ours.get("fixed", {})),
        grid=_grid(place.at("grid"), told["grid"]) | _grid(there.at("grid"), ours.get("grid", {})),
        metric=metric,
        over=text(place.at("over"), told["over"]),
        supported=items(verdict.at("supported"), rules["supported"], lambda at, one: parse(at, one, metric)),
        refuted=items(verdict.at("refuted"), rules["refuted"], lambda at, one: parse(at, one, metric)),
    )


def _grid(place: Place, told: Any) -> dict[str, list[Any]]:
    """Lists by option; a list that holds the same value twice would run the same job twice."""
    grid = {key: values(place.at(key), one) for key, one in options(place, told).items()}
    for key, listed in grid.items():
        words = [written(value) for value in listed]
        twice = [word for number, word in enumerate(words) if word in words[:number]]
        if twice:
            raise place.at(key).error(f"{twice[0]} comes twice")
    return grid


def _check(root: Path, place: Place, question: Question) -> None:
    """What depends on two parts of a file."""
    both = sorted(set(question.fixed) & set(question.grid))
    if both:
        raise place.at("fixed").at(both[0]).error("stands in the grid too: write it once")
    if question.over not in question.grid:
        raise place.at("over").error(f"{question.over} is not in the grid: there are {', '.join(question.grid)}")
    known = _known(root, place, question)
    check_metric(place.at("metric"), question.metric, known)
    for side in ("supported", "refuted"):
        check_rules(place.at("verdict").at(side), getattr(question, side), question.grid, question.over, known)
    _check_probed(place, question)


def _check_probed(place: Place, question: Question) -> None:
    """What only probes measure is there only where they run."""
    named = [question.metric, *(rule.metric for rule in (*question.supported, *question.refuted))]
    asked = [key for key in named if key.startswith(f"{PROBE}/")]
    if asked and not {"probe", "probe.kinds"} & {*question.fixed, *question.grid}:
        raise place.at("fixed").error(f"{asked[0]} is measured by a probe, so it has to run: write probe: all")


def _known(root: Path, place: Place, question: Question) -> list[Axes]:
    """What conf/ says of each dataset of the sweep; nothing of one that a recipe chooses."""
    if "data" not in {*question.fixed, *question.grid} and "recipe" in {*question.fixed, *question.grid}:
        return []
    where = "grid" if "data" in question.grid else "fixed"
    given = dict(question.fixed) | {key: None for key in question.grid}
    names = question.grid.get("data", [question.fixed.get("data", DATA)])
    return [axes(root, str(name), place.at(where).at("data"), given) for name in names]
