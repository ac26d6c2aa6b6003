"""Intervals cover the exact answer at least as often as they say, and single measures have the smallest there are.

Most of it is exact: every group of one question gets another pair of noise values, all that have any probability, and
the probabilities of those whose interval holds the true value are added up. What is cut off counts as missed.
"""

# ruff: noqa: E501 (tables of texts)

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from typing import Any, Final

import numpy as np
import pytest
from scipy import stats

from discreet.accounting.losses import Sensitivity
from discreet.answers import Answer
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.exit.cost import Additive
from discreet.exit.sampler import Sampler, add_noise
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import Bits
from discreet.policy import Policy
from discreet.sql.intervals import Made
from tests.sql.worlds import ledger_of, policy_of

MOST: Final = 2000
HEADS: Final = {
    "pure": 'name = "w"\n[budget]\nepsilon = 3\n[unit]\nname = "person"\n',
    "both": 'name = "w"\n[budget]\nepsilon = 3\ndelta = 1e-6\n[unit]\nname = "person"\n',
}
TABLE: Final = """
[tables.t]
source = "t.csv"
unit = "row"
[tables.t.columns]
g = {{ type = "integer", min = 0, max = {last} }}
x = {{ type = "integer", min = 0, max = 10 }}
y = {{ min = -1, max = 3, step = 0.25 }}
"""


@cache
def policy_with(budget: str, groups: int = 2) -> Policy:
    return policy_of(TABLE.format(last=groups - 1), head=HEADS[budget])


@contextmanager
def answering(policy: Policy, blurred: Callable[..., Sequence[int]]) -> Iterator[Curator]:
    engine = Memory(policy, {})
    with (
        ledger_of(policy) as ledger,
        Curator(policy, ledger, engine=engine, sampler=Sampler(add_noise=blurred)) as curator,
    ):
        yield curator
    engine.close()


def pmf(mechanism: Additive, value: int) -> float:
    """The probability of a noise value, from the theorem and not from discreet's tables."""
    if isinstance(mechanism, Laplace):
        scale = float(mechanism.sensitivity / mechanism.epsilon)
        return math.tanh(1 / (2 * scale)) * math.exp(-abs(value) / scale)
    variance = float(mechanism.sensitivity**2 / (2 * mechanism.rho))
    return math.exp(-(value**2) / (2 * variance)) / _normal(variance)


@cache
def _normal(variance: float) -> float:
    sensitivity = math.ceil(12 * math.sqrt(variance)) + 2
    return math.fsum(math.exp(-(k * k) / (2 * variance)) for k in range(-sensitivity, sensitivity + 1))


def support(mechanism: Additive, missing: float = 1e-5) -> int:
    """So far out that less than this is beyond."""
    mass, sensitivity = pmf(mechanism, 0), 0
    while mass < 1 - missing:
        sensitivity += 1
        mass += 2 * pmf(mechanism, sensitivity)
    return sensitivity


class Scripted:
    """Instead of exact values and noise: what the test wants every group to show."""

    def __init__(self, values: Sequence[Sequence[int]]) -> None:
        self.values = list(values)
        self.mechanisms: list[Additive] = []

    def __call__(
        self,
        mechanism: Additive,
        sensitivity: Sensitivity,  # noqa: ARG002
        exact: Sequence[int],
        bits: Bits,  # noqa: ARG002
    ) -> Sequence[int]:
        place = len(self.mechanisms)
        self.mechanisms.append(mechanism)
        given = list(self.values[place]) if place < len(self.values) else []
        return [*given, *[0] * (len(exact) - len(given))]


def mechanisms(policy: Policy, sql: str, cost: dict[str, Any]) -> list[Additive]:
    scripted = Scripted([])
    with answering(policy, scripted) as curator:
        curator.query(sql, **cost)
    return scripted.mechanisms


def shown(policy: Policy, sql: str, cost: dict[str, Any], values: Sequence[Sequence[int]], confidence: float) -> Answer:
    with answering(policy, Scripted(values)) as curator:
        return curator.query(sql, confidence=confidence, **cost)


# one measure


