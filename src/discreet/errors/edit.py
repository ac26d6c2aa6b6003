"""The change that a refusal proposes, as a value: nobody has to find it in a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

MAX_CHARACTERS: Final = 10_000
"""Characters of a text beyond which nothing is proposed."""
ENDS: Final = " ;\n\t\r"
_PIECE: Final = re.compile(r"\w+|[^\w\s]")
_SKIPPED: Final = r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/"
"""What is no code: literals and comments are nobody's to change."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What to change in a question so that it is answered.

    In its text, `old` is replaced by `new` wherever it stands, in any case and spacing; without `old`, `new` goes to
    the end. `arguments` are those of the call that change: None leaves one out.
    """

    old: str = ""
    new: str = ""
    arguments: Mapping[str, bool | float | str | None] = field(default_factory=dict)

    def applied(self, text: str) -> str | None:
        """The text after the change; None if nothing changes.

        >>> Edit("SUM(cost)", "SUM(CLAMP(cost, 0, 100))").applied("SELECT sum( cost ), 'SUM(cost)' FROM visits")
        "SELECT SUM(CLAMP(cost, 0, 100)), 'SUM(cost)' FROM visits"
        >>> Edit(new="GROUP BY ward").applied("SELECT ward, COUNT(*) FROM visits;")
        'SELECT ward, COUNT(*) FROM visits GROUP BY ward'
        """
        if len(text) > MAX_CHARACTERS or not self.new:
            return None
        if not self.old:
            return f"{text.rstrip(ENDS)} {self.new}"
        pieces = _PIECE.findall(self.old)
        if not pieces:
            return None
        changed = _pattern(pieces).sub(lambda match: self.new if match["old"] is not None else match[0], text)
        return None if changed == text else changed


def _pattern(pieces: list[str]) -> re.Pattern[str]:
    """The same words and signs with any space between them, beside what is skipped."""
    words = re.escape(pieces[0])
    for before, piece in pairwise(pieces):
        words += (r"\s+" if _is_word(before) and _is_word(piece) else r"\s*") + re.escape(piece)
    first, last = (r"\b" * _is_word(piece) for piece in (pieces[0], pieces[-1]))
    return re.compile(rf"{_SKIPPED}|(?P<old>{first}{words}{last})", re.IGNORECASE | re.DOTALL)


def _is_word(piece: str) -> bool:
    return re.match(r"\w", piece) is not None
