"""One person repeats everybody's keys in tables that foreign keys lead to. Whatever is asked of parents, children or
joins of them: the person may come or go, and no exact number moves farther than was declared."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from discreet.audit.neighbours import claimants, units
from discreet.audit.questions import questions
from discreet.audit.replay import Replay, every_key
from discreet.audit.worlds import CLAIMING, Pair, World, searched
from discreet.engines import claims as module
from discreet.engines.claims import KEY, claims
from discreet.engines.sources import Sources
from discreet.policy import Policy, Table
from discreet.policy.layout import UNIT
from discreet.quoting import name
from tests.policy.examples import policy_of

POLICY = """
name = "world"
[budget]
epsilon = 9
delta = 1e-6
[unit]
name = "person"
{more}
[tables.accounts]
source = "accounts.csv"
unit = "customer"
max_rows = 2
[tables.accounts.columns]
kind = {{ values = ["a", "b"] }}
limit = {{ min = 0, max = 100, step = 1 }}
[tables.orders]
source = "orders.csv"
unit = "account -> accounts(id).customer"
max_rows = 3
max_groups = 2
[tables.orders.columns]
ward = {{ values = ["A", "B", "C"] }}
amount = {{ min = 0, max = 10 }}
zip = {{ type = "text" }}
[tables.items]
source = "items.csv"
unit = "order -> orders.account -> accounts(id).customer"
max_rows = 4
[tables.items.columns]
price = {{ min = -5, max = 10 }}
"""
JOINED = [
    "SELECT COUNT(*), SUM(o.amount) FROM accounts a JOIN orders o ON a.customer = o.customer",
    "SELECT a.kind, COUNT(*), AVG(o.amount) FROM accounts a JOIN orders o ON a.customer = o.customer GROUP BY 1",
    "SELECT o.ward, SUM(i.price) FROM orders o JOIN items i ON o.customer = i.customer GROUP BY 1",
    "SELECT COUNT(DISTINCT o.customer) FROM orders o LEFT JOIN items i ON o.customer = i.customer WHERE i.price < 0",
    "SELECT SUM(n) FROM (SELECT customer, CLAMP(COUNT(*), 0, 4) AS n FROM items GROUP BY customer)",
    "SELECT o.zip, COUNT(*) FROM orders o JOIN accounts a ON a.customer = o.customer GROUP BY o.zip",
]
ALONE = [
    "SELECT COUNT(*), SUM(amount) FROM orders",
    "SELECT ward, COUNT(*) FROM orders GROUP BY ward",
    "SELECT zip, COUNT(*) FROM orders GROUP BY zip",
    "SELECT COUNT(*), SUM(price) FROM items",
    "SELECT kind, SUM(limit) FROM accounts GROUP BY kind",
    "SELECT MEDIAN(amount), MAX(amount) FROM orders",
]


@cache
def world(more: str = "") -> tuple[Policy, Pair]:
    policy = policy_of(POLICY.format(more=more))
    (pair,) = World.of(policy).claimed(CLAIMING)
    return policy, pair


@pytest.mark.parametrize("more", ["", 'type = "integer"'])
def test_the_audit_has_a_unit_that_claims_everybodys_keys(more: str) -> None:
    policy, pair = world(more)
    assert pair in searched(policy)
    assert pair.tables == {"accounts", "orders", "items"}
    (mallory,) = set(units(policy, pair.data)) - set(units(policy, pair.neighbour))
    for table in ("orders", "items"):
        others = [row for row in pair.neighbour[table] if claimants(policy, pair.neighbour, policy.tables[table], row)]
        assert len(others) > 10
        for row in others:
            assert mallory in claimants(policy, pair.data, policy.tables[table], row)


@pytest.mark.parametrize("more", ["", 'type = "integer"'])
def test_nothing_moves_farther_than_declared(more: str) -> None:
    policy, pair = world(more)
    asked = [*JOINED, *ALONE, *(question.text for question in questions(policy, 0 if more else 8))]
    moved = 0
    with Replay(policy, selects=every_key) as auditor:
        for question in asked:
            for one, other in ((pair.data, pair.neighbour), (pair.neighbour, pair.data)):
                report = auditor.compare(question, one, other, epsilon=1)
                assert report.same, report
                moved += report.l1 > 0
        for question in (*JOINED, *ALONE):
            assert auditor.run(question, pair.data, epsilon=1).calls, question
    assert moved > len(asked)


def dropped(sources: Sources, table: Table, place: int = 0) -> str:
    """Keys that several units claim lead nowhere: one person erases all others."""
    return (
        f"SELECT {name(KEY)}, min({name(UNIT)}) AS {name(UNIT)} FROM ({claims(sources, table, place)}) "
        "GROUP BY 1 HAVING count(*) = 1"
    )


def last(sources: Sources, table: Table, place: int = 0) -> str:
    """Of several claims one counts: one person takes the rows of others."""
    return f"SELECT {name(KEY)}, max({name(UNIT)}) AS {name(UNIT)} FROM ({claims(sources, table, place)}) GROUP BY 1"


def joint(sources: Sources, table: Table, place: int = 0) -> str:
    """Rows of several claimants belong to a unit of their own: those of others change hands."""
    units_ = f"list_aggregate(list_sort(list({name(UNIT)}::VARCHAR)), 'string_agg', '+')"
    return f"SELECT {name(KEY)}, {units_} AS {name(UNIT)} FROM ({claims(sources, table, place)}) GROUP BY 1"


@pytest.mark.parametrize("broken", [dropped, last, joint])
def test_other_ways_to_treat_repeated_keys_are_caught(
    broken: Callable[[Sources, Table, int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, pair = world()
    monkeypatch.setattr(module, "claims", broken)
    asked = (ALONE[0], JOINED[0], "SELECT COUNT(DISTINCT customer) FROM items")
    with Replay(policy, selects=every_key) as auditor:
        found = [auditor.compare(question, pair.data, pair.neighbour, epsilon=1) for question in asked]
    assert not all(report.same for report in found)
