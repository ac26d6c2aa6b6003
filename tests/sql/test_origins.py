"""Intervals survive UNION ALL, grouping sets, and what chooses rows and columns of them: each is that of its own row.

Without noise an interval of a count lies evenly about the count, and all counts here differ: an interval of another row
would be seen.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from discreet.curator.curator import Curator
from tests.sql.worlds import opened, policy_of

TABLE = """
[tables.t]
source = "t.csv"
unit = "person"
[tables.t.columns]
k = { values = ["A", "B", "C"] }
j = { values = ["x", "y"] }
z = { min = -8, max = 8 }
"""
COUNTS = {("A", "x"): 3, ("A", "y"): 7, ("B", "x"): 17, ("B", "y"): 31, ("C", "x"): 60, ("C", "y"): 113}


@pytest.fixture(scope="module")
def curator() -> Iterator[Curator]:
    cells = [cell for cell, count in COUNTS.items() for _ in range(count)]
    rows = [{"person": f"p{i}", "k": k, "j": j, "z": i % 5} for i, (k, j) in enumerate(cells)]
    with opened(policy_of(TABLE), {"t": rows}) as curator:
        yield curator


ONE = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
BOTH = f"{ONE} UNION ALL SELECT j, COUNT(*) FROM t GROUP BY j"
KEPT = [
    (BOTH, 5),
    (f"{BOTH} ORDER BY n DESC", 5),
    (f"{BOTH} ORDER BY n LIMIT 2 OFFSET 1", 2),
    (f"{BOTH} UNION ALL SELECT 'all', COUNT(*) FROM t WHERE z > 1 ORDER BY n DESC", 6),
    (f"SELECT n, k FROM ({BOTH}) q WHERE n > 40 ORDER BY k DESC", 4),
    (f"SELECT n FROM (SELECT k, n FROM ({BOTH}) q WHERE n < 100) r ORDER BY n", 3),
    (f"(SELECT * FROM ({ONE}) a ORDER BY n DESC LIMIT 2) UNION ALL SELECT 'y', COUNT(*) FROM t WHERE j = 'y'", 3),
    ("SELECT k, j, COUNT(*) AS n FROM t GROUP BY CUBE (k, j) ORDER BY n DESC", 12),
    ("SELECT k, j, COUNT(*) AS n FROM t GROUP BY ROLLUP (k, j) HAVING COUNT(*) > 20", 6),
    ("SELECT COUNT(*) AS n, k FROM t GROUP BY GROUPING SETS ((k), ()) ORDER BY k NULLS FIRST", 4),
]


@pytest.mark.parametrize(("text", "count"), KEPT)
def test_each_row_has_its_own_interval(curator: Curator, text: str, count: int) -> None:
    answer = curator.query(text, epsilon=1)
    place = answer.columns.index("n")
    assert len(answer.rows) == count == len(answer.intervals)
    for row, interval in zip(answer.rows, answer.intervals, strict=True):
        low, high = interval["n"]
        assert low < row[place] < high
        assert low + high == 2 * row[place]
    assert answer.noise["n"]
    preview = curator.preview(text, epsilon=1)
    widths = [(interval["n"][1] - interval["n"][0]) / 2 for interval in answer.intervals]
    assert preview.error["n"] >= max(widths) > 0


def test_the_error_of_several_releases_is_the_largest(curator: Curator) -> None:
    text = f"{ONE} UNION ALL SELECT 'z', SUM(z) FROM t"
    answer, preview = curator.query(text, epsilon=1), curator.preview(text, epsilon=1)
    widths = [(interval["n"][1] - interval["n"][0]) / 2 for interval in answer.intervals]
    assert preview.error["n"] == max(widths) > min(widths)
    assert " or " in preview.noise["n"]


def test_ends_of_intervals_can_be_asked_for_through_a_union(curator: Curator) -> None:
    around = f"SELECT k, n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high FROM ({BOTH}) q ORDER BY n"
    inside = (
        "SELECT k, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high FROM t GROUP BY ROLLUP (k)"
    )
    for text in (around, inside):
        answer = curator.query(text, epsilon=1)
        assert [row[2:] for row in answer.rows] == [interval["n"] for interval in answer.intervals]


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT n + 1 AS n FROM ({BOTH}) q",  # computed from more than a column: no interval is proven
        f"SELECT DISTINCT n FROM ({BOTH}) q",
        f"SELECT SUM(n) AS n FROM ({BOTH}) q",
        f"SELECT a.n FROM ({ONE}) a CROSS JOIN ({ONE}) b",
    ],
)
def test_rows_that_are_something_else_have_none(curator: Curator, text: str) -> None:
    answer = curator.query(text, epsilon=1)
    assert answer.rows
    assert not any(answer.intervals)
    assert not curator.preview(text, epsilon=1).error
