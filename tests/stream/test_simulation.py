"""The shapes of PrivateKube's and Sage's figures, small and deterministic: the benchmarks have them whole."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks import stream

from discreet.errors import Refused
from discreet.stream.scheduling import Demand
from discreet.stream.simulation import simulate


def test_mice_and_elephants_on_one_block() -> None:
    """First come grants elephants and leaves few mice anything; sharing among more grants more, after longer waits."""
    first, small, large = (stream.on_one(*setting, seed=1) for setting in (("first", 1), ("fair", 1), ("fair", 175)))
    assert first.waits == small.waits
    assert first.wait(0.99) == 0
    assert large.granted == 100  # the most that fit: all of them mice
    assert large.granted > 2 * first.granted
    assert large.wait(0.9) > 10
    assert all(spent <= (1000,) for spent in large.spent.values())
    assert stream.on_one("efficient", 175, seed=1).granted == 100


@pytest.mark.parametrize("mice", [0.0, 1.0])
def test_pipelines_that_are_all_alike(mice: float) -> None:
    """At either end of figure 7 there is nothing to choose: every rule grants the same number."""
    counts = {rule: stream.on_one(rule, 50, seed=2, mice=mice).granted for rule in ("first", "fair", "efficient")}
    assert set(counts.values()) == {100 if mice else 10}


def test_mice_and_elephants_on_several_blocks() -> None:
    first, fair = stream.on_several("first", 1, 1, seconds=60), stream.on_several("fair", 75, 1, seconds=60)
    assert fair.granted > 1.5 * first.granted
    assert max(max(spent) for spent in fair.spent.values()) <= 1000


def test_packing_by_value_grants_more_where_demands_differ() -> None:
    """Of pipelines with one to twenty blocks; where all want ten there is nothing to choose."""
    alike = [stream.on_twenty(rule, 0, 1).granted for rule in ("fair", "efficient")]
    differ = [stream.on_twenty(rule, 10, 1).granted for rule in ("fair", "efficient")]
    assert abs(alike[0] - alike[1]) <= 2
    assert differ[1] > 1.3 * differ[0]


def test_the_clock_unlocks_what_nobody_asks_for() -> None:
    """Figure 9: by the clock all of a block is unlocked at last, so that more is granted."""
    arrivals, opened = stream.several(1, seconds=60)
    common: dict[str, Any] = {"opened": opened, "patience": 300.0}
    by_arrival = simulate(arrivals, stream.CAPACITY, among=200, **common)
    by_clock = simulate(arrivals, stream.CAPACITY, among=20, every=1.0, **common)
    assert by_clock.granted > by_arrival.granted
    assert max(max(spent) for spent in by_clock.spent.values()) <= 1000


def test_compositions_under_load() -> None:
    """Blocks serve a load under which streaming and query composition keep pipelines waiting."""
    hours = {name: stream.release_time(each, 0.6, seed=1, hours=300) for name, each in stream.STRATEGIES.items()}
    assert hours["blocks, no more than needed"] <= hours["blocks, all that is granted"] < 12
    assert hours["streaming composition"] > 3 * hours["blocks, all that is granted"]
    assert hours["query composition"] > 3 * hours["blocks, all that is granted"]


def test_who_waits_too_long_leaves() -> None:
    demands = [(0.0, Demand.of("a", [0], (9,))), (5.0, Demand.of("b", [0], (9,))), (6.0, Demand.of("c", [0], (1,)))]
    waits = [simulate(demands, (10,), opened=[0.0], among=3, patience=wait).waits for wait in (4.0, 9.0)]
    assert waits == [{"c": 0.0, "b": 1.0}, {"c": 0.0, "a": 6.0}]


@pytest.mark.parametrize(
    ("arrivals", "options"),
    [
        ([(0.0, Demand.of("a", [0], (1,)))], {"opened": [1.0]}),
        ([(0.0, Demand.of("a", [0], (1,)))] * 2, {"opened": [0.0]}),
        ([], {"opened": [1.0, 0.0]}),
        ([], {"opened": [0.0], "patience": -1.0}),
        ([], {"opened": [0.0], "rule": "other"}),
        ([], {"opened": [0.0], "every": 0.0}),
        ([], {"opened": [0.0], "every": -1.0}),
        ([], {"opened": [0.0], "every": 1.0, "among": 10**9}),
        ([(1e30, Demand.of("a", [0], (1,)))], {"opened": [0.0], "every": 1.0}),
        ([(float("nan"), Demand.of("a", [0], (1,)))], {"opened": [0.0]}),
        ([], {"opened": [float("inf")]}),
        ([], {"opened": [0.0], "patience": float("nan")}),
    ],
)
def test_nonsense_is_refused(arrivals: list[tuple[float, Demand]], options: dict[str, object]) -> None:
    with pytest.raises(Refused):
        simulate(arrivals, (10,), **options)  # type: ignore[arg-type]
