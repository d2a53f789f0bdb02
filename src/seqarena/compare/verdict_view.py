"""The verdict card and the banners as the page shows them."""

import math
from collections.abc import Sequence
from typing import Any

from seqarena.compare.comparison import Banner, Comparison, Part, RuleOutcome, Verdict
from seqarena.compare.verdict import any_diverged
from seqarena.compare.wording import DIVERGED, num, unbroken

SHARES = ("accuracy", "f1_macro")
"""Metrics from 0 to 1, shown in percent."""
LEVELS = ("at_least", "below")
"""How rules about one number begin."""
WORDS = {"holds": "holds", "fails": "does not hold", "open": "open"}
CLEAR = 6
"""Percent of a ruler that a tick keeps away from the bound, which carries its own number."""
REASONS = 4
"""Sentences of a verdict; the table of the rules has them all."""
MARGIN = 0.18
"""Room at both ends of a ruler, as a part of what it must show."""


def verdict(comparison: Comparison) -> dict[str, Any] | None:
    """Outcome, claim and the rule that decided or comes closest, with its numbers; None where nothing was asked."""
    found = comparison.verdict
    if found is None:
        return None
    rule = next(iter(decisive(found)), None)
    return {
        "outcome": found.outcome,
        "claim": found.claim.strip().rstrip("."),
        "source": found.source,
        "cannot": found.cannot,
        "reason": [_deciding(part, _factor(one)) for one in decisive(found) for part in one.parts][:REASONS],
        "rules": [_rule(one) for one in found.rules],
        "legend": sentence(DIVERGED) if any_diverged([part for one in found.rules for part in one.parts]) else "",
        "shown": _shown(rule) if rule else None,
    }


def decisive(found: Verdict) -> list[RuleOutcome]:
    """The rules that decided; of an undecided claim those that would support it and do not hold."""
    side = "refuted" if found.outcome == "refuted" else "supported"
    wanted = [one for one in found.rules if one.side == side and (one.outcome == "holds") == (found.outcome == side)]
    return wanted or found.rules


def _deciding(part: Part, factor: float) -> dict[str, str]:
    """What was measured against what, as words around the number."""
    told = _told(part, factor)
    if part.value is None:
        return {"before": f"{part.text}: ", "number": "open", "after": f", {part.note}." if part.note else "."}
    note = f"; {part.note}" if part.note else ""
    against = f", against {'more' if part.above else 'less'} than {told['bound']} claimed"
    return {
        "before": f"{part.text}: ",
        "number": told["value"],
        "after": f" (95 % interval {told['interval']}){against}{note}.",
    }


def _factor(rule: RuleOutcome) -> float:
    return 100.0 if rule.metric.rpartition("/")[2] in SHARES else 1.0


def _rule(rule: RuleOutcome) -> dict[str, Any]:
    factor = _factor(rule)
    parts = [
        {"text": part.text, "note": part.note, "word": WORDS[part.outcome], **_told(part, factor)}
        for part in rule.parts
    ]
    return {"side": rule.side, "text": rule.text, "outcome": rule.outcome, "word": WORDS[rule.outcome], "parts": parts}


def _told(part: Part, factor: float) -> dict[str, str]:
    """The numbers of a part as words: value, interval, bound."""
    known = part.low is not None and part.high is not None
    interval = f"{_num(part.low, factor)} to {_num(part.high, factor)}" if known else "no interval"
    return {"value": _num(part.value, factor), "interval": interval, "bound": _num(part.bound, factor)}


def _num(value: float | None, factor: float) -> str:
    return "no value" if value is None else num(value * factor, 1 if factor == 100 else 2)


def _unit(rule: RuleOutcome) -> str:
    """A level is in percent, a difference of levels in points."""
    level = rule.text.startswith(LEVELS)
    return "" if _factor(rule) == 1 else "\u00a0%" if level else "\u00a0points"


def _shown(rule: RuleOutcome) -> dict[str, Any] | None:
    """The first part of a rule, large, and its interval on a ruler."""
    part, factor = rule.parts[0] if rule.parts else None, _factor(rule)
    if part is None or part.value is None:
        return None
    more = len(rule.parts) - 1
    return {
        **_told(part, factor),
        "side": rule.side,
        "unit": _unit(rule),
        "label": part.text,
        "more": more,
        "text": rule.text,
        "ruler": ruler(part, factor, rule.side),
    }


def ruler(part: Part, factor: float, side: str) -> dict[str, Any] | None:
    """Where value, interval and bound lie on a line, in percent of its length; None without an interval."""
    if part.value is None or part.low is None or part.high is None:
        return None
    points = [one * factor for one in (part.value, part.low, part.high, part.bound)]
    low, high = min(*points, 0.0), max(*points, 0.0)
    if low < 0 < high or max(map(abs, (low, high))) < 4 * (max(points) - min(points)):
        points.append(0.0)
    low, high = min(points), max(points)
    room = (high - low or 1.0) * MARGIN
    low, high = low - room, high + room

    def at(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    side_text = f"{'supports' if side == 'supported' else 'refutes'}: {'above' if part.above else 'below'}"
    return {
        "value": at(points[0]),
        "low": at(points[1]),
        "high": at(points[2]),
        "bound": at(points[3]),
        "ticks": [(at(tick), text) for tick, text in ticks(low, high) if abs(at(tick) - at(points[3])) > CLEAR],
        "zone": [at(points[3]), 100.0] if part.above else [0.0, at(points[3])],
        "zone_text": f"{side_text} {_num(part.bound, factor)}",
        "above": part.above,
    }


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round values inside, about four of them, and how they are written."""
    power = 10.0 ** math.floor(math.log10((high - low) / 5))
    step = next(power * one for one in (1, 2, 5, 10) if (high - low) / (power * one) <= 5)
    first, last = math.ceil(low / step), math.floor(high / step)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(place * step, num(place * step, decimals)) for place in range(first, last + 1)]


def banners(comparison: Comparison) -> list[dict[str, Any]]:
    """What differs between runs beyond what is under study, and in which runs."""
    return [_banner(one) for one in comparison.banners]


def _banner(banner: Banner) -> dict[str, Any]:
    values = [{"value": value, "runs": _few(runs)} for value, runs in banner.values.items()]
    return {"differs": banner.differs, "text": sentence(banner.text), "separates": banner.separates, "values": values}


def sentence(text: str) -> str:
    """A sentence of its own: a capital first, a full stop last."""
    return unbroken(text[:1].upper() + text[1:]) + ("" if text.endswith(".") else ".")


def _few(runs: Sequence[str]) -> str:
    """At most four names, and how many more."""
    return ", ".join(runs[:4]) + (f" and {len(runs) - 4} more" if len(runs) > 4 else "")
