"""Exact integers on their way out: every group, no other group, in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting import Pure
from discreet.accounting.losses import Sensitivity
from discreet.composed import Sql
from discreet.curator.task import EngineReader
from discreet.exit import Exit
from discreet.exit.cost import Choices, Cost
from discreet.exit.sampler import Sampler, choose, select
from discreet.mechanisms import Exponential, KeySelection
from discreet.noise import SYSTEM, Bits
from discreet.sql.cache import NoisyMeasures
from discreet.sql.cost import Allocation, Mechanisms, allocate
from discreet.sql.draw import counted, draw, noisy
from discreet.sql.plan import Plan
from discreet.sql.released import numbers, table_of
from discreet.sql.vectors import Chosen
from tests.rigged import Rigged
from tests.sql.test_cost import BOTH, TABLE, planned
from tests.sql.worlds import HEAD, policy_of

NULLS = policy_of(
    TABLE.replace('z = { type = "text" }', 'z = { type = "text", nullable = true }'),
    head=HEAD.replace("epsilon = 3", "epsilon = 3\ndelta = 1e-6"),
)
KEYS = "SELECT z, COUNT(DISTINCT x) AS n, SUM(x) AS s FROM t GROUP BY z"


class Answers:
    """An engine that knows its answers beforehand, and what it was asked."""

    dialect = "duckdb"
    copy = "none"

    def __init__(self, *answers: list[tuple[Any, ...]]) -> None:
        self.left = list(answers)
        self.queries: list[str] = []
        self.seconds: list[float | None] = []

    def schema(self, table: str) -> dict[str, str]:
        raise AssertionError(table)

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:
        self.queries.append(query.text)
        self.seconds.append(seconds)
        return self.left.pop(0)

    def columns(self, query: Sql, seconds: float | None = None) -> list[Any]:
        raise AssertionError(query, seconds)

    def close(self) -> None:
        pass


def drawn_from(
    found: Plan, allocation: Allocation, engine: Answers, sampler: Sampler, seconds: float | None
) -> NoisyMeasures:
    exit_ = Exit(allocation.cost, SYSTEM, limit=allocation.loss, sampler=sampler)
    return draw(found, allocation, EngineReader(engine, seconds), exit_)


def quiet(mechanism: Any, sensitivity: Sensitivity, exact: Sequence[int], bits: Bits) -> Sequence[int]:  # noqa: ARG001
    return exact


@pytest.mark.parametrize(("policy", "kept"), [(BOTH, {("a",), ("b",)}), (NULLS, {("a",), ("b",), (None,)})])
def test_private_keys_are_selected_among_whole_ones_and_come_in_order(policy: Any, kept: set[Any]) -> None:
    found = planned(policy, KEYS)
    allocation = allocate(policy, Cost.read(policy, epsilon=1), found.releases)
    seen: list[dict[Any, int]] = []

    def everything(mechanism: KeySelection, exact: Any, bits: Bits) -> dict[Any, int]:  # noqa: ARG001
        seen.append(dict(exact))
        return dict(exact)

    engine = Answers([("b", 50, 2, 5), (None, 1, 4, 7), ("a", 30, 1, 3)])
    drawn = drawn_from(found, allocation, engine, Sampler(add_noise=quiet, select=everything), 2.5)
    assert {key: units for key, units in {("b",): 5, (None,): 7, ("a",): 3}.items() if key in kept} == seen[0]
    order = [("a",), ("b",), (None,)][: len(kept)]
    assert drawn.selected == (tuple(order),)
    assert [list(column) for column in drawn.values[0]] == [[30, 50, 1][: len(kept)], [1, 2, 4][: len(kept)]]
    assert engine.seconds == [2.5]
    assert drawn.noises == allocation.noises


def test_units_of_private_keys_are_counted_apart_where_public_ones_divide_their_rows() -> None:
    found = planned(BOTH, "SELECT z, g, COUNT(*) AS n FROM t GROUP BY z, g")
    allocation = allocate(BOTH, Cost.read(BOTH, epsilon=1), found.releases)
    engine = Answers([("q", "a", 50), ("q", "b", 7), ("p", "a", 2), ("dropped", "a", 9)], [("q", 5), ("p", 1)])
    everything = Sampler(add_noise=quiet, select=lambda _mechanism, exact, _bits: dict(exact))
    drawn = drawn_from(found, allocation, engine, everything, None)
    assert drawn.selected == ((("p",), ("q",)),)
    (release,) = found.releases
    assert dict(zip(release.listed(drawn.selected[0]), drawn.values[0][0], strict=True))["q", "b"] == 7
    assert sum(drawn.values[0][0]) == 59
    assert engine.queries == [release.sql().text, release.selection_sql().text]


def test_units_are_counted_for_each_combination_of_private_keys() -> None:
    found = planned(BOTH, "SELECT z, w, COUNT(*) AS n FROM t GROUP BY z, w")
    allocation = allocate(BOTH, Cost.read(BOTH, epsilon=1), found.releases)
    seen: list[Any] = []

    def nothing(mechanism: KeySelection, exact: Any, bits: Bits) -> dict[Any, int]:  # noqa: ARG001
        seen.append(dict(exact))
        return {}

    engine = Answers([("b", "x", 50, 5), ("a", None, 70, 7), (None, "x", 40, 4)])
    drawn = drawn_from(found, allocation, engine, Sampler(add_noise=quiet, select=nothing), None)
    assert seen == [{("b", "x"): 5}]
    assert drawn.selected == ((),)
    assert drawn.values == (([],),)


@pytest.mark.parametrize("kept", [[], [("a",)]])
def test_what_was_not_selected_is_counted_apart_under_its_own_name(kept: list[Any]) -> None:
    """A key that is really called OTHER stays a group of its own."""
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, other = true) z, COUNT(*) AS n"
    found = planned(BOTH, f"{text} FROM t GROUP BY z")
    allocation = allocate(BOTH, Cost.read(BOTH, epsilon=1, delta=1e-6), found.releases)
    engine = Answers([("a", 30, 3), ("OTHER", 8, 2)], [("OTHER", 4)])
    drawn = drawn_from(
        found, allocation, engine, Sampler(add_noise=quiet, select=lambda *_: dict.fromkeys(kept, 9)), None
    )
    assert [list(column) for column in drawn.values[0]] == [[30, 4] if kept else [4]]
    (release,) = found.releases
    asked = release.sql(), release.other_sql(tuple(kept))
    assert engine.queries == [query.text for query in asked]


def test_groups_without_rows_are_zero_and_unknown_groups_are_dropped() -> None:
    (release,) = planned(BOTH, "SELECT g, COUNT(DISTINCT x) AS n, SUM(x) AS s FROM t GROUP BY g").releases
    rows = [("b", 4, 17), ("c", 100, 100), (None, 1, 1)]
    assert counted(release, rows, [("a",), ("b",)]) == [[0, 4], [0, 17]]
    assert counted(release, [], [("a",), ("b",)]) == [[0, 0], [0, 0]]


def test_choices_are_made_group_by_group() -> None:
    (release,) = planned(BOTH, "SELECT g, MEDIAN(x) AS m FROM t GROUP BY g").releases
    (measure,) = release.measures
    assert isinstance(measure, Chosen)
    cells = measure.layout.cells
    exact = [*range(cells), *reversed(range(cells))]
    asked: list[Any] = []

    def noted(mechanism: Choices, scores: Sequence[Sequence[int]], bits: Bits) -> list[int]:  # noqa: ARG001
        asked.extend(scores)
        return [1, 2]

    exit_ = Exit(Cost.read(BOTH, rho=1), SYSTEM, sampler=Sampler(choose=noted))
    assert noisy(exit_, release, measure, exact, Fraction(1)) == [1, 2]
    assert asked == [measure.scores(exact[:cells]), measure.scores(exact[cells:])]


def test_the_real_exit_draws_from_the_bits_of_the_charge() -> None:
    keys = KeySelection(delta=1e-6, max_groups=1, epsilon=1)
    bits = Rigged([2**63 + 2**62] * 20)
    exit_ = Exit(Cost(Pure(2)), bits)
    found = exit_.release([10, 20, 30], Sensitivity.cells(1, 1), Fraction(1, 2))
    assert [type(value) for value in found] == [int] * 3
    assert bits.taken == 8 * 3
    assert exit_.release([], Sensitivity.cells(1, 1), Fraction(1, 2)) == []
    assert bits.taken == 8 * 3
    assert list(select(keys, {("a",): 10**6, ("b",): 10**6}, SYSTEM)) == [("a",), ("b",)]
    assert choose(
        Choices(Exponential(1, sensitivity=1), Sensitivity.cells(2, 1)), [[0, 10**6], [10**6, 0]], SYSTEM
    ) == [1, 0]


def test_nothing_leaves_without_noise_that_was_bought_for_it() -> None:
    found = planned(BOTH, "SELECT g, COUNT(*) AS n FROM t GROUP BY g")
    whole = allocate(BOTH, Cost.read(BOTH, epsilon=1), found.releases)
    for planned_for in ((), (Mechanisms(()),)):
        with pytest.raises(ValueError, match="zip"):
            drawn_from(found, replace(whole, mechanisms=planned_for), Answers([("a", 1)]), Sampler(), None)


def test_each_group_gets_its_own_numbers_of_a_measure_however_many_there_are() -> None:
    (release,) = planned(BOTH, "SELECT g, COUNT(*) AS n, APPROX_TOP_K(g, 2) AS top FROM t GROUP BY g").releases
    for aggregate in release.aggregates:
        (measure,) = aggregate.measures
        columns = {measure: list(range(3 * measure.length))}
        shares = [numbers(aggregate, columns)(place)[0] for place in range(3)]
        assert [len(share) for share in shares] == [measure.length] * 3
        assert [number for share in shares for number in share] == columns[measure]
    assert {aggregate.measures[0].length > 1 for aggregate in release.aggregates} == {False, True}


def test_noisy_numbers_that_belong_to_no_measure_are_no_table() -> None:
    (release,) = planned(BOTH, "SELECT g, COUNT(*) AS n FROM t GROUP BY g").releases
    cells = len(list(release.cells(None)))
    assert len(table_of(release, NoisyMeasures(values=(([7] * cells,),), selected=(None,)), 0)) == cells
    for wrong in ((), ([7] * cells, [7] * cells)):
        with pytest.raises(ValueError, match="zip"):
            table_of(release, NoisyMeasures(values=(wrong,), selected=(None,)), 0)
