"""The grid of times: before it, neither the ledger nor a cancelled question tells that the work is done."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest

from discreet.curator import pacing
from discreet.curator.door import Curator
from discreet.curator.pacing import on_grid
from discreet.engines.memory import Memory
from discreet.engines.stopping import Stop, Stopped
from discreet.errors import QueryFailed
from tests.sql.worlds import ledger_of, policy_of

POLICY = """
[tables.people]
source = "people.csv"
unit = "person"
[tables.people.columns]
age = { min = 0, max = 100 }
"""
COUNT = "SELECT COUNT(*) FROM people"
PADS = [0.1, 0.25, 1.0, 0.003]


class Clock:
    """Time that passes only when somebody works or sleeps; `meanwhile` is done where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.meanwhile: Callable[[], object] = lambda: None

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.meanwhile()
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(pacing, "time", made)
    return made


def worked(clock: Clock, took: float, pad: float, *, fails: bool = False) -> float:
    """When work that takes so long ends."""
    clock.now = 0.0
    try:
        with on_grid(pad):
            clock.now += took
            if fails:
                raise ValueError
    except ValueError:
        assert fails
    return clock.now


@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize("fails", [False, True])
def test_ends_lie_on_the_grid(clock: Clock, pad: float, fails: bool) -> None:
    for took in (0.0001, 0.05, 0.1, 0.1000001, 0.3, 0.7, 2.999, 3.0):
        end = worked(clock, took, pad, fails=fails)
        assert end / pad == pytest.approx(round(end / pad), abs=1e-6)
        assert took <= end + 1e-9
        assert end < took + pad + 1e-9


def test_the_grid_begins_with_the_work(clock: Clock) -> None:
    clock.now = 7.3
    with on_grid(0.25):
        clock.now += 0.1
    assert clock.now == pytest.approx(7.55)


def test_no_length_of_time_is_too_long_to_wait_for(clock: Clock) -> None:
    """Where the division rounds down, the rest to sleep is a hair less than nothing."""
    for steps in range(1, 200):
        for pad in (0.001, 0.007, 0.1):
            worked(clock, math.nextafter(steps * pad, math.inf), pad)


def test_without_a_grid_nobody_waits(clock: Clock) -> None:
    assert worked(clock, 0.03, 0.0) == 0.03


def test_what_is_stopped_ends_as_stopped_though_its_work_is_done(clock: Clock) -> None:
    stop = Stop()
    clock.meanwhile = stop.now
    with stop, pytest.raises(Stopped), on_grid(0.1):
        clock.now += 0.03
    assert clock.now == pytest.approx(0.1)


@pytest.fixture
def curator() -> Iterator[Curator]:
    policy = policy_of(POLICY)
    engine = Memory(policy, {"people": [{"person": 1, "age": 30}]})
    with ledger_of(policy) as ledger, Curator(policy, ledger, engine=engine, pad=0.1) as found:
        yield found
    engine.close()


def test_the_ledger_does_not_tell_before_the_time(clock: Clock, curator: Curator) -> None:
    seen = []
    clock.meanwhile = lambda: seen.append([entry.answered for entry in curator.entries()])
    answer = curator.query(COUNT, epsilon=0.1)
    assert seen == [[False]]
    assert [entry.answered for entry in curator.entries()] == [True]
    assert curator.query(COUNT, epsilon=0.1).rows == answer.rows
    assert len(seen) == 1, "a kept answer reads nothing private, so nobody waits for it"


def test_who_cancels_does_not_learn_whether_it_was_done(clock: Clock, curator: Curator) -> None:
    stop = Stop()
    clock.meanwhile = stop.now
    with stop, pytest.raises(QueryFailed):
        curator.query(COUNT, epsilon=0.1)
    assert [entry.answered for entry in curator.entries()] == [False]
    assert curator.budget().spent.epsilon == pytest.approx(0.1)
