"""Padding: before its end, neither the ledger nor a cancelled question tells that the work is done."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.engines.stopping import Stop, Stopped
from discreet.errors import QueryFailed, Refused
from discreet.exit import timing
from discreet.exit.timing import padded, step
from discreet.learn import KMeans
from tests.sql.worlds import ledger_of, policy_of

POLICY = """
[tables.people]
source = "people.csv"
unit = "person"
[tables.people.columns]
age = { min = 0, max = 100 }
"""
COUNT = "SELECT COUNT(*) FROM people"
PEOPLE = {"people": [{"person": 1, "age": 30}]}
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
    monkeypatch.setattr(timing, "time", made)
    return made


def worked(clock: Clock, took: float, pad: float, *, fails: bool = False) -> float:
    """When work that takes so long ends."""
    clock.now = 0.0
    try:
        with padded(pad):
            clock.now += took
            if fails:
                raise ValueError
    except ValueError:
        assert fails
    return clock.now


@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize("fails", [False, True])
def test_ends_are_doublings_of_the_first_step(clock: Clock, pad: float, fails: bool) -> None:
    for took in (0.0001, 0.05, 0.1, 0.1000001, 0.3, 0.7, 2.999, 3.0):
        end = worked(clock, took, pad, fails=fails)
        doublings = math.log2(end / pad)
        assert doublings == pytest.approx(max(0, math.ceil(math.log2(took / pad))), abs=1e-6)
        assert took <= end + 1e-9
        assert end <= max(pad, 2 * took) + 1e-9, "nobody waits longer than the work took once more"


def test_an_hour_has_few_ends() -> None:
    """Multiples of 0.1 s would be 36,000 of them."""
    assert len({step(0.05 * times, 0.1) for times in range(72_000)}) == 17


def test_the_steps_begin_with_the_work(clock: Clock) -> None:
    clock.now = 7.3
    with padded(0.25):
        clock.now += 0.1
    assert clock.now == pytest.approx(7.55)


def test_no_length_of_time_is_too_long_to_wait_for(clock: Clock) -> None:
    """A hair more than a step takes the next one; nobody sleeps less than nothing."""
    for doublings in range(40):
        for pad in (0.001, 0.007, 0.1):
            edge = pad * 2**doublings
            assert step(edge, pad) == edge
            assert step(math.nextafter(edge, math.inf), pad) == 2 * edge
            worked(clock, math.nextafter(edge, math.inf), pad)


def test_without_padding_nobody_waits(clock: Clock) -> None:
    assert worked(clock, 0.03, 0.0) == 0.03


def test_what_is_stopped_ends_as_stopped_though_its_work_is_done(clock: Clock) -> None:
    stop = Stop()
    clock.meanwhile = stop.now
    with stop, pytest.raises(Stopped), padded(0.1):
        clock.now += 0.03
    assert clock.now == pytest.approx(0.1)


@pytest.fixture
def curator() -> Iterator[Curator]:
    policy = policy_of(POLICY)
    engine = Memory(policy, PEOPLE)
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


class Broken(Memory):
    """An engine that fails on private rows once they were read."""

    def execute(self, text: str, seconds: float | None = None) -> list[tuple[Any, ...]]:
        found = super().execute(text, seconds)
        if "people" in text:
            raise RuntimeError("what a row decides")
        return found


def test_a_failure_ends_when_an_answer_would(clock: Clock) -> None:
    policy = policy_of(POLICY)
    ends = []
    for engine in (Memory(policy, PEOPLE), Broken(policy, PEOPLE)):
        with ledger_of(policy) as ledger, Curator(policy, ledger, engine=engine, pad=0.1) as found:
            clock.now = 0.0
            with suppress(QueryFailed):
                found.query(COUNT, epsilon=0.1)
            ends.append(clock.now)
            assert found.budget().spent.epsilon == pytest.approx(0.1)
        engine.close()
    assert ends == [0.1, 0.1]


@pytest.mark.parametrize("engine", [Memory, Broken])
def test_fits_are_padded_too(clock: Clock, engine: type[Memory]) -> None:
    policy = policy_of(POLICY)
    held = engine(policy, PEOPLE)
    with ledger_of(policy) as ledger, Curator(policy, ledger, engine=held, pad=0.1) as found:
        with suppress(QueryFailed):
            found.fit(KMeans(n_clusters=1), "SELECT age FROM people", epsilon=0.1)
        assert found.budget().spent.epsilon == pytest.approx(0.1)
    held.close()
    assert clock.now == 0.1


def test_what_reads_no_private_rows_is_not_padded(clock: Clock, curator: Curator) -> None:
    curator.preview(COUNT, epsilon=0.1)
    with pytest.raises(Refused):
        curator.query("SELECT age FROM people", epsilon=0.1)
    assert clock.now == 0.0


def test_servers_pad_unless_the_policy_says_otherwise() -> None:
    assert policy_of(POLICY).serving.pad_ms == 100
    assert policy_of(POLICY, "[server]\npad_ms = 0").serving.pad_ms == 0
