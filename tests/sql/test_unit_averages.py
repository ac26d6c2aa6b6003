"""AVG with contribution_bounds_per_group: the average over units, each with the average of its rows in a group."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.plain import fill, plain
from tests.sql.worlds import opened, policy_of

POLICY = policy_of("""
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 9
[tables.t.columns]
g = { values = ["a", "b", "c"] }
x = { min = -5, max = 50, step = 0.5 }
k = { type = "integer", min = 0, max = 9 }
[tables.one]
source = "one.csv"
unit = "who"
[tables.one.columns]
g = { values = ["a", "b", "c"] }
x = { min = -5, max = 50, step = 0.5 }
k = { type = "integer", min = 0, max = 9 }
""")


def made(dice: Random, *, each: int) -> list[dict[str, Any]]:
    return [
        {
            "who": who,
            "g": dice.choice(["a", "b", "b"]),
            "x": dice.choice([None, dice.randrange(-20, 200) / 2]),
            "k": dice.choice([None, *range(10)]),
        }
        for who in range(12)
        for _ in range(dice.randrange(1, each + 1))
    ]


@pytest.mark.parametrize(("table", "each"), [("t", 9), ("one", 1)])
@pytest.mark.parametrize(
    ("item", "where"),
    [("x", "TRUE"), ("k", "TRUE"), ("x", "k > 2"), ("k * x", "TRUE")],
)
def test_without_noise_it_is_what_duckdb_says_of_units(table: str, each: int, item: str, where: str) -> None:
    rows = made(Random(f"{table} {item} {where}"), each=each)
    theirs = plain()
    fill(
        theirs,
        "r",
        {"who": "INTEGER", "g": "VARCHAR", "x": "DOUBLE", "k": "INTEGER"},
        [list(row.values()) for row in rows],
    )
    per_unit = f"SELECT who, g, LEAST(GREATEST(AVG({item}) FILTER (WHERE {where}), -2), 7.5) + 0 * AVG({item})"
    per_unit += f" FILTER (WHERE {where}) AS a FROM r GROUP BY who, g"
    truth = dict(theirs.execute(f"SELECT g, AVG(a) FROM ({per_unit}) GROUP BY g").fetchall())
    text = f"SELECT g, AVG({item}, contribution_bounds_per_group => (-2, 7.5)) FILTER (WHERE {where}) AS a FROM t"
    with opened(POLICY, {"t": rows, "one": rows}) as curator:
        answer = curator.query(f"{text.replace('FROM t', f'FROM {table}')} GROUP BY g", epsilon=1)
    theirs.close()
    for (group, value), known in zip(answer.rows, answer.intervals, strict=True):
        expected = truth.get(group)
        assert (value is None) == (expected is None), group
        if expected is not None:
            assert value == pytest.approx(expected, abs=2e-5)
            assert known["a"][0] <= value <= known["a"][1]
    assert any("is over units" in note for note in answer.notes)
