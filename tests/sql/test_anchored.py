"""Counts, sums and moments off anchors: how far a row moves them, tried out over all values, and what they give."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from functools import cache
from typing import Any, Final

import pytest
from scipy import stats

from discreet.accounting import Pure
from discreet.audit import estimate, question
from discreet.composed import name
from discreet.curator.curator import Curator
from discreet.curator.public import PublicTables
from discreet.engines.memory import Memory
from discreet.exit import Cost
from discreet.policy import Policy
from discreet.sql.anchored import Anchored, Axis, Nulls
from discreet.sql.cost import allocate
from discreet.sql.expression import Expr
from discreet.sql.measures import Contribution, Steps
from discreet.sql.plan import plan
from tests.plain import fill, plain
from tests.sql.worlds import ledger_of, policy_of

BOUNDS: Final = [(0, 1), (0, 2), (-1, 1), (0, 10), (-7, 4), (3, 3), (5, 12), (-9, -2)]
HEADS: Final = {
    "pure": 'name = "w"\n[budget]\nepsilon = 1000\n[unit]\nname = "person"\n',
    "both": 'name = "w"\n[budget]\nepsilon = 1000\ndelta = 1e-6\n[unit]\nname = "person"\n',
}
TABLE: Final = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 2
[tables.t.columns]
who = { type = "integer" }
g = { type = "integer", min = 0, max = 39 }
x = { type = "integer", min = 0, max = 10 }
y = { min = -1, max = 3, step = 0.25 }
f = { type = "integer", min = 0, max = 1 }
z = { type = "integer", min = 4, max = 9 }
fine = { min = 0, max = 5000 }
"""


@cache
def policy_with(budget: str) -> Policy:
    return policy_of(TABLE, head=HEADS[budget])


def steps(low: int, high: int) -> Steps:
    return Steps(Expr.literal(1), Fraction(1), low, high, whole=True)


def one_row(measure: Anchored, *values: int) -> list[int]:
    """The weights of a row, from the sums of powers that an engine would give."""
    offsets = [value - axis.origin for axis, value in zip(measure.axes, values, strict=True)]
    powers = itertools.product(*(range(axis.points) for axis in measure.axes))
    return list(measure.vector([*(math.prod(o**p for o, p in zip(offsets, each, strict=True)) for each in powers), 1]))


def missing_row(measure: Anchored) -> list[int]:
    powers = list(itertools.product(*(range(axis.points) for axis in measure.axes)))
    return list(measure.vector([0, *[None] * (len(powers) - 1), 1]))


@pytest.mark.parametrize("points", [2, 3])
@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_no_value_moves_the_weights_farther_than_is_declared(low: int, high: int, points: int) -> None:
    measure = Anchored((Axis(steps(low, high), points),), Nulls.APART, "x")
    moved = [sum(map(abs, one_row(measure, value))) for value in range(low, high + 1)]
    assert max(moved) == measure.most or low == high
    assert measure.most <= (measure.size if points == 2 else Fraction(5, 4) * measure.size)
    assert missing_row(measure) == [0] * points + [measure.size]
    for contribution in (Contribution(1, 1, 1), Contribution(3, 2, 5)):
        declared, rows = measure.sensitivity(contribution), contribution.sensitivity
        assert (declared.l1, declared.l2_squared) == (measure.most * rows.l1, measure.most**2 * rows.l2_squared)


@pytest.mark.parametrize("points", [(2, 2), (3, 2), (3, 3)])
def test_no_pair_of_values_moves_the_weights_farther_than_is_declared(points: tuple[int, int]) -> None:
    for (low, high), (least, largest) in itertools.product(BOUNDS[:5], BOUNDS[3:]):
        axes = Axis(steps(low, high), points[0]), Axis(steps(least, largest), points[1])
        measure = Anchored(axes, Nulls.LEFT_OUT, "x and y")
        values = itertools.product(range(low, high + 1), range(least, largest + 1))
        weights = [one_row(measure, *value) for value in values]
        assert max(sum(map(abs, each)) for each in weights) <= measure.most
        assert {sum(each) for each in weights} == {measure.size}
        assert not any(missing_row(measure))


