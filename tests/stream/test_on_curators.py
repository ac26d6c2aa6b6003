"""Running totals and queues over a real curator: rides on disk, the real ledger, threads, restarts and lost answers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.accounting.rounding import UNITS
from discreet.answers.call import Call
from discreet.errors import BudgetExhausted, QueryFailed, Refused
from discreet.exit import Exit
from discreet.lab import rides
from discreet.stream.continual import Running, running
from discreet.stream.queue import Queue
from tests.threads import at_once

DAYS, COUNT = 5, 120
COUNTED = "SELECT COUNT(*) AS n FROM rides"


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[discreet.Curator]:
    with discreet.open(arrived(tmp_path_factory.mktemp("company"))) as opened:
        yield opened


def arrived(folder: Path, days: int = DAYS) -> Path:
    policy = rides.build(folder)
    rides.arrive(folder, 0, days, COUNT)
    with discreet.open(policy) as company:
        company.refresh(until=rides.day_of(days))
    return policy


def lines(company: discreet.Curator) -> list[Fraction]:
    """What each block was charged, in ρ."""
    return [Fraction(line[0], UNITS) for line in company._ledger.stream("rides").lines]


def near(left: Fraction, right: Fraction) -> bool:
    """But for the rounding of a few charges, up to units."""
    return right <= left <= right + Fraction(10, UNITS)


def test_totals_are_near_and_charged_once(company: discreet.Curator) -> None:
    """Within 8 standard deviations, which noise exceeds once in 10¹⁵; a restart shows the same and charges nothing."""
    before, rho = lines(company), Fraction(1, 100)
    totals = running(company, "rides", column="fare", where="distance < 20", horizon=8, rho=rho)
    exact = left_out = 0.0
    for total in totals:
        day = rides.rides(total.block, COUNT)
        exact += float(day["fare"][day["distance"] < 20].sum())
        left_out += 100.0 * (len(day["rider"]) - len(np.unique(day["rider"])))  # a second ride of a rider and day
        assert abs(total.value - exact) <= 8 * total.error / 1.96 + left_out
    assert [total.label for total in totals] == [str(rides.day_of(number)) for number in range(DAYS)]
    added = [after - earlier for after, earlier in zip(lines(company), before, strict=True)]
    assert all(near(each, rho * share / 4) for each, share in zip(added, (3, 3, 3, 3, 1), strict=True))
    charges = company.count()
    assert running(company, "rides", column="fare", where="distance < 20", horizon=8, rho=rho) == totals
    assert company.count() == charges


def test_new_days_are_added_and_old_ones_stay(tmp_path: Path) -> None:
    """After a refresh and a restart: earlier totals are the same, and only nodes that end with the new day cost."""
    policy = arrived(tmp_path, 3)
    with discreet.open(policy) as company:
        early, charges = running(company, "rides", horizon=4, rho=0.01), company.count()
    rides.arrive(tmp_path, 3, 1, COUNT)
    with discreet.open(policy) as company:
        company.refresh(until=rides.day_of(4))
        later = running(company, "rides", horizon=4, rho=0.01)
        assert later[:3] == early
        assert company.count() == charges + 3
        assert all(near(line, Fraction(1, 100)) for line in lines(company))


def test_threads_draw_each_node_once(company: discreet.Curator) -> None:
    """Six at once: whoever comes second is shown what the first drew, or waits for another time; no line is above ρ."""
    before, rho = lines(company), Fraction(1, 50)

    def run() -> None:
        running(company, "rides", where="rain", horizon=8, rho=rho)

    assert at_once(6, run) == [None] * 6
    assert all(after - earlier <= rho for after, earlier in zip(lines(company), before, strict=True))


def test_a_lost_answer_stays_lost(company: discreet.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the charge and before the answer something dies: the node is never drawn again, nor charged again."""
    asked, drawn = [], Exit.release

    def dying(*arguments: Any) -> Any:
        asked.append(arguments)
        if len(asked) == 3:  # of days 0, 1, then both
            raise MemoryError
        return drawn(*arguments)

    options = {"column": "minutes", "horizon": 4, "rho": 0.01}
    monkeypatch.setattr(Exit, "release", dying)
    first = running(company, "rides", **options)
    monkeypatch.undo()
    before = lines(company)
    again = running(company, "rides", **options)
    assert again == first
    assert lines(company) == before
    assert first[1].error > first[0].error  # the sum of its halves


