"""YAML as metadata needs it: maps and scalars, each with its line. PyYAML reads; what could mean more is refused.

Nothing is constructed: no objects, no dates. References and anchors are refused, so that a text means no more than it
holds (an alias bomb is 10⁹ values in a kilobyte); so are tags, lists, keys that stand twice, and what is too large or
nested too deeply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

try:
    import yaml
    from yaml.reader import ReaderError
except ImportError:
    raise ImportError("YAML is read by PyYAML: pip install 'discreet[smartnoise]'", name="yaml") from None

Scalar = str | int | float | bool | None

MAX_CHARACTERS: Final = 250_000
MAX_DEPTH: Final = 20
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9_]{0,30})")
_NUMBER: Final = re.compile(r"[-+]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][-+]?[0-9]{1,3})?")
_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
    **dict.fromkeys(("~", "null"), None),
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

    >>> parse("age: {type: int}").map["age"].map["type"].value
    'int'
    >>> parse("age:\\n  lower: 0  # years").map["age"].map["lower"].value
    0
    """
    if len(text) > MAX_CHARACTERS:
        raise YamlError(1, f"there are more than {MAX_CHARACTERS} characters")
    try:
        events = yaml.parse(text, yaml.SafeLoader)
        first = next((event for event in events if isinstance(event, yaml.NodeEvent)), None)
        value = {} if first is None else _value(first, events)
        more = next((event for event in events if isinstance(event, yaml.DocumentStartEvent)), None)
    except ReaderError as wrong:
        raise YamlError(text.count("\n", 0, wrong.position) + 1, "a character that YAML does not allow") from None
    except yaml.MarkedYAMLError as wrong:
        line = 1 if wrong.problem_mark is None else min(wrong.problem_mark.line, text.count("\n")) + 1
        raise YamlError(line, f"is not YAML: {wrong.problem or wrong.context}") from None
    if more is not None:
        raise YamlError(_line(more), "a second document is not understood here")
    if not isinstance(value, dict):
        raise YamlError(1 if first is None else _line(first), "a key and a colon are expected")
    return Node(1, value)


def _line(event: yaml.Event) -> int:
    return int(event.start_mark.line) + 1


def _value(event: yaml.NodeEvent, events: Iterator[yaml.Event], depth: int = 1) -> Scalar | dict[str, Node]:
    """What begins with an event, of which all events are taken."""
    foreign = {
        "a reference": isinstance(event, yaml.AliasEvent),
        "an anchor": event.anchor is not None,
        "a tag": getattr(event, "tag", None) is not None,
        "a list": isinstance(event, yaml.SequenceStartEvent),
    }
    for what, is_so in foreign.items():
        if is_so:
            raise YamlError(_line(event), f"{what} is not understood here")
    if isinstance(event, yaml.MappingStartEvent):
        if depth > MAX_DEPTH:
            raise YamlError(_line(event), "this is nested too deeply")
        return _map(events, depth)
    if event.style is not None:  # quoted, or over several lines
        return str(event.value)
    return _plain(event.value) if event.value else {}


def _map(events: Iterator[yaml.Event], depth: int) -> dict[str, Node]:
    entries: dict[str, Node] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        line = _line(event)
        if not isinstance(event, yaml.ScalarEvent):
            raise YamlError(line, "a complex key is not understood here")
        if event.value == "<<" and event.style is None:
            raise YamlError(line, "a merged map is not understood here")
        if event.value in entries:
            raise YamlError(line, f"{event.value!r} stands there twice")
        _value(event, events)
        entries[event.value] = Node(line, _value(next(events), events, depth + 1))
    return entries


def _plain(text: str) -> Scalar:
    """What a scalar without quotes means, as YAML 1.2 has it: 010 and 1:30 are no numbers, and a date is a text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    return float(text) if _NUMBER.fullmatch(text) and not re.match(r"[-+]?0[0-9]", text) else text
