"""Keys that are chosen by their numbers keep their names: whatever order they are declared in, and NULL among them."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest

from tests.sql.worlds import opened, policy_of

ORDERS: dict[str, list[Any]] = {"boolean": [True, False], "integer": [3, 1, 2], "text": ["b", "a"]}
DECLARED = [
    (kind, list(order))
    for kind, values in ORDERS.items()
    for length in range(1, len(values) + 1)
    for order in itertools.permutations(values, length)
]


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize(("kind", "declared"), DECLARED)
def test_declared_values_in_any_order(kind: str, declared: list[Any], nullable: bool) -> None:
    """A computed key beside it, and fewer groups than there are: groups are chosen by number."""
    values = f"type = '{kind}', values = {declared}, nullable = {nullable}".replace("True", "true").replace(
        "False", "false"
    )
    policy = policy_of(
        "[tables.t]\nsource = 't.csv'\nunit = 'who'\nmax_rows = 4\nmax_groups = 1\nmax_rows_per_group = 4",
        f"[tables.t.columns]\nn = {{ type = 'integer', min = 0, max = 99 }}\nk = {{ {values} }}",
    )
    possible = [*ORDERS[kind], None]
    rows = [{"who": who, "n": who, "k": possible[who % len(possible)]} for who in range(20)]
    wanted: Counter[tuple[str, Any]] = Counter()
    for row in rows:
        key = row["k"] if row["k"] in declared else None
        wanted["small" if row["n"] < 7 else "large", key] += 1
    text = "SELECT CASE WHEN n < 7 THEN 'small' ELSE 'large' END AS size, k, COUNT(*) AS n FROM t GROUP BY ALL"
    with opened(policy, {"t": rows}) as curator:
        found = {(size, key): count for size, key, count in curator.query(text, epsilon=1).rows}
    assert found == {cell: wanted[cell] for cell in itertools.product(("small", "large"), declared + [None] * nullable)}


PUBLIC = policy_of(
    "[tables.t]\nsource = 't.csv'\nunit = 'who'\nmax_rows = 4\n[tables.t.columns]",
    "w = { type = 'text', values = ['e', 'f', 'g'] }",
    "[tables.p]\nsource = 'p.csv'\npublic = true\n[tables.p.columns]",
    "about = { type = 'text' }\nwing = { type = 'text' }",
)
ROWS: dict[str, list[dict[str, Any]]] = {
    "t": [{"who": 1, "w": "e"}, {"who": 2, "w": "g"}, {"who": 3, "w": "g"}],
    "p": [{"about": "x", "wing": "e"}, {"about": "y", "wing": "f"}, {"about": None, "wing": "g"}],
}


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("p.about", {"x": 1, "y": 0, None: 2}),
        ("p.about <> 'x'", {False: 1, True: 0, None: 2}),
        ("p.about IS NULL", {False: 1, True: 2}),
        ("COALESCE(p.about, 'x') = 'x'", {False: 0, True: 3}),
        ("p.wing <> 'e'", {False: 1, True: 2}),
    ],
)
def test_what_is_made_of_public_columns_knows_their_null(key: str, wanted: dict[Any, int]) -> None:
    """Nothing that is counted disappears because a public value is missing, for everybody to see."""
    with opened(PUBLIC, ROWS) as curator:
        text = f"SELECT {key} AS k, COUNT(*) AS n FROM t JOIN p ON t.w = p.wing GROUP BY 1"
        assert dict(curator.query(text, epsilon=1).rows) == wanted
