"""As much YAML as SmartNoise's metadata needs: maps by indentation, scalars, quotes, comments. The rest is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

Scalar = str | int | float | bool | None

_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9_]{0,30})")
_NUMBER: Final = re.compile(r"[-+]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][-+]?[0-9]{1,3})?")
_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
    **dict.fromkeys(("~", "null"), None),
}
_DEEPEST: Final = 20
_QUOTED: Final = re.compile(r"""'((?:[^']|'')*)'|("(?:[^"\\]|\\.)*")""")
_COLON: Final = re.compile(r":(?=\s|$)")
_COMMENT: Final = re.compile(r"(^|\s)#.*$")
_FOREIGN: Final = {
    "- ": "a list",
    "? ": "a complex key",
    "[": "a list",
    "{": "a map in braces",
    "&": "an anchor",
    "*": "a reference",
    "!": "a tag",
    "|": "a text over several lines",
    ">": "a text over several lines",
    "%": "a directive",
    "@": "a reserved character",
    "`": "a reserved character",
    "<<": "a merged map",
}


class YamlError(ValueError):
    """Not YAML, or more of it than is understood here."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Node:
    """A value and the line on which it begins."""

    line: int
    value: Scalar | dict[str, Node]
    """A map without entries stands for no value at all, as in YAML."""

    @property
    def map(self) -> dict[str, Node]:
        """The entries of a map; nothing for a scalar."""
        return self.value if isinstance(self.value, dict) else {}


def parse(text: str) -> Node:
    """The map that a document holds.

    >>> parse("age: {type: int}")
    Traceback (most recent call last):
    discreet.owner.yaml.YamlError: a map in braces is not understood here
    >>> parse("age:\\n  lower: 0  # years").map["age"].map["lower"].value
    0
    """
    root = Node(1, {})
    open_maps: list[tuple[int, dict[str, Node]]] = []
    waiting: Node | None = root
    for number, indent, content in _lines(text):
        if waiting is not None and (not open_maps or indent > open_maps[-1][0]):
            open_maps.append((indent, waiting.map))
        while open_maps and indent < open_maps[-1][0]:
            open_maps.pop()
        if not open_maps or indent != open_maps[-1][0]:
            raise YamlError(number, "the indentation fits no line above")
        if len(open_maps) > _DEEPEST:
            raise YamlError(number, "this is nested too deeply")
        key, rest = _key(number, content)
        entries = open_maps[-1][1]
        if key in entries:
            raise YamlError(number, f"{key!r} stands there twice")
        waiting = None if rest else Node(number, {})
        entries[key] = waiting or Node(number, _scalar(number, rest))
    return root


def _lines(text: str) -> Iterator[tuple[int, int, str]]:
    """The lines that say something: number, indentation, content."""
    begun = False
    for number, raw in enumerate(text.split("\n"), start=1):
        content = raw.strip()
        if not content or content.startswith("#") or (content == "---" and not begun):
            continue
        begun = True
        if "\t" in raw[: raw.index(content)]:
            raise YamlError(number, "a tab cannot indent")
        yield number, raw.index(content), content


def _key(number: int, content: str) -> tuple[str, str]:
    """A line's key, and what stands behind the colon, without its comment."""
    quoted = _QUOTED.match(content)
    if quoted:
        key, behind = _unquoted(number, quoted), content[quoted.end() :].lstrip()
        if not behind.startswith(":"):
            raise YamlError(number, "a key and a colon are expected")
        return key, _without_comment(behind[1:])
    _refuse_foreign(number, content)
    colon = _COLON.search(content)
    if not colon or _COMMENT.search(content[: colon.start()]):
        raise YamlError(number, "a key and a colon are expected")
    return content[: colon.start()].rstrip(), _without_comment(content[colon.end() :])


def _without_comment(text: str) -> str:
    text = text.strip()
    quoted = _QUOTED.match(text)
    if quoted:
        return quoted[0] + _COMMENT.sub("", f"x{text[quoted.end() :]}")[1:].rstrip()
    return _COMMENT.sub("", text).strip()


def _scalar(number: int, text: str) -> Scalar:
    quoted = _QUOTED.match(text)
    if quoted:
        if quoted.end() < len(text):
            raise YamlError(number, "something stands behind the closing quote")
        return _unquoted(number, quoted)
    _refuse_foreign(number, text)
    if ": " in text or text.endswith(":"):
        raise YamlError(number, "two keys stand on one line")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    return float(text) if _NUMBER.fullmatch(text) and not re.match(r"[-+]?0[0-9]", text) else text


def _refuse_foreign(number: int, text: str) -> None:
    for start, what in _FOREIGN.items():
        if text.startswith(start) or text == start.strip():
            raise YamlError(number, f"{what} is not understood here")
    if text[:1] in ("'", '"'):
        raise YamlError(number, "a quote is not closed on its line")


def _unquoted(number: int, quoted: re.Match[str]) -> str:
    if quoted[2] is None:
        return quoted[1].replace("''", "'")
    try:
        return str(json.loads(quoted[2]))
    except ValueError:
        raise YamlError(number, "the quotes hold an escape that is not understood here") from None
