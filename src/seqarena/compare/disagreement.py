"""The test examples on which models differ most, read from the runs' `examples.parquet`, for people to look at."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seqarena.compare.attention import received
from seqarena.compare.records import EXAMPLES as FILE
from seqarena.compare.records import read_examples
from seqarena.compare.statistics import bleu_score
from seqarena.errors import InputError

SHOWN = 60
"""Examples that a page holds."""
LONGEST = 4000
"""Characters of a text that are shown; the rest is counted."""
COLUMNS = ("id", "length", "text", "label", "source", "reference", "prediction", "bleu_statistics", "position")
"""`position` is of a labelled token: ids are then those of queries, and maps those of texts."""
LABELLED = ("id", "length", "text", "label", "prediction")
TRANSLATED = ("id", "length", "source", "reference", "prediction", "bleu_statistics")

Example = dict[str, Any]


def examples(folders: Mapping[str, Sequence[Path]], shown: int = SHOWN) -> list[Example]:
    """The `shown` examples with the most disagreement, by group key; `folders` are the runs of each group.

    Behind them come those of which a group has attention maps, as `attention` by group key. Only examples that every
    run answered count. Runs without the file are passed over. InputError: one is damaged.
    """
    tables = {key: [_read(one) for one in runs if (one / FILE).exists()] for key, runs in folders.items()}
    tables = {key: runs for key, runs in tables.items() if runs}
    if not tables:
        return []
    ids = sorted(set.intersection(*(set(one["id"].to_pylist()) for runs in tables.values() for one in runs)))
    if not ids:
        return []
    ordered = {key: [_aligned(one, ids) for one in runs] for key, runs in tables.items()}
    first = next(iter(ordered.values()))[0]
    maps = {key: received(runs) for key, runs in folders.items()} if "position" not in first.column_names else {}
    mapped = set().union(*maps.values()) & set(ids)
    show = _translations if "source" in first.column_names else _classifications
    found = [_shortened(one) for one in show(ordered, shown, mapped)]
    return [one | _attended(maps, one["id"]) if one["id"] in mapped else one for one in found]


def _attended(maps: Mapping[str, Mapping[int, Any]], example: int) -> Example:
    return {"attention": {key: of_group[example] for key, of_group in maps.items() if example in of_group}}


def _read(folder: Path) -> pa.Table:
    table = read_examples(folder, COLUMNS)
    for name in TRANSLATED if "source" in table.column_names else LABELLED:
        if name not in table.column_names:
            raise InputError(f"{folder / FILE} has no column {name}: evaluate the run again, or leave it out")
    return table


def _aligned(table: pa.Table, ids: Sequence[Any]) -> pa.Table:
    at = {one: place for place, one in enumerate(table["id"].to_pylist())}
    return table.take(pa.array([at[one] for one in ids], pa.int64()))


def _classifications(tables: Mapping[str, Sequence[pa.Table]], shown: int, also: Set[int]) -> list[Example]:
    """Each group's most frequent answer over its seeds, and how many seeds gave it."""
    answers = {
        key: list(zip(*(one["prediction"].to_pylist() for one in runs), strict=True)) for key, runs in tables.items()
    }
    first = next(iter(tables.values()))[0].select(["id", "length", "text", "label"]).to_pylist()
    found = []
    for place, row in enumerate(first):
        guess = {key: [*Counter(said[place]).most_common(1)[0], len(said[place])] for key, said in answers.items()}
        every = [one for said in answers.values() for one in said[place]]
        groups = _apart([one[0] for one in guess.values()])
        found.append({**row, "guess": guess, "disagreement": groups, "_seeds": _apart(every)})
    found.sort(key=lambda one: (-one["disagreement"], -one.pop("_seeds"), one["id"]))
    return [one for place, one in enumerate(found) if place < shown or one["id"] in also]


def _apart(answers: Sequence[Any]) -> float:
    """Which part does not give the most common answer."""
    return 1 - Counter(answers).most_common(1)[0][1] / len(answers)


def _translations(tables: Mapping[str, Sequence[pa.Table]], shown: int, also: Set[int]) -> list[Example]:
    """Each group's first run, chosen by the spread of sentence BLEU, shown with sentence chrF from 0 to 100."""
    from sacrebleu.metrics import CHRF  # takes a while to import

    scored = np.stack([bleu_score(np.stack(runs[0]["bleu_statistics"].to_pylist())) for runs in tables.values()])
    first = next(iter(tables.values()))[0]
    order = np.argsort(-(scored.max(0) - scored.min(0)), kind="stable")
    more = [place for place in order[shown:] if first["id"][int(place)].as_py() in also]
    chosen = np.array([*order[:shown], *more], np.int64)
    rows = first.select(["id", "length", "source", "reference"]).take(chosen).to_pylist()
    said = {key: runs[0]["prediction"].take(pa.array(chosen)).to_pylist() for key, runs in tables.items()}
    measure, found = CHRF(), []
    for place, row in enumerate(rows):
        hypotheses = {key: texts[place] for key, texts in said.items()}
        overlap = {key: round(measure.sentence_score(one, [row["reference"]]).score) for key, one in hypotheses.items()}
        spread = (max(overlap.values()) - min(overlap.values())) / 100
        found.append({**row, "hypotheses": hypotheses, "overlap": overlap, "disagreement": spread})
    return sorted(found, key=lambda one: (-one["disagreement"], one["id"]))


def _shortened(example: Example) -> Example:
    """The same with texts of at most `LONGEST` characters."""
    texts: Example = {name: _cut(example[name]) for name in ("text", "source", "reference") if name in example}
    if "hypotheses" in example:
        texts["hypotheses"] = {key: _cut(one) for key, one in example["hypotheses"].items()}
    return example | texts


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text) - LONGEST:,} characters more)"