@pytest.mark.parametrize("nulls", Nulls)
@pytest.mark.parametrize("points", [2, 3])
@pytest.mark.parametrize(("low", "high"), [(-3, 4), (0, 10)])
def test_weights_give_counts_sums_and_squares(low: int, high: int, points: int, nulls: Nulls) -> None:
    measure = Anchored((Axis(steps(low, high), points),), nulls, "x")
    values = [low, high, low + 1, 0, high]
    rows = [*(one_row(measure, value) for value in values), missing_row(measure), missing_row(measure)]
    weights = [sum(column) for column in zip(*rows, strict=True)]
    all_rows = nulls is not Nulls.LEFT_OUT
    counted = len(values) + 2 * (nulls is Nulls.ZERO)
    assert measure.count(every=True).value([weights]) == (7 if all_rows else 5)
    assert measure.count(every=False).value([weights]) == counted
    assert measure.total().value([weights]) == sum(values)
    n, s, *squares = measure.moments(weights, *([0] if points == 3 else []))
    middle, radius = measure.axes[0].steps.middle, measure.axes[0].steps.radius
    values += [0] * (counted - 5)
    assert (n, s) == ([counted], [sum(value - middle for value in values)])
    assert squares == [[sum(2 * (value - middle) ** 2 - radius**2 for value in values)]][: points - 2]


def test_a_row_of_which_one_value_is_null_adds_nothing() -> None:
    """Else Σb would count without its row, and the weights would move by twice what is declared."""
    measure = Anchored((Axis(steps(0, 5), 2), Axis(steps(0, 3), 2)), Nulls.LEFT_OUT, "x and y")
    for a, b, wanted in (("NULL", "3", [0, 0, 0, 0]), ("5", "NULL", [0, 0, 0, 0]), ("5", "3", [0, 0, 0, 15])):
        rows = f"SELECT struct_pack(a := {a}::BIGINT, b := {b}::BIGINT) AS x"
        ((found,),) = plain().execute(f"SELECT {measure.sql(name('x'), None).text} FROM ({rows})").fetchall()
        assert measure.vector(found) == wanted


# which aggregates are read off them


@pytest.mark.parametrize("item", ["CORR(fine, y)", "REGR_SLOPE(fine, y)", "VAR_POP(fine)", "COVAR_SAMP(fine, fine)"])
def test_small_costs_are_enough_for_columns_without_a_grid(item: str) -> None:
    """Weights that are products of fine grids are so large that their noise could not be drawn."""
    policy = policy_with("pure")
    with closing(Memory(policy, {})) as engine:
        planned = plan(policy, f"SELECT {item} FROM t", public=PublicTables(lambda: engine))
    assert allocate(policy, Cost.read(policy, epsilon=0.001), planned.releases).loss == Pure(0.001)


READ: Final = [
    ("pure", "AVG(x)", {"Anchored"}),
    ("pure", "SUM(x)", {"Sum"}),
    ("pure", "COUNT(*), SUM(x)", {"Anchored"}),
    ("pure", "COUNT(*), SUM(z)", {"Anchored"}),
    ("pure", "COUNT(x), SUM(x)", {"Anchored"}),
    ("pure", "COUNT(y), SUM(x)", {"Present", "Sum"}),
    ("pure", "COUNT(*), COUNT(x), SUM(x), AVG(x)", {"Anchored"}),
    ("pure", "VAR_SAMP(x), AVG(x), STDDEV_POP(x), SUM(x), COUNT(*)", {"Anchored"}),
    ("pure", "CORR(x, y), COVAR_POP(x, y), REGR_SLOPE(y, x)", {"Anchored"}),
    ("pure", "CORR(fine, y)", {"Present", "Sum", "Product"}),
    ("pure", "COVAR_POP(fine, y)", {"Anchored"}),
    ("pure", "AVG(COALESCE(x, 0)), AVG(COALESCE(y, 0)), AVG(COALESCE(z, 5))", {"Rows", "Sum"}),
    ("both", "AVG(x)", {"Present", "Sum"}),
    ("both", "AVG(x), COUNT(*)", {"Anchored"}),
    ("both", "COUNT(*), SUM(x)", {"Anchored"}),
    ("both", "COUNT(*), SUM(z)", {"Rows", "Sum"}),
    ("both", "COUNT(z), SUM(z)", {"Anchored"}),
    ("both", "VAR_SAMP(x), AVG(x), COUNT(*)", {"Presence", "Sum", "Product"}),
    ("both", "COVAR_POP(x, y)", {"Present", "Sum", "Product"}),
]  # fmt: skip


