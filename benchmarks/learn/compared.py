"""Ours beside a model without privacy and beside a peer, as figures."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from benchmarks.figures import Figure
from benchmarks.peers.environments import Failed

Scores = Any
ALLOWED: Final = 2.0
"""Standard errors of a mean by which chance may make it differ."""
LITTLE: Final = 0.02
"""A gain of which no share is asked for: noise is as large."""
POINT: Final = 0.001
"""Less is not called a difference."""


def spread(values: Scores) -> str:
    return f"{float(values.mean()):.3g} ± {float(values.std()):.1g}"


def spreads(many: list[Scores]) -> str:
    return " / ".join(map(spread, many))


def chance(differences: Scores) -> float:
    """By how much the mean of such differences may be off."""
    return POINT + ALLOWED * float(differences.std()) / math.sqrt(max(len(differences) - 1, 1))


def no_worse(what: str, ours: list[Scores], theirs: list[Scores] | Failed, label: str, *, least: bool) -> Figure:
    """In the mean at least as good as the peer on the same splits, one after the other, but for chance.

    `least` says that smaller is better. The ratio is that of the worst pair.
    """
    if isinstance(theirs, Failed):
        return Figure(what, spreads(ours), f"{label} failed: {theirs.reason}", math.nan, "no worse", False)
    sign = -1 if least else 1
    gaps = [sign * (one[: len(other)] - other[: len(one)]) for one, other in zip(ours, theirs, strict=True)]
    held = all(float(gap.mean()) >= -chance(gap) for gap in gaps)
    worst = int(np.argmin([gap.mean() for gap in gaps]))
    ratio = float(ours[worst].mean() / theirs[worst].mean())
    return Figure(what, spreads(ours), f"{label} {spreads(theirs)}", ratio, "no worse, but for chance", held)


def most(what: str, ours: Scores, theirs: Scores, label: str, limit: float) -> Figure:
    """At most so many times."""
    ratio = float(ours.mean() / theirs.mean())
    return Figure(what, spread(ours), f"{label} {spread(theirs)}", ratio, f"≤ {limit:g}×", ratio <= limit)


def at_least(what: str, ours: Scores, theirs: Scores, limit: float) -> Figure:
    """At least so many times what is had without privacy, or what can be had at all."""
    ratio = float(ours.mean() / theirs.mean())
    return Figure(what, spread(ours), f"not private: {spread(theirs)}", ratio, f"≥ {limit:g}×", ratio >= limit)


def recovered(what: str, wide: Scores, tight: Scores, constant: float, limit: float | None, *, least: bool) -> Figure:
    """How much of what tight bounds gain over a constant wide ones gain too; nothing is asked where that is little.

    `least` says that smaller is better.
    """
    sign = -1 if least else 1
    gained = sign * (float(tight.mean()) - constant)
    share = sign * (float(wide.mean()) - constant) / gained
    asked = limit is not None and gained >= LITTLE
    held = not asked or share >= (limit or 0) - chance(wide - tight) / gained
    label = f"tight bounds {spread(tight)}, constant {constant:.3g}"
    return Figure(what, spread(wide), label, share, f"≥ {limit:g} of the gain" if asked else "–", held)


def shown(what: str, ours: list[Scores], beside: str) -> Figure:
    """Without a limit."""
    return Figure(what, spreads(ours), beside, 1.0, "–", True)
