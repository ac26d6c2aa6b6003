"""How much work one unit can make: rows at every step of a question, bounded by text, policy and public tables alone.

Joins multiply rows. A table with 20 rows of each unit, six times in one join on the unit, makes 64 million rows of one
person, and the time that takes tells whether the person is there, whatever the noise. Choosing rows after a join would
be too late: the work is done by then. So the sides of a join are bounded before they meet.

Theorem  With `most` = `[unit] max_rows` of the policy: at every step of a plan one unit has at most `most` rows, a join
         compares at most `most` pairs of its rows, and all steps together make at most STEPS·most of them.
Proof    Scans read at most max_rows ≤ most rows. Sides of a join are lowered so that the product of their rows is at
         most `most`, those of a FULL join and of UNION ALL so that their sum is too. Where a key that is unique within
         each unit must be equal (`Join`) it is the sum alone: rows meet by hash of unit and key, and at most one row of
         a unit has that key. A row meets at most `most` divided
         by its unit's rows of a public table. Everything else makes no more rows than it gets. What all steps make, and
         each window again, is added up while the question is planned, and refused above the limit.
         Which rows are left depends on the unit's own rows alone (`Scan`, `Bound`).
"""

from __future__ import annotations

import math
from typing import Final

from discreet.errors import Refused

STEPS: Final = 10
"""How many times the rows of one step a whole question may make of one unit."""


def paired(m: int, n: int, most: int) -> tuple[int, int]:
    """How many of m and of n rows may meet, so that there are at most `most` pairs: the larger side gives way first.

    >>> paired(20, 20, 10_000), paired(8_000, 20, 10_000), paired(1, 10_000, 10_000), paired(300, 400, 10_000)
    ((20, 20), (500, 20), (1, 10000), (100, 100))
    """
    if m > n:
        return paired(n, m, most)[::-1]
    m = min(m, math.isqrt(most))
    return m, min(n, most // m)


def united(m: int, n: int, most: int) -> tuple[int, int]:
    """How many of m and of n rows may stand below each other, so that they are at most `most`.

    >>> united(20, 20, 10_000), united(10_000, 20, 10_000), united(9_000, 8_000, 10_000)
    ((20, 20), (9980, 20), (5000, 5000))
    """
    if m > n:
        return united(n, m, most)[::-1]
    m = min(m, most // 2)
    return m, min(n, most - m)


def paired_and_alone(m: int, n: int, most: int) -> tuple[int, int]:
    """How many of m and of n rows may meet or stay alone, as in a FULL join.

    >>> paired_and_alone(1, 10_000, 10_000), paired_and_alone(300, 400, 10_000), paired_and_alone(1, 1, 2)
    ((1, 9999), (100, 100), (1, 1))
    """
    return united(*paired(m, n, most), most)


def demand(work: int, most: int) -> None:
    """Refuse a question whose steps make too many rows of one unit."""
    if work > STEPS * most:
        raise Refused(
            "too-complex",
            f"one unit could make {work} rows on the way, and {STEPS * most} are the most",
            "join fewer tables, or total each per unit first, in a subquery with GROUP BY the unit",
        )