ONE: Final = [
    ("pure", "COUNT(*)", {"epsilon": 0.3}, 1),
    ("pure", "COUNT(x)", {"epsilon": 2}, 1),
    ("pure", "SUM(x)", {"epsilon": 0.7}, 1),
    ("pure", "SUM(y)", {"epsilon": 1}, Fraction(1, 4)),
    ("pure", "SUM(x) * 3", {"epsilon": 1}, 3),
    ("pure", "5 - COUNT(*) / 4", {"epsilon": 0.5}, Fraction(1, 4)),
    ("both", "COUNT(*)", {"epsilon": 0.3}, 1),
    ("both", "SUM(x)", {"rho": 0.5}, 1),
    ("both", "SUM(y)", {"epsilon": 1}, Fraction(1, 4)),
    ("both", "COUNT(*)", {"epsilon": 0.3, "delta": 1e-7}, 1),
    ("both", "COUNT(*)", {"rho": 18}, 1),
]


@pytest.mark.parametrize(("budget", "item", "cost", "step"), ONE)
def test_one_measure_has_the_smallest_interval_that_covers(
    budget: str, item: str, cost: dict[str, Any], step: Fraction
) -> None:
    policy, sql, scripted = policy_with(budget), f"SELECT {item} AS v FROM t", Scripted([[100]])
    with answering(policy, scripted) as curator:
        for confidence in (0.01, 0.5, 0.95, 0.999, 1 - 1e-9):
            answer = curator.query(sql, confidence=confidence, **cost)
            (mechanism,) = scripted.mechanisms
            low, high = answer.intervals[0]["v"]
            value = answer.rows[0][0]
            assert Fraction(high) - Fraction(value) == Fraction(value) - Fraction(low)
            width = (Fraction(high) - Fraction(value)) / step
            assert width.denominator == 1
            mass = math.fsum(pmf(mechanism, z) for z in range(-int(width), int(width) + 1))
            assert mass >= confidence - 1e-12
            assert mass - 2 * pmf(mechanism, int(width)) < confidence + 1e-12 or width == 0
            error = curator.preview(sql, confidence=confidence, **cost).error
            assert error == {"v": pytest.approx(float(width * step))}
    assert isinstance(mechanism, Laplace) == (budget == "pure" or cost.get("rho") == 18)


def test_laplace_noise_takes_over_where_it_is_narrower() -> None:
    """Its scale is 1/ε where ε·tanh(ε/2) = ρ, and ln 20/ε < 1.96/√(2ρ) from a ρ of about 4.5 on."""
    for cost, kind in (({"epsilon": 0.5}, Gaussian), ({"rho": 4}, Gaussian), ({"rho": 5}, Laplace)):
        (found,) = mechanisms(policy_with("both"), "SELECT COUNT(*) FROM t", cost)
        assert isinstance(found, kind)


# several measures, exactly


Truth = Callable[..., Fraction | None]


def mean(middle: int, low: int, high: int) -> Truth:
    """The average of n numbers whose sum about the middle is known; where there are none, any value within will do."""

    def true(total: int, count: int) -> Fraction | None:
        return None if count == 0 else min(max(middle + Fraction(total, count), Fraction(low)), Fraction(high))

    return true


