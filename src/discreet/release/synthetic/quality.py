"""How good synthetic rows are, as far as it is known: against noisy marginals, never against the source."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.answers.plots.beside import beside_others
from discreet.answers.plots.theme import COLOURS, altair, chart_of, dressed, sentence, theme_of
from discreet.markup import Head, Side, around, note, table, words
from discreet.printing import counted, printable
from discreet.release.graphical import Floats

if TYPE_CHECKING:
    from altair.typing import ChartType

MOST_DRAWN: Final = 40
"""Bars of a picture; those that are farthest off come first."""
LIKELY: Final = 1.5
"""A difference up to so many times what noise alone makes is no sign of a bad fit."""
MEANING: Final = (
    "Differences are half of the sum of |synthetic − noisy| over all counts, as a share of the rows. Noise alone makes "
    "about the number beside it, so a difference of that size is as good as it gets; the source was not looked at."
)


@dataclass(frozen=True, slots=True)
class Compared:
    """A marginal of the rows beside the noisy one."""

    names: tuple[str, ...]
    difference: float
    """Half of the L1 distance, as a share of the rows."""
    noise: float
    """What noise alone is expected to make of it."""

    @classmethod
    def of(cls, names: tuple[str, ...], noisy: Floats, synthetic: Floats, deviation: float, total: int) -> Compared:
        distance = float(np.abs(synthetic - noisy).sum()) / 2 / total
        return cls(names, distance, math.sqrt(2 / math.pi) * deviation * noisy.size / 2 / total)

    @property
    def label(self) -> str:
        return " × ".join(map(printable, self.names))

    @property
    def is_likely(self) -> bool:
        """Whether the difference may be noise alone."""
        return self.difference <= LIKELY * self.noise

    @property
    def verdict(self) -> str:
        return "as noise makes it" if self.is_likely else "more than noise makes"


@dataclass(frozen=True, slots=True)
class Quality:
    """Every marginal that was measured, beside that of the synthetic rows."""

    rows: int
    compared: tuple[Compared, ...]

    @property
    def columns(self) -> tuple[Compared, ...]:
        return tuple(each for each in self.compared if len(each.names) == 1)

    @property
    def pairs(self) -> tuple[Compared, ...]:
        return tuple(each for each in self.compared if len(each.names) > 1)

    @property
    def error(self) -> float:
        """The mean difference by one column; 0 where nothing was measured."""
        return _mean([each.difference for each in self.columns])

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "marginals": [
                {"columns": list(each.names), "difference": each.difference, "noise": each.noise}
                for each in self.compared
            ],
        }

    # in words

    def __str__(self) -> str:
        lines = [f"{counted(self.rows, 'synthetic row')}; differences from noisy counts, and what noise alone makes"]
        width = max((len(each.label) for each in self.compared), default=0)
        lines += [
            f"  {each.label:<{width}}  {each.difference:7.4f}  noise {each.noise:7.4f}  {each.verdict}"
            for each in self.compared
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = (
            Head("marginal"),
            Head("difference", Side.VALUE),
            Head("noise alone", Side.VALUE),
            Head("", Side.BESIDE),
        )
        rows = [
            [
                words(each.label),
                words(f"{each.difference:.4f}"),
                words(f"{each.noise:.4f}"),
                words(each.verdict, "good" if each.is_likely else "bad"),
            ]
            for each in self.compared
        ]
        return around(words(counted(self.rows, "synthetic row"), "strong"), table(heads, rows), note(MEANING))

    @beside_others
    def plot(self, theme: str = "light") -> ChartType:
        """Bars of all differences, each with a tick where noise alone would put it."""
        look = theme_of(theme)
        title = "synthetic rows beside noisy counts"
        parts = [
            self._panel(group, name) for name, group in (("columns", self.columns), ("pairs", self.pairs)) if group
        ]
        if not parts:
            return sentence(look, title, "nothing was measured")
        subtitle = ["bars: difference, as a share of the rows; ticks: what noise alone makes of it"]
        return dressed(altair().concat(*parts, columns=1), look, title, subtitle)

    def _panel(self, group: Sequence[Compared], name: str) -> Any:
        alt = altair()
        worst = sorted(group, key=lambda each: -each.difference)[:MOST_DRAWN]
        records = [
            {"marginal": each.label, "difference": each.difference, "noise": each.noise, "verdict": each.verdict}
            for each in worst
        ]
        base = chart_of(records).encode(y=alt.Y("marginal:N", sort=None, title=None, axis=alt.Axis(labelLimit=320)))
        scale = alt.Scale(domain=[each.verdict for each in _BOTH], range=[COLOURS[0], COLOURS[1]])
        bars = base.mark_bar(height=9).encode(
            x=alt.X("difference:Q", title=f"{name}: difference", axis=alt.Axis(format="~%")),
            color=alt.Color("verdict:N", scale=scale, title=None),
        )
        ticks = base.mark_tick(thickness=2, size=13, color="#7d828c").encode(x="noise:Q")
        return (bars + ticks).properties(width=420, height=14 * len(worst))

    def save(self, path: str | PathLike[str], title: str = "Synthetic rows") -> None:
        """The report as one HTML page that needs nothing else; with pictures where the extra `plot` is installed."""
        Path(path).write_text(self.page(title), encoding="utf-8")

    def page(self, title: str = "Synthetic rows") -> str:
        """The report as HTML."""
        try:
            picture = _svg(self.plot())
        except ImportError:
            picture = ""
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{words(title)}</title></head>'
            f'<body style="margin:2em;max-width:60em"><h1 style="font-family:system-ui,sans-serif">{words(title)}</h1>'
            f"{picture}{self._repr_html_()}</body></html>\n"
        )


_BOTH: Final = (Compared((), 0.0, 0.0), Compared((), 1.0, 0.0))
"""One of each verdict."""


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _svg(chart: Any) -> str:
    import vl_convert  # type: ignore[import-not-found, unused-ignore]

    drawn: str = vl_convert.vegalite_to_svg(chart.to_dict())
    return drawn
