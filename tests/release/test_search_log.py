"""The lecture's search log: optimal counts, what they protect, and why no curator's tables are taken."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import Refused
from discreet.release import SearchLog
from tests.release.cases import BOTH, POLICY, world
from tests.sql.worlds import opened, policy_of

LECTURE = [
    ("081", "pregnancy test nyc, medicinenet.com", 2),
    ("081", "book, amazon.com", 3),
    ("081", "google, google.com", 15),
    ("082", "car price, kbb.com", 2),
    ("082", "google, google.com", 7),
    ("083", "google, google.com", 17),
    ("083", "diabetes medicine, walmart.com", 1),
    ("083", "book, amazon.com", 1),
    ("083", "car price, kbb.com", 5),
]
BOOK, GOOGLE, CAR = "book, amazon.com", "google, google.com", "car price, kbb.com"
SLIDE = {BOOK: 3, GOOGLE: 20, CAR: 4}


def delta_of(limit: float) -> float:
    """The δ that allows a user as much as this ε."""
    return min(-math.expm1(-limit) * (1 + 1e-12), 1 - 2**-40)


# the lecture's table


def test_pairs_of_one_user_are_suppressed() -> None:
    log = SearchLog(LECTURE)
    assert log.suppressed == ["pregnancy test nyc, medicinenet.com", "diabetes medicine, walmart.com"]
    assert log.totals[GOOGLE] == 39
    chosen = log.optimal(epsilon=20, delta=delta_of(20), objective="diversity")
    assert not set(chosen.counts) & set(log.suppressed)
    assert log.protection({log.suppressed[0]: 1}).epsilon == math.inf
    assert not log.is_within({log.suppressed[0]: 1}, epsilon=1000, delta=0.999)


@pytest.mark.parametrize(
    ("limit", "counts"),
    [
        (0.5, {}),
        (math.log(2), {GOOGLE: 1}),
        (1, {GOOGLE: 1}),
        (2, {GOOGLE: 3}),
        (5, {GOOGLE: 8}),
        (20, {BOOK: 2, GOOGLE: 33}),
    ],
)
def test_the_most_that_the_lectures_log_may_give(limit: float, counts: dict[str, int]) -> None:
    chosen = SearchLog(LECTURE).optimal(epsilon=limit, delta=delta_of(limit))
    assert chosen.counts == counts
    assert chosen.is_optimal
    assert chosen.protection.epsilon <= limit


def test_what_the_numbers_on_the_slide_protect() -> None:
    """Nobody: each user's name is in the output almost surely. They are an illustration."""
    log = SearchLog(LECTURE)
    protection = log.protection(SLIDE)
    assert [round(loss, 2) for loss in protection.losses.values()] == [13.87, 5.30, 17.32]
    assert min(-math.expm1(-loss) for loss in protection.losses.values()) >= 0.995
    assert protection.delta > 1 - 1e-7
    assert "082: ε = 5.30, in the output with probability 0.9950" in str(protection)
    assert not log.is_within(SLIDE, epsilon=17, delta=0.999)


# the optimum


def best(log: SearchLog, epsilon: float, delta: float, objective: str, most: int | None = None) -> float:
    """By trying all counts."""
    totals = log.totals
    shared = [pair for pair in log.pairs if pair not in log.suppressed]
    values = []
    for counts in itertools.product(*(range(totals[pair] + 1) for pair in shared)):
        drawn = dict(zip(shared, counts, strict=True))
        if not log.is_within(drawn, epsilon=epsilon, delta=delta) or (most is not None and sum(counts) != most):
            continue
        if objective == "frequent":
            size, whole = most or 1, sum(totals.values())
            near = [abs(drawn[pair] / size - totals[pair] / whole) for pair in shared if totals[pair] >= 0.2 * whole]
            values.append(-sum(near))
        else:
            values.append(sum(counts) if objective == "size" else sum(count > 0 for count in counts))
    return max(values)


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_trying_all(seed: int) -> None:
    dice = np.random.default_rng(seed)
    rows = [(f"u{user}", f"p{pair}", int(dice.integers(1, 3))) for user in range(4) for pair in range(4) if
            dice.random() < 0.8]  # fmt: skip
    log = SearchLog(rows)
    epsilon, delta = float(dice.choice([0.7, 1.5, 3])), float(dice.choice([0.5, 0.9]))
    longest = log.optimal(epsilon=epsilon, delta=delta)
    assert longest.size == best(log, epsilon, delta, "size")
    widest = log.optimal(epsilon=epsilon, delta=delta, objective="diversity")
    assert len(widest.counts) == widest.size == best(log, epsilon, delta, "diversity")
    if longest.size:
        near = log.optimal(epsilon=epsilon, delta=delta, objective="frequent", support=0.2)
        assert near.size == longest.size
        totals, whole = log.totals, sum(log.totals.values())
        frequent = [pair for pair in log.pairs if pair not in log.suppressed and totals[pair] >= 0.2 * whole]
        missed = sum(abs(near.counts.get(pair, 0) / near.size - totals[pair] / whole) for pair in frequent)
        assert missed == pytest.approx(-best(log, epsilon, delta, "frequent", near.size), abs=1e-6)


