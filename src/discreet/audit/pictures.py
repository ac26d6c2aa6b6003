"""One number on two neighbours as a picture: where its noisy value falls, and how well that tells them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import Any, Final

from discreet.accounting import Concentrated, Pure
from discreet.accounting.distributions import DiscreteLaplace
from discreet.accounting.rounding import float_up
from discreet.answers.plots.beside import drawn_beside
from discreet.answers.plots.embedded import bare
from discreet.answers.plots.theme import COLOURS, NEUTRAL, Theme, altair, chart_of, dressed
from discreet.audit.compare import Moved
from discreet.audit.wording import noise_words
from discreet.exit.cost import noise_of
from discreet.printing import at_least

POINTS: Final = 160
SEEN: Final = 0.999
"""The share of the noise that is drawn."""
Point = tuple[float, float, float, float]
"""o, counted from the exact value without the unit; P(o) with the unit; P(o) without it; the logarithm of the ratio."""
SIDES: Final = ("with the unit", "without it")
ON_ANY_PAGE: Final = Theme("transparent", "currentColor", "currentColor", "rgba(128,128,128,.25)")
"""Ink and paper of the page around it."""


@dataclass(frozen=True, slots=True)
class Band:
    """How far apart the two may be: |ln(P/P′)| ≤ ε, but for a probability of δ."""

    loss: Pure | Concentrated
    epsilon: float
    delta: float | None

    @classmethod
    def of(cls, moved: Moved, delta: Fraction | None) -> Band:
        loss = moved.mechanism.loss_for(moved.sensitivity)
        epsilon, limit = loss.at(delta or Fraction(1, 10**6))
        return cls(loss, float_up(epsilon), float(limit) if limit else None)

    def words(self, *, within: bool) -> str:
        if not within:
            return f"{self.loss.words} was declared, and one unit shows more than that"
        if self.delta is None:
            return f"ε = {at_least(self.epsilon)}: the ratio of the two probabilities stays between e^−ε and e^ε"
        promise = f"{self.loss.words}, which is ε = {at_least(self.epsilon)} at δ = {self.delta:g}"
        return f"{promise}: what lies outside of the band exceeds it by at most δ in all"


def caption(moved: Moved, delta: Fraction | None) -> str:
    """What is drawn, in words."""
    apart = abs(moved.here - moved.there)
    promise = Band.of(moved, delta).words(within=moved.share <= 1)
    return (
        f"{noise_words(moved.mechanism)}; exact numbers {moved.here:,} and {moved.there:,}, {apart:,} apart, "
        f"{float(moved.share):.0%} of the sensitivity. {promise}."
    )


def drawn(moved: Moved, delta: Fraction | None, theme: Theme = ON_ANY_PAGE) -> Any:
    """Both distributions, and below them the logarithm of their ratio within its band."""
    alt, records, band = altair(), _records(moved), Band.of(moved, delta)
    x = alt.X("o:Q", scale=alt.Scale(nice=False), axis=alt.Axis(tickMinStep=1))
    lines = [{"o": o, "side": side, "p": p} for o, *both, _ in records for side, p in zip(SIDES, both, strict=True)]
    colour = alt.Color(
        "side:N",
        scale=alt.Scale(domain=list(SIDES), range=list(COLOURS[:2])),
        legend=alt.Legend(title=None, orient="top"),
    )
    y = alt.Y("p:Q", title="probability", stack=None, axis=alt.Axis(format=".3~g"))
    base = chart_of(lines).encode(x=x.title(None), y=y, color=colour)
    both = base.mark_area(interpolate="step", opacity=0.15) + base.mark_line(interpolate="step")
    below = _ratio(records, band, x.title("released value, counted from the exact value without the unit"))
    panels = both.properties(width=460, height=150), below.properties(width=460, height=110)
    return dressed(alt.vconcat(*panels).resolve_scale(x="shared"), theme, "", [])


def _ratio(records: list[Point], band: Band, x: Any) -> Any:
    """The logarithm of the ratio, inside its band or beyond it."""
    alt = altair()
    most = 1.2 * max(band.epsilon, *(abs(ratio) for *_, ratio in records))
    y = alt.Y("low:Q", title="ln of their ratio", scale=alt.Scale(domain=[-most, most], nice=False))
    limits = chart_of([{"low": -band.epsilon, "high": band.epsilon}])
    edges = chart_of([{"low": -band.epsilon}, {"low": band.epsilon}])
    line = chart_of([{"o": o, "low": ratio} for o, _, _, ratio in records])
    return alt.layer(
        limits.mark_rect(color=COLOURS[2], opacity=0.18).encode(y=y, y2="high:Q"),
        edges.mark_rule(color=COLOURS[2], strokeDash=[5, 3]).encode(y=y),
        line.mark_line(color=NEUTRAL, strokeWidth=2, interpolate="step").encode(x=x, y=y),
    )


def svg(moved: Moved, delta: Fraction | None) -> str | None:
    """The picture for a page; None if what draws it is not installed."""
    if find_spec("altair") is None or find_spec("vl_convert") is None:
        return None
    import vl_convert

    return bare(drawn_beside(lambda: vl_convert.vegalite_to_svg(drawn(moved, delta).to_dict())))


def _records(moved: Moved) -> list[Point]:
    noise, shift = noise_of(moved.mechanism), moved.here - moved.there
    peak = 1 - 2 * float(noise.tail(1)[1])

    def logarithm(z: int) -> float:
        if isinstance(noise, DiscreteLaplace):
            return -abs(z) / float(noise.scale)
        return -float(Fraction(z) ** 2 / (2 * noise.spread))

    width = noise.width(SEEN)
    first, last = min(0, shift) - width, max(0, shift) + width
    places = sorted({first + (last - first) * index // POINTS for index in range(POINTS + 1)})
    points = []
    for o in places:
        here, there = logarithm(o - shift), logarithm(o)
        points.append((float(o), peak * math.exp(here), peak * math.exp(there), here - there))
    return points
