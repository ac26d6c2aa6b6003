"""One person's rows meet others, of their own unit or public ones: by IN, EXISTS, SEMI and ANTI joins, unique keys,
CROSS JOIN, and joins that supply public keys. Were a row counted more often than the plan says, or did it decide about
another unit's rows, the noise would be too small. And a unit that an outer join lacks is NULL, as in SQL."""

from __future__ import annotations

import math
from typing import Any

import pytest

from discreet.audit import Replay
from discreet.audit.neighbours import without
from discreet.audit.replay import every_key
from discreet.errors import Refused
from tests.attacks.worlds import HEAD
from tests.audit.worlds import Data, read
from tests.plain import fill, plain
from tests.sql.worlds import opened

POLICY = (
    HEAD
    + """
[tables.orders]
source = "orders.csv"
unit = "person"
max_rows = 4
max_groups = 2
[tables.orders.columns]
key = { type = "integer", unique = true }
state = { values = ["open", "done"], nullable = true }
size = { min = -5, max = 5 }
[tables.items]
source = "items.csv"
unit = "person"
max_rows = 6
[tables.items.columns]
order = { type = "integer" }
cost = { min = 0, max = 10 }
[tables.states]
source = "states.csv"
public = true
[tables.states.columns]
state = { type = "text" }
weight = { min = -5, max = 5 }
"""
)
BIG = 2**53
MALLORY: dict[str, tuple[list[Any], list[Any]]] = {
    "repeats one key": ([7] * 9, [7] * 9),
    "has no key": ([None] * 9, [None] * 9),
    "has keys that are one float": ([BIG, BIG + 1, BIG + 2, BIG + 3], [BIG] * 9),
    "has everybody's keys": (list(range(8)), list(range(8))),
    "has rows on one side only": ([], [1] * 9),
    "has rows on the other side only": ([1] * 9, []),
}
SIZES = (math.nan, -0.0, 0.0, None, 5.0, math.inf)


def data(mallory: tuple[list[Any], list[Any]]) -> Data:
    orders = [{"person": f"p{key}", "key": key, "state": "open", "size": 0.0} for key in range(3)]
    orders += [{"person": "m", "key": key, "state": ("done", None, "lost")[i % 3], "size": SIZES[i % 6]}
               for i, key in enumerate(mallory[0])]  # fmt: skip
    items = [{"person": f"p{key}", "order": key, "cost": 1} for key in (0, 2, 3)]
    items += [{"person": "m", "order": key, "cost": 10} for key in mallory[1]]
    public = [("open", -0.0), ("open", 0.0), ("never", 1.0), (None, math.nan), (None, None), ("done", 5.0)]
    states = [{"state": state, "weight": weight} for state, weight in public]
    return {"orders": orders, "items": items, "states": states}


ON = "i.person = o.person"
KEYS = "(SELECT DISTINCT state FROM states) AS s"
FORMS = [
    "SELECT COUNT(*), SUM(cost) FROM items i WHERE i.person IN (SELECT person FROM orders WHERE size >= 0)",
    "SELECT COUNT(*), SUM(cost) FROM items i WHERE i.person NOT IN (SELECT person FROM orders)",
    f"SELECT COUNT(*) FROM items i WHERE EXISTS (SELECT 1 FROM orders o WHERE {ON} AND o.key >= i.order)",
    f"SELECT COUNT(*) FROM items i WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE {ON} AND o.key = i.order)",
    f"SELECT COUNT(*) FROM items i WHERE EXISTS (SELECT 1 FROM orders o WHERE {ON} AND o.key > i.order) OR i.cost > 5",
    "SELECT COUNT(*), SUM(cost) FROM items WHERE NOT (cost > 1 AND person IN (SELECT person FROM orders))",
    "SELECT COUNT(*) FROM (SELECT cost FROM items QUALIFY ROW_NUMBER() OVER (PARTITION BY person ORDER BY cost) = 1) q",
    f"SELECT COUNT(*), SUM(cost) FROM items i SEMI JOIN orders o ON {ON} AND o.size < i.cost",
    f"SELECT COUNT(*), SUM(cost) FROM items i ANTI JOIN orders o ON {ON}",
    "SELECT COUNT(*) FROM items i, orders o WHERE i.person = o.person AND i.order = o.key",
    f"SELECT COUNT(*) FROM items i JOIN orders o ON {ON} AND i.order + 0 = o.key",
    f"SELECT COUNT(*) FROM items i JOIN orders o ON {ON} AND ABS(i.order) * 1.0 = o.key",
    f"SELECT state, COUNT(*), SUM(cost) FROM items i FULL JOIN orders o ON {ON} AND i.order = o.key GROUP BY state",
    "SELECT s.weight > 0, COUNT(*), SUM(s.weight) FROM orders o CROSS JOIN states s GROUP BY 1",
    f"SELECT s.state, COUNT(*), SUM(o.size) FROM orders o RIGHT JOIN {KEYS} ON o.state = s.state GROUP BY 1",
    f"SELECT s.state, COUNT(*) FROM {KEYS} FULL JOIN orders o ON o.state = s.state GROUP BY 1",
    "SELECT COUNT(*) FROM orders o JOIN states s ON o.size = s.weight",
    "SELECT COUNT(*) FROM orders o JOIN (SELECT -weight AS w FROM states) s ON o.size = s.w",
    "SELECT state, key > 1 AS k, COUNT(*) FROM orders GROUP BY CUBE (1, 2)",
    f"SELECT COUNT(o.person), COUNT(DISTINCT o.person) FROM items i LEFT JOIN orders o ON {ON}",
    f"SELECT COUNT(*) FROM items i LEFT JOIN orders o ON {ON} JOIN items j ON j.person = o.person",
]


