"""Counts of units that are read off the selection of private keys."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from scipy import stats

from discreet.accounting import compose
from discreet.audit.replay import Replay, every_key
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.exit.cost import Cost
from discreet.sql.cost import allocate
from discreet.sql.measures import Rows, Units
from discreet.sql.plan import Plan, plan
from discreet.sql.selected import FAR, NOTE, SelectedUnits
from tests.sql.worlds import ledger_of, policy_of

HEAD = 'name = "world"\n[budget]\nepsilon = 20\ndelta = 1e-3\n[unit]\nname = "person"\n'
POLICY = policy_of(
    """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 3
max_groups = 2
[tables.t.columns]
z = { type = "text" }
g = { values = ["a", "b"] }
x = { min = 0, max = 10, nullable = false }
[tables.one]
source = "one.csv"
unit = "who"
[tables.one.columns]
z = { type = "text" }
x = { min = 0, max = 10, nullable = false }
""",
    head=HEAD,
)
UNITS = "COUNT(DISTINCT who)"
LEAST = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 2, min_privacy_units_per_group = 2)"


def planned(text: str, **more: Any) -> Plan:
    return plan(POLICY, text, public=lambda *_: None, **more)  # type: ignore[arg-type]


def kinds(text: str, **more: Any) -> set[type]:
    (release,) = planned(text, **more).releases
    return {type(measure) for measure in release.measures}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        (f"SELECT z, {UNITS} FROM t GROUP BY z", True),
        (f"SELECT z, {UNITS}, SUM(x) FROM t GROUP BY z HAVING {UNITS} > 9", True),
        (f"SELECT z, COUNT(*) / {UNITS} FROM t GROUP BY z", True),
        ("SELECT z, COUNT(*) FROM one GROUP BY z", True),
        ("SELECT z, COUNT(*), COUNT(DISTINCT who) FROM one GROUP BY z", True),
        ("SELECT z, COUNT(*) FROM t GROUP BY z", False),
        (f"SELECT z, g, {UNITS} FROM t GROUP BY z, g", False),
        (f"SELECT g, {UNITS} FROM t GROUP BY g", False),
        (f"SELECT z, {UNITS} FILTER (WHERE x > 1) FROM t GROUP BY z", False),
        ("SELECT z, COUNT(*), AVG(x) FROM one GROUP BY z", False),
    ],
)
def test_units_are_read_off_the_selection_where_each_key_has_one(text: str, selected: bool) -> None:
    assert (SelectedUnits in kinds(text)) == selected
    assert not selected or not {Units, Rows} & kinds(text) or "COUNT(*) /" in text


def test_not_where_an_error_is_promised_nor_where_the_rest_is_counted() -> None:
    """Near the threshold an interval reaches further than any promise; the rest has no selection."""
    assert kinds(f"SELECT z, {UNITS} FROM t GROUP BY z", promised=True) == {Units}
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({}) z, COUNT(DISTINCT who) FROM t GROUP BY z"
    assert kinds(clause.format("error = 5")) == {Units}
    assert kinds(clause.format("epsilon = 1, other = true")) == {Units}
    assert kinds(clause.format("epsilon = 1, min_privacy_units_per_group = 4")) == {SelectedUnits}


def test_it_costs_the_selection_alone_and_has_its_noise() -> None:
    """√2 less noise than apart, for the same ρ, and a lower threshold."""
    cost = Cost.read(POLICY, rho=Fraction(1, 100))
    shown = allocate(POLICY, cost, planned(f"SELECT z, {UNITS} FROM t GROUP BY z").releases)
    apart = allocate(POLICY, cost, planned(f"SELECT z, {UNITS} FROM t GROUP BY z", promised=True).releases)
    (one,), (two,) = shown.mechanisms, apart.mechanisms
    assert one.selection is not None
    assert two.selection is not None
    assert shown.loss == one.selection.loss.per("person")
    assert apart.loss == compose(*two.losses).per("person")
    assert shown.loss.amount == pytest.approx(apart.loss.amount)
    spreads = [float(each.selection.mechanism.spread) for each in (one, two) if each.selection is not None]
    assert spreads[1] / spreads[0] == pytest.approx(2**0.5, rel=1e-6)
    assert one.selection.threshold < two.selection.threshold
    assert shown.by_words == {"which keys appear, and their units": 1.0}


@pytest.mark.parametrize("least", [1, 3])
def test_keys_show_their_units_within_intervals_that_hold_for_each_that_shows(least: int) -> None:
    """Keys that pass seldom, often and always, asked many times. Per key, of the times it shows, no more intervals miss
    than a binomial count exceeds once in 10⁸."""
    sizes = {"few": 5, "some": 9, "many": 14, "most": 40}
    rows = [{"who": 100 * i + n, "z": key} for i, (key, size) in enumerate(sizes.items()) for n in range(size)]
    text = (
        f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(rho = 0.2, min_privacy_units_per_group = {least})"
        " z, COUNT(*) AS n FROM one GROUP BY z"
    )
    times, shown, missed = 150, dict.fromkeys(sizes, 0), dict.fromkeys(sizes, 0)
    engine = Memory(POLICY, {"t": [], "one": rows})
    with ledger_of(POLICY) as ledger:
        curator = Curator(POLICY, ledger, engine=engine)
        for _ in range(times):
            answer = curator.query(text, confidence=0.8, fresh=True)
            for (key, value), known in zip(answer.rows, answer.intervals, strict=True):
                low, high = known["n"]
                assert isinstance(value, int)
                assert low <= value <= high
                shown[key] += 1
                missed[key] += not low <= sizes[key] <= high
        assert NOTE in answer.notes
    engine.close()
    assert shown["most"] == times
    assert 0 < shown["some"] < times
    for key, count in shown.items():
        assert missed[key] <= int(stats.binom.isf(1e-8, count, 0.2)), (key, count, missed[key])


def test_the_expected_error_is_that_of_keys_that_are_not_near_the_threshold() -> None:
    engine = Memory(POLICY, {"t": [], "one": []})
    with ledger_of(POLICY) as ledger:
        preview = Curator(POLICY, ledger, engine=engine).preview("SELECT z, COUNT(*) AS n FROM one GROUP BY z", rho=0.1)
    engine.close()
    noise = allocate_noise(Fraction(1, 10))
    assert preview.error == {"n": noise.width(Fraction(19, 20))}
    assert noise.width(1 - Fraction(1, 10**9)) < FAR
    assert NOTE in preview.notes


def allocate_noise(rho: Fraction) -> Any:
    releases = planned("SELECT z, COUNT(*) AS n FROM one GROUP BY z").releases
    (noise,) = allocate(POLICY, Cost.read(POLICY, rho=rho), releases).noises[0]
    return noise


@pytest.mark.parametrize(
    "text",
    [
        "SELECT z, COUNT(DISTINCT who) AS u, SUM(x) AS s FROM t GROUP BY z HAVING u > 2",
        "SELECT z, COUNT(*) AS n FROM one GROUP BY z ORDER BY n DESC LIMIT 1",
        f"{LEAST} z, COUNT(DISTINCT who) AS u FROM t GROUP BY z",
    ],
)
def test_replay_on_neighbours(text: str) -> None:
    rows = [{"who": who, "z": z, "x": 3, "g": "a"} for who, z in [(1, "p"), (2, "p"), (2, "q"), (3, "p"), (3, "r")]]
    other = [row for row in rows if row["who"] != 3]
    cost = {} if "epsilon" in text else {"epsilon": 2}
    for selects in (None, every_key):
        with Replay(POLICY) if selects is None else Replay(POLICY, selects=selects) as replay:
            for one, two in ((rows, other), (other, rows)):
                report = replay.compare(text, {"t": one, "one": one}, {"t": two, "one": two}, **cost)
                assert report.same, report
