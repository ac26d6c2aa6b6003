"""Prose and tables of Markdown from texts of the code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from inspect import cleandoc
from typing import Final

MARKS: Final = re.compile(r"([\\*_<>\[\]|])")
BLOCK: Final = "    "


def escaped(text: str) -> str:
    """What stands between backticks stays; elsewhere nothing is markup.

    >>> escaped("a*b, `c*d` and p | q")
    'a\\\\*b, `c*d` and p \\\\| q'
    """
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if number % 2 else MARKS.sub(r"\\\1", part) for number, part in enumerate(parts))


def line(text: str) -> str:
    """A text on one line, as a cell of a table takes it."""
    return re.sub(r"(?<!\\)\|", r"\|", escaped(" ".join(text.split())))


def code(text: str) -> str:
    return f"`{text}`"


def cell(text: str) -> str:
    """Code in a cell."""
    return "`" + " ".join(text.split()).replace("|", r"\|") + "`" if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


def prose(docstring: str) -> str:
    """A docstring: paragraphs, and what is indented or an example as a block of code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", cleandoc(docstring)):
        lines = paragraph.split("\n")
        if lines[0].startswith("\b") or lines[0].startswith(">>>") or all(each.startswith("  ") for each in lines):
            parts.append("\n".join(BLOCK + each for each in lines if each != "\b"))
        else:
            parts.append(escaped(" ".join(each.strip() for each in lines)))
    return "\n\n".join(parts)


def proof(named: Mapping[str, str]) -> list[str]:
    """The named lines of a docstring, a paragraph each."""
    return [f"**{label}.** {escaped(said)}" for label, said in named.items()]


def facts(docstring: str) -> tuple[str, dict[str, str]]:
    """A docstring whose proof stands in named lines (`Theorem  …`): what comes before and after them, and these.

    >>> facts("Adds noise.\\n\\nTheorem  ε-DP,\\n         always.\\nSource   Dwork 2006.\\n\\nMore.")
    ('Adds noise.\\n\\nMore.', {'Theorem': 'ε-DP, always.', 'Source': 'Dwork 2006.'})
    """
    named: dict[str, list[str]] = {}
    other: list[str] = []
    current: list[str] = other
    for each in cleandoc(docstring).split("\n"):
        label = re.match(r"([A-Z][a-z]+(?: [a-z]+)?) {2,}(\S.*)$", each)
        if label:
            current = named.setdefault(label[1], [])
            current.append(label[2])
        elif current is not other and each.startswith("  "):
            current.append(each.strip())
        else:
            current = other
            current.append(each)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(other)).strip()
    return text, {label: " ".join(lines) for label, lines in named.items()}