@pytest.mark.parametrize(("budget", "items", "kinds"), READ)
def test_aggregates_share_anchors_where_that_is_better(budget: str, items: str, kinds: set[str]) -> None:
    split = re.findall(r"\w+\((?:[^()]|\([^()]*\))*\)", items)
    with closing(Memory(policy_with(budget), {})) as engine:
        found = [
            plan(policy_with(budget), f"SELECT {', '.join(order)} FROM t", public=PublicTables(lambda: engine))
            for order in (split, split[::-1])
        ]
    assert {type(measure).__name__ for measure in found[0].releases[0].measures} == kinds
    assert len({each.fingerprint for each in found}) == 1


# exact without noise, and covered with it


@contextmanager
def asking(policy: Policy, rows: list[dict[str, Any]]) -> Iterator[Curator]:
    with (
        closing(Memory(policy, {"t": rows})) as engine,
        ledger_of(policy) as ledger,
        Curator(policy, ledger, engine=engine) as curator,
    ):
        yield curator


def rows_of(groups: int, size: int) -> Iterator[dict[str, Any]]:
    who = itertools.count()
    for group in range(groups):
        for i in range(size):
            x = None if (i + group) % 9 == 0 else (3 * i + group) % 11
            y = None if (i + group) % 7 == 0 else ((i * i + group) % 17 - 4) / 4
            yield {"who": next(who), "g": group, "x": x, "y": y, "f": int(i % 3 == 0), "z": 4 + i % 6}


ITEMS: Final = (
    "COUNT(*)", "COUNT(x)", "SUM(x)", "AVG(x)", "SUM(y)", "AVG(y)", "SUM(z)", "AVG(f)", "VAR_POP(x)", "STDDEV_SAMP(y)",
    "VAR_POP(f)", "COVAR_POP(x, y)", "COVAR_SAMP(y, x)", "CORR(x, y)", "REGR_SLOPE(y, x)", "REGR_INTERCEPT(y, x)",
)  # fmt: skip


@pytest.mark.parametrize("items", [ITEMS, *((item,) for item in ITEMS), ("COUNT(*)", "SUM(y)"), ("COUNT(*)", "SUM(z)")])
def test_without_noise_they_are_what_sql_says(items: tuple[str, ...]) -> None:
    rows, policy = list(rows_of(3, 20)), policy_with("pure")
    text = f"SELECT g, {', '.join(items)} FROM t GROUP BY g ORDER BY g LIMIT 3"
    with asking(policy, rows) as curator:
        shown = curator.query(text, epsilon=10**6).rows
    columns = {"g": "INTEGER", "x": "INTEGER", "y": "DOUBLE", "f": "INTEGER", "z": "INTEGER"}
    with plain() as theirs:
        fill(theirs, "t", columns, [[row[column] for column in columns] for row in rows])
        exact = theirs.execute(text).fetchall()
    for mine, wanted in zip(shown, exact, strict=True):
        assert mine == pytest.approx(wanted, rel=1e-3, abs=1e-3)


def truth(item: str, x: Sequence[int], pairs: Sequence[tuple[int, float]], rows: int) -> float:
    """What an aggregate of a group is, from the values of x, the pairs without NULL and the number of rows."""
    table: dict[str, Callable[[], Any]] = {
        "COUNT(*)": lambda: rows,
        "SUM(x)": lambda: sum(x),
        "AVG(x)": lambda: statistics.mean(x),
        "VAR_SAMP(x)": lambda: statistics.variance(x),
        "COVAR_SAMP(x, y)": lambda: statistics.covariance([a for a, _ in pairs], [b for _, b in pairs]),
    }
    return float(table[item]())


