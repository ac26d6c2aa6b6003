"""A refused question as its refusal says it should be written, where that can be done word by word."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from discreet.errors import Refused
from discreet.policy import suggest

_WORD: Final = re.compile(r"[^\W\d]\w*")
LONGEST: Final = 10_000
"""Longer texts are not mended: comparing all of their words takes too long."""

Mend = Callable[[str, re.Match[str]], str]


def _clamped(text: str, fix: re.Match[str]) -> str:
    """SUM(x) as SUM(CLAMP(x, 0, 100)): the bounds are the reader's to correct."""
    return re.sub(rf"\b{fix[1]}\s*\(\s*{re.escape(fix[2])}\s*\)", lambda _: fix[0].partition(" ")[2], text, flags=re.I)


def _respelled(text: str, fix: re.Match[str]) -> str:
    """The word that is spelled most like the proposed one, replaced by it."""
    near = suggest(fix[1], {word for word in _WORD.findall(text) if word.lower() != fix[1].lower()})
    return re.sub(rf"\b{near}\b", fix[1], text) if near else text


def _grouped(text: str, fix: re.Match[str]) -> str:
    return text if re.search(r"\bGROUP\s+BY\b", text, re.I) else f"{text} GROUP BY {fix[1]}"


MENDS: Final[tuple[tuple[re.Pattern[str], Mend], ...]] = (
    (re.compile(r"write (\w+)\(CLAMP\((.+?), 0, 100\)\)"), _clamped),
    (re.compile(r"did you mean (\w+)\?"), _respelled),
    (re.compile(r"add (\w+) to GROUP BY"), _grouped),
    (re.compile(r"write UNION ALL"), lambda text, _: re.sub(r"\bUNION\b(?!\s+ALL)", "UNION ALL", text, flags=re.I)),
)
"""Fixes that hold SQL, and what they ask for."""


def mended(text: str, fix: str, previewed: Callable[[str], object]) -> str | None:
    """The text with the fix in it, if that would be answered. Trying is free: no data is read."""
    if len(text) > LONGEST:
        return None
    for pattern, mend in MENDS:
        found = pattern.search(fix)
        proposal = mend(text, found) if found else text
        if proposal != text:
            try:
                previewed(proposal)
            except Refused:
                continue
            return proposal
    return None
