"""Running totals: what a block is charged over a horizon, and what restarts, lost answers and used-up blocks do."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.accounting import Concentrated
from discreet.answers.call import Call
from discreet.errors import BudgetExhausted, QueryFailed, Refused
from discreet.stream.continual import UNKNOWN, Measured, Running, estimated, prefix, running


@dataclass
class Pretended:
    """A curator as far as running totals know one: counts of blocks, lines, and one charge for each key."""

    counts: list[int]
    capacity: Fraction = Fraction(1)
    noise: dict[tuple[int, int], float] = field(default_factory=dict)
    lines: dict[int, Fraction] = field(default_factory=dict)
    charges: dict[str, tuple[Call, float | None]] = field(default_factory=dict)
    dying: set[tuple[int, int]] = field(default_factory=set)
    """Blocks of the queries whose answer is lost after the charge."""
    by: str = "day"
    policy_of_now: str = "rides"

    @property
    def policy(self) -> Any:
        stream = SimpleNamespace(stream=SimpleNamespace(by=self.by))
        return SimpleNamespace(tables={"rides": stream, "zones": SimpleNamespace(stream=None)})

    @property
    def _ledger(self) -> Pretended:
        return self

    def stream(self, name: str) -> Any:
        assert name == "rides"
        labels = tuple(f"day {number}" for number in range(len(self.counts)))
        return SimpleNamespace(count=len(self.counts), labels=labels, capacity=Concentrated(self.capacity))

    def preview_of(self, call: Call) -> Any:
        return SimpleNamespace(loss=Concentrated(call.rho), groups=None)

    def _prepared(self, query: Any) -> Any:
        return SimpleNamespace(bill=SimpleNamespace(plan=f"{self.policy_of_now}: {query.call.sql}"))

    def answer(self, call: Call) -> Any:
        assert call.key is not None
        ((low, high),) = call.blocks.ranges
        assert high < len(self.counts)
        if call.key.name not in self.charges:
            for block in range(low, high + 1):
                if self.lines.get(block, Fraction(0)) + call.rho > self.capacity:
                    raise BudgetExhausted("used up")
            for block in range(low, high + 1):
                self.lines[block] = self.lines.get(block, Fraction(0)) + call.rho
            value = (
                None if (low, high) in self.dying else sum(self.counts[low : high + 1]) + self.noise.get((low, high), 0)
            )
            self.charges[call.key.name] = call, value
        value = self.charges[call.key.name][1]
        if value is None:
            raise QueryFailed
        return SimpleNamespace(rows=[(value,)], intervals=[{"total": (value - 2.0, value + 2.0)}])


def test_each_block_is_charged_the_cost_once() -> None:
    """Day after day, over horizons of every size: no line is above the cost, and the totals are exact without noise."""
    for horizon in range(1, 20):
        there = Pretended([])
        ran = Running(there, "rides", horizon=horizon, rho=Fraction(1, 7))
        for day in range(horizon):
            there.counts.append(day * day)
            totals = ran.totals()
            assert [total.value for total in totals] == np.cumsum(there.counts).tolist()
            assert totals[-1].label == f"day {day}"
        assert max(there.lines.values()) <= Fraction(1, 7)
        assert there.lines[0] == Fraction(1, 7)  # block 0 is in a node of every level
        before = len(there.charges)
        there.counts += [5, 5]
        assert len(ran.totals()) == horizon  # what comes after the horizon is not its own
        assert len(there.charges) == before


def test_steps_of_several_blocks() -> None:
    """A total for each week: fewer nodes, of whole weeks, and each day is charged the cost at most."""
    there = Pretended([])
    ran = Running(there, "rides", horizon=30, every=7, rho=Fraction(1, 5))
    for day in range(30):
        there.counts.append(day)
        totals = ran.totals()
        assert [total.block for total in totals] == [week for week in (6, 13, 20, 27) if week <= day]
        assert [total.value for total in totals] == [sum(range(total.block + 1)) for total in totals]
    assert len(there.charges) == 4 + 2 + 1
    assert set(there.lines.values()) == {Fraction(1, 5)}
    assert 28 not in there.lines


def test_restarts_draw_nothing_twice() -> None:
    there = Pretended([3, 1, 4, 1, 5, 9, 2])
    first = running(there, "rides", horizon=16, rho=0.1)
    charges, lines = dict(there.charges), dict(there.lines)
    again = running(there, "rides", horizon=16, rho=0.1)
    assert again == first
    assert (there.charges, there.lines) == (charges, lines)
    there.counts.append(6)
    more = running(there, "rides", horizon=16, rho=0.1)
    assert more[:7] == first
    assert len(there.charges) == len(charges) + 4  # day 7 ends a node of four levels


def test_another_cost_or_horizon_is_another_name() -> None:
    there = Pretended([1, 2])
    for options in ({"rho": 0.1}, {"rho": 0.2}, {"rho": 0.1, "where": "fare > 3"}, {"rho": 0.1, "column": "fare"}):
        before = len(there.charges)
        running(there, "rides", horizon=4, **options)
        assert len(there.charges) == before + 3


def test_another_policy_is_another_name() -> None:
    """Where the owner changed what the query means, earlier answers are of something else: it is drawn anew."""
    there = Pretended([1, 2])
    first = running(there, "rides", horizon=4, rho=0.1)
    there.policy_of_now = "rides with other bounds"
    assert running(there, "rides", horizon=4, rho=0.1) == first
    assert len(there.charges) == 6


def test_a_lost_answer_is_not_drawn_again() -> None:
    """A process died between charge and answer: the node is missing, its halves stand for it, and no line grows."""
    there = Pretended([3, 1, 4, 1], dying={(0, 1)})
    totals = running(there, "rides", horizon=4, rho=0.3)
    lines = dict(there.lines)
    assert [total.value for total in totals] == [3, 4, 8, 9]
    assert totals[1].error == pytest.approx(math.hypot(2, 2))
    running(there, "rides", horizon=4, rho=0.3)
    assert there.lines == lines
    assert max(lines.values()) <= Fraction("0.3")


def test_a_lost_day_is_missing_until_a_larger_node_ends() -> None:
    there = Pretended([3, 1, 4, 1, 5], dying={(2, 2)})
    totals = running(there, "rides", horizon=8, rho=0.3)
    assert [(total.block, total.value) for total in totals] == [(0, 3), (1, 4), (3, 9), (4, 14)]


def test_used_up_blocks_leave_larger_nodes_out() -> None:
    """Others spent on a block meanwhile: nodes that fit no more are missing, and totals go on with more noise."""
    there = Pretended([3, 1], capacity=Fraction("0.5"))
    ran = Running(there, "rides", horizon=4, rho=0.3)
    ran.totals()
    there.lines[1] = Fraction("0.5")
    there.counts += [4, 1]
    assert [total.value for total in ran.totals()] == [3, 4, 8, 9]
    assert ran.missing == ((0, 3),)
    gone = Pretended([3, 1, 4], lines={1: Fraction(1)})
    ran = Running(gone, "rides", horizon=4, rho=0.3)
    assert len(ran.totals()) == 1  # a day is gone, and all totals after it
    assert ran.missing == ((1, 1), (0, 1))


def test_noise_of_totals_is_as_said() -> None:
    """Exactly, by the weights: the half-width of a total is the root of the squares of what each node's noise adds."""
    size = 13
    nodes = [(level, number) for level in range(4) for number in range(size) if (number + 1) * 2**level <= size]
    plain = {node: Measured(0.0, 2.0) for node in nodes}
    moved = {}
    for node in nodes:
        one = {**plain, node: Measured(1.0, 2.0)}
        moved[node] = [prefix(estimated(one), count).value for count in range(1, size + 1)]
    for count in range(1, size + 1):
        exact = 2 * math.sqrt(sum(moved[node][count - 1] ** 2 for node in nodes))
        assert prefix(estimated(plain), count).half == pytest.approx(exact)
    halves = [prefix(estimated(plain), 2**level).half for level in range(4)]
    assert all(later < earlier for earlier, later in pairwise(halves))


