"""Everything that the tables and the page of a comparison show, as plain data.

Scores are in the record's own unit (accuracy from 0 to 1, BLEU from 0 to 100); `Block.factor` turns them into what is
shown. A number that there is not is None. Lists are in the order in which they are shown.
"""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Score:
    """A value with the limits of its 95 % interval, over `runs` runs and `n` test examples (0: none were resampled).

    `low` and `high` are None where the runs are too few; `note` says what limits the number.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    runs: int
    note: str = ""


@dataclass(frozen=True)
class Run:
    """One run: `status` as in its record, `missing` where a planned job has none.

    `counted` is whether it has a score in the headline, `converged` whether training did more than the trivial
    baseline. `measures` are all numbers of its record by key, `folder` is relative to where the command ran.
    """

    name: str
    folder: str
    group: str
    model: str
    seed: int | None
    status: str
    counted: bool
    converged: bool
    score: float | None
    measures: dict[str, float | None]
    message: str = ""


@dataclass(frozen=True)
class GroupSummary:
    """The runs of one architecture, or of one setting of it.

    `factors` are the varied options that make it up. `score` is over all counted runs, `given_converged` over the
    `converged` ones alone and only there where some diverged; `rate_low` and `rate_high` bound the share of runs that
    converge (95 %). `costs` holds speed, size, memory and time by key. `missing` counts planned runs without a result.
    """

    label: str
    model: str
    factors: dict[str, str]
    score: Score | None
    counted: int
    converged: int
    rate_low: float
    rate_high: float
    missing: int
    given_converged: Score | None
    costs: dict[str, Score]


@dataclass(frozen=True)
class PairSummary:
    """The difference of two groups, a - b, and what is decided about it.

    `word` is better, worse (higher, lower of a metric without a direction), equal, identical, not distinguishable,
    undecided, incomplete or not comparable; `decision` is the whole wording. The interval is that of this pair alone,
    `adjusted` is Holm's p over the block, None of a pair that is not in its family.
    """

    a: str
    b: str
    a_value: float | None
    b_value: float | None
    difference: float | None
    low: float | None
    high: float | None
    seeds_half: float | None
    examples_half: float | None
    p: float | None
    adjusted: float | None
    word: str
    decision: str
    note: str = ""


@dataclass(frozen=True)
class Stratum:
    """A bucket of an axis with its number of test examples, and each group's score there by label."""

    bucket: str
    n: int
    scores: dict[str, Score]


@dataclass(frozen=True)
class Curve:
    """A run's history, thinned: parallel lists of steps, tokens, seconds of training, and the validation metric."""

    run: str
    group: str
    seed: int | None
    converged: bool
    key: str
    steps: list[int]
    tokens: list[float | None]
    seconds: list[float | None]
    values: list[float | None]


@dataclass(frozen=True)
class Reach:
    """How far the runs of a group reach: values by curve of a probe and place, one a run that has it there.

    `numbers`, by axis and name (effective_length, half_life): of each run a distance, and whether it was `reached`.
    `unclear`, by axis: how many runs have none, as they are not clear of chance in the nearest bucket.
    """

    curves: dict[str, dict[float, list[float]]]
    numbers: dict[str, dict[str, list[tuple[float, bool]]]]
    unclear: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """Runs that may be compared: the same data, tokenizer, metric signature, decoding, budget and code.

    `more_is_better` is None of a metric with no such direction. With `ratio` (speed, memory, time, sizes) differences
    and their limits are a / b, and halves are of its logarithm. `conditions` is what they share, `comparisons` the size
    of the family that decisions are corrected over, `alpha` its error; where `simultaneous`, the intervals of pairs are
    widened so as to hold for all at once. `notes` are warnings about these runs. `trends` gives, by axis and group, by
    how much the metric changes from the first bucket to the last (a linear trend). `reach` is of groups with any.
    """

    title: str
    task: str
    data: str
    metric: str
    more_is_better: bool | None
    factor: float
    ratio: bool
    examples: int
    alpha: float
    comparisons: int
    groups: list[GroupSummary]
    runs: list[Run]
    pairs: list[PairSummary]
    strata: dict[str, list[Stratum]]
    trends: dict[str, dict[str, Score]]
    curves: list[Curve]
    reach: dict[str, Reach]
    baselines: dict[str, float]
    conditions: dict[str, str]
    signature: dict[str, str]
    ledger: dict[str, Any]
    data_report: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    simultaneous: bool = False


@dataclass(frozen=True)
class Banner:
    """A difference that is not under study: `differs` (such as `code commit`), its values, and the runs of each."""

    differs: str
    values: dict[str, list[str]]
    text: str
    separates: bool = True


@dataclass(frozen=True)
class Part:
    """One quantity of a rule and its bound: `holds`, `fails` or `open`. It holds `above` the bound, or else below."""

    text: str
    value: float | None
    low: float | None
    high: float | None
    bound: float
    outcome: str
    note: str = ""
    above: bool = True


@dataclass(frozen=True)
class RuleOutcome:
    """A rule of the sweep file: its side (supported or refuted), its wording, whether it holds, fails or is open."""

    side: str
    text: str
    metric: str
    outcome: str
    p: float
    adjusted: float
    parts: list[Part]


@dataclass(frozen=True)
class Verdict:
    """supported, refuted or undecided, with the sentence that gives the deciding numbers."""

    outcome: str
    question: str
    claim: str
    source: str
    cannot: str
    reason: str
    rules: list[RuleOutcome]


@dataclass(frozen=True)
class Advice:
    """Which group to take under limits: `choice` is None if none fits; `tied` cannot be told apart from the top."""

    block: str
    limits: dict[str, float]
    choice: str | None
    fitting: list[str]
    tied: list[str]
    text: str


@dataclass(frozen=True)
class Comparison:
    """A comparison by name; the first block holds the most runs. `failures` are runs that left no result."""

    name: str
    blocks: list[Block]
    banners: list[Banner]
    verdict: Verdict | None
    failures: list[Run]
    advice: list[Advice]
    notes: list[str]

    def plain(self) -> dict[str, Any]:
        """The same as dictionaries and lists, ready for JSON."""
        return asdict(self)
