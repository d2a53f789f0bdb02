"""Plain data, bytes and texts as somebody who means no good, or a damaged disk, would make them.

A few examples a test, always the same; `SEQARENA_FUZZ=500 python -m pytest -k fuzz` draws so many new ones.
"""

import copy
import json
import os
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

MANY = "SEQARENA_FUZZ"


def fuzz(examples: int) -> settings:
    """So many examples, or those that the environment asks for."""
    return settings(
        max_examples=int(os.environ.get(MANY, examples)),
        derandomize=MANY not in os.environ,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


HOSTILE = st.sampled_from(
    [
        *("<script>window.hit=1</script>", "'\"><img src=x onerror=window.hit=2>", "</script><svg onload=hit()>"),
        *("{{ 7*7 }}{% x %}", "../../etc/passwd", "javascript:hit()", "=1+1", "[red]", "\u202e\u2028", "", " ", "a/b"),
        *("long " * 500, "\0", "${oc.env:HOME}", "a=b,c", "_target_", "|`*_", "\\input{x}", "1e3", "null", "\ufeff"),
    ]
)
TEXT = HOSTILE | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBER = st.sampled_from(
    [
        *(0, -1, 1, 2**31, 2**63, 2**64, 10**30, 10**400, -(10**400)),
        *(0.0, -0.0, 0.5, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf")),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
BYTES = st.binary(max_size=40) | st.lists(
    st.sampled_from([b"{", b"}", b"[", b"]", b'"', b":", b",", b"\n", b"- ", b"&a ", b"*a", b"!!x ", b"1e999", b"\xff"])
    | st.sampled_from([b'"step": 1', b'"schema": 1', b"NaN", b"2026-99-99", b"? ", b"| ", b"<<: ", b"9" * 5000, b"\0"])
).map(b"".join)


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where anything stands in plain data."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


def alike(value: Any) -> st.SearchStrategy[Any]:
    """Another value of the same kind, which a form lets pass."""
    if isinstance(value, str):
        return TEXT
    if isinstance(value, float):
        return NUMBER | st.none()
    return st.integers(0, 2**40) | NUMBER if isinstance(value, int) and not isinstance(value, bool) else JSON


@st.composite
def tampered(draw: st.DrawFn, tree: Any) -> Any:
    """Plain data in which up to three values are others, mostly of the same kind, or gone."""
    found = copy.deepcopy(tree)
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from([*places(found)]))
        place = found
        for key in path:
            place = place[key]
        how = draw(st.integers(0, 9))
        if how == 0 and isinstance(place, dict):
            del place[last]
            break
        place[last] = draw(JSON if how == 1 else alike(place[last]))
    return found


@st.composite
def damaged(draw: st.DrawFn, raw: bytes) -> bytes:
    """Bytes cut off, or some of them replaced."""
    if draw(st.booleans()):
        return raw[: draw(st.integers(0, len(raw)))]
    at = draw(st.integers(0, len(raw) - 1))
    other = draw(st.binary(min_size=1, max_size=8))
    return raw[:at] + other + raw[at + len(other) :]


def encoded(tree: Any) -> bytes:
    return json.dumps(tree).encode()