def test_estimates_are_unbiased() -> None:
    """With the exact sums in, the exact totals come out, whichever nodes above the first level are missing."""
    counts = [5, 0, 7, 2, 9, 1, 4]
    sums = {
        (level, number): sum(counts[number * 2**level : (number + 1) * 2**level])
        for level in range(3)
        for number in range(7)
        if (number + 1) * 2**level <= 7
    }
    for lost in (None, (1, 0), (2, 0), (1, 2)):
        nodes = {node: UNKNOWN if node == lost else Measured(value, 1.0 + node[0]) for node, value in sums.items()}
        made = [prefix(estimated(nodes), count).value for count in range(1, 8)]
        assert made == pytest.approx(np.cumsum(counts).tolist())


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"horizon": 0, "rho": 0.1}, ValueError),
        ({"horizon": 2.5, "rho": 0.1}, TypeError),
        ({"horizon": True, "rho": 0.1}, TypeError),
        ({"horizon": 2**21, "rho": 0.1}, Refused),
        ({"horizon": 4, "rho": 0.1, "first": -1}, ValueError),
        ({"horizon": 4, "rho": 0.1, "every": 0}, ValueError),
        ({"horizon": 4, "rho": 0.1, "every": 5}, ValueError),
        ({"horizon": 4, "rho": 0.1, "column": 7}, Refused),
        ({"horizon": 4, "rho": 0.1, "where": ["x"]}, Refused),
        ({"horizon": 4, "rho": 2}, BudgetExhausted),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], error: type[Exception]) -> None:
    there = Pretended([1])
    with pytest.raises(error):
        running(there, "rides", **options)
    assert not there.charges


@pytest.mark.parametrize(("table", "by"), [("zones", "day"), ("nothing", "day"), ("rides", "unit")])
def test_only_streams_of_time_run(table: str, by: str) -> None:
    with pytest.raises(Refused) as refused:
        running(Pretended([1], by=by), table, horizon=4, rho=0.1)
    assert refused.value.code == "running-invalid"
