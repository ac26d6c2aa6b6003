"""Charts as SVG that stands in a page itself, in the page's own ink."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import astuple
from html import escape
from typing import Any, Final

from discreet.answers.plots.beside import drawn_beside
from discreet.answers.plots.theme import THEMES
from discreet.printing import printable

_LIGHT: Final = THEMES["light"]
_INKS: Final = {
    _LIGHT.text: ("currentColor", "1"),
    _LIGHT.faint: ("currentColor", "0.75"),
    _LIGHT.grid: ("currentColor", "0.12"),
}
"""What a chart draws in the theme's inks is drawn in the page's, so that one picture does for light and dark."""
_DARK: Final = "".join(
    f'[{what}="{light}"]{{{what}:{dark}}}'
    for light, dark in zip(astuple(_LIGHT), astuple(THEMES["dark"]), strict=True)
    for what in ("fill", "stroke")
)
_NAMESPACE: Final = re.compile(r' xmlns(?::xlink)?="[^"]*"')
_TAG: Final = re.compile(r'<[a-z](?:[^"<>]|"[^"]*")*>')
_SPOKEN: Final = re.compile(r' (?:aria-label|aria-roledescription|role)="[^"]*"')
"""What is said of each part: the alternative text says it all. Labels may look like it, so tags only."""


def picture(chart: Callable[[], Any], alt: str) -> str | None:
    """A chart as SVG that stands in the page itself, in the page's own ink; None where altair is not installed."""
    try:
        drawn = drawn_beside(lambda: svg_of(chart()))
    except ImportError:
        return None
    return inked(drawn, alt)


def svg_of(chart: Any) -> str:
    """A chart as a file that browsers and word processors show."""
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(chart.to_dict(validate=False))
    return drawn


def png_of(chart: Any) -> bytes:
    """A chart in pixels, twice as many as a screen has, for paper."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_png(chart.to_dict(validate=False), scale=2)
    return drawn


def bare(svg: str) -> str:
    """An SVG without what only a file of its own needs."""
    inner = svg[svg.index("<svg") :]
    return _NAMESPACE.sub("", inner, count=2)


def in_both_themes(svg: str) -> str:
    """A chart as a file in light colours, for pages in either: where the reader's are dark, so is it."""
    return re.sub(r"<svg [^>]*>", rf"\g<0><style>@media (prefers-color-scheme:dark){{{_DARK}}}</style>", svg, count=1)


def inked(svg: str, alt: str) -> str:
    """An SVG in the page's ink, for everybody: it says what it shows."""
    svg = bare(svg)
    svg = re.sub(r'<rect width="[^"]*" height="[^"]*" fill="[^"]*"/>', "", svg, count=1)
    for colour, (ink, opacity) in _INKS.items():
        for what in ("fill", "stroke"):
            more = "" if opacity == "1" else f' {what}-opacity="{opacity}"'
            svg = svg.replace(f'{what}="{colour}"', f'{what}="{ink}"{more}')
    label = escape(printable(alt))
    svg = _TAG.sub(lambda tag: _SPOKEN.sub("", tag[0]), svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
