"""Correlation, slope and intercept have intervals that cover, and that say something of large groups."""

from __future__ import annotations

from typing import Any

import pytest
from scipy import stats

from tests.budget import crossed
from tests.plain import fill, plain
from tests.sql.test_anchored import asking, policy_with

ITEMS = ("CORR(x, y)", "REGR_SLOPE(y, x)", "REGR_INTERCEPT(y, x)")
WIDTHS = {"CORR(x, y)": 0.5, "REGR_SLOPE(y, x)": 0.2, "REGR_INTERCEPT(y, x)": 1.5}
"""Below these, at ε = 40, of 300 rows."""


def rows_of(groups: int, size: int) -> list[dict[str, Any]]:
    """x and y go together, the more the larger the group's number is."""
    made = []
    for group in range(groups):
        for i in range(size):
            x = None if i % 9 == 0 else (3 * i + group) % 11
            noise = ((i * i + group) % 17) / 4
            share = group / (groups - 1)
            y = None if i % 7 == 0 else round((share * (x or 0) * 0.4 + (1 - share) * noise) * 4) / 4 - 1
            made.append({"who": group * size + i, "g": group, "x": x, "y": y, "f": 0, "z": 4})
    return made


def truths(rows: list[dict[str, Any]], item: str) -> dict[int, float]:
    with plain() as theirs:
        fill(theirs, "t", {"g": "INTEGER", "x": "INTEGER", "y": "DOUBLE"}, [[row[c] for c in "gxy"] for row in rows])
        return dict(theirs.execute(f"SELECT g, {item} FROM t GROUP BY g").fetchall())


@pytest.mark.parametrize(
    ("item", "size", "epsilon", "budget"),
    crossed([(item, *each) for each in ((20, 4), (300, 40)) for item in ITEMS], ["pure", "both"]),
)
def test_the_interval_covers_what_sql_says(budget: str, item: str, size: int, epsilon: int) -> None:
    """10 groups, three times, at 80 %: no more of those that have an interval are missed than a binomial count exceeds
    once in 10⁸; and what is shown lies in it."""
    groups, times = 10, 3
    rows = rows_of(groups, size)
    exact = truths(rows, item)
    missed = known = 0
    widths = []
    with asking(policy_with(budget), rows) as curator:
        for _ in range(times):
            text = f"SELECT g, {item} AS v FROM t WHERE g < {groups} GROUP BY g HAVING g < {groups}"
            answer = curator.query(text, epsilon=epsilon, confidence=0.8, fresh=True)
            for (group, value), ends in zip(answer.rows, answer.intervals, strict=True):
                if "v" not in ends:
                    continue
                low, high = ends["v"]
                assert value is None or low <= value <= high
                known += 1
                widths.append(high - low)
                missed += not low - 1e-9 <= exact[group] <= high + 1e-9
    assert missed <= int(stats.binom.isf(1e-8, max(known, 1), 0.2))
    if size > 100:
        assert known == groups * times
        assert sorted(widths)[len(widths) // 2] < WIDTHS[item]