def test_a_limit_that_is_met_exactly_is_kept_and_one_that_is_missed_by_a_hair_is_not() -> None:
    """Two users with one each: drawing once costs ln 2 exactly, which is what δ = 1/2 allows."""
    log = SearchLog([("a", "x", 1), ("b", "x", 1)])
    assert log.optimal(epsilon=1, delta=Fraction(1, 2)).counts == {"x": 1}
    assert log.optimal(epsilon=1, delta=Fraction(1, 2) - Fraction(1, 10**15)).counts == {}
    assert log.optimal(epsilon=math.log(2) + 1e-12, delta=0.9).counts == {"x": 1}
    assert log.optimal(epsilon=math.log(2) - 1e-12, delta=0.9).counts == {}


def test_long_logs_are_rounded_down_filled_up_and_keep_the_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.release.search_log.MOST_WHOLE", 10)
    dice = np.random.default_rng(1)
    log = SearchLog((f"u{dice.integers(40)}", f"p{dice.integers(10)}", 1) for _ in range(300))
    chosen = log.optimal(epsilon=2, delta=0.9)
    assert not chosen.is_optimal
    assert log.is_within(chosen.counts, epsilon=2, delta=0.9)
    monkeypatch.undo()
    exact = log.optimal(epsilon=2, delta=0.9)
    assert exact.size - 10 <= chosen.size <= exact.size
    monkeypatch.setattr("discreet.release.search_log.MOST_WHOLE", 10)
    with pytest.raises(ValueError, match="too long"):
        log.optimal(epsilon=2, delta=0.9, objective="frequent")


# what sampling does


def test_outputs_without_a_user_are_as_likely_as_the_theorem_says() -> None:
    """Of 4,000 outputs, how many lack each of three users: within 6 standard deviations, 10⁻⁸ each."""
    rows = [("a", "x", 1), ("b", "x", 3), ("c", "x", 4), ("a", "y", 2), ("c", "y", 6)]
    log, counts, runs = SearchLog(rows), {"x": 2, "y": 3}, 4000
    without: Counter[str] = Counter()
    for _ in range(runs):
        output = log.sample(counts)
        assert Counter(pair for _, pair, times in output for _ in range(times)) == counts
        without.update({"a", "b", "c"} - {user for user, _, _ in output})
    for user, loss in log.protection(counts).losses.items():
        chance = math.exp(-loss)
        assert abs(without[user] / runs - chance) <= 6 * math.sqrt(chance * (1 - chance) / runs)


def test_removing_a_user_with_the_same_counts_keeps_the_bound_exactly() -> None:
    """By enumeration: every output without a user, with and without them."""
    rows = [("a", "x", 1), ("b", "x", 2), ("c", "x", 2)]
    log, draws = SearchLog(rows), 3
    loss = log.protection({"x": draws}).losses["a"]
    shares = {user: Fraction(count, 5) for user, _, count in rows}
    rest = {user: Fraction(count, 4) for user, _, count in rows if user != "a"}
    for output in itertools.product(rest, repeat=draws):
        with_a = math.prod(shares[user] for user in output)
        without = math.prod(rest[user] for user in output)
        assert float(without / with_a) == pytest.approx(math.exp(loss))
    met = 1 - sum(math.prod(shares[user] for user in output) for output in itertools.product(rest, repeat=draws))
    assert float(met) == pytest.approx(log.protection({"x": draws}).losses["a"] and -math.expm1(-loss))


def test_optimal_counts_of_neighbours_tell_them_apart() -> None:
    """Why it is a lesson: the theorem is about the same counts, and these are not the same."""
    rows = [("a", "x", 5), ("b", "x", 5), ("c", "y", 1), ("d", "y", 1)]
    with_d = SearchLog(rows).optimal(epsilon=1, delta=0.6, objective="diversity")
    without_d = SearchLog(rows[:-1]).optimal(epsilon=1, delta=0.6, objective="diversity")
    assert "y" in with_d.counts
    assert "y" not in without_d.counts


# refusals


def test_the_tables_of_a_curator_are_refused_with_the_reason_and_the_alternative() -> None:
    with opened(policy_of(POLICY, head=BOTH), world(3)) as curator:
        for given in (curator, "visits"):
            with pytest.raises(Refused, match=r"no theorem covers.*QueryLog"):
                SearchLog(given)
        with pytest.raises(Refused, match=r"no theorem covers.*QueryLog"):
            SearchLog.task("visits", epsilon=1)
        with pytest.raises(Refused, match="not-private"):
            curator.release(SearchLog(LECTURE), "visits", epsilon=1)
        assert not curator.entries()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "all"}, "objective must be one of"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": 0}, "delta"),
        ({"size": 3}, "size belongs"),
        ({"objective": "frequent", "size": 10**6}, "no output of"),
    ],
)
def test_what_makes_no_sense_is_said(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchLog(LECTURE).optimal(**{"epsilon": 2, "delta": 0.9, **options})


def test_counts_of_pairs_that_are_not_there_are_errors() -> None:
    with pytest.raises(ValueError, match="no pair"):
        SearchLog(LECTURE).protection({"cats": 1})
    with pytest.raises(ValueError, match="count"):
        SearchLog([("a", "x", 0)])
    assert SearchLog([]).optimal(epsilon=1, delta=0.5).counts == {}
    assert SearchLog([]).sample({}) == []
