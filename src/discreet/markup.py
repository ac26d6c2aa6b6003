"""HTML for notebooks that needs nothing else: no script, no resource, and the colours around it, light or dark.

What comes from elsewhere goes through `words`; the other functions take HTML that was made here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import Final

from discreet.printing import lines_of

STYLES: Final = {
    "": "",
    "faint": "opacity:.65",
    "strong": "font-weight:600",
    "good": "color:#2a9d5c",
    "bad": "color:#d64545;font-weight:600",
    "margin": "opacity:.7",
    "lines": "white-space:pre;font-family:ui-monospace,monospace",
}
"""How words look. Colours are of a middle tone, so that they can be read on white and on black."""

_AROUND: Final = (
    "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5;font-variant-numeric:tabular-nums;color:inherit"
)
_WHOLE: Final = "border-collapse:collapse;margin:0 0 .6em;font-size:inherit;color:inherit;background:none"
_NOTE: Final = f"{STYLES['faint']};padding-left:.8em;text-indent:-.8em;overflow-wrap:anywhere"
_EDGE: Final = "border:0;background:none;vertical-align:top;"
_LINE: Final = "border-bottom:1px solid rgba(128,128,128,.5);"
_TRACK: Final = (
    "display:inline-block;width:10em;height:.55em;border-radius:.3em;overflow:hidden;vertical-align:middle;"
    "background:rgba(128,128,128,.3)"
)
_MATHEMATICS: Final = re.compile(r"[$\\]")
"""What notebooks would set as a formula; between tags it stays what it is."""
_SPACES: Final = frozenset("\u2007\u2008")
"""As wide as a digit, and as a point: ours, in columns of numbers."""
_SPACE: Final = re.compile("([\u2007\u2008])")
_FILLED: Final = ((0.9, "#cf4f5a"), (0.5, "#c9661b"), (0.0, "#2c9465"))
"""The colour of what is gone, from a share on."""


class Side(StrEnum):
    """How a column stands: words, a number, or what belongs to the number on its left."""

    WORDS = "padding:.2em 1.2em .2em 0;text-align:left"
    VALUE = "padding:.2em .5em .2em 0;text-align:right;white-space:pre"
    BESIDE = "padding:.2em 1.2em .2em 0;text-align:left;white-space:pre"


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column and how the column stands."""

    inner: str
    side: Side = Side.WORDS
    weight: int = 600


def words(text: str, style: str = "") -> str:
    r"""Words in a style, whatever is in them: no tag, no formula, nothing that turns the direction of the text.

    >>> words("a < b", "strong")
    '<span style="font-weight:600">a &lt; b</span>'
    >>> words("a\u202eb")
    'a<span>\\</span>u202eb'
    """
    shown = "".join(part if part in _SPACES else lines_of(part) for part in _SPACE.split(text))
    inner = _MATHEMATICS.sub(r"<span>\g<0></span>", escape(shown))
    return f'<span style="{STYLES[style]}">{inner}</span>' if style else inner


def around(*parts: str) -> str:
    return f'<div style="{_AROUND}">{"".join(parts)}</div>'


def line(*inner: str) -> str:
    return f"<div>{''.join(inner)}</div>"


def note(text: str) -> str:
    """A line of the fine print."""
    return f'<div style="{_NOTE}">· {words(text)}</div>'


def table(heads: Sequence[Head], rows: Iterable[Sequence[str]]) -> str:
    """A table; its rows have a cell for each head."""
    top = "".join(
        f'<th style="{_EDGE}{_LINE}{head.side};font-weight:{head.weight}">{head.inner}</th>' for head in heads
    )
    body = "".join(f"<tr>{_cells(heads, row)}</tr>" for row in rows)
    return f'<table style="{_WHOLE}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def folded(summary: str, inner: str, *, is_open: bool) -> str:
    """Something that can be folded away."""
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>{inner}</details>"


def gauge(share: float, said: str) -> str:
    """How much of something is gone, as a bar; `said` is the same in words."""
    held = min(1.0, max(0.0, share))
    colour = next(colour for least, colour in _FILLED if held >= least)
    inner = f'<span style="display:block;height:100%;width:{100 * held:.4g}%;background:{colour}"></span>'
    return f'<span role="img" aria-label="{escape(said)}" style="{_TRACK}">{inner}</span>'


def _cells(heads: Sequence[Head], row: Sequence[str]) -> str:
    return "".join(f'<td style="{_EDGE}{head.side}">{inner}</td>' for head, inner in zip(heads, row, strict=True))
