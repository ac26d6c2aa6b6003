"""Rows without those whose group comes too late, by ranks that are stored: only few rows have to be looked up.

Rows have their unit, and the `bit` of their group within it; `seen` is the rank of that group among all of its unit's
by their first rows, here or not, and `many` is not below how many the unit has (`layout.seen_keys`).

Theorem  Both forms choose the rows that bits choose: those before whose bit there are fewer than `most` of their unit's
         that are here (`sql.bounding`).
Proof    A group comes too late iff the bits of `most` others of its unit that are here are lower. Then its rank by
         first rows is above `most`, and the unit has more groups than that, here (HAVING) and in all; of two keys it
         has at most the product of how many it has of each. So of units with at most `most` groups, and of the first
         `most` groups of all others, no row comes too late, and none is looked up. All others are compared with the OR
         of the bits of all rows of their unit that are here: `many` is the same in all of these.
         `looked_up` asks each row whether it has to be: NULL meets no unit. `parted` reads rows of the first ranks, and
         then all others: a row with a key has one rank, and is in one of both. Rows that lack a key that they need have
         none, and are not here (`Bounding._passing`). In which order units are put together changes nothing.
"""

from __future__ import annotations

from typing import Final

from discreet.composed import Sql, joined, name, sql

BIT: Final = name("bit")
RANKED: Final = (name("seen"), name("many"))
_SEEN, _MANY = RANKED


def looked_up(held: Sql, unit: Sql, most: Sql) -> Sql:
    """In two scans, for rows that were put together: of a join, or with two keys. `held` makes them, and is called b.

    Rows of the first ranks are not looked up, but come by.
    """
    on = sql("v = CASE WHEN {} > {} THEN {} END AND {}", _SEEN, most, unit, _late(most))
    together = sql("SELECT {} AS v, {} FROM b WHERE {} > {}", unit, BIT, _MANY, most)
    return sql("WITH {} SELECT * FROM b ANTI JOIN ({}) AS c ON {}", held, _crowded(together, most), on)


def parted(held: Sql, unit: Sql, most: Sql) -> Sql:
    """For rows of a copy that lie in parts (`Table.parted`): those of the first ranks pass by no join.

    In that copy the rows of crowded units have an index by unit, and lie in its order. To ask for that order has the
    engine put them together unit by unit, as they come, where it would else keep all units at once.
    """
    ordered = sql("SELECT {0} AS v, {1} FROM b WHERE {2} > {3} ORDER BY {0}", unit, BIT, _MANY, most)
    shown = sql("* EXCLUDE ({})", joined(", ", [BIT, *RANKED]))  # PostgreSQL would compute them for each row
    return sql(
        "WITH {0} SELECT {1} FROM b WHERE {2} <= {3}"
        " UNION ALL SELECT {1} FROM b ANTI JOIN ({4}) AS c ON v = {5} AND {6} WHERE {2} > {3}",
        held, shown, _SEEN, most, _crowded(ordered, most), unit, _late(most),
    )  # fmt: skip


def _crowded(rows: Sql, most: Sql) -> Sql:
    """The units with more groups here than may count, each with the bits of all of them."""
    return sql("SELECT v, bit_or({0}) AS f FROM ({1}) GROUP BY v HAVING bit_count(bit_or({0})) > {2}", BIT, rows, most)


def _late(most: Sql) -> Sql:
    return sql("bit_count(f & ({} - 1)) >= {}", BIT, most)