@pytest.fixture(scope="module")
def auditor() -> Any:
    with Replay(read(POLICY), selects=every_key) as replay:
        yield replay


@pytest.mark.parametrize("text", FORMS)
def test_who_meets_others_moves_nothing_further_than_the_sensitivity(auditor: Replay, text: str) -> None:
    for rows in map(data, MALLORY.values()):
        report = auditor.compare(text, rows, without(auditor.policy, rows, "m"), epsilon=1)
        assert report.same, report
        assert report.calls, report


MISSING = [
    f"SELECT COUNT(*), COUNT(o.person), COUNT(DISTINCT o.person) FROM items i LEFT JOIN orders o ON {ON}",
    f"SELECT COUNT(*), COUNT(i.person), COUNT(DISTINCT i.person) FROM items i RIGHT JOIN orders o ON {ON}",
    f"SELECT COUNT(*) FROM items i LEFT JOIN orders o ON {ON} WHERE o.person IS NULL",
    f"SELECT COUNT(*) FROM items i FULL JOIN orders o ON {ON} WHERE i.person IS NULL OR o.person IS NULL",
    f"SELECT COUNT(DISTINCT COALESCE(i.person, o.person)), COUNT(o.person) FROM items i FULL JOIN orders o ON {ON}",
    "SELECT COUNT(DISTINCT person), COUNT(person) FROM items FULL JOIN orders USING (person)",
    f"SELECT COUNT(*) FROM items i LEFT JOIN orders o ON {ON} JOIN items j ON j.person = o.person",
    f"SELECT COUNT(j.person) FROM items i LEFT JOIN orders o ON {ON} LEFT JOIN items j ON j.person = o.person",
    f"SELECT COUNT(o.person) FILTER (WHERE cost > 1), COUNT(*) FROM items i LEFT JOIN orders o ON {ON}",
    "SELECT COUNT(*) FROM items JOIN orders USING (person) JOIN items AS j USING (person)",
    f"SELECT SUM(n) FROM (SELECT i.person, COUNT(o.person) AS n FROM items i LEFT JOIN orders o ON {ON} GROUP BY 1) q",
    f"SELECT COUNT(*) FROM (SELECT i.person, o.key FROM items i LEFT JOIN orders o ON {ON}) q WHERE person IS NOT NULL",
    "SELECT COUNT(*) FROM items WHERE person IN (SELECT person FROM orders WHERE key > 1) OR cost < 2",
    f"SELECT COUNT(*) FROM items i WHERE NOT (cost > 2 OR EXISTS (SELECT 1 FROM orders o WHERE {ON} AND o.key = 0))",
    "SELECT SUM(cost) FROM (SELECT cost FROM items QUALIFY RANK() OVER (PARTITION BY person ORDER BY cost) = 1)",
    "SELECT SUM(n) FROM (SELECT person, COUNT_IF(cost > 1) AS n FROM items GROUP BY 1) q",
    "SELECT SUM(n) FROM (SELECT person, SUM(cost) FILTER (WHERE cost > 1) AS n FROM items GROUP BY 1) q",
]


COLUMNS = {
    "orders": {"person": "VARCHAR", "key": "BIGINT", "state": "VARCHAR", "size": "DOUBLE"},
    "items": {"person": "VARCHAR", "order": "BIGINT", "cost": "DOUBLE"},
}


@pytest.mark.parametrize("text", MISSING)
def test_a_unit_that_an_outer_join_lacks_is_null(text: str) -> None:
    rows = data(([7, 8], [7] * 3))
    with opened(read(POLICY), rows) as curator, plain() as theirs:
        for table, columns in COLUMNS.items():
            fill(theirs, table, columns, [[row[column] for column in columns] for row in rows[table]])
        assert curator.query(text, epsilon=1).rows == theirs.execute(text).fetchall()


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT COUNT(*) FROM items WHERE person IN (SELECT o.person FROM items i LEFT JOIN orders o ON {ON})",
        f"SELECT COUNT(*) FROM (SELECT o.person, COUNT(*) AS n FROM items i LEFT JOIN orders o ON {ON} GROUP BY 1) q",
        f"SELECT COUNT(*) FROM items i LEFT JOIN orders o ON {ON} WHERE o.person IN (SELECT person FROM items)",
        f"SELECT COUNT(*) FROM items i LEFT JOIN orders o ON {ON} WHERE o.person > 'a'",
    ],
)
def test_such_a_unit_stands_for_no_other(text: str) -> None:
    with opened(read(POLICY), data(([7, 8], [7] * 3))) as curator, pytest.raises(Refused) as refused:
        curator.query(text, epsilon=1)
    assert refused.value.code in ("not-an-aggregate", "private-subquery")
