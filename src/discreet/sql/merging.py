"""Groups of keys that are computed of one stored column: its ranks choose them, unless keys of a unit become equal.

place   the rank of a row's value in that column among those of its unit: rows of a unit with the same place have the
        same keys.
part    eleven bits of a hash of a row's keys, and one that is set. A word holds the parts of five places.
plain   is a unit if the parts of its places 1 to `groups` are different, no row beyond has one of them, and all of them
        are here where a row beyond is.

Theorem  Of each unit exactly min(groups, those it has) groups stay, whole. Which ones depends on its own rows alone.
Proof    Equal keys have equal parts. So in a plain unit the places 1 to `groups` are as many groups, and no row beyond
         is in one of them; or there is no row beyond, and all its groups stay. Units that are not plain go another way,
         which does it for whatever keys. Whether a unit is plain follows from aggregates of the unit, and from a join
         on it. Where hashes collide a unit is not plain, and nothing else happens.

A unit decides how long its own rows take, and not how long others' do. Functions that often make keys equal are left to
windows (`SELDOM`): to look first and sort then takes half as long again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from discreet.composed import Sql, joined, literal, name, sql

MOST_GROUPS: Final = 10
"""Groups of a unit up to which this takes less time than to sort all rows."""
SELDOM: Final = frozenset(
    {"UPPER", "LOWER", "TRIM", "||", "CONCAT", "CONCAT OF ALL", "COALESCE", "NULLIF"}
    | {"CAST TEXT", "CAST INTEGER", "CAST INT", "CAST DATE", "CAST TIMESTAMP"}
)
"""Functions that seldom make two values of one unit equal."""
PLACE: Final = name("place")
_BITS: Final = 12
"""Of a part: of the units that are plain but for collisions, a few in a hundred go the other way."""
_SET: Final = 1 << (_BITS - 1)
_IN_WORD: Final = 64 // _BITS


@dataclass(frozen=True, slots=True)
class _Word:
    """The parts of the places `start` to `end` of a unit, 0 where a place is not here."""

    start: int
    end: int

    @property
    def label(self) -> Sql:
        return name(f"w{self.start}")

    def made(self, *, alone: bool) -> Sql:
        """The aggregate of rows up to the last place: of all of them, or of its own where there are other words."""
        shift = sql("CAST(({} - {}) * {} AS UBIGINT)", PLACE, literal(self.start), literal(_BITS))
        part = sql("part << {}", shift)
        if not alone:
            within = literal(self.start), literal(self.end)
            part = sql("CASE WHEN {} BETWEEN {} AND {} THEN {} ELSE 0 END", PLACE, *within, part)
        return sql("bit_or({}) AS {}", part, self.label)

    @property
    def parts(self) -> list[Sql]:
        shifts = (literal(_BITS * index) for index in range(self.end - self.start + 1))
        return [sql("(({} >> {}) & {})", self.label, shift, literal(2 * _SET - 1)) for shift in shifts]

    @property
    def lacks(self) -> Sql:
        """Whether not all of its places are here."""
        bits = sum(_SET << (_BITS * index) for index in range(self.end - self.start + 1))
        return sql("({0} & {1}) IS DISTINCT FROM {1}", self.label, literal(bits))


def chosen(
    rows: Sql, unit: Sql, keys: Sequence[Sql], groups: int, others: Callable[[Sql], Sql], anew: Sequence[Sql]
) -> Sql:
    """The rows that count, without their `PLACE`, of those that these words define as `b`.

    others  chooses among the rows of units that are not plain, and makes the columns `anew`.
    """
    words = [_Word(start, min(start + _IN_WORD - 1, groups)) for start in range(1, groups + 1, _IN_WORD)]
    parts = [part for word in words for part in word.parts]
    twice = [sql("({0} > 0 AND {0} = {1})", *pair) for pair in combinations(parts, 2)] or [literal(False)]
    beyond = [*(sql("{} = part", part) for part in parts), *(word.lacks for word in words)]
    merged = sql("SELECT * EXCLUDE ({}) FROM b SEMI JOIN merged ON {} = v", joined(", ", [PLACE, *anew]), unit)
    return sql(
        "WITH {0}, parts AS NOT MATERIALIZED (SELECT {1}, {2}, (hash({3}) & {4}) | {5} AS part FROM b),"
        " words AS MATERIALIZED (SELECT {1} AS v, {6} FROM parts WHERE {2} <= {7} GROUP BY {1}),"
        " merged AS MATERIALIZED (SELECT v FROM words WHERE {8} UNION ALL SELECT {1}"
        " FROM (SELECT * FROM parts WHERE {2} > {7}) LEFT JOIN words ON {1} = v WHERE {9})"
        " SELECT * EXCLUDE ({2}) FROM b ANTI JOIN merged ON {1} = v WHERE {2} <= {7} UNION ALL BY NAME {10}",
        rows, unit, PLACE, joined(", ", keys), literal(_SET - 1), literal(_SET),
        joined(", ", (word.made(alone=len(words) == 1) for word in words)), literal(groups),
        joined(" OR ", twice), joined(" OR ", beyond), others(merged),
    )  # fmt: skip
