"""Where a model's attention goes on the few test texts that a run with `probe=all` keeps maps of."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seqarena.errors import InputError

FILE = "attention.parquet"
COLUMNS = ("id", "tokens", "layer", "weights")


def received(runs: Sequence[Path]) -> dict[int, dict[str, Any]]:
    """By test example: its `tokens`, and the `share` of the last layer's attention that each of them receives.

    The mean over heads and over the tokens that look, so shares sum to one; of the first of these runs that has maps.
    Files without ids, of an older version, are of other texts. InputError: the file is damaged.
    """
    path = next((run / FILE for run in runs if (run / FILE).exists()), None)
    if path is None:
        return {}
    try:
        table = pq.read_table(path, use_threads=False)
        if "id" not in table.column_names:
            return {}
        rows = table.select(COLUMNS).to_pylist()
        last = max((row["layer"] for row in rows), default=0)
        found: dict[int, list[dict[str, Any]]] = {}
        for row in rows:
            if row["layer"] == last:
                found.setdefault(row["id"], []).append(row)
        return {example: _shares(heads) for example, heads in found.items()}
    except (OSError, pa.ArrowException, LookupError, ValueError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error}): train the run again with probe=all, or leave it out") from error


def _shares(heads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    tokens = [str(one) for one in heads[0]["tokens"]]
    weights_Hnn = np.array([head["weights"] for head in heads], float).reshape(-1, len(tokens), len(tokens))
    if not np.isfinite(weights_Hnn).all():
        raise ValueError("weights are not finite")
    return {"tokens": tokens, "share": [round(float(one), 4) for one in weights_Hnn.mean((0, 1))]}
