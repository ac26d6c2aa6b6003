"""Bounds that nobody knows: found with a share of the cost, before any release, in one charge."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting import Pure
from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.accounting.losses import Sensitivity
from discreet.answers import Answer
from discreet.answers.wire import preview_read, preview_written
from discreet.audit import Replay
from discreet.audit.neighbours import Data
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.exit import SAMPLER
from discreet.exit.cost import Additive
from discreet.noise import Bits
from discreet.policy import Policy
from discreet.sql.plan import Plan, plan
from discreet.sql.unknown import CHANCE, NUMBERS, SHARE, Extremes, threshold
from tests.sql.worlds import Recorded, opened, policy_of

HEAD = 'name = "world"\n{}\n[budget]\nepsilon = 3\n{}[unit]\nname = "person"\n'
TABLES = """
[tables.v]
source = "v.csv"
unit = "who"
max_rows = {rows}
[tables.v.columns]
x = {{ type = "number" }}
i = {{ type = "integer" }}
d = {{ min = 0, max = 5 }}
k = {{ values = ["a", "b"] }}
t = {{ type = "text" }}
day = {{ type = "date" }}
[tables.r]
source = "r.csv"
unit = "row"
[tables.r.columns]
x = {{ type = "number" }}
"""


def world(*, implicit: bool = True, delta: str = "", rows: int = 2) -> Policy:
    allowed = "implicit_bounds = true" if implicit else ""
    return policy_of(TABLES.format(rows=rows), head=HEAD.format(allowed, delta))


def crowd(values: Sequence[Any], times: int = 1, **more: Any) -> list[dict[str, Any]]:
    """A person for each value, so many times."""
    return [
        {"who": f"p{index}", "x": value, "i": index, "d": 1, "k": "ab"[index % 2], "t": "t", **more}
        for index, value in enumerate(list(values) * times)
    ]


def planned(policy: Policy, text: str) -> Plan:
    return plan(policy, text, public=lambda *_: None)  # type: ignore[arg-type]


def extremes(policy: Policy, text: str) -> Extremes:
    (found,) = planned(policy, text).unknown
    assert isinstance(found, Extremes)
    return found


def counted(value: str, rows: Sequence[Mapping[str, Any]], *, table: str = "v", most: int = 2) -> dict[str, int]:
    """The bins that are not empty, by their edge."""
    policy = world(rows=most)
    search = extremes(policy, f"SELECT SUM({value}) FROM {table}")
    engine = Memory(policy, {table: rows})
    try:
        counts = search.counts(engine.rows(search.sql()))
    finally:
        engine.close()
    assert len(counts) == search.length
    names = [f"{sign}{2.0**exponent:g}" for sign in ("", "-") for exponent in search.exponents]
    return {name: count for name, count in zip(names, counts, strict=False) if count}


# the search


@pytest.mark.parametrize(
    ("value", "bins"),
    [
        (1.0, {"1": 1}),
        (1.0000000000000002, {"2": 1}),
        (100.0, {"128": 1}),
        (128.0, {"128": 1}),
        (-128.0, {"-128": 1}),
        (-0.3, {"-0.5": 1}),
        (0.0, {}),
        (-0.0, {}),
        (None, {}),
        (float("nan"), {}),
        (5e-324, {f"{2.0**-64:g}": 1}),
        (-5e-324, {f"-{2.0**-64:g}": 1}),
        (1e300, {f"{2.0**127:g}": 1}),
        (math.inf, {f"{2.0**127:g}": 1}),
        (-math.inf, {f"-{2.0**127:g}": 1}),
        (1.7976931348623157e308, {f"{2.0**127:g}": 1}),
    ],
)
def test_every_number_is_in_its_bin(value: float | None, bins: dict[str, int]) -> None:
    assert counted("x", [{"who": "a", "x": value}]) == bins
    assert counted("x", [{"x": value}], table="r") == bins


def test_a_unit_is_in_one_bin_of_each_side_however_many_rows_it_has() -> None:
    rows = [{"who": "a", "x": value} for value in (3.0, 5.0, 100.0, -2.0, -70.0, None)]
    assert counted("x", rows, most=6) == {"128": 1, "-128": 1}
    assert counted("i", [{"who": "a", "i": 2**63 - 1}, {"who": "b", "i": -(2**63)}]) == {
        f"{2.0**63:g}": 1,
        f"-{2.0**63:g}": 1,
    }
    assert counted("ABS(x)", rows, most=6) == {"128": 1}  # a side that cannot be is not looked at


def test_every_power_of_two_is_the_edge_of_its_own_bin() -> None:
    values = [2.0**exponent for exponent in NUMBERS]
    found = counted("x", crowd([*values, *(math.nextafter(value, math.inf) for value in values)]))
    assert sorted(found.values()) == [1, *[2] * (len(values) - 2), 3]
    assert len(found) == len(values)


@pytest.mark.parametrize(("text", "rows", "cells"), [("x", 2, 2), ("x", 1, 1), ("ABS(x)", 2, 1), ("-ABS(x)", 2, 1)])
def test_one_unit_moves_as_many_bins_as_there_are_sides(text: str, rows: int, cells: int) -> None:
    search = extremes(world(rows=rows), f"SELECT SUM({text}) FROM v")
    assert search.sensitivity == Sensitivity.cells(cells, 1)


NOISES: list[Noise] = [DiscreteLaplace(Fraction(5)), DiscreteGaussian(Fraction(40))]


@pytest.mark.parametrize("noise", NOISES)
def test_empty_bins_pass_as_rarely_as_is_said(noise: Noise) -> None:
    least = threshold(noise, 384)
    assert noise.tail(least)[1] * 384 <= CHANCE < noise.tail(least - 1)[0] * 384 * 2


def test_bounds_are_the_outermost_bins_that_pass() -> None:
    search = extremes(world(), "SELECT SUM(x) FROM v")
    noise = DiscreteLaplace(Fraction(1))
    least, bins = threshold(noise, search.length), len(search.exponents)
    zero = NUMBERS.index(0)

    def read(**passing: int) -> tuple[float, float, bool]:
        noisy = [least - 1] * search.length
        for name, exponent in passing.items():
            noisy[(bins if name.startswith("below") else 0) + zero + exponent] = least
        found = search.read(noisy, noise)
        return float(found.low), float(found.high), found.passed

    assert read(above=3) == (0, 8, True)
    assert read(above=3, above_too=7) == (0, 128, True)
    assert read(below=-1) == (-0.5, 0, True)
    assert read(above=0, below=10) == (-1024, 1, True)
    assert read() == (-1, 1, False)


@pytest.mark.parametrize(
    ("value", "above", "found"),
    [
        ("ABS(x)", None, (0, 1, False)),
        ("-ABS(x)", None, (-1, 0, False)),
        ("ABS(x) + 10", None, (10, 21, False)),
        ("ABS(x) + 10", 5, (10, 32, True)),
        ("ABS(x) + 10", 1, (10, 21, True)),
        ("-10 - ABS(x)", 5, (-32, -10, True)),
        ("-10 - ABS(x)", None, (-21, -10, False)),
    ],
)
def test_a_bound_that_is_known_stays(value: str, above: int | None, found: tuple[float, float, bool]) -> None:
    search = extremes(world(), f"SELECT SUM({value}) FROM v")
    noisy = [0] * search.length
    if above is not None:
        noisy[NUMBERS.index(above)] = 10**6
    read = search.read(noisy, DiscreteLaplace(Fraction(1)))
    assert (float(read.low), float(read.high), read.passed) == found


def test_the_search_is_private_on_all_small_worlds() -> None:
    """Exactly: the chance of each pair of bounds on each pair of neighbours, from the noise's own tails.

    A world is how many units are in each of three bins on each side; a unit is in one bin of each side at most.
    """
    epsilon = 1.5
    noise = DiscreteLaplace(Fraction(2) / Fraction(epsilon))  # l1 = 2
    least = 3
    places = (None, 0, 1, 2)

    passing = [float(noise.tail(least - count)[0]) for count in range(4)]

    def side(counts: Sequence[int]) -> list[float]:
        """The chance that each bin is the outermost that passes, and that none does."""
        chances, rest = [], 1.0
        for count in reversed(counts):
            chances.append(rest * passing[count])
            rest *= 1 - passing[count]
        return [*chances, rest]

    def bounds(units: Sequence[tuple[int | None, int | None]]) -> list[float]:
        counts = [[sum(unit[which] == index for unit in units) for index in range(3)] for which in (0, 1)]
        return [a * b for a, b in itertools.product(side(counts[0]), side(counts[1]))]

    persons = list(itertools.product(places, places))
    for units in itertools.chain.from_iterable(itertools.combinations_with_replacement(persons, n) for n in range(3)):
        for more in persons:
            pairs = list(zip(bounds(units), bounds([*units, more]), strict=True))
            assert all(p <= math.exp(epsilon) * q * (1 + 1e-12) for p, q in pairs)
            assert all(q <= math.exp(epsilon) * p * (1 + 1e-12) for p, q in pairs)


# plans


def test_without_the_policys_word_bounds_are_not_looked_for() -> None:
    with pytest.raises(Refused, match="implicit_bounds = true in the policy") as refused:
        planned(world(implicit=False), "SELECT SUM(x) FROM v")
    assert refused.value.code == "undeclared-bounds"
    assert "SUM(CLAMP(x, 0, 100))" in refused.value.fix


@pytest.mark.parametrize(
    "text",
    [
        "SELECT GEOMEAN(x) FROM v",
        "SELECT CORR(x, d) FROM v",
        "SELECT HISTOGRAM(x, 5) FROM v",
        "SELECT x, COUNT(*) FROM v GROUP BY x",
        "SELECT AVG(s) FROM (SELECT who, SUM(x) AS s FROM v GROUP BY who)",
        "SELECT SUM(x) FROM v WHERE d > (SELECT AVG(d) FROM v)",
        "SELECT SUM(CASE WHEN d > (SELECT AVG(d) FROM v) THEN x END) FROM v",
    ],
)
def test_what_else_needs_bounds_says_so(text: str) -> None:
    with pytest.raises(Refused) as refused:
        planned(world(), text)
    assert refused.value.code == "undeclared-bounds"
    assert "implicit_bounds" not in refused.value.fix


def test_one_search_for_each_value_of_the_same_rows() -> None:
    policy = world()
    searched = planned(policy, "SELECT k, SUM(x), AVG(x), MEDIAN(x), VAR_POP(x), MIN(i), SUM(d) FROM v GROUP BY k")
    assert [unknown.words for unknown in searched.unknown] == ["bounds of x", "bounds of i"]
    alone = planned(policy, "SELECT SUM(x) FROM v").unknown[0].key
    assert searched.unknown[0].key == alone
    assert planned(policy, "SELECT SUM(x) FROM v WHERE d > 1").unknown[0].key != alone
    assert planned(policy, "SELECT SUM(x) FILTER (WHERE d > 1) FROM v").unknown[0].key != alone
    assert planned(policy, "SELECT SUM(x) FROM r").unknown[0].key != alone
    assert planned(world(rows=3), "SELECT SUM(x) FROM v").unknown[0].key != alone


def test_fingerprints_say_that_bounds_were_left_out() -> None:
    policy = world()
    texts = ["SELECT SUM(x) FROM v", "SELECT SUM(CLAMP(x, 0, 1)) FROM v", "SELECT AVG(x) FROM v"]
    assert len({planned(policy, text).fingerprint for text in texts}) == 3


# answers


ONES: list[tuple[str, Any]] = [
    ("SELECT SUM(x) FROM v", 4 * 1 + 4 * 3 + 4 * 100),
    ("SELECT AVG(x) FROM v", (1 + 3 + 100) / 3),
    ("SELECT SUM(-x) FROM v", -(4 * 1 + 4 * 3 + 4 * 100)),
    ("SELECT SUM(x) FILTER (WHERE x < 10) FROM v", 16),
    ("SELECT AVG(i) FROM v", 5.5),
    ("SELECT SUM(i * 1000000000000) FROM v", 66 * 10**12),
    ("SELECT VAR_POP(x) FROM v", ((1 + 9 + 10000) / 3 - (104 / 3) ** 2)),
    ("SELECT MEDIAN(x) FROM v", 3),
    ("SELECT SUM(d) FROM v", 12),
]


@pytest.mark.parametrize("delta", ["", "delta = 1e-6\n"])
@pytest.mark.parametrize(("text", "exact"), ONES)
def test_without_noise_answers_are_those_of_the_rows(text: str, exact: float, delta: str) -> None:
    with opened(world(delta=delta), {"v": crowd([1.0, 3.0, 100.0], 4)}) as curator:
        answer = curator.query(text, epsilon=3000)
    assert answer.rows[0][0] == pytest.approx(exact, rel=2e-3)


def test_bounds_are_of_all_groups_and_values_beyond_them_are_clamped() -> None:
    """One person is not enough for a bound: 1e300 is clamped to what the others have."""
    rows = [*crowd([1.0, 3.0], 1000), {"who": "far", "x": 1e300, "i": 1, "d": 1, "k": "a"}]
    with opened(world(), {"v": rows}) as curator:
        answer = curator.query("SELECT k, SUM(x) FROM v GROUP BY k", epsilon=1)
    assert [row[1] for row in answer.rows] == [1000 + 4, 3000]
    assert "bounds of x were left out, and found with noise: [0, 4]" in answer.notes
    assert "x is clamped to [0, 4]" in answer.notes


def test_too_few_units_are_said_and_no_bounds_are_made_up_from_them() -> None:
    with opened(world(), {"v": crowd([50.0], 3)}) as curator:
        answer = curator.query("SELECT SUM(x), SUM(ABS(x)) FROM v", epsilon=1)
    assert answer.rows == [(3, 3)]
    assert sum("not found: too few units (person)" in note for note in answer.notes) == 2
    assert "x is clamped to [-1, 1]" in answer.notes
    assert "ABS(x) is clamped to [0, 1]" in answer.notes


# costs


def test_search_and_release_are_one_charge_of_the_whole_cost() -> None:
    recorded = Recorded()
    with opened(world(), {"v": crowd([1.0, 3.0], 500)}, add_noise=recorded) as curator:
        answer = curator.query("SELECT SUM(x) FROM v", epsilon=1)
        (entry,) = curator.entries()
    assert entry.loss == answer.loss == Pure(1, unit="person")
    assert [len(exact) for exact in recorded.exact] == [2 * len(NUMBERS), 1]


@pytest.mark.parametrize("delta", ["", "delta = 1e-6\n"])
def test_shares_add_up_to_the_cost(delta: str) -> None:
    """The exit itself refuses more; less would be given away."""
    losses = []

    def noted(mechanism: Additive, sensitivity: Sensitivity, exact: Sequence[int], bits: Bits) -> Sequence[int]:  # noqa: ARG001
        losses.append(mechanism.loss)
        return exact

    with opened(world(delta=delta), {"v": crowd([1.0, 3.0], 500)}, add_noise=noted) as curator:
        cost = curator.query("SELECT SUM(x), SUM(i), COUNT(*) FROM v", epsilon=1).cost
    amounts = [loss.epsilon if isinstance(loss, Pure) else loss.concentrated().rho for loss in losses]
    whole = cost.epsilon if isinstance(cost, Pure) else cost.rho
    assert amounts[0] == amounts[1] == pytest.approx(float(whole * SHARE / 2))
    assert float(sum(amounts)) == pytest.approx(float(whole))


def test_clauses_that_name_costs_keep_their_proportions() -> None:
    losses = []

    def noted(mechanism: Additive, sensitivity: Sensitivity, exact: Sequence[int], bits: Bits) -> Sequence[int]:  # noqa: ARG001
        losses.append(mechanism.loss)
        return exact

    one, three = (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = {cost}) SUM(x) AS s FROM v" for cost in (1, 3))
    with opened(world(), {"v": crowd([1.0, 3.0], 500)}, add_noise=noted) as curator:
        answer = curator.query(f"SELECT a.s, b.s FROM ({one}) AS a CROSS JOIN ({three}) AS b")
    assert answer.loss == Pure(4, unit="person")
    assert losses == [Pure(cost) for cost in (4 * SHARE, 1 - SHARE, 3 * (1 - SHARE))]


def test_previews_read_nothing_and_show_the_split_and_the_range() -> None:
    with opened(world(), {"v": []}, wrap=_untouchable) as curator:
        shown = curator.preview("SELECT SUM(x) AS s, COUNT(*) AS n FROM v", epsilon=1)
        explained = curator.query("EXPLAIN PRIVACY SELECT SUM(x) AS s FROM v", epsilon=1)
    assert shown.shares == pytest.approx({"bounds of x": 0.2, "sum and count of x": 0.8})
    assert "n" in shown.error
    assert "s" not in shown.error
    assert any(note.startswith("20 % of the cost finds bounds of x") for note in shown.notes)
    least, most = shown.ranges["s"]
    assert 0 < least < 1e-15 < 1e30 < most
    assert shown.ranges.keys() == {"s"}
    assert f"± {least:.3g} to ± {most:.3g}" in str(shown)
    (spread,) = [note for note in shown.notes if note.startswith("error of s: about ")]
    assert spread.endswith("times the larger bound that is found, at most")
    again = preview_read(preview_written(shown))  # type: ignore[arg-type]
    assert again.ranges == shown.ranges
    assert (explained.columns[-2:], explained.rows[0][-2:]) == (["error from", "error to"], explained_ends(explained))
    assert not any("clamped" in note for note in shown.notes)
    assert any(note.startswith("20 % of the cost finds bounds of x") for note in explained.notes)
    assert shown.loss == Pure(1, unit="person")


def explained_ends(explained: Answer) -> tuple[float, float]:
    """Of the only column, which has no error that is known."""
    assert explained.rows[0][1] is None
    least, most = explained.rows[0][-2:]
    assert least < most
    return least, most


def _untouchable(engine: Memory) -> Any:
    class Untouchable:
        dialect, copy, close = engine.dialect, engine.copy, engine.close

        def __getattr__(self, label: str) -> Any:
            raise AssertionError(f"{label} was used before the charge")

    return Untouchable()


def test_an_error_that_is_wanted_needs_bounds() -> None:
    with opened(world(), {"v": crowd([1.0, 3.0], 500)}) as curator:
        with pytest.raises(Refused, match="bounds that have to be found first"):
            curator.query("SELECT SUM(x) AS s FROM v", error=5)
        curator.query("SELECT AVG(x) FROM v", epsilon=1)
        answer = curator.query("SELECT SUM(x) AS s FROM v", error=5)
        interval = answer.intervals[0]["s"]
        assert isinstance(interval, tuple)
        assert interval[1] - interval[0] <= 10
        assert curator.query("SELECT SUM(x) AS s FROM v", error=5).cached


def test_noise_that_cannot_be_drawn_is_refused_before_the_charge() -> None:
    with opened(world(), {"v": []}, wrap=_untouchable) as curator:
        with pytest.raises(Refused) as refused:
            curator.query("SELECT SUM(x) FROM v", epsilon=1e-8)
        assert refused.value.code == "cost-invalid"
        assert not curator.entries()


# what was found is taken again


@contextmanager
def asked(policy: Policy, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Curator, Recorded]]:
    recorded = Recorded()
    with opened(policy, {"v": rows}, add_noise=recorded) as curator:
        yield curator, recorded


def test_bounds_are_found_once_for_the_same_rows() -> None:
    with asked(world(), crowd([1.0, 3.0], 500)) as (curator, recorded):
        curator.query("SELECT SUM(x) FROM v", epsilon=1)
        assert curator.query("SELECT SUM(x) FROM v", epsilon=1).cached
        recorded.exact.clear()
        preview = curator.preview("SELECT AVG(x) AS m FROM v", epsilon=1)
        assert "m" in preview.error
        answer = curator.query("SELECT AVG(x) AS m FROM v", epsilon=1)
        assert [len(exact) for exact in recorded.exact] == [2]
        assert answer.loss == Pure(1, unit="person")
        assert "bounds of x were left out, and found with noise: [0, 4]" in answer.notes
        assert curator.recall(curator.entries()[0].number).rows == curator.query("SELECT SUM(x) FROM v", epsilon=1).rows
        assert curator.recall(curator.entries()[-1].number).rows == answer.rows
        recorded.exact.clear()
        curator.query("SELECT SUM(x) FROM v WHERE d > 0", epsilon=1)
        curator.query("SELECT AVG(x) AS m FROM v", epsilon=1, fresh=True)
        assert [len(exact) for exact in recorded.exact] == [2 * len(NUMBERS), 1, 2 * len(NUMBERS), 2]


def test_what_was_not_found_is_looked_for_again() -> None:
    with asked(world(), crowd([50.0], 3)) as (curator, recorded):
        curator.query("SELECT SUM(x) FROM v", epsilon=1)
        recorded.exact.clear()
        curator.query("SELECT AVG(x) FROM v", epsilon=1)
        assert [len(exact) for exact in recorded.exact] == [2 * len(NUMBERS), 2]


def test_other_data_is_searched_again() -> None:
    with asked(world(), crowd([1.0, 3.0], 500)) as (curator, recorded):
        curator.query("SELECT SUM(x) FROM v", epsilon=1)
        curator._ledger.advance_data("new rows")
        recorded.exact.clear()
        curator.query("SELECT AVG(x) FROM v", epsilon=1)
        assert [len(exact) for exact in recorded.exact] == [2 * len(NUMBERS), 2]


# neighbours


QUESTIONS = (
    "SELECT SUM(x), AVG(x) FROM v",
    "SELECT k, SUM(x), COUNT(*) FROM v GROUP BY k",
    "SELECT k, AVG(i), MEDIAN(x) FROM v WHERE d > 0 GROUP BY k",
    "SELECT STDDEV_POP(x), MIN(x), MAX(i) FROM v",
    "SELECT SUM(x * i) FILTER (WHERE k = 'a') FROM v",
    "SELECT SUM(a.x) FROM v AS a JOIN v AS b ON a.who = b.who",
    "SELECT t, SUM(x) FROM v GROUP BY t",
    "SELECT SUM(x) FROM r",
)
POISON = (1e300, -1e300, math.inf, -math.inf, float("nan"), 0.0, -0.0, 5e-324, None, 2.0**64)


@pytest.mark.parametrize("text", QUESTIONS)
def test_neighbours_see_the_same_and_move_no_bin_by_more_than_is_said(text: str) -> None:
    rows = crowd([1.0, -3.0, 100.0], 2)
    with Replay(world(delta="delta = 1e-6\n")) as replay:
        for number, value in enumerate(POISON[QUESTIONS.index(text) % 2 :: 2]):
            far: list[dict[str, Any]] = [
                {"who": "far", "x": value, "i": 2**62, "d": 1, "k": "a", "t": "t"},
                {"who": "far", "x": -value if value else 7.0, "i": -(2**63), "d": 1, "k": "b", "t": "t"},
            ]
            alone = [{"x": row["x"]} for row in rows]
            near: Data = {"v": rows, "r": alone}
            more: Data = {"v": [*rows, *far], "r": [*alone, {"x": value}]}
            report = replay.compare(text, more, near, epsilon=(1, 100)[number % 2])
            assert report.same, str(report)
            assert report.refusal is None


AUTO = "WITH DIFFERENTIAL_PRIVACY OPTIONS({})"
ROWS, GROUPS, BOTH = (
    AUTO.format(options)
    for options in (
        "max_rows_contributed = AUTO",
        "max_groups_contributed = auto",
        "max_rows_contributed = AUTO, max_groups_contributed = AUTO",
    )
)


def several(rows: int, groups: int, people: int, first: int = 0) -> list[dict[str, Any]]:
    """People with so many rows each, in so many groups."""
    return [
        {"who": f"p{person}", "x": 1.0, "i": row, "d": 1, "k": "abcdefgh"[row % groups], "t": "t"}
        for person in range(first, first + people)
        for row in range(rows)
    ]


def contributing(most: int = 50) -> Policy:
    tables = TABLES.format(rows=most).replace(
        'values = ["a", "b"]', 'values = ["a", "b", "c", "d", "e", "f", "g", "h"]'
    )
    return policy_of(tables, head=HEAD.format("implicit_bounds = true", ""))


@pytest.mark.parametrize(
    ("text", "found", "rows"),
    [
        (f"SELECT {ROWS} COUNT(*) FROM v", ["max_rows 4, at most 50"], 3 * 500 + 4),
        (f"SELECT {ROWS} COUNT(*) FROM v WHERE k = 'a'", ["max_rows 2, at most 50"], 2 * 500 + 2),
        (f"SELECT {GROUPS} k, COUNT(DISTINCT who) FROM v GROUP BY k", ["max_groups 2, at most 8"], 2 * 500 + 2),
        (f"SELECT {BOTH} k, COUNT(*) FROM v GROUP BY k", ["max_rows 4, at most 50", "max_groups 2, at most 4"], None),
    ],
)
def test_contribution_bounds_are_found(text: str, found: list[str], rows: int | None) -> None:
    """All have three rows in two groups, but one who has forty in eight: that one counts as much as the others."""
    data = [*several(3, 2, 500), *several(40, 8, 1, first=1000)]
    recorded = Recorded()
    with opened(contributing(), {"v": data}, add_noise=recorded) as curator:
        answer = curator.query(text, epsilon=3)
    assert [note for note in answer.notes if "found with noise" in note] == [
        f"{each}, was found with noise" for each in found
    ]
    if rows is not None:
        assert sum(row[-1] for row in answer.rows) == rows
    assert len(recorded.exact) == len(found) + 1


def test_where_few_units_are_the_policys_limit_is_taken() -> None:
    with opened(contributing(), {"v": several(3, 2, 2)}) as curator:
        answer = curator.query(f"SELECT {ROWS} COUNT(*) FROM v", epsilon=1)
        again = curator.query(f"SELECT {ROWS} COUNT(*), SUM(d) FROM v", epsilon=1)
    assert answer.rows == [(6,)]
    assert "max_rows 50, at most 50, was not found: too few units (person); the limit was taken" in answer.notes
    assert again.rows == [(6, 6)]


def test_rows_are_found_first_and_bounds_of_the_rows_that_are_left() -> None:
    recorded = Recorded()
    with opened(contributing(), {"v": several(3, 2, 500)}, add_noise=recorded) as curator:
        answer = curator.query(f"SELECT {BOTH} k, SUM(x), SUM(i) FROM v GROUP BY k", epsilon=5)
        curator.query(f"SELECT {BOTH} k, AVG(x) FROM v GROUP BY k", epsilon=5)
    # max_rows, then bounds of x and i, then max_groups, then both sums; what was found is taken again
    assert [len(exact) for exact in recorded.exact] == [7, 2 * len(NUMBERS), 128, 3, 8, 8, 16]
    assert answer.loss == Pure(5, unit="person")


@pytest.mark.parametrize("option", ["max_rows_contributed = AUTO", "max_groups_contributed = AUTO"])
def test_contribution_bounds_are_found_where_the_policy_allows_it(option: str) -> None:
    with pytest.raises(Refused, match="implicit_bounds = true in the policy"):
        planned(world(implicit=False), f"SELECT {AUTO.format(option)} k, COUNT(*) FROM v GROUP BY k")
    assert not planned(world(implicit=False, rows=1), f"SELECT {AUTO.format(option)} COUNT(*) FROM v").unknown


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {ROWS} SUM(x) FROM v",
        f"SELECT {BOTH} k, SUM(x), COUNT(DISTINCT who) FROM v GROUP BY k",
        f"SELECT {GROUPS} k, MEDIAN(x) FROM v GROUP BY k",
        f"SELECT {ROWS} AVG(n) FROM (SELECT who, k, COUNT(*) AS n FROM v GROUP BY who, k)",
    ],
)
def test_neighbours_see_the_same_contribution_bounds(text: str) -> None:
    rows = [*several(3, 2, 5), *several(1, 1, 5, first=10)]
    with Replay(contributing()) as replay:
        for more in (several(40, 8, 1, first=99), several(1, 1, 1, first=99), several(5, 2, 1, first=99)):
            report = replay.compare(text, {"v": [*rows, *more]}, {"v": rows}, epsilon=3000)
            assert report.same, str(report)
            assert report.refusal is None


def test_the_whole_sampler_answers_too() -> None:
    with opened(world(delta="delta = 1e-6\n"), {"v": crowd([1.0, 3.0], 2000)}, sampler=SAMPLER) as curator:
        for text in QUESTIONS[:6]:
            assert len(curator.query(text, epsilon=1).rows) in (1, 2)
