"""Searching the documentation, here and in the file that the site's own script reads.

Both rank alike: every word must occur in a part of a page; it counts most in the page's title, then in the heading,
then in the text. `search.js` does the same, and a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from discreet.server.manual.library import Library
from discreet.server.manual.markdown import sections

MAX_QUERY: Final = 100
MAX_WORDS: Final = 8
MAX_HITS: Final = 30
AROUND: Final = 80
"""Characters of an excerpt on either side of a word."""
IN_TITLE: Final = 40
IN_HEADING: Final = 20
AT_BEGINNING: Final = 10
"""Where a word of the text begins with it."""
MAX_TIMES: Final = 5


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page, below one heading."""

    address: str
    title: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A part that a search led to, and the words around what was sought: before, the word, after."""

    part: Part
    before: str
    word: str
    after: str


@dataclass(frozen=True)
class Index:
    """All parts of all pages."""

    library: Library

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return tuple(
            Part(
                f"{page.address}#{heading.anchor}" if heading.level > 1 else page.address,
                page.title,
                heading.text if heading.level > 1 else "",
                " ".join(text.split()),
            )
            for page in self.library.pages.values()
            for heading, text in sections(self.library.text(page))
        )

    def search(self, query: str) -> list[Hit]:
        """The parts in which all words occur, the best first."""
        words = words_of(query)
        scored = [(score(part, words), -number, part) for number, part in enumerate(self.parts)] if words else []
        best = sorted((each for each in scored if each[0]), key=lambda each: each[:2], reverse=True)[:MAX_HITS]
        return [_hit(part, words) for _, _, part in best]


def words_of(query: str) -> list[str]:
    return query[:MAX_QUERY].lower().split()[:MAX_WORDS]


def score(part: Part, words: Iterable[str]) -> int:
    """How well a part fits; 0 if a word does not occur."""
    title, heading, text = part.title.lower(), part.heading.lower(), part.text.lower()
    total = 0
    for word in words:
        times = min(text.count(word), MAX_TIMES)
        points = times + IN_TITLE * (word in title) + IN_HEADING * (word in heading)
        if not points:
            return 0
        total += points + AT_BEGINNING * bool(times and re.search(rf"(?<!\w){re.escape(word)}", text))
    return total


def _hit(part: Part, words: list[str]) -> Hit:
    lowered = part.text.lower()
    positions = [(lowered.index(word), word) for word in words if word in lowered]
    at, word = min(positions, default=(0, ""))
    begin, end = max(0, at - AROUND), at + len(word) + AROUND
    before = ("… " if begin else "") + part.text[begin:at]
    after = part.text[at + len(word) : end] + (" …" if end < len(part.text) else "")
    return Hit(part, before, part.text[at : at + len(word)], after)
