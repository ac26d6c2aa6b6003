"""The privacy loss of mechanisms as a picture: how likely it is that a release gives away more than ε.

The privacy loss of an outcome z of noise on a number that one unit moves by Δ is ln(P(Z = z)/P(Z = z + Δ)). It grows
with z, so the probability that it exceeds the loss of z is the exact tail from z + 1 on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting.curves import delta_of
from discreet.accounting.distributions import DiscreteLaplace, Noise
from discreet.accounting.rounding import float_up
from discreet.answers.plots.beside import beside_others
from discreet.answers.plots.theme import COLOURS, altair, chart_of, dressed, theme_of
from discreet.exact import MOST_EPSILON
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.grid import INTEGERS

if TYPE_CHECKING:
    from altair.typing import ChartType

LEAST: Final = 1e-12
"""The smallest probability on the axis."""
POINTS: Final = 200
BEYOND: Final = "P(loss > ε)"
DELTA: Final = "δ(ε)"


@dataclass(frozen=True, slots=True)
class Curve:
    """The loss of noise on an integer that one unit moves by `shift`."""

    noise: Noise
    shift: int

    @classmethod
    def of(cls, mechanism: Laplace | Gaussian) -> Curve:
        """Of a mechanism that releases one number: an integer where it may, else a number on its grid."""
        integers = mechanism.step is None and mechanism.sensitivity >= 1
        moved = (INTEGERS if integers else mechanism.grid(1)).distance(mechanism.sensitivity)
        return cls(mechanism.noise(moved, 1), math.floor(moved))

    def loss(self, z: int) -> Fraction:
        if isinstance(self.noise, DiscreteLaplace):
            return (abs(z + self.shift) - abs(z)) / self.noise.scale
        return Fraction(2 * z * self.shift + self.shift**2) / (2 * self.noise.spread)

    @property
    def first(self) -> int:
        """The least outcome with a positive loss."""
        return -((self.shift - 1) // 2)

    @property
    def last(self) -> int:
        """The least outcome beyond which nothing can be seen: no more loss, or hardly a probability."""
        if isinstance(self.noise, DiscreteLaplace):
            return 0
        spread = math.isqrt(math.ceil(self.noise.spread)) + 1
        low, high = self.first, 8 * spread + 8
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._tail(middle) < LEAST else (middle, high)
        return high

    def beyond(self) -> list[tuple[float, float]]:
        """(ε, P(loss > ε)) wherever it falls, or at enough of those places."""
        points = [(0.0, self._tail(self.first))]
        for z in _spaced(self.first, self.last):
            least = isinstance(self.noise, DiscreteLaplace) and z == 0
            points.append((float(self.loss(z)), 0.0 if least else self._tail(z + 1)))
        return points

    def deltas(self, most: float) -> list[tuple[float, float]]:
        """(ε, δ(ε)) up to the ε where it ends."""
        places = [min(most * index / POINTS, float(MOST_EPSILON)) for index in range(POINTS + 1)]
        return [(epsilon, delta_of(self.noise, self.shift, epsilon)) for epsilon in places]

    def _tail(self, least: int) -> float:
        return float_up(self.noise.tail(least)[1])


@beside_others
def privacy_loss(*mechanisms: Laplace | Gaussian, theme: str = "light") -> ChartType:
    """How likely the privacy loss of a release exceeds ε (solid), and the δ that goes with ε (dashed).

    Laplace noise never loses more than its ε; Gaussian noise may lose any amount, ever more rarely.
    """
    look = theme_of(theme)
    if not 1 <= len(mechanisms) <= len(COLOURS):
        raise ValueError(f"give 1 to {len(COLOURS)} mechanisms, such as Laplace(epsilon=1, sensitivity=1)")
    for each in mechanisms:
        if not isinstance(each, (Laplace, Gaussian)):
            raise TypeError(f"a {type(each).__name__} cannot be drawn: give a Laplace or a Gaussian mechanism")
    names = _names(mechanisms)
    records = [record for name, each in zip(names, mechanisms, strict=True) for record in _records(name, each)]
    title = "how likely the privacy loss exceeds ε"
    return dressed(_lines(records, names), look, title, ["one release of one number, exact probabilities"])


def _names(mechanisms: Sequence[Laplace | Gaussian]) -> list[str]:
    labels: list[str] = []
    for number, each in enumerate(mechanisms, 1):
        name = _name(each)
        labels.append(f"{name} ({number})" if name in labels else name)
    return labels


def _name(mechanism: Laplace | Gaussian) -> str:
    return f"{type(mechanism).__name__}, {mechanism.promise.words}"


def _records(name: str, mechanism: Laplace | Gaussian) -> list[dict[str, Any]]:
    """Two lines; what falls below the axis ends on it."""
    curve = Curve.of(mechanism)
    beyond = curve.beyond()
    lines = {BEYOND: beyond, DELTA: curve.deltas(beyond[-1][0])}
    return [
        {"mechanism": name, "line": line, "epsilon": epsilon, "probability": min(max(chance, LEAST), 1.0)}
        for line, points in lines.items()
        for epsilon, chance in _visible(points)
    ]


def _visible(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Up to the first that is too small to be seen."""
    end = next((index for index, (_, chance) in enumerate(points) if chance < LEAST), len(points))
    return list(points[: end + 1])


def _spaced(first: int, last: int) -> list[int]:
    """All integers from first to last, or about `POINTS` of them."""
    return sorted({first + (last - first) * index // POINTS for index in range(POINTS + 1)})


def _lines(records: list[dict[str, Any]], names: list[str]) -> Any:
    alt = altair()
    colour = alt.Color(
        "mechanism:N",
        scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])),
        legend=alt.Legend(title=None, orient="bottom", columns=2, labelLimit=260),
    )
    dash = alt.StrokeDash(
        "line:N",
        scale=alt.Scale(domain=[BEYOND, DELTA], range=[[1, 0], [5, 4]]),
        legend=alt.Legend(title=None, orient="bottom"),
    )
    scale = alt.Scale(type="log", domain=[LEAST, 1])
    y = alt.Y("probability:Q", scale=scale, title="probability (logarithmic)", axis=alt.Axis(format=".0e", tickCount=7))
    x = alt.X("epsilon:Q", title="ε", scale=alt.Scale(nice=False))
    tooltip = [
        alt.Tooltip("mechanism:N"),
        alt.Tooltip("line:N"),
        alt.Tooltip("epsilon:Q", format=".4~g"),
        alt.Tooltip("probability:Q", format=".3~g"),
    ]
    base = chart_of(records).encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=tooltip)
    return alt.layer(
        base.transform_filter(f"datum.line == '{BEYOND}'").mark_line(interpolate="step-after", strokeWidth=2),
        base.transform_filter(f"datum.line == '{DELTA}'").mark_line(strokeWidth=2),
    ).properties(width=480, height=300)
