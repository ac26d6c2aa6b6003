"""The page about the language, written from the fixtures that test it.

python -m tests.sql.language        write docs/guide/language.md anew
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from tests.sql import fixtures
from tests.sql.fixtures import Fixture, Refusal

PAGE: Final = Path(__file__).parents[2] / "docs" / "guide" / "language.md"
_LONGEST: Final = 200

_TOP: Final = """\
# The language

Write ordinary SQL over the declared tables, as DuckDB or BigQuery spells it; `dialect="postgres"`, `"snowflake"` and
`"spark"` are read too, where they mean the same. discreet answers every statistical question whose privacy it can
prove, and refuses the rest with the fix.

This page is made from the tests: every question in it is asked in every test run, of a tiny hospital, with the noise
off. *Gives* is that exact answer; what you see carries noise. `visits` belongs to patients (at most 4 visits and 2
groups of each count), `patients` has one row for each, `labs` finds its patient along a foreign key, `items`
along the number of one of up to 3 `bills`, which is unique, every row of `beds` is a unit of its own, `wards` and
`stays` are public.

```python
import discreet

hospital = discreet.open("hospital.toml")
print(hospital.query("SELECT COUNT(*) AS visits FROM visits", epsilon=0.5).columns)
```

```text
['visits']
```
"""

_PARTS: Final = {
    "statement": (
        "Statements",
        (
            "One SELECT. What follows the noise (HAVING, ORDER BY, LIMIT, arithmetic, outer queries) works on noisy"
            " values and costs nothing."
        ),
    ),
    "aggregates": (
        "Aggregates",
        (
            "*Sensitivity* is how far one patient can move the answer in all (ℓ₁), for each number drawn. A step of"
            " `cost` is 0.5, a step of `nights` is 1. Where there are no rows, COUNT and SUM are 0 and all others NULL,"
            " but for quantiles, MIN and MAX, which are then any value between the bounds."
        ),
    ),
    "keys": (
        "Keys of GROUP BY",
        (
            "Public keys all appear, also those without rows. Values that are not listed count as NULL, and NULL is a"
            " key only where the policy says so. Private keys appear when noise lets them: that needs a budget with δ."
        ),
    ),
    "joins": (
        "Joins",
        (
            "Private tables meet where their rows belong to the same unit; public tables meet private ones by equality."
            " Rows of one unit multiply, up to `max_rows` of `[unit]` in the policy (10,000): where a join would make"
            " more, fewer rows of each unit are joined, chosen by keyed hash, and the answer says how many. A question"
            " whose steps make more than ten times as many rows of one unit in all is refused (`too-complex`)."
        ),
    ),
    "subqueries": (
        "Subqueries and windows",
        (
            "A subquery keeps rows, or groups by the unit, or looks at windows within it; or it is released itself, and"
            " is public from then on."
        ),
    ),
    "clause": (
        "BigQuery's clause",
        (
            "Queries written for `WITH DIFFERENTIAL_PRIVACY` run unchanged, and their words mean what BigQuery means:"
            " DAYOFWEEK counts from Sunday = 1, WEEK from the year's first Sunday, CONCAT and LEAST of NULL are NULL,"
            " INT64 rounds halves away from zero; what BigQuery means differently and cannot be had here is refused."
            " `privacy_unit_column` is compared with the policy and never obeyed; limits can only be narrower than the"
            " policy's; only rows that a join with public ones multiplied may be as many as the join makes."
            " Where the policy says `implicit_bounds = true`, bounds of aggregates may be left out, and"
            " `max_rows_contributed = AUTO` and `max_groups_contributed = AUTO` have limits found"
            " ([how](17-bounds-nobody-knows.md))."
        ),
    ),
}
_FUNCTIONS: Final = (
    "Functions",
    (
        "No row can make a function fail: what has no value (x/0, LN of 0, a cast that does not fit) is NULL."
        " Arithmetic is that of DOUBLE, where whole numbers beyond 2⁵³ are rounded; comparisons of columns and literals"
        " are exact. DATE_TRUNC of a date is a date. `x`, `n`, `w`, `d`, `t` and `b` are a number, a whole number, a"
        " text, a date, a time and a boolean. Texts have at most 1,024 characters: what is longer, in a table or made"
        " by a function, is cut there. CURRENT_DATE and CURRENT_TIMESTAMP are fixed when a query is asked: in UTC, in"
        " whole minutes, shown as a note. What is not here is refused, and so is every modifier that is not."
    ),
)
_REFUSALS: Final = (
    "Refusals",
    (
        "A refusal has a stable code, costs nothing, and reads the same whatever the data is. Planning is free, so it"
        " has limits (`too-complex`): 100,000 characters, 20,000 words and signs, 30 parentheses deep, 150 operators;"
        " 1,000 things that are counted and 10,000,000 noisy numbers; and the query that the engine is asked, which"
        " grows where functions that use their argument more than once, such as NULLIF, stand in each other,"
        " and where subqueries are used more than once: 400,000 characters, and two million steps of planning."
        " Previews, EXPLAIN PRIVACY, dummy data, questions in Python and fits have the same limits."
    ),
)


def page() -> str:
    """The whole page."""
    parts = [_TOP]
    for part, heading in _PARTS.items():
        found = [fixture for fixture in fixtures.ANSWERED if fixture.part == part]
        parts.append(_section(heading, _answers(found, sensitivity=part == "aggregates")))
    parts.append(_section(_FUNCTIONS, _functions()))
    parts.append(_section(_REFUSALS, _refusals(fixtures.REFUSED)))
    return "\n".join(parts)


def _section(heading: tuple[str, str], table: str) -> str:
    title, words = heading
    return f"## {title}\n\n{words}\n\n{table}"


def _answers(found: Iterable[Fixture], *, sensitivity: bool) -> str:
    head = ["what", "example", "gives", *(["sensitivity"] if sensitivity else [])]
    rows = []
    for fixture in found:
        row = [fixture.shows, _code(fixture.text), _shown(fixture.gives)]
        rows.append([*row, *([" · ".join(f"{l1:,}" for l1, _ in fixture.sensitivity)] if sensitivity else [])])
    return _table(head, rows)


def _functions() -> str:
    examples: dict[str, list[Fixture]] = {}
    for fixture in (known for known in (*fixtures.FUNCTIONS, *fixtures.ALIKE) if known.part == "functions"):
        examples.setdefault(fixture.shows.split(" ")[0], []).append(fixture)
    return _table(["function", "examples"], [[_code(name), _examples(found)] for name, found in examples.items()])


def _examples(found: Sequence[Fixture]) -> str:
    return ", ".join(_code(_term(fixture.text)) for fixture in found)


def _term(text: str) -> str:
    """What stands inside of the aggregate that a fixture wraps a function in."""
    start, end = text.index("(") + 1, text.rindex(") FROM")
    return text[start:end]


def _refusals(found: Iterable[Refusal]) -> str:
    rows = []
    for refusal in sorted(found, key=lambda one: one.code):
        shown = _code(refusal.text) if len(refusal.text) <= _LONGEST and refusal.text.isprintable() else ""
        instead = "" if refusal.fixed is None or refusal.fixed == shown else _code(refusal.fixed)
        rows.append([_code(refusal.code), refusal.shows, shown, instead])
    return _table(["code", "when", "example", "works instead"], rows)


def _shown(gives: Sequence[tuple[Any, ...]]) -> str:
    lines = [", ".join(_value(value) for value in row) for row in gives]
    return " · ".join(lines)


def _value(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list) and not isinstance(value[0], dict):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, list):
        return ", ".join(f"{_value(item['value'])}: {item['count']}" for item in value)
    return str(value)


def _code(text: str) -> str:
    quoted = " ".join(text.split()).replace("|", "\\|")
    return f"`{quoted}`" if quoted else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")


if __name__ == "__main__":
    main()