def test_what_runs_beyond_a_block_is_refused(company: discreet.Curator) -> None:
    charges = company.count()
    with pytest.raises(BudgetExhausted):
        running(company, "rides", horizon=4, epsilon=2.5)
    for options in ({"where": "1"}, {"column": "nothing"}, {"where": "TRUE) GROUP BY (rain"}, {"column": "rider"}):
        with pytest.raises(Refused):
            running(company, "rides", horizon=4, rho=0.001, **options)
    with pytest.raises(Refused):
        running("company", "rides", horizon=4, rho=0.001)
    assert company.count() == charges


def test_a_queue_grants_and_the_ledger_charges(tmp_path: Path) -> None:
    """Elephants wait until their blocks are unlocked; mice go ahead; all are charged what their bills say."""
    with discreet.open(arrived(tmp_path, 2)) as company:
        capacity = company._ledger.stream("rides").capacity.amount
        queue = Queue(company, "rides", rule="fair", among=4)
        mouse, elephant = capacity / 10, capacity * Fraction(6, 10)

        def call(rho: Fraction, condition: str, blocks: str = "newest") -> Call:
            return Call(sql=f"{COUNTED} WHERE {condition}", rho=rho, blocks=blocks)

        assert queue.submit("elephant", call(elephant, "rain")) == []
        assert [done.name for done in queue.submit("mouse", call(mouse, "hour < 9"))] == ["mouse"]
        assert queue.waiting == ("elephant",)
        with pytest.raises(Refused):
            queue.submit("other", Call(sql="SELECT 1", rho=mouse))
        for task in (call(mouse, "hour < 10"), "SELECT 1", None):
            with pytest.raises(Refused):
                queue.submit("elephant", task)
        with pytest.raises(Refused):
            queue.submit("other", call(2 * capacity, "hour < 10"))
        rides.arrive(tmp_path, 2, 1, COUNT)
        company.refresh(until=rides.day_of(3))
        third = queue.submit("third", call(mouse, "hour < 8", "2024-01-02"))
        fourth = queue.submit("fourth", call(mouse, "hour < 7", "2024-01-02"))
        done = {each.name: each for each in (*third, *fourth)}
        assert set(done) == {"third", "fourth", "elephant"}  # the elephant on the block that was newest when it came
        assert all(each.problem is None and each.result.rows for each in done.values())
        spent = [line / capacity for line in lines(company)]
        assert [round(float(share), 3) for share in spent] == [0, 0.9, 0]
        company.query(f"{COUNTED} WHERE hour < 5", rho=capacity / 20, blocks="2024-01-02")
        (late,) = queue.submit("late", call(mouse, "hour < 6", "2024-01-02"))
        assert late.problem is not None
        assert late.problem.code == "budget-exhausted"
        assert max(lines(company)) <= capacity


def test_queues_are_for_streams(company: discreet.Curator) -> None:
    for wrong in ((company, "visits"), (None, "rides"), ("rides", "rides")):
        with pytest.raises(Refused):
            Queue(*wrong)
    with pytest.raises(Refused):
        Queue(company, "rides", rule="loudest")


def test_a_grant_is_no_charge(company: discreet.Curator) -> None:
    """Two queues know nothing of each other: the ledger refuses what does not fit, and nobody is harmed."""
    capacity = company._ledger.stream("rides").capacity.amount
    queues = [Queue(company, "rides", rule="first") for _ in range(2)]
    rest = capacity - lines(company)[4]
    done = []
    for queue in queues:
        queue.look()
    for number, queue in enumerate(queues):
        queue._catch_up = lambda: None  # type: ignore[method-assign]  # as if both had looked at the same moment
        done += queue.submit("all", Call(sql=f"{COUNTED} WHERE hour < {number}", rho=rest * Fraction(2, 3), blocks=[4]))
    assert [each.problem is None for each in done] == [True, False]
    assert isinstance(done[1].problem, BudgetExhausted)
    assert lines(company)[4] <= capacity


def test_failures_after_a_charge_are_told(company: discreet.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exit, "release", lambda *_: 1 / 0)
    queue = Queue(company, "rides", rule="first")
    (done,) = queue.submit("fails", Call(sql=f"{COUNTED} WHERE hour = 3", rho=Fraction(1, 1000), blocks=[0]))
    assert isinstance(done.problem, QueryFailed)
    assert Running(company, "rides", horizon=2, rho=0.001).totals() == []
