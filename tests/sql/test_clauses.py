"""Several privacy clauses in one query: their costs add up and are charged at once, and each gets its part."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest

from discreet.accounting import Pure
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.exit.cost import Cost
from discreet.exit.sampler import Sampler
from discreet.mechanisms import KeySelection
from discreet.noise import Bits
from discreet.sql.cache import Cell
from discreet.sql.clause import STRATEGIES
from discreet.sql.cost import allocate
from discreet.sql.plan import Plan, plan
from tests.sql import tiny
from tests.sql.test_fanout import Nothing
from tests.sql.worlds import ledger_of, quiet


def clause(options: str, source: str = "patients", items: str = "COUNT(*)") -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {items} FROM {source}"


def planned(text: str, policy: str = "pure") -> Plan:
    return plan(tiny.policy(policy), text, public=Nothing())


TWO = f"{clause('epsilon = 0.25')} UNION ALL {clause('epsilon = 0.75')}"


def shares(text: str, policy: str = "pure") -> list[Fraction]:
    found = planned(text, policy)
    options = found.options
    cost = Cost.read(tiny.policy(policy), epsilon=options.epsilon, rho=options.rho, delta=None, private_keys=False)
    return list(allocate(tiny.policy(policy), cost, found.releases).shares)


def test_each_clause_gets_its_part() -> None:
    assert shares(TWO) == [Fraction(1, 4), Fraction(3, 4)]
    assert shares(f"{clause('epsilon = 3')} UNION ALL {TWO}") == [Fraction(3, 4), Fraction(1, 16), Fraction(3, 16)]


def test_a_clause_divides_its_part_among_what_it_counts() -> None:
    both = clause("epsilon = 1", items="COUNT(*), SUM(age)")
    alone = shares(both)
    single = clause("epsilon = 1", items="COUNT(*) AS n")
    together = shares(f"SELECT a.*, b.n FROM ({both}) AS a CROSS JOIN ({single}) AS b")
    assert sorted(together) == sorted([*(share / 2 for share in alone), Fraction(1, 2)])


@pytest.mark.parametrize(("options", "budget"), [("max_groups_contributed = 1", "pure"), ("delta = 1e-9", "delta")])
def test_clauses_without_a_cost_share_that_of_the_caller_alike(options: str, budget: str) -> None:
    bare = clause(options, items="COUNT(*) AS n")
    policy, found = tiny.policy(budget), planned(f"{bare} UNION ALL {bare}", budget)
    cost = Cost.read(policy, epsilon=1, rho=None, delta=None, private_keys=False)
    assert list(allocate(policy, cost, found.releases).shares) == [Fraction(1, 2), Fraction(1, 2)]


def test_of_rho_the_parts_are_those_of_squares() -> None:
    assert shares(TWO, "delta") == [Fraction(1, 10), Fraction(9, 10)]
    assert shares(f"{clause('rho = 0.25')} UNION ALL {clause('rho = 0.75')}", "delta") == [
        Fraction(1, 4),
        Fraction(3, 4),
    ]


def test_they_are_charged_together_once() -> None:
    with tiny.asked() as curator:
        answer = curator.query(TWO, fresh=True)
        assert (answer.rows, answer.loss) == ([(4,), (4,)], Pure(1, unit="patient"))
        (entry,) = curator.entries()
        assert entry.loss == Pure(1, unit="patient")
        assert curator.query(TWO, epsilon=1).cached
        with pytest.raises(Refused) as refused:
            curator.query(TWO, epsilon=0.5)
        assert refused.value.code == "cost-twice"
        swapped = f"{clause('epsilon = 0.75')} UNION ALL {clause('epsilon = 0.25')}"
        assert not curator.query(swapped).cached, "the same numbers, with other noise"


def test_bounds_are_those_of_the_clause_around() -> None:
    inner = clause("epsilon = 1, max_rows_contributed = 2", "visits", "ward, COUNT(*) AS n") + " GROUP BY ward"
    outer = clause("epsilon = 1, max_rows_contributed = 1", f"visits WHERE cost > (SELECT MAX(n) FROM ({inner}))")
    assert [release.child.rows for release in planned(outer).releases] == [2, 1]
    named = f"WITH q AS ({inner}) {clause('epsilon = 1', 'visits CROSS JOIN (SELECT SUM(n) AS n FROM q) AS s')}"
    assert [release.child.rows for release in planned(named).releases] == [2, 4]


@pytest.mark.parametrize(
    "text",
    [
        f"{clause('epsilon = 1')} UNION ALL {clause('rho = 1')}",
        f"{clause('epsilon = 1')} UNION ALL {clause('epsilon = 1, delta = 1e-9')}",
        f"{clause('error = 1')} UNION ALL {clause('error = 1')}",
        f"{clause('epsilon = 1, confidence = 0.5')} UNION ALL {clause('epsilon = 1, confidence = 0.9')}",
    ],
)
def test_costs_that_do_not_add_up_are_refused(text: str) -> None:
    with pytest.raises(Refused, match="do not add up"):
        planned(text)


@pytest.mark.parametrize("text", ["SELECT clause_0_0, COUNT(*) FROM visits", "SELECT `clause_0_0` FROM visits"])
def test_nobody_can_write_the_mark_of_a_clause(text: str) -> None:
    with pytest.raises(Refused) as refused:
        planned(f"{text} UNION ALL {clause('epsilon = 1, max_rows_contributed = 1', 'visits')}")
    assert refused.value.code in ("unknown-column", "not-an-aggregate")


@pytest.mark.parametrize("word", [*STRATEGIES, *(word.lower() for word in STRATEGIES), f"'{STRATEGIES[0]}'"])
def test_strategies_are_read(word: str) -> None:
    assert planned(clause(f"epsilon = 1, group_selection_strategy = {word}")).releases


# keys that many units have


def offered(least: int) -> Mapping[Cell, int]:
    """What keys are selected from."""
    seen: list[Mapping[Cell, int]] = []

    def select(_: KeySelection, exact: Mapping[Cell, int], __: Bits) -> Mapping[Cell, int]:
        seen.append(dict(exact))
        return dict(exact)

    engine = Memory(tiny.policy("delta"), tiny.DATA)
    text = clause(f"epsilon = 1, min_privacy_units_per_group = {least}", "patients GROUP BY city", "city, COUNT(*)")
    with (
        ledger_of(tiny.policy("delta")) as ledger,
        Curator(tiny.policy("delta"), ledger, engine=engine, sampler=Sampler(quiet, select)) as curator,
    ):
        curator.query(text)
    engine.close()
    return seen[0]


def test_units_beyond_the_least_number_are_counted() -> None:
    assert offered(1) == {("Ulm",): 2, ("Bonn",): 1}
    assert offered(2) == {("Ulm",): 1}
    assert offered(3) == {}