EXACT: Final[list[tuple[str, dict[str, Any], tuple[int, int], dict[str, Truth]]]] = [
    ("AVG(x) AS a", {"epsilon": 8}, (-7, 9), {"a": mean(5, 0, 10)}),
    ("AVG(x) AS a", {"epsilon": 8}, (4, 1), {"a": mean(5, 0, 10)}),
    ("AVG(x) AS a", {"epsilon": 8}, (60, 12), {"a": mean(5, 0, 10)}),
    ("AVG(x) AS a", {"epsilon": 8}, (0, 0), {"a": mean(5, 0, 10)}),
    ("SUM(x) AS s, AVG(x) AS a", {"epsilon": 8}, (6, 4), {"s": lambda t, n: t + 5 * n, "a": mean(5, 0, 10)}),
    ("COUNT(y) - COUNT(x) AS d", {"epsilon": 1}, (30, 22), {"d": lambda n, m: Fraction(n - m)}),
    ("COUNT(y) * COUNT(x) AS p", {"epsilon": 1}, (30, -2), {"p": lambda n, m: Fraction(n * m)}),
    ("COUNT(y) / COUNT(x) AS q", {"epsilon": 4}, (30, 22), {"q": lambda n, m: Fraction(n, m)}),
    ("GREATEST(COUNT(y), COUNT(x)) AS b, ABS(COUNT(y) - 7) AS c", {"epsilon": 1}, (3, 4),
     {"b": lambda n, m: Fraction(max(n, m)), "c": lambda n, _: Fraction(abs(n - 7))}),
    ("CASE WHEN COUNT(y) > 5 THEN COUNT(x) ELSE 0 END AS w", {"epsilon": 1}, (6, 9),
     {"w": lambda n, m: Fraction(m if n > 5 else 0)}),
    ("ROUND(COUNT(y) / 3, 1) + COUNT(x) % 4 AS r, SQRT(COUNT(y)) AS k", {"epsilon": 2}, (9, 5),
     {"r": lambda n, m: Fraction(n, 3).limit_denominator(10**9) // Fraction(1, 10) / 10 + m % 4, "k": lambda *_: Fraction(3)}),
    ("CLAMP(COUNT(y), 0, 8) AS h, FLOOR(COUNT(x) / 2) AS f", {"epsilon": 1}, (12, 5),
     {"h": lambda *_: Fraction(8), "f": lambda *_: Fraction(2)}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("budget", "items", "cost", "exact", "truths"),
    [
        pytest.param(budget, *row, marks=pytest.mark.slow if (place + number) % 2 else ())  # each under one of both
        for place, row in enumerate(EXACT)
        for number, budget in enumerate(HEADS)
    ],
)
def test_several_measures_cover_together(
    budget: str, items: str, cost: dict[str, Any], exact: tuple[int, int], truths: dict[str, Truth]
) -> None:
    sql, confidence = f"SELECT g, {items} FROM t GROUP BY g", 0.9
    drawn = mechanisms(policy_with(budget), sql, cost)
    first, second = drawn[-1], drawn[0]  # counts are drawn before sums, x before y
    reaches = [support(first, 1e-3), support(second, 1e-3)]
    pairs = list(itertools.product(range(-reaches[0], reaches[0] + 1), range(-reaches[1], reaches[1] + 1)))
    policy = policy_with(budget, len(pairs))
    if len(drawn) == 1:  # two numbers of one measure: Σ(10 − x) and Σx
        total = exact[0] + 5 * exact[1]
        values = [[z for a, b in pairs for z in (10 * exact[1] - total + b, total + a)]]
    else:
        values = [[exact[1] + b for _, b in pairs], [exact[0] + a for a, _ in pairs]]
    answer = shown(policy, sql, cost, values, confidence)
    weights = [pmf(first, a) * pmf(second, b) for a, b in pairs]
    for column, truth in truths.items():
        true = truth(*exact)
        mass = 0.0
        for weight, interval in zip(weights, answer.intervals, strict=True):
            low, high = interval.get(column, (-math.inf, math.inf))
            if true is None or low - 1e-9 <= true <= high + 1e-9:
                mass += weight
        assert mass >= confidence, (column, mass)


TOGETHER: Final = [
    ("COUNT(*) AS n", 0.9), ("COUNT(x) AS m", 0.9), ("COUNT(*) - COUNT(x) AS d", 0.9), ("COUNT(*) + COUNT(x) AS s", 0.9),
    ("GREATEST(COUNT(*), COUNT(x)) AS b", 0.9), ("ABS(COUNT(*)) + ABS(COUNT(x)) AS a", 0.5),
]  # fmt: skip


@pytest.mark.parametrize(("item", "confidence"), TOGETHER)
@pytest.mark.parametrize("budget", ["pure", "both"])
def test_counts_that_are_bought_together_cover_together(budget: str, item: str, confidence: float) -> None:
    """COUNT(x) and COUNT(*) come of two noisy numbers of one measure: rows with a value, and rows without one."""
    cost, items = {"epsilon": 1.5}, f"{item}, COUNT(*) AS other, COUNT(x) AS another"
    sql = f"SELECT g, {items} FROM t GROUP BY g"
    (mechanism,) = mechanisms(policy_with(budget), sql, cost)
    sensitivity = support(mechanism, 1e-3)
    pairs = list(itertools.product(range(-sensitivity, sensitivity + 1), repeat=2))
    answer = shown(policy_with(budget, len(pairs)), sql, cost, [[z for pair in pairs for z in pair]], confidence)
    column = item.rpartition(" ")[2]
    mass = sum(
        pmf(mechanism, a) * pmf(mechanism, b)
        for (a, b), row in zip(pairs, answer.intervals, strict=True)
        if row[column][0] <= 0 <= row[column][1]
    )
    assert mass >= confidence


AFTER: Final = [
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g HAVING n > 20",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY n DESC, g",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY n LIMIT 5 OFFSET 2",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g HAVING n BETWEEN 3 AND 40 AND g < 70 ORDER BY 2 DESC LIMIT 30",
]


@pytest.mark.parametrize("sql", AFTER)
def test_what_follows_the_noise_leaves_every_interval_as_it_was(sql: str) -> None:
    """So a group is shown with an interval that misses at most as often as it would be without HAVING and LIMIT."""
    cost, plain = {"epsilon": 0.5}, "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
    (mechanism,) = mechanisms(policy_with("pure"), plain, cost)
    sensitivity = support(mechanism)
    policy = policy_with("pure", 2 * sensitivity + 1)
    noisy = [20 + z for z in range(-sensitivity, sensitivity + 1)]
    before = shown(policy, plain, cost, [noisy], 0.95)
    kept = {row[0]: (row, interval) for row, interval in zip(before.rows, before.intervals, strict=True)}
    after = shown(policy, sql, cost, [noisy], 0.95)
    assert 0 < len(after.rows) <= len(before.rows)
    missed = 0.0
    for row, interval in zip(after.rows, after.intervals, strict=True):
        assert (row, interval) == kept[row[0]]
        low, high = interval["n"]
        if not low <= 20 <= high:
            missed += pmf(mechanism, row[0] - sensitivity)
    assert missed <= 0.05


# lists


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("budget", ["pure", "both"])
def test_each_count_of_a_histogram_has_the_smallest_interval_that_covers(budget: str, confidence: float) -> None:
    cost: dict[str, Any] = {"epsilon": 0.7}
    sql = "SELECT g, HISTOGRAM(x, 2) AS h FROM t GROUP BY g ORDER BY g DESC"
    (mechanism,) = mechanisms(policy_with(budget), sql, cost)
    noises = range(-support(mechanism), support(mechanism) + 1)
    policy = policy_with(budget, len(noises))
    answer = shown(policy, sql, cost, [[count for z in noises for count in (100 + z, 7 - z)]], confidence)
    for item, (true, sign) in enumerate(((100, 1), (7, -1))):
        covered = []
        for row, known in zip(answer.rows, answer.intervals, strict=True):
            noise = noises[row[0]]
            count, (low, high) = row[1][item]["count"], known["h"][item]
            assert (low + high, count) == (2 * count, true + sign * noise)
            covered += [noise] if low <= true <= high else []
        mass = math.fsum(pmf(mechanism, z) for z in covered)
        assert mass >= confidence
        assert mass - 2 * pmf(mechanism, max(covered)) < confidence
    with answering(policy, Scripted([])) as curator:
        assert curator.preview(sql, confidence=confidence, **cost).error == {"h": max(covered)}


def test_the_intervals_of_the_most_frequent_values_follow_their_order() -> None:
    answer = shown(
        policy_with("pure"), "SELECT APPROX_TOP_COUNT(x, 3) AS h FROM t", {"epsilon": 1}, [[5, -2, 40, 9]], 0.95
    )
    ((items,),), ((known,),) = answer.rows, [tuple(row.values()) for row in answer.intervals]
    assert [(item["value"], item["count"]) for item in items] == [(2, 40), (3, 9), (0, 5)]
    assert [(low + high) / 2 for low, high in known] == [40, 9, 5]
    assert len({high - low for low, high in known}) == 1


def test_a_most_frequent_value_is_listed_and_missed_no_more_often_than_asked() -> None:
    """Whichever of three equal counts is listed was helped by its noise: it is missed more often, and a note says so."""
    cost, confidence, true = {"epsilon": 2}, 0.9, 20
    sql = "SELECT g, APPROX_TOP_COUNT(x, 1) AS h FROM t GROUP BY g"
    (mechanism,) = mechanisms(policy_with("pure"), sql, cost)
    sensitivity = support(mechanism, 1e-4)
    triples = list(itertools.product(range(-sensitivity, sensitivity + 1), repeat=3))
    noisy = [count for triple in triples for count in (*(true + z for z in triple), *[-1000] * 8)]
    answer = shown(policy_with("pure", len(triples)), sql, cost, [noisy], confidence)
    missed = [0.0, 0.0, 0.0]
    for triple, (_, (item,)), known in zip(triples, answer.rows, answer.intervals, strict=True):
        ((low, high),) = known["h"]
        if not low <= true <= high:
            missed[item["value"]] += math.prod(pmf(mechanism, z) for z in triple)
    half = (high - low) // 2
    alone = 1 - math.fsum(pmf(mechanism, z) for z in range(-half, half + 1))
    assert 0 < max(missed) <= alone <= 1 - confidence
    assert sum(missed) > 1.2 * alone
    assert any("picked by noisy counts" in note for note in answer.notes)


def test_what_is_no_list_of_counts_has_no_list_of_intervals() -> None:
    sql = "SELECT MODE(x) AS m, HISTOGRAM(x, 3) AS h, DP_INTERVAL_LOW(h) AS l, COUNT(*) AS n FROM t"
    with answering(policy_with("pure"), add_noise) as curator:
        answer = curator.query(sql, epsilon=1)
        assert curator.preview(sql, epsilon=1).error.keys() == {"h", "n"}
        with pytest.raises(Refused):
            curator.query("SELECT DISTINCT HISTOGRAM(x, 3) AS h FROM t", epsilon=1)
    assert answer.intervals[0].keys() == {"h", "n"}
    assert answer.rows[0][2] is None
    assert answer.noise["h"] == answer.noise["n"].replace("rows", "x")


# with the real noise


@pytest.mark.parametrize("budget", ["pure", "both"])
def test_real_answers_are_covered(budget: str) -> None:
    """Of 2,000 groups without rows, no more intervals miss than a binomial count exceeds once in 10⁸; 6 such verdicts."""
    policy = policy_with(budget, MOST)
    with answering(policy, add_noise) as curator:
        sql = "SELECT g, COUNT(*) AS n, SUM(x) AS s, SUM(x) - 2 * COUNT(*) AS d FROM t GROUP BY g"
        answer = curator.query(sql, epsilon=0.5)
    most = int(stats.binom.isf(1e-8, MOST, 0.05))
    for column, label in enumerate(answer.columns[1:], start=1):
        missed = sum(not row[label][0] <= 0 <= row[label][1] for row in answer.intervals)
        assert missed <= most, label
        inside = [
            row[label][0] <= values[column] <= row[label][1]
            for row, values in zip(answer.intervals, answer.rows, strict=True)
        ]
        assert all(inside)
    assert len({row[1] for row in answer.rows}) > 3


def test_real_averages_are_covered() -> None:
    """40 groups of 5 rows, again and again: the same verdict, on 400 intervals."""
    policy = policy_with("pure", 40)
    rows = [{"g": group, "x": (group + i) % 11} for group in range(40) for i in range(5)]
    truth = [float(np.mean([(group + i) % 11 for i in range(5)])) for group in range(40)]
    engine, missed = Memory(policy, {"t": rows}), 0
    with ledger_of(policy) as ledger, Curator(policy, ledger, engine=engine) as curator:
        for _ in range(10):
            sql = "SELECT g, AVG(x) AS a FROM t GROUP BY g"
            answer = curator.query(sql, epsilon=6, fresh=True, confidence=0.8)
            assert [row[0] for row in answer.rows] == list(range(40))
            missed += sum(
                not row["a"][0] - 1e-12 <= true <= row["a"][1] + 1e-12
                for row, true in zip(answer.intervals, truth, strict=True)
            )
    engine.close()
    assert missed <= int(stats.binom.isf(1e-8, 400, 0.2))


@pytest.mark.long
def test_real_ratios_and_moments_are_covered() -> None:
    """40 groups of 30 rows, three times: of 120 intervals no more miss than a binomial count exceeds once in 10⁸."""
    policy = policy_with("both", 40)
    pairs = [[((group + i) % 11, (group * i) % 16 / 4 - 1) for i in range(30)] for group in range(40)]
    rows = [{"g": group, "x": x, "y": y} for group, held in enumerate(pairs) for x, y in held]
    truths = {
        "q": [float(np.mean([x for x, _ in held])) for held in pairs],
        "p": [100 * float(np.mean([x > 5 for x, _ in held])) for held in pairs],
        "v": [float(np.var([x for x, _ in held], ddof=1)) for held in pairs],
        "d": [float(np.std([y for _, y in held])) for held in pairs],
        "c": [float(np.cov([x for x, _ in held], [y for _, y in held], bias=True)[0, 1]) for held in pairs],
    }
    items = {
        "q": "SUM(x) / COUNT(*)",
        "p": "100 * COUNT(*) FILTER (WHERE x > 5) / NULLIF(COUNT(*), 0)",
        "v": "VAR_SAMP(x)",
        "d": "STDDEV_POP(y)",
        "c": "COVAR_POP(x, y)",
    }
    engine, missed = Memory(policy, {"t": rows}), dict.fromkeys(items, 0)
    with ledger_of(policy) as ledger, Curator(policy, ledger, engine=engine) as curator:
        for label, item in items.items():
            for _ in range(3):
                sql = f"SELECT g, {item} AS v FROM t GROUP BY g"
                answer = curator.query(sql, rho=1, fresh=True, confidence=0.8)
                for row, true in zip(answer.intervals, truths[label], strict=True):
                    missed[label] += "v" in row and not row["v"][0] - 1e-9 <= true <= row["v"][1] + 1e-9
    engine.close()
    assert max(missed.values()) <= int(stats.binom.isf(1e-8, 120, 0.2)), missed


# from noisy values only


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT AVG(x) AS a, COUNT(*) AS n, SUM(y) AS s, SUM(x) / COUNT(*) AS q FROM t",
        "SELECT g, AVG(y) AS a FROM t GROUP BY g HAVING a > 0 ORDER BY a DESC LIMIT 9",
    ],
)
def test_the_same_noisy_values_give_the_same_answer_whatever_the_data(sql: str) -> None:
    policy = policy_with("both", 200)
    noisy = [[(7 * place + 31 * i) % 61 - 20 for i in range(200)] for place in range(5)]
    answers = []
    databases: list[list[dict[str, Any]]] = [
        [],
        [{"g": i % 9, "x": i % 11, "y": i / 8} for i in range(40)],
        [{"x": 10**9, "y": "inf"}],
    ]
    for rows in databases:
        engine = Memory(policy, {"t": rows})
        with (
            ledger_of(policy) as ledger,
            Curator(policy, ledger, engine=engine, sampler=Sampler(add_noise=Scripted(noisy))) as curator,
        ):
            answer = curator.query(sql, epsilon=0.5)
            again = curator.query(sql, epsilon=0.5)
        assert again.cached
        assert (again.rows, again.intervals) == (answer.rows, answer.intervals)
        answers.append((answer.columns, answer.rows, answer.intervals, answer.noise, answer.notes, answer.loss))
        engine.close()
    assert answers[0] == answers[1] == answers[2]


def test_higher_confidence_is_never_narrower() -> None:
    policy = policy_with("both")
    sql = "SELECT AVG(x) AS a, COUNT(*) AS n, SUM(x) - COUNT(*) AS d FROM t"
    levels = [0.01, 0.5, 0.9, 0.95, 0.99, 0.9999, 1 - 1e-12]
    answers = [shown(policy, sql, {"epsilon": 0.5}, [[40], [30], [9], [5]], level) for level in levels]
    for narrow, wide in itertools.pairwise(answers):
        for column in ("a", "n", "d"):
            assert wide.intervals[0][column][0] <= narrow.intervals[0][column][0]
            assert narrow.intervals[0][column][1] <= wide.intervals[0][column][1]


def test_an_interval_of_nothing_noisy_may_miss_as_often_as_it_was_asked_to() -> None:
    assert Made({}, {}).miss(Fraction(19, 20)) == Fraction(1, 20)
