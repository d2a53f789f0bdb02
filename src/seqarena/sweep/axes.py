"""What is known of a dataset before it is read: its task, and its axes with the names of their buckets, from conf/."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqarena.evaluation import bucket_name
from seqarena.sweep.reading import Place, load, nearest, options

PLACE = "conf/data"


@dataclass(frozen=True)
class Axes:
    """`buckets` are the names by axis, None where the data will decide. An `open` dataset may have further axes."""

    task: str
    buckets: dict[str, list[str] | None]
    open: bool


def axes(root: Path, name: str, place: Place, given: dict[str, Any]) -> Axes:
    """Those of `data=name` under overrides `given`. InputError: there is no such dataset."""
    folder = root / PLACE
    there = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in there:
        raise place.error(f"data={name} is not there: {PLACE} has {nearest(str(name), there)}")
    told = _composed(folder, name)
    edges = dict(told["buckets"]) | options(place, given.get("data.buckets") or {})
    prefix = "data.buckets."
    edges |= {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
    strata = _names(place, given.get("data.strata", told.get("strata")))
    buckets = {axis: names(one) for axis, one in edges.items()} | {one: None for one in strata if one not in edges}
    return Axes(told["task"], buckets, open="strata" in told and given.get("data.strata") is None)


def names(edges: Any) -> list[str] | None:
    """What the buckets of these lower edges are called, None if these are none."""
    if not isinstance(edges, list) or not edges or not all(isinstance(edge, int) for edge in edges):
        return None
    return [bucket_name(place, edges) for place in range(-1, len(edges))]


def _names(place: Place, told: Any) -> list[str]:
    """What `data.strata` says: one name or several; nothing where the grid is to say."""
    found = [told] if isinstance(told, str) else told or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise place.error(f"data.strata={told} must be a list of names")
    return found


def _composed(folder: Path, name: str) -> dict[str, Any]:
    """A dataset's options with those that it takes over, as far as they matter here, and its task."""
    path = folder / f"{name}.yaml"
    own = load(path, Place(f"{PLACE}/{name}.yaml"))
    merged: dict[str, Any] = {"buckets": {}}
    for entry in own.pop("defaults", ()):
        if isinstance(entry, dict):
            merged["task"] = entry["/task@_global_.task"]
        elif entry != "_self_":
            inner = _composed(path.parent, entry.split("@")[0])
            merged |= inner | {"buckets": merged["buckets"] | inner["buckets"]}
    return merged | own | {"buckets": merged["buckets"] | own.get("buckets", {})}