@pytest.mark.parametrize("size", [30, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "items", [("COUNT(*)", "SUM(x)"), ("AVG(x)", "COUNT(*)"), ("VAR_SAMP(x)",), ("COVAR_SAMP(x, y)",)]
)
def test_their_intervals_cover(items: tuple[str, ...], size: int) -> None:
    """40 groups, five times: no more intervals miss than a binomial count exceeds once in 10⁸."""
    rows, policy, missed = list(rows_of(40, size)), policy_with("pure"), dict.fromkeys(items, 0)
    held: dict[int, Any] = {group: ([], [], size) for group in range(40)}
    for row in rows:
        if row["x"] is not None:
            held[row["g"]][0].append(row["x"])
            if row["y"] is not None:
                held[row["g"]][1].append((row["x"], row["y"]))
    with asking(policy, rows) as curator:
        for _ in range(5):
            text = f"SELECT g, {', '.join(items)} FROM t GROUP BY g"
            answer = curator.query(text, epsilon=2, fresh=True, confidence=0.8)
            for shown, known in zip(answer.rows, answer.intervals, strict=True):
                for item, value in zip(items, shown[1:], strict=True):
                    ends: Any = known.get(item, (-math.inf, math.inf))
                    low, high = ends
                    assert value is None or low <= value <= high
                    missed[item] += not low - 1e-9 <= truth(item, *held[shown[0]]) <= high + 1e-9
    assert max(missed.values()) <= int(stats.binom.isf(1e-8, 200, 0.2)), missed


FACTORS: Final = [
    ("SELECT AVG(x) AS v FROM t", 1.35),
    ("SELECT COUNT(*) AS v, AVG(x) AS a FROM t", 1.3),
    ("SELECT COUNT(*) AS v, SUM(x) AS s FROM t", 1.4),
    ("SELECT SUM(x) AS v, COUNT(*) AS n FROM t", 1.9),
]


@pytest.mark.parametrize(("text", "factor"), FACTORS)
def test_they_are_narrower_than_what_is_released_apart(
    text: str, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of the first column, by the preview, with anchors and without."""
    policy = policy_with("pure")
    with asking(policy, []) as curator:
        narrow = curator.preview(text, epsilon=0.5).error["v"]
        monkeypatch.setattr(
            "discreet.sql.common_measures.Anchoring.aggregates", property(lambda self: list(self.given))
        )
        apart = curator.preview(text + " LIMIT 1", epsilon=0.5).error["v"]
    assert apart >= factor * narrow


# black box


OTHERS: Final = [{"who": 1, "g": 0, "x": 0}, {"who": 2, "g": 0, "x": 7}]
THEIRS: Final = [{"who": 3, "g": 0, "x": 10}, {"who": 3, "g": 0, "x": None}]
PAIR: Final = "SELECT SUM(x), COUNT(*) FROM t"


def test_a_sum_and_a_count_are_as_private_as_they_say() -> None:
    asked = question(policy_with("pure"), PAIR, epsilon=2)
    for sides in (({"t": OTHERS}, {"t": [*OTHERS, *THEIRS]}), ({"t": [*OTHERS, *THEIRS]}, {"t": OTHERS})):
        found = estimate(asked, *sides, claim=2, samples=500, confidence=1 - 1e-7)
        assert not found.violated, str(found)


def test_anchors_that_cost_too_little_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Anchored, "sensitivity", lambda *_: Contribution(1, 1, 1).sensitivity)
    asked = question(policy_with("pure"), PAIR, epsilon=Fraction(1, 2))
    found = estimate(asked, {"t": OTHERS}, {"t": [*OTHERS, *THEIRS]}, claim=Fraction(1, 2), samples=500)
    assert found.violated, str(found)
