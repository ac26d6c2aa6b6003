"""Around the field for SQL: the words that complete it, examples, and the cost and the error that follow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.accounting.labels import label_of
from discreet.answers import Preview
from discreet.answers.facts import Facts
from discreet.answers.figures import half_width
from discreet.exact import number
from discreet.policy import Kind
from discreet.printing import at_least, printable
from discreet.sql.vocabulary import KEYWORDS, functions, written


def vocabulary(tables: Mapping[str, Facts]) -> str:
    """The names that an analyst may use, as the editor reads them. Of values it says nothing."""
    listed = [{"name": written(name), "columns": list(map(written, _columns(facts)))} for name, facts in tables.items()]
    words = {"tables": listed, "functions": functions(), "keywords": KEYWORDS}
    return json.dumps(words, ensure_ascii=False, separators=(",", ":"))


def _columns(facts: Facts) -> list[str]:
    unit = [] if facts.unit in (None, "row") else [str(facts.unit)]
    return list(dict.fromkeys([*facts.columns, *unit]))


@dataclass(frozen=True, slots=True)
class Example:
    """A query that is answered, by a short name."""

    name: str
    sql: str


MOST_EXAMPLES = 6


def examples(tables: Mapping[str, Facts]) -> list[Example]:
    """Queries about these tables that are answered."""
    queries = []
    for name, facts in tables.items():
        if facts.public:
            continue
        keys = [column.name for column in facts.columns.values() if column.values is not None]
        numbers = [
            column.name
            for column in facts.columns.values()
            if column.bounds is not None and column.values is None and column.kind in (Kind.INTEGER, Kind.NUMBER)
        ]
        table, rows = written(name), _named(name)
        queries.append(Example(f"Count {rows}", f"SELECT COUNT(*) AS n\nFROM {table}"))
        if keys:
            key = written(keys[0])
            count = f"SELECT {key}, COUNT(*) AS n\nFROM {table}\nGROUP BY {key}"
            queries.append(Example(f"Count {rows} by {_named(keys[0])}", count))
        if numbers:
            value, by = written(numbers[0]), f" by {_named(keys[0])}" if keys else ""
            select, group = (f"{written(keys[0])}, ", f"\nGROUP BY {written(keys[0])}") if keys else ("", "")
            average = f"SELECT {select}AVG({value}) AS average\nFROM {table}{group}"
            queries.append(Example(f"Average {_named(numbers[0])} of {rows}{by}", average))
    return queries[:MOST_EXAMPLES]


def _named(name: str) -> str:
    """A name in a sentence: short, and on one line."""
    text = printable(name).replace("_", " ")
    return text if len(text) <= 24 else f"{text[:23]}…"


@dataclass(frozen=True, slots=True)
class Followed:
    """The cost and the error of a preview, as their fields hold them: whoever sets one is shown the other."""

    epsilon: str = ""
    error: str = ""

    @classmethod
    def of(cls, preview: Preview | None) -> Followed:
        if preview is None or preview.loss.is_zero:
            return cls()
        halves = {
            name: half_width(half).replace(",", "") for name, half in preview.error.items() if half < float("inf")
        }
        if any(mark in name for name in halves for mark in ",="):  # no field could hold them apart
            halves = {}
        one = len(preview.noise) == 1 and len(halves) == 1
        each = (half if one else f"{name}={half}" for name, half in halves.items())
        return cls(_epsilon(preview), ", ".join(each))


def _epsilon(preview: Preview) -> str:
    """Of the release alone, rounded up: at this cost it is no less exact."""
    _, delta = preview.guarantee
    return at_least(label_of(preview.loss, None if delta is None else number(delta, "delta")))
