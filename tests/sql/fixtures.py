"""Questions with what they must give, over the tiny hospital of `tiny.py`, and questions that are refused.

Plain data. Every expected figure was worked out from the rows and from the rules of the language, by hand or with
`statistics`, and never read off an answer. A sensitivity is (l1, l2²) in whole steps: of cost a step is 0.5, of whole numbers
it is 1. A patient has up to 4 visits in up to 2 groups, so a count of visits reaches (4, 16).
"""
# ruff: noqa: E501 (a question is one line)

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

Sensitivity = tuple[float, float]


@dataclass(frozen=True)
class Fixture:
    """A question that is answered.

    gives    the exact rows, noise off; near is how far a number may be from them.
    rows     rows per unit below each release; groups: how many combinations of public keys each has.
    sensitivity    of each measure of each release, in any order.
    """

    part: str
    shows: str
    text: str
    gives: Sequence[tuple[Any, ...]]
    rows: Sequence[int] = (4,)
    groups: Sequence[int] = (1,)
    sensitivity: Sequence[Sensitivity] = ((4, 16),)
    columns: Sequence[str] | None = None
    policy: str = "pure"
    cost: Mapping[str, Any] = field(default_factory=lambda: {"epsilon": 1})
    params: Mapping[str, Any] | None = None
    near: float = 1e-9
    function: str | None = None
    """The row of the table of functions that it is there for."""
    far: float | None = None
    """In place of `sensitivity`: how far one unit moves a sum, in the units of its values."""


@dataclass(frozen=True)
class Refusal:
    """A question that is refused, what the message proposes (a part of it), and the question after doing that."""

    code: str
    shows: str
    text: str
    says: str
    fixed: str | None
    """None where the fix lies with the owner and not in the text: `policy` and `cost` say what changes."""
    policy: str = "pure"
    cost: Mapping[str, Any] = field(default_factory=lambda: {"epsilon": 1})
    fixed_policy: str | None = None
    fixed_cost: Mapping[str, Any] | None = None


# the tiny hospital's columns, held between their bounds, rows of nobody left out

NIGHTS: Final = [1, 2, 3, 0, 4, 10, 1, 2]
COST: Final = [10, 20, 30.5, 40, 100, 5, 15]
PAIRS: Final = [(1, 10), (2, 20), (3, 30.5), (0, 40), (10, 100), (1, 5), (2, 15)]
"""(nights, cost) where both are there."""
_X: Final = [float(nights) for nights, _ in PAIRS]
_Y: Final = [float(cost) for _, cost in PAIRS]
_LINE: Final = statistics.linear_regression(_X, _Y)
_COVARIANCE: Final = statistics.covariance(_X, _Y)

ONE: Final = (4, 16)
"""A count of visits."""
SINGLE: Final = (1, 1)
"""A count of patients, of units, or of rows that are units."""
_SHARES: Final = [place / 20 for place in range(1, 20)]
_SPREAD: Final = ((4 * 62, (4 * 62) ** 2),)
"""Three anchors for nights, 5 on both sides of the middle: 2(25 + 2·3) for each of four visits."""
_COVAR: Final = ((4 * 10 * 200, (4 * 10 * 200) ** 2),)
"""Two anchors for nights and for cost, whose ranges are 10 and 200 steps."""
_SLOPE: Final = ((4 * 62 * 200, (4 * 62 * 200) ** 2),)
_SPREAD_APART: Final = (ONE, (20, 400), (100, 10_000))
_COVAR_APART: Final = (ONE, (20, 400), (400, 160_000), (2_000, 4_000_000))
"""With Gaussian noise, each moment by itself."""


def _half(scale: float, confidence: float = 0.95) -> int:
    """The least t with P(|Z| ≤ t) ≥ confidence, for discrete Laplace noise."""
    a = math.exp(-1 / scale)
    return next(t for t in range(10_000) if 2 * a ** (t + 1) / (1 + a) <= 1 - confidence)


def _spread(name: str, value: float, *, near: float = 1e-9) -> Fixture:
    return Fixture("aggregates", name, f"SELECT {name}(nights) FROM visits", [(value,)], sensitivity=_SPREAD, near=near)


AGGREGATES: Final = (
    Fixture("aggregates", "COUNT(unit)", "SELECT COUNT(patient) FROM visits", [(8,)]),
    Fixture(
        "aggregates",
        "COUNT(DISTINCT unit) with FILTER",
        "SELECT COUNT(DISTINCT patient) FILTER (WHERE nights > 2) AS n FROM visits",
        [(3,)],
        sensitivity=(SINGLE,),
    ),
    Fixture("aggregates", "APPROX_COUNT_DISTINCT", "SELECT APPROX_COUNT_DISTINCT(nights) FROM visits", [(6,)]),
    Fixture(
        "aggregates", "VAR", "SELECT VAR(nights) FROM visits", [(statistics.variance(NIGHTS),)], sensitivity=_SPREAD
    ),
    Fixture(
        "aggregates",
        "VAR and COVAR with Gaussian noise",
        "SELECT VAR_POP(nights), COVAR_SAMP(nights, cost) FROM visits",
        [(statistics.pvariance(NIGHTS), _COVARIANCE)],
        sensitivity=(*_SPREAD_APART, *_COVAR_APART),
        policy="delta",
    ),
    Fixture("aggregates", "COUNT(*)", "SELECT COUNT(*) FROM visits", [(8,)], columns=("COUNT(*)",)),
    Fixture("aggregates", "COUNT(unit)", "SELECT COUNT(patient) AS n FROM visits", [(8,)]),
    Fixture("aggregates", "COUNT(x)", "SELECT COUNT(cost) AS n FROM visits", [(7,)], columns=("n",)),
    Fixture(
        "aggregates",
        "COUNT(DISTINCT unit)",
        "SELECT COUNT(DISTINCT patient) FROM visits",
        [(3,)],
        sensitivity=(SINGLE,),
    ),
    Fixture("aggregates", "COUNT(DISTINCT x)", "SELECT COUNT(DISTINCT nights) FROM visits", [(6,)]),
    Fixture("aggregates", "COUNT_IF", "SELECT COUNT_IF(urgent) FROM visits", [(4,)]),
    Fixture("aggregates", "FILTER", "SELECT COUNT(*) FILTER (WHERE nights > 1) FROM visits", [(5,)]),
    Fixture(
        "aggregates",
        "FILTER on a sum",
        "SELECT SUM(nights) FILTER (WHERE urgent) FROM visits",
        [(16,)],
        sensitivity=((40, 1600),),
    ),
    Fixture("aggregates", "SUM", "SELECT SUM(cost) FROM visits", [(220.5,)], sensitivity=((800, 640_000),)),
    Fixture(
        "aggregates",
        "SUM by group",
        "SELECT ward, SUM(nights) AS s FROM visits GROUP BY ward",
        [("A", 5), ("B", 17), ("C", 0)],
        groups=(3,),
        sensitivity=((40, 1600),),
        columns=("ward", "s"),
    ),
    Fixture("aggregates", "AVG", "SELECT AVG(cost) FROM visits", [(31.5,)], sensitivity=((800, 640_000),)),
    Fixture(
        "aggregates",
        "SUM beside AVG, released once",
        "SELECT SUM(nights), AVG(nights) FROM visits",
        [(23, 2.875)],
        sensitivity=((40, 1600),),
    ),
    Fixture(
        "aggregates",
        "the geometric mean of values above 0",
        "SELECT GEOMEAN(CLAMP(cost, 1, 100)) FROM visits",
        [(statistics.geometric_mean(COST),)],
        near=1e-5,
        sensitivity=((4828872, 4828872**2),),
    ),
    _spread("VAR_POP", statistics.pvariance(NIGHTS)),
    _spread("VAR_SAMP", statistics.variance(NIGHTS)),
    _spread("VARIANCE", statistics.variance(NIGHTS)),
    _spread("STDDEV_POP", statistics.pstdev(NIGHTS)),
    _spread("STDDEV_SAMP", statistics.stdev(NIGHTS)),
    _spread("STDDEV", statistics.stdev(NIGHTS)),
    Fixture(
        "aggregates",
        "COVAR_POP",
        "SELECT COVAR_POP(nights, cost) FROM visits",
        [(_COVARIANCE * 6 / 7,)],
        sensitivity=_COVAR,
    ),
    Fixture(
        "aggregates", "COVAR_SAMP", "SELECT COVAR_SAMP(nights, cost) FROM visits", [(_COVARIANCE,)], sensitivity=_COVAR
    ),
    Fixture(
        "aggregates",
        "CORR",
        "SELECT CORR(nights, cost) FROM visits",
        [(statistics.correlation(_X, _Y),)],
        sensitivity=((4 * 62 * 25_000, (4 * 62 * 25_000) ** 2),),
    ),
    Fixture(
        "aggregates", "REGR_SLOPE", "SELECT REGR_SLOPE(cost, nights) FROM visits", [(_LINE[0],)], sensitivity=_SLOPE
    ),
    Fixture(
        "aggregates",
        "REGR_INTERCEPT",
        "SELECT REGR_INTERCEPT(cost, nights) FROM visits",
        [(_LINE[1],)],
        sensitivity=_SLOPE,
    ),
    Fixture("aggregates", "MEDIAN", "SELECT MEDIAN(nights) FROM visits", [(2,)]),
    Fixture(
        "aggregates",
        "PERCENTILE_CONT(x, q)",
        "SELECT PERCENTILE_CONT(cost, 0.5) FROM visits",
        [(20,)],
        near=0.002,
    ),
    Fixture(
        "aggregates",
        "PERCENTILE_CONT … WITHIN GROUP",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) FROM visits",
        [(20,)],
        near=0.002,
    ),
    Fixture("aggregates", "QUANTILE_CONT", "SELECT QUANTILE_CONT(nights, 0.25) FROM visits", [(1,)]),
    Fixture("aggregates", "QUANTILE", "SELECT QUANTILE(nights, 0.65) FROM visits", [(3,)]),
    Fixture("aggregates", "APPROX_QUANTILE", "SELECT APPROX_QUANTILE(nights, 0.65) FROM visits", [(3,)]),
    Fixture(
        "aggregates",
        "APPROX_QUANTILES",
        "SELECT WITH DIFFERENTIAL_PRIVACY APPROX_QUANTILES(nights, 4)[OFFSET(1)] AS q FROM visits",
        [(1,)],
    ),
    Fixture(
        "aggregates",
        "APPROX_QUANTILES as a list",
        "SELECT ward, APPROX_QUANTILES(nights, 2) AS q FROM visits GROUP BY ward HAVING ward = 'B'",
        [("B", [3, 4, 10])],
        sensitivity=((4, 16),) * 3,
        groups=(3,),
    ),
    Fixture(
        "aggregates",
        "APPROX_QUANTILES, many of them",
        "SELECT APPROX_QUANTILES(nights, 20) AS q FROM visits",
        [([0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 10, 10, 10],)],
    ),
    Fixture("aggregates", "bounds that are one value", "SELECT GEOMEAN(CLAMP(cost, 7, 7)) FROM visits", [(7,)]),
    Fixture("aggregates", "MEDIAN of dates", "SELECT MEDIAN(day) FROM visits", [(date(2024, 1, 31),)]),
    Fixture("aggregates", "MIN of dates", "SELECT MIN(day) FROM visits", [(date(2024, 1, 5),)]),
    Fixture(
        "aggregates",
        "quantiles by group",
        "SELECT ward, MEDIAN(cost) AS m, PERCENTILE_CONT(cost, 0.99) AS top FROM visits WHERE ward <> 'C' GROUP BY ward"
        " HAVING ward = 'A'",
        [("A", 15, 40)],
        groups=(3,),
        sensitivity=(ONE, ONE),
        near=0.002,
    ),
    Fixture(
        "aggregates",
        "many quantiles, from one tree",
        f"SELECT {', '.join(f'QUANTILE(cost, {share})' for share in _SHARES)} FROM visits",
        [tuple(sorted(COST)[math.ceil(share * 7) - 1] for share in _SHARES)],
        sensitivity=((16, 64),),
        near=0.002,
    ),
    Fixture("aggregates", "MIN", "SELECT MIN(nights) FROM visits", [(0,)]),
    Fixture("aggregates", "MAX", "SELECT MAX(nights) FROM visits", [(10,)]),
    Fixture("aggregates", "MODE", "SELECT MODE(ward) FROM visits", [("A",)]),
    Fixture(
        "aggregates", "MODE … WITHIN GROUP", "SELECT MODE() WITHIN GROUP (ORDER BY kind) FROM visits", [("acute",)]
    ),
    Fixture(
        "aggregates",
        "APPROX_TOP_COUNT",
        "SELECT APPROX_TOP_COUNT(ward, 2) FROM visits",
        [([{"value": "A", "count": 4}, {"value": "B", "count": 3}],)],
    ),
    Fixture(
        "aggregates",
        "HISTOGRAM",
        "SELECT HISTOGRAM(nights, 5) FROM visits",
        [([{"value": 2.0 * place, "count": count} for place, count in enumerate((3, 3, 1, 0, 1))],)],
    ),
)


_CITIES: Final = (("Bonn", 1), ("Ulm", 2))

KEYS: Final = (
    Fixture(
        "keys",
        "ANY_VALUE of a key",
        "SELECT ANY_VALUE(ward) AS w, COUNT(*) AS n FROM visits GROUP BY ward",
        [("A", 4), ("B", 3), ("C", 0)],
        groups=(3,),
    ),
    Fixture(
        "keys",
        "months as texts",
        "SELECT STRFTIME(day, '%Y-%m') AS m, COUNT(*) AS n FROM visits GROUP BY m",
        [("2024-01", 4), ("2024-02", 3), ("2024-03", 0)],
        groups=(3,),
    ),
    Fixture(
        "keys",
        "declared values",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
        [("A", 4), ("B", 3), ("C", 0)],
        groups=(3,),
    ),
    Fixture(
        "keys",
        "declared values that may be NULL",
        "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind",
        [("acute", 5), ("planned", 2), (None, 1)],
        groups=(3,),
    ),
    Fixture(
        "keys",
        "a boolean",
        "SELECT urgent, COUNT(*) AS n FROM visits GROUP BY urgent",
        [(False, 3), (True, 4)],
        groups=(2,),
    ),
    Fixture(
        "keys",
        "an expression with few values",
        "SELECT age % 3 AS rest, COUNT(*) AS n FROM patients GROUP BY rest",
        [(0, 2), (1, 1), (2, 1)],
        rows=(1,),
        groups=(3,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "keys",
        "CASE over values that you name",
        "SELECT CASE WHEN age >= 45 THEN 'old' ELSE 'young' END AS which, COUNT(*) AS n FROM patients GROUP BY which",
        [("old", 2), ("young", 2)],
        rows=(1,),
        groups=(2,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "keys",
        "CASE over private text",
        "SELECT CASE note WHEN 'flu' THEN 'flu' WHEN 'mumps' THEN 'mumps' ELSE 'other' END AS why, COUNT(*) AS n"
        " FROM visits GROUP BY why",
        [("flu", 5), ("mumps", 0), ("other", 3)],
        groups=(3,),
    ),
    Fixture(
        "keys",
        "numbers cut by WIDTH_BUCKET",
        "SELECT WIDTH_BUCKET(age, 0, 100, 4) AS part, COUNT(*) AS n FROM patients GROUP BY part",
        [(1, 0), (2, 2), (3, 1), (4, 0), (5, 1)],
        rows=(1,),
        groups=(5,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "keys",
        "dates cut by DATE_TRUNC",
        "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month",
        [(date(2024, 1, 1), 4), (date(2024, 2, 1), 3), (date(2024, 3, 1), 0)],
        groups=(3,),
    ),
    Fixture(
        "keys",
        "a part of a date",
        "SELECT EXTRACT(quarter FROM day) AS quarter, COUNT(*) AS n FROM visits GROUP BY quarter",
        [(1, 8), (2, 0), (3, 0), (4, 0)],
        groups=(4,),
    ),
    Fixture(
        "keys",
        "whole numbers between bounds",
        "SELECT age, COUNT(*) AS n FROM patients GROUP BY age HAVING COUNT(*) > 0",
        [(30, 1), (40, 1), (50, 1)],
        rows=(1,),
        groups=(101,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "keys",
        "days between bounds",
        "SELECT d, COUNT(*) AS n FROM beds GROUP BY d HAVING COUNT(*) > 0",
        [(date(2024, 2, 29), 1), (date(2024, 12, 31), 1)],
        rows=(1,),
        groups=(366,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "keys",
        "a column of a public table",
        "SELECT floor, COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY floor",
        [(1, 4), (2, 3), (3, 0)],
        groups=(3,),
    ),
    Fixture(
        "keys",
        "two keys",
        "SELECT sex, age >= 45 AS old, COUNT(*) AS n FROM patients GROUP BY sex, old",
        [("f", False, 1), ("f", True, 1), ("m", False, 1), ("m", True, 0), (None, False, 0), (None, True, 1)],
        rows=(1,),
        groups=(6,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "keys",
        "private keys, selected by noise",
        "SELECT city, COUNT(*) AS n FROM patients GROUP BY city",
        _CITIES,
        rows=(1,),
        sensitivity=(SINGLE,),
        policy="delta",
    ),
    Fixture(
        "keys",
        "private keys alone",
        "SELECT city FROM patients GROUP BY city",
        [("Bonn",), ("Ulm",)],
        rows=(1,),
        sensitivity=(),
        policy="delta",
    ),
    Fixture(
        "keys",
        "private keys alone, DISTINCT",
        "SELECT DISTINCT UPPER(city) AS town FROM patients",
        [("BONN",), ("ULM",)],
        rows=(1,),
        sensitivity=(),
        policy="delta",
    ),
    Fixture(
        "keys",
        "ROLLUP",
        "SELECT ward, cost IS NULL AS free, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward, free) HAVING COUNT(*) > 1"
        " ORDER BY n DESC, ward",
        [(None, None, 8), ("A", False, 4), ("A", None, 4), ("B", None, 3), ("B", False, 2)],
        rows=(4, 4, 4),
        groups=(6, 3, 1),
        sensitivity=(ONE, ONE, ONE),
    ),
    Fixture(
        "keys",
        "ROLLUP of a key within another key",
        "SELECT ward = 'A' AS first, ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (first, ward) HAVING COUNT(*) > 2",
        [(False, "B", 3), (True, "A", 4), (False, None, 3), (True, None, 4), (None, None, 8)],
        rows=(4, 4, 4),
        groups=(6, 2, 1),
        sensitivity=(ONE, ONE, ONE),
    ),
    Fixture(
        "keys",
        "CUBE",
        "SELECT ward, cost IS NULL AS free, GROUPING(ward, free) AS level, COUNT(*) AS n FROM visits GROUP BY CUBE (ward, free)"
        " HAVING COUNT(*) > 3",
        [("A", False, 0, 4), ("A", None, 1, 4), (None, False, 2, 7), (None, None, 3, 8)],
        rows=(4, 4, 4, 4),
        groups=(6, 3, 2, 1),
        sensitivity=(ONE, ONE, ONE, ONE),
    ),
    Fixture(
        "keys",
        "GROUPING SETS",
        "SELECT ward, kind, SUM(nights) AS s FROM visits GROUP BY GROUPING SETS ((ward), (kind), ())",
        [
            ("A", None, 5),
            ("B", None, 17),
            ("C", None, 0),
            (None, "acute", 20),
            (None, "planned", 2),
            (None, None, 1),
            (None, None, 23),
        ],
        rows=(4, 4, 4),
        groups=(3, 3, 1),
        sensitivity=((40, 1600), (40, 1600), (40, 1600)),
    ),
    Fixture(
        "keys",
        "private keys that are computed",
        "SELECT UPPER(city) AS town, COUNT(*) AS n FROM patients GROUP BY town",
        [("BONN", 1), ("ULM", 2)],
        rows=(1,),
        sensitivity=(SINGLE,),
        policy="delta",
    ),
    Fixture(
        "keys",
        "private keys beside public ones",
        "SELECT city, sex, COUNT(*) AS n FROM patients GROUP BY city, sex",
        [
            ("Bonn", "f", 0),
            ("Bonn", "m", 0),
            ("Bonn", None, 1),
            ("Ulm", "f", 1),
            ("Ulm", "m", 1),
            ("Ulm", None, 0),
        ],
        rows=(1,),
        groups=(3,),
        sensitivity=(SINGLE,),
        policy="delta",
    ),
)


def _join(shows: str, source: str, count: int, rows: int, sensitivity: Sensitivity) -> Fixture:
    return Fixture(
        "joins", shows, f"SELECT COUNT(*) FROM {source}", [(count,)], rows=(rows,), sensitivity=(sensitivity,)
    )


JOINS: Final = (
    Fixture(
        "joins",
        "bounds of a public column",
        "SELECT SUM(w.floor) AS s FROM visits AS v JOIN wards AS w ON v.ward = w.ward",
        [(4 * 1 + 3 * 2,)],
        sensitivity=((12, 144),),
    ),
    _join("private INNER", "visits JOIN patients ON visits.patient = patients.patient", 8, 4, ONE),
    _join("private LEFT", "patients LEFT JOIN visits ON visits.patient = patients.patient", 9, 4, ONE),
    _join("private RIGHT", "visits RIGHT JOIN patients ON visits.patient = patients.patient", 9, 4, ONE),
    _join("private FULL", "visits FULL JOIN patients ON visits.patient = patients.patient", 9, 5, (5, 25)),
    _join("USING", "visits JOIN patients USING (patient)", 8, 4, ONE),
    _join("further conditions", "visits AS v JOIN patients AS p ON v.patient = p.patient AND v.cost > 15", 4, 4, ONE),
    _join("many to many", "labs JOIN visits ON labs.patient = visits.patient", 9, 8, (8, 64)),
    _join("a table with itself, on the unit", "labs AS a JOIN labs AS b ON a.patient = b.patient", 5, 4, ONE),
    _join("public INNER", "visits JOIN wards ON visits.ward = wards.ward", 7, 4, ONE),
    _join("public INNER, public side first", "wards JOIN visits ON visits.ward = wards.ward", 7, 4, ONE),
    _join("public LEFT", "visits LEFT JOIN wards ON visits.ward = wards.ward", 8, 4, ONE),
    _join("public RIGHT, public side first", "wards RIGHT JOIN visits ON visits.ward = wards.ward", 8, 4, ONE),
    _join("public, several matches: rows are chosen again", "visits JOIN stays ON visits.ward = stays.ward", 9, 4, ONE),
    _join("rows that are units, with one match", "beds JOIN wards ON beds.ward = wards.ward", 2, 1, SINGLE),
    Fixture(
        "joins",
        "along a foreign key",
        "SELECT COUNT(*), SUM(level) FROM labs",
        [(3, 32)],
        rows=(2,),
        sensitivity=((40, 1600),),
    ),
    _join("a unique key keeps rows few", "items JOIN bills USING (patient, bill)", 4, 5, (5, 25)),
    _join("the unit's foreign key, where it is unique", "items JOIN bills ON items.bill = bills.bill", 4, 5, (5, 25)),
    _join("a unique key, rows without a partner", "bills LEFT JOIN items ON items.bill = bills.bill", 5, 7, (7, 49)),
    _join(
        "totals per key are unique",
        "bills AS b JOIN (SELECT patient, bill, SUM(amount) AS total FROM items GROUP BY patient, bill) AS t"
        " ON b.patient = t.patient AND b.bill = t.bill",
        3,
        3,
        (3, 9),
    ),
    _join("a comma, and WHERE", "visits AS v, patients AS p WHERE v.patient = p.patient AND p.age > 35", 5, 4, ONE),
    _join(
        "three with commas, in any order",
        "labs AS l, patients AS p, visits AS v WHERE l.patient = v.patient AND v.patient = p.patient AND v.cost > l.level",
        7,
        8,
        (8, 64),
    ),
    _join("CROSS JOIN with public rows: rows are chosen again", "visits CROSS JOIN wards", 12, 4, ONE),
    _join("public rows by inequality", "visits JOIN wards ON visits.nights > wards.floor", 10, 4, ONE),
    Fixture(
        "joins",
        "public side first, then private ones",
        "SELECT SUM(w.floor) FROM wards AS w JOIN visits AS v ON w.ward = v.ward"
        " JOIN patients AS p ON v.patient = p.patient WHERE w.wing = 'east'",
        [(10,)],
        sensitivity=((12, 144),),
    ),
    _join("parentheses", "(visits JOIN patients USING (patient)) JOIN wards ON visits.ward = wards.ward", 7, 4, ONE),
    _join(
        "parentheses with a name",
        "(visits JOIN patients USING (patient)) AS t JOIN labs ON t.patient = labs.patient AND t.age > 35",
        3,
        8,
        (8, 64),
    ),
    _join("SEMI JOIN", "visits SEMI JOIN labs ON visits.patient = labs.patient", 6, 4, ONE),
    _join("ANTI JOIN", "patients ANTI JOIN labs USING (patient)", 2, 1, SINGLE),
    _join(
        "SEMI JOIN, further conditions",
        "visits AS v SEMI JOIN labs AS l ON v.patient = l.patient AND l.level > v.cost",
        1,
        4,
        ONE,
    ),
    Fixture(
        "joins",
        "CROSS JOIN with a released result",
        "SELECT COUNT(*) FROM visits CROSS JOIN (SELECT AVG(nights) AS mean FROM visits) AS m WHERE nights > mean",
        [(3,)],
        rows=(4, 4),
        groups=(1, 1),
        sensitivity=((40, 1600), ONE),
    ),
    Fixture(
        "joins",
        "USING makes two columns one",
        "SELECT ward, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY ward",
        [("A", 4), ("B", 3), ("D", 0)],
        groups=(3,),
    ),
    Fixture(
        "joins",
        "public rows are kept: their keys appear",
        "SELECT wards.ward, COUNT(*) AS n FROM visits RIGHT JOIN wards ON visits.ward = wards.ward GROUP BY wards.ward",
        [("A", 4), ("B", 3), ("D", 0)],
        groups=(3,),
    ),
    Fixture(
        "joins",
        "keys of a public subquery",
        "SELECT ward, COUNT(*) AS n FROM (SELECT DISTINCT ward FROM wards WHERE floor > 1) LEFT JOIN visits USING (ward) GROUP BY ward",
        [("B", 3), ("D", 0)],
        groups=(2,),
    ),
    Fixture(
        "joins",
        "keys of the other table",
        "SELECT sex, COUNT(*) AS n FROM visits JOIN patients USING (patient) GROUP BY sex",
        [("f", 3), ("m", 3), (None, 2)],
        groups=(3,),
    ),
    Fixture(
        "joins",
        "unmatched rows have a NULL key",
        "SELECT wing, COUNT(*) AS n FROM visits LEFT JOIN wards ON visits.ward = wards.ward GROUP BY wing",
        [("east", 7), ("west", 0), (None, 1)],
        groups=(3,),
    ),
)


def _per_unit(total: str, of: str, result: Any, sensitivity: Sensitivity, shows: str) -> Fixture:
    text = f"SELECT {total} FROM (SELECT patient, {of} AS v FROM visits GROUP BY patient)"
    return Fixture("subqueries", shows, text, [(result,)], rows=(1,), sensitivity=(sensitivity,))


def _window(total: str, of: str, result: Any, shows: str, sensitivity: Sensitivity = ONE, where: str = "") -> Fixture:
    text = f"SELECT {total} FROM (SELECT {of} AS v FROM visits){where}"
    return Fixture("subqueries", shows, text, [(result,)], sensitivity=(sensitivity,))


SUBQUERIES: Final = (
    Fixture(
        "subqueries",
        "rows that are kept",
        "SELECT COUNT(*) FROM (SELECT patient, ward FROM visits WHERE urgent)",
        [(4,)],
    ),
    Fixture(
        "subqueries",
        "a CTE",
        "WITH stay AS (SELECT patient, nights * 2 AS double FROM visits) SELECT SUM(double) FROM stay",
        [(46,)],
        sensitivity=((80, 6400),),
    ),
    Fixture(
        "subqueries",
        "a CTE that is joined with itself",
        "WITH v AS (SELECT patient, nights FROM visits) SELECT COUNT(*) FROM v AS a JOIN v AS b ON a.patient = b.patient",
        [(22,)],
        rows=(16,),
        sensitivity=((16, 256),),
    ),
    Fixture(
        "subqueries",
        "the unit IN a subquery",
        "SELECT COUNT(*) FROM visits WHERE patient IN (SELECT patient FROM labs WHERE level > 6)",
        [(6,)],
    ),
    Fixture(
        "subqueries",
        "the unit NOT IN a subquery",
        "SELECT SUM(age) FROM patients WHERE patient NOT IN (SELECT patient FROM visits WHERE urgent)",
        [(100,)],
        rows=(1,),
        sensitivity=((100, 10_000),),
    ),
    Fixture(
        "subqueries",
        "the unit IN a grouped subquery",
        "SELECT COUNT(*) FROM patients WHERE patient IN (SELECT patient FROM visits GROUP BY patient HAVING COUNT(*) > 2)",
        [(2,)],
        rows=(1,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "subqueries",
        "EXISTS on the unit",
        "SELECT COUNT(*) FROM patients AS p WHERE EXISTS (SELECT 1 FROM visits WHERE visits.patient = p.patient AND cost > age)",
        [(2,)],
        rows=(1,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "subqueries",
        "NOT EXISTS on the unit",
        "SELECT COUNT(*) FROM patients AS p WHERE NOT EXISTS (SELECT 1 FROM visits AS v WHERE v.patient = p.patient)",
        [(1,)],
        rows=(1,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "subqueries",
        "IN or EXISTS within OR and NOT",
        "SELECT COUNT(*) FROM patients AS p WHERE age < 35 OR EXISTS (SELECT 1 FROM visits AS v WHERE v.patient = p.patient AND cost > 100)",
        [(2,)],
        rows=(1,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "subqueries",
        "EXISTS of public rows",
        "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM wards WHERE wards.ward = visits.ward AND floor > 1)",
        [(3,)],
    ),
    Fixture(
        "subqueries",
        "rows without a partner",
        "SELECT COUNT(*) FROM patients AS p LEFT JOIN visits AS v ON v.patient = p.patient WHERE v.patient IS NULL",
        [(1,)],
    ),
    Fixture(
        "subqueries",
        "rows with a partner, counted",
        "SELECT COUNT(*) AS n, COUNT(v.patient) AS visits FROM patients AS p LEFT JOIN visits AS v ON v.patient = p.patient",
        [(9, 8)],
    ),
    Fixture(
        "subqueries",
        "USING again and again",
        "SELECT COUNT(*) FROM visits JOIN patients USING (patient) JOIN patients AS again USING (patient)",
        [(8,)],
    ),
    Fixture(
        "subqueries",
        "the first row of each unit",
        "SELECT SUM(nights) FROM (SELECT patient, nights FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient ORDER BY day) = 1)",
        [(11,)],
        sensitivity=((40, 1600),),
    ),
    Fixture(
        "subqueries",
        "QUALIFY over released values",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) = 1",
        [("A", 4)],
        groups=(3,),
    ),
    Fixture(
        "subqueries",
        "COUNT_IF and FILTER for each unit",
        "SELECT AVG(acute) FROM (SELECT patient, COUNT_IF(kind = 'acute') AS acute, MAX(cost) FILTER (WHERE urgent) AS most FROM visits GROUP BY patient)",
        [(5 / 3,)],
        rows=(1,),
        sensitivity=((4, 16),),
    ),
    Fixture(
        "subqueries",
        "units that two have: INTERSECT",
        "SELECT COUNT(*) FROM (SELECT patient FROM visits WHERE ward = 'A' INTERSECT SELECT patient FROM visits WHERE ward = 'B')",
        [(2,)],
        rows=(1,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "subqueries",
        "units that one has: EXCEPT",
        "SELECT COUNT(*) FROM (SELECT patient FROM patients EXCEPT SELECT patient FROM visits)",
        [(1,)],
        rows=(1,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "subqueries",
        "EXISTS along a foreign key that is unique",
        "SELECT COUNT(*) FROM bills AS b WHERE EXISTS (SELECT 1 FROM items AS i WHERE i.bill = b.bill)",
        [(3,)],
        rows=(3,),
        sensitivity=((3, 9),),
    ),
    Fixture(
        "subqueries",
        "SELECT DISTINCT unit",
        "SELECT COUNT(*) FROM (SELECT DISTINCT patient FROM visits WHERE nights > 1)",
        [(3,)],
        rows=(1,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "subqueries",
        "SELECT DISTINCT unit and more",
        "SELECT ward, COUNT(*) AS n FROM (SELECT DISTINCT patient, ward FROM visits) GROUP BY ward",
        [("A", 2), ("B", 3), ("C", 0)],
        groups=(3,),
    ),
    Fixture(
        "subqueries",
        "scalars without FROM",
        "SELECT (SELECT COUNT(*) FROM visits) AS v, (SELECT COUNT(*) FROM patients) AS p",
        [(8, 4)],
        rows=(4, 1),
        groups=(1, 1),
        sensitivity=(ONE, SINGLE),
    ),
    Fixture(
        "subqueries",
        "UNION of released results",
        "SELECT COUNT(*) > 3 AS many FROM visits UNION SELECT COUNT(*) > 3 FROM patients",
        [(True,)],
        rows=(4, 1),
        groups=(1, 1),
        sensitivity=(ONE, SINGLE),
    ),
    Fixture(
        "subqueries",
        "constants in a subquery",
        "WITH least AS (SELECT 2 AS n) SELECT COUNT(*) FROM visits CROSS JOIN least WHERE nights > n",
        [(3,)],
    ),
    Fixture(
        "subqueries",
        "UNION ALL of released results",
        "SELECT 'visits' AS of, COUNT(*) AS n FROM visits UNION ALL SELECT 'patients', COUNT(*) FROM patients ORDER BY n",
        [("patients", 4), ("visits", 8)],
        rows=(4, 1),
        groups=(1, 1),
        sensitivity=(ONE, SINGLE),
    ),
    Fixture(
        "subqueries",
        "rows of a unit, averaged",
        "SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient)",
        [(8 / 3,)],
        rows=(1,),
        sensitivity=((4, 16),),
    ),
    Fixture(
        "subqueries",
        "how many units have so many rows",
        "SELECT n, COUNT(*) AS units FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) GROUP BY n",
        [(0, 0), (1, 0), (2, 1), (3, 2), (4, 0)],
        rows=(1,),
        groups=(5,),
        sensitivity=(SINGLE,),
        columns=("n", "units"),
    ),
    _per_unit("SUM(v)", "SUM(nights)", 23, (40, 1600), "a sum per unit"),
    _per_unit("SUM(v)", "MIN(nights)", 2, (10, 100), "the least per unit"),
    _per_unit("SUM(v)", "MAX(nights)", 17, (10, 100), "the largest per unit"),
    _per_unit("COUNT_IF(v > 3)", "AVG(nights)", 1, SINGLE, "an average per unit"),
    _per_unit("SUM(v)", "COUNT(DISTINCT ward)", 5, (4, 16), "distinct values per unit"),
    _per_unit("SUM(v)", "FIRST(nights ORDER BY day)", 11, (10, 100), "the first per unit"),
    _per_unit("SUM(v)", "LAST(nights ORDER BY day)", 8, (10, 100), "the last per unit"),
    Fixture(
        "subqueries",
        "units that fulfil a condition",
        "SELECT COUNT(*) FROM (SELECT patient FROM visits GROUP BY patient HAVING COUNT(*) > 2)",
        [(2,)],
        rows=(1,),
        sensitivity=(SINGLE,),
    ),
    Fixture(
        "subqueries",
        "per unit and ward",
        "SELECT COUNT(*) FROM (SELECT patient, ward, COUNT(*) AS n FROM visits GROUP BY patient, ward)",
        [(6,)],
    ),
    Fixture(
        "subqueries",
        "per-unit totals joined with another table",
        "SELECT SUM(p.age) FROM patients AS p JOIN (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS v"
        " ON p.patient = v.patient WHERE v.n > 2",
        [(70,)],
        rows=(1,),
        sensitivity=((100, 10_000),),
    ),
    _window("COUNT(*)", "ROW_NUMBER() OVER (PARTITION BY patient ORDER BY day)", 3, "ROW_NUMBER", where=" WHERE v = 1"),
    _window("COUNT(*)", "RANK() OVER (PARTITION BY patient ORDER BY cost)", 3, "RANK", where=" WHERE v = 1"),
    _window(
        "COUNT(*)", "DENSE_RANK() OVER (PARTITION BY patient ORDER BY cost)", 3, "DENSE_RANK", where=" WHERE v = 1"
    ),
    _window("COUNT(v)", "LAG(ward) OVER (PARTITION BY patient ORDER BY day)", 5, "LAG"),
    _window("SUM(v)", "LEAD(nights) OVER (PARTITION BY patient ORDER BY day)", 12, "LEAD", (40, 1600)),
    _window("SUM(v)", "SUM(nights) OVER (PARTITION BY patient ORDER BY day)", 39, "a running sum", (160, 25_600)),
    _window(
        "SUM(v)",
        "SUM(nights) OVER (PARTITION BY patient ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        38,
        "a frame of rows",
        (160, 25_600),
    ),
    _window("SUM(v)", "COUNT(*) OVER (PARTITION BY patient)", 22, "COUNT over the unit", (16, 256)),
    _window("SUM(v)", "MIN(nights) OVER (PARTITION BY patient)", 5, "MIN over the unit", (40, 1600)),
    _window("SUM(v)", "MAX(nights) OVER (PARTITION BY patient)", 41, "MAX over the unit", (40, 1600)),
    Fixture(
        "subqueries",
        "UNION ALL",
        "SELECT COUNT(*), SUM(nights) FROM"
        " (SELECT patient, nights FROM visits UNION ALL SELECT patient, level FROM labs)",
        [(11, 57)],
        rows=(6,),
        sensitivity=((120, 14_400),),
    ),
    Fixture(
        "subqueries",
        "a released result, asked again",
        "SELECT MAX(n) AS top FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)",
        [(4,)],
        groups=(3,),
        columns=("top",),
    ),
    Fixture(
        "subqueries",
        "a released result, joined with a public table",
        "SELECT wing, SUM(n) AS n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS r"
        " JOIN wards AS w ON r.ward = w.ward GROUP BY wing",
        [("east", 7)],
        groups=(3,),
    ),
    Fixture(
        "subqueries",
        "a released number in WHERE",
        "SELECT COUNT(*) FROM visits WHERE nights > (SELECT AVG(nights) FROM visits)",
        [(3,)],
        rows=(4, 4),
        groups=(1, 1),
        sensitivity=((40, 1600), ONE),
    ),
    Fixture(
        "subqueries",
        "a released number in SELECT",
        "SELECT COUNT(*) - (SELECT COUNT(*) FROM patients) AS more FROM visits",
        [(4,)],
        rows=(1, 4),
        groups=(1, 1),
        sensitivity=(SINGLE, ONE),
        columns=("more",),
    ),
    Fixture(
        "subqueries",
        "released keys in IN",
        "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 3)",
        [(4,)],
        rows=(4, 4),
        groups=(3, 1),
        sensitivity=(ONE, ONE),
    ),
    Fixture(
        "subqueries",
        "public values in IN",
        "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE floor = 2)",
        [(3,)],
    ),
    Fixture(
        "subqueries",
        "private rows joined with a released result",
        "SELECT SUM(r.n) FROM visits JOIN (SELECT ward, CLAMP(COUNT(*), 0, 3) AS n FROM visits GROUP BY ward) AS r"
        " ON visits.ward = r.ward",
        [(21,)],
        rows=(4, 4),
        groups=(3, 1),
        sensitivity=(ONE, (12, 144)),
    ),
)


def _clause(options: str, items: str = "COUNT(*)", source: str = "visits") -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {items} FROM {source}"


CLAUSE: Final = (
    Fixture("clause", "epsilon", _clause("epsilon = 0.5"), [(8,)], cost={}),
    Fixture("clause", "rho", _clause("rho = 0.1"), [(8,)], policy="delta", cost={}),
    Fixture(
        "clause",
        "delta",
        _clause("epsilon = 1, delta = 1e-4", "city, COUNT(*) AS n", "patients GROUP BY city"),
        _CITIES,
        rows=(1,),
        sensitivity=(SINGLE,),
        policy="delta",
        cost={},
    ),
    Fixture(
        "clause",
        "other: what no selected key has",
        _clause("epsilon = 1, delta = 1e-4, other = true", "city, COUNT(*) AS n", "patients GROUP BY city"),
        [*_CITIES, ("OTHER", 0)],
        rows=(1,),
        sensitivity=(SINGLE,),
        policy="delta",
        cost={},
    ),
    Fixture(
        "clause",
        "NULL sets no limit",
        _clause("epsilon = 1, max_groups_contributed = NULL, max_rows_contributed = NULL"),
        [(8,)],
        cost={},
    ),
    Fixture(
        "clause",
        "public groups",
        _clause(
            "epsilon = 1, group_selection_strategy = PUBLIC_GROUPS, max_groups_contributed = 2",
            "ward, COUNT(*) AS n",
            "visits RIGHT OUTER JOIN (SELECT DISTINCT ward FROM wards) USING (ward) GROUP BY ward",
        ),
        [("A", 4), ("B", 3), ("D", 0)],
        groups=(3,),
        cost={},
    ),
    Fixture(
        "clause",
        "two public groups",
        _clause(
            "epsilon = 1, group_selection_strategy = PUBLIC_GROUPS",
            "ward, length, COUNT(*) AS n",
            "(SELECT DISTINCT ward FROM wards WHERE floor < 3) LEFT JOIN visits USING (ward) RIGHT JOIN (SELECT DISTINCT length FROM stays) ON nights = length GROUP BY ward, length",
        ),
        [("A", 1, 1), ("A", 7, 0), ("B", 1, 0), ("B", 7, 0)],
        groups=(4,),
        cost={},
    ),
    Fixture(
        "clause",
        "group_selection_strategy, min_privacy_units_per_group",
        _clause(
            "epsilon = 1, delta = 1e-4, group_selection_strategy = LAPLACE_THRESHOLD, min_privacy_units_per_group = 2",
            "city, COUNT(*) AS n",
            "patients GROUP BY city",
        ),
        [("Ulm", 2)],
        rows=(1,),
        sensitivity=(SINGLE,),
        policy="delta",
        cost={},
    ),
    Fixture(
        "clause",
        "a clause in each subquery: costs add up",
        f"{_clause('epsilon = 0.25, max_rows_contributed = 1')} UNION ALL {_clause('epsilon = 0.75', source='patients')}",
        [(3,), (4,)],
        rows=(1, 1),
        groups=(1, 1),
        sensitivity=(SINGLE, SINGLE),
        cost={},
    ),
    Fixture("clause", "confidence", _clause("epsilon = 1, confidence = 0.5"), [(8,)], cost={}),
    Fixture("clause", "privacy_unit_column", _clause("epsilon = 1, privacy_unit_column = patient"), [(8,)], cost={}),
    Fixture("clause", "the same cost in call and text", _clause("epsilon = 1"), [(8,)]),
    Fixture("clause", "no options at all", "SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM visits", [(8,)]),
    Fixture(
        "clause",
        "max_groups_contributed",
        "SELECT SUM(n) FROM ("
        + _clause(
            "epsilon = 1, max_groups_contributed = 1",
            "CASE WHEN level > 6 THEN 'high' ELSE 'low' END AS which, COUNT(DISTINCT patient) AS n",
            "labs GROUP BY which",
        )
        + ")",
        [(2,)],
        rows=(2,),
        groups=(2,),
        sensitivity=(SINGLE,),
        cost={},
    ),
    Fixture(
        "clause",
        "all rows that public rows multiplied",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, max_rows_contributed = 12)"
        " COUNT(*) FROM visits CROSS JOIN wards",
        [(24,)],
        rows=(12,),
        sensitivity=((12, 144),),
        cost={},
    ),
    Fixture(
        "clause",
        "max_rows_contributed",
        _clause("epsilon = 1, max_rows_contributed = 1"),
        [(3,)],
        rows=(1,),
        sensitivity=(SINGLE,),
        cost={},
    ),
    Fixture(
        "clause",
        "max_rows_per_group",
        _clause("epsilon = 1, max_rows_per_group = 1"),
        [(3,)],
        sensitivity=(SINGLE,),
        cost={},
    ),
    Fixture(
        "clause",
        "contribution_bounds_per_group of a count",
        _clause("epsilon = 1", "COUNT(*, contribution_bounds_per_group => (0, 2)) AS n"),
        [(6,)],
        sensitivity=((2, 4),),
        cost={},
        columns=("n",),
    ),
    Fixture(
        "clause",
        "contribution_bounds_per_group of a sum",
        _clause("epsilon = 1", "SUM(cost, contribution_bounds_per_group => (0, 50)) AS s"),
        [(150,)],
        sensitivity=((100, 10_000),),
        cost={},
    ),
    Fixture(
        "clause",
        "contribution_bounds_per_group of an average: over units",
        _clause("epsilon = 1", "AVG(cost, contribution_bounds_per_group => (0, 50)) AS a"),
        [(((10 + 20 + 30.5) / 3 + (40 + 15) / 2 + 50) / 3,)],
        sensitivity=((1, 1), (524_250, 524_250**2)),
        cost={},
    ),
    Fixture(
        "clause",
        "contribution_bounds_per_row",
        _clause("epsilon = 1", "AVG(cost, contribution_bounds_per_row => (0, 40)) AS a"),
        [((10 + 20 + 30.5 + 40 + 40 + 5 + 15) / 7,)],
        sensitivity=((320, 102_400),),
        cost={},
    ),
    Fixture(
        "clause",
        "contribution_bounds_per_row of a quantile",
        _clause("epsilon = 1", "PERCENTILE_CONT(nights, 0.5, contribution_bounds_per_row => (0, 15)) AS m"),
        [(2,)],
        cost={},
    ),
    Fixture(
        "clause",
        "everything at once",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, privacy_unit_column = patient,"
        " max_groups_contributed = 2) ward, COUNT(*, contribution_bounds_per_group => (0, 5)) AS n,"
        " SUM(nights, contribution_bounds_per_group => (0, 20)) AS s FROM visits GROUP BY ward",
        [("A", 4, 5), ("B", 3, 19), ("C", 0, 0)],
        groups=(3,),
        sensitivity=((10, 50), (40, 800)),
        cost={},
        columns=("ward", "n", "s"),
    ),
    Fixture(
        "clause",
        "named bounds without the clause",
        "SELECT SUM(weight, contribution_bounds_per_group => (0, 10)) AS s FROM visits",
        [(30,)],
        sensitivity=((10 * 2**17, 100 * 2**34),),
    ),
)

_BY_WARD: Final = "FROM visits GROUP BY ward"

STATEMENT: Final = (
    Fixture(
        "statement",
        "windows over what was released",
        "SELECT ward, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM visits GROUP BY ward",
        [("A", 4, 1), ("B", 3, 2), ("C", 0, 3)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "shares of a total",
        "SELECT ward, n / SUM(n) OVER () AS share FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)",
        [("A", 4 / 7), ("B", 3 / 7), ("C", 0.0)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "a window below a condition",
        "SELECT ward FROM (SELECT ward, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS place FROM visits GROUP BY ward)"
        " WHERE place = 2",
        [("B",)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "statistics of what was released",
        "SELECT STDDEV(n) AS s, MEDIAN(n) AS m, COUNT_IF(n > 3) AS c, SUM(n) FILTER (WHERE n > 3) AS t"
        " FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)",
        [(statistics.stdev([4, 3, 0]), 3.0, 1, 4)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "TOP",
        "SELECT TOP 1 ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC",
        [("A", 4)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "EXCLUDE",
        "SELECT SUM(nights) AS s FROM (SELECT v.* EXCLUDE (cost) FROM visits AS v)",
        [(23,)],
        sensitivity=((40, 1600),),
    ),
    Fixture(
        "statement",
        "REPLACE",
        "SELECT SUM(nights) AS s FROM (SELECT * REPLACE (LEAST(nights, 3) AS nights) FROM visits)",
        [(15,)],
        sensitivity=((12, 144),),
    ),
    Fixture(
        "statement",
        "EXPLAIN PRIVACY",
        "EXPLAIN PRIVACY SELECT COUNT(*) AS n FROM visits",
        [("n", _half(4), "discrete Laplace noise of scale 4")],
        columns=("column", "error", "noise"),
    ),
    Fixture(
        "statement",
        "named parameters, $name",
        "SELECT COUNT(*) FROM visits WHERE nights >= $least AND ward = $ward",
        [(2,)],
        params={"least": 4, "ward": "B"},
    ),
    Fixture(
        "statement",
        "named parameters, :name",
        "SELECT COUNT(*) FROM visits WHERE day < :end",
        [(4,)],
        params={"end": date(2024, 2, 1)},
    ),
    Fixture(
        "statement",
        "GROUP BY a number",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY 1",
        [("A", 4), ("B", 3), ("C", 0)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "GROUP BY ALL",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ALL",
        [("A", 4), ("B", 3), ("C", 0)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "GROUP BY an alias",
        "SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY w",
        [("A", 4), ("B", 3), ("C", 0)],
        groups=(3,),
        columns=("w", "n"),
    ),
    Fixture(
        "statement",
        "HAVING, on noisy values",
        f"SELECT ward, COUNT(*) AS n {_BY_WARD} HAVING COUNT(*) > 3",
        [("A", 4)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "HAVING by alias",
        f"SELECT ward, COUNT(*) AS n {_BY_WARD} HAVING n < 4",
        [("B", 3), ("C", 0)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "ORDER BY noisy values",
        f"SELECT ward, COUNT(*) AS n {_BY_WARD} ORDER BY n, ward DESC",
        [("C", 0), ("B", 3), ("A", 4)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "LIMIT and OFFSET",
        f"SELECT ward {_BY_WARD} ORDER BY COUNT(*) DESC LIMIT 1 OFFSET 1",
        [("B",)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "DISTINCT",
        f"SELECT DISTINCT COUNT(*) > 0 AS some {_BY_WARD} ORDER BY some",
        [(False,), (True,)],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "arithmetic between aggregates",
        "SELECT ROUND(100 * COUNT_IF(urgent) / COUNT(*), 1) AS share FROM visits",
        [(50,)],
        columns=("share",),
    ),
    Fixture(
        "statement",
        "CASE over noisy values",
        f"SELECT ward, CASE WHEN COUNT(*) > 3 THEN 'many' ELSE 'few' END AS size {_BY_WARD}",
        [("A", "many"), ("B", "few"), ("C", "few")],
        groups=(3,),
    ),
    Fixture(
        "statement",
        "ends of intervals as columns",
        "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high FROM visits",
        [(8, 8 - _half(4), 8 + _half(4))],
        columns=("n", "low", "high"),
    ),
    Fixture(
        "statement",
        "public tables, free and exact",
        "SELECT wing, COUNT(*) AS n, SUM(floor) AS s FROM wards GROUP BY wing ORDER BY wing",
        [("east", 2, 3), ("west", 1, 3)],
        rows=(),
        groups=(),
        sensitivity=(),
        cost={},
    ),
    Fixture(
        "statement",
        "comments",
        "SELECT /* all of them */ COUNT(*) FROM visits; -- and nothing else",
        [(8,)],
    ),
)


def _sum(function: str, term: str, value: float, far: float) -> Fixture:
    text = f"SELECT SUM({term}) FROM beds"
    return Fixture(
        "functions", function, text, [(value,)], rows=(1,), function=function, far=far, near=2e-5 * max(far, 1)
    )


def _holds(function: str, condition: str, count: int, *, select: str = "SELECT") -> Fixture:
    text = f"{select} COUNT_IF({condition}) FROM beds"
    part = "functions" if select == "SELECT" else "clause"
    return Fixture(part, function, text, [(count,)], rows=(1,), sensitivity=(SINGLE,), function=function)


_COUNTS: Final[Mapping[str, tuple[str, int]]] = {
    "=": ("n = 3", 1),
    "<>": ("n <> 3", 1),
    "<": ("x < 0", 1),
    "<=": ("x <= 2.5", 2),
    ">": ("x > 0", 1),
    ">=": ("n >= -2", 2),
    "BETWEEN": ("d BETWEEN '2024-02-01' AND '2024-02-29'", 1),
    "IN": ("n IN (1, 3, 5)", 1),
    "LIKE": ("w LIKE 'a%'", 1),
    "ILIKE": ("w ILIKE '%AB%'", 2),
    "AND": ("b AND n > 0", 1),
    "OR": ("b OR x < 0", 2),
    "NOT": ("NOT b", 1),
    "IS NULL": ("x IS NULL", 1),
    "IS TRUE": ("b IS TRUE", 1),
    "IS FALSE": ("b IS FALSE", 1),
    "NULLIF": ("NULLIF(n, 3) < 0", 1),
    "CAST TEXT": ("CAST(x AS VARCHAR) = '2.5'", 1),
    "CAST TEXT OF A WHOLE NUMBER": ("CAST(n + 1 AS VARCHAR) = '4'", 1),
    "CAST BOOLEAN": ("CAST(n AS BOOLEAN)", 2),
    "CAST DATE": ("CAST(t AS DATE) = '2024-02-29'", 1),
    "CAST TIMESTAMP": ("CAST(d AS TIMESTAMP) < t", 1),
    "LOWER": ("LOWER(w) = ' abc'", 1),
    "UPPER": ("UPPER(w) = 'ABCD'", 1),
    "TRIM": ("TRIM(w) = 'Abc'", 1),
    "LENGTH": ("LENGTH(w) = 4", 2),
    "SUBSTR": ("SUBSTR(w, 3) = 'cd'", 1),
    "SUBSTR TO": ("SUBSTR(w, 2, 2) = 'Ab'", 1),
    "||": ("w || '!' = 'abcd!'", 1),
    "CONCAT": ("CONCAT(w, '!') = '!'", 1),
    "DATE_TRUNC year DATE": ("DATE_TRUNC('year', d) = '2024-01-01'", 2),
    "DATE_TRUNC quarter DATE": ("DATE_TRUNC('quarter', d) = '2024-10-01'", 1),
    "DATE_TRUNC month DATE": ("DATE_TRUNC('month', d) = '2024-02-01'", 1),
    "DATE_TRUNC week DATE": ("DATE_TRUNC('week', d) = '2024-02-26'", 1),
    "DATE_TRUNC day DATE": ("DATE_TRUNC('day', d) = '2024-02-29'", 1),
    "DATE_TRUNC year TIMESTAMP": ("DATE_TRUNC('year', t) = '2024-01-01'", 2),
    "DATE_TRUNC quarter TIMESTAMP": ("DATE_TRUNC('quarter', t) = '2024-01-01'", 1),
    "DATE_TRUNC month TIMESTAMP": ("DATE_TRUNC('month', t) = '2024-12-01'", 1),
    "DATE_TRUNC week TIMESTAMP": ("DATE_TRUNC('week', t) = '2024-12-30'", 1),
    "DATE_TRUNC day TIMESTAMP": ("DATE_TRUNC('day', t) = '2024-12-30'", 1),
    "DATE_TRUNC hour TIMESTAMP": ("DATE_TRUNC('hour', t) = '2024-02-29 13:00:00'", 1),
    "DATE_TRUNC minute TIMESTAMP": ("DATE_TRUNC('minute', t) = '2024-02-29 13:45:00'", 1),
    "DATE_DIFF year": ("DATE_DIFF('year', DATE '2023-12-31', d) = 1", 2),
    "DATE_DIFF quarter": ("DATE_DIFF('quarter', DATE '2024-01-01', d) = 3", 1),
    "DATE_DIFF month": ("DATE_DIFF('month', DATE '2024-01-31', d) = 11", 1),
    "DATE_DIFF week": ("DATE_DIFF('week', DATE '2024-02-26', d) = 44", 1),
    "DATE_DIFF day": ("DATE_DIFF('day', DATE '2024-02-01', d) = 28", 1),
    "DATE_DIFF hour": ("DATE_DIFF('hour', TIMESTAMP '2024-02-29 12:30:00', t) = 1", 1),
    "DATE_DIFF minute": ("DATE_DIFF('minute', TIMESTAMP '2024-02-29 13:40:50', t) = 5", 1),
    "DATE_ADD day DATE": ("d + 1 = '2024-03-01'", 1),
    "DATE_ADD day TIMESTAMP": ("d + INTERVAL 1 DAY = '2024-03-01'", 1),
    "DATE_ADD month TIMESTAMP": ("d - INTERVAL '1 month' = '2024-11-30'", 1),
    "DATE_ADD second TIMESTAMP": ("t + INTERVAL 2 HOUR > '2024-12-31'", 1),
    "STRFTIME": ("STRFTIME(d, '%b %Y') = 'Feb 2024'", 1),
    "IS DISTINCT FROM": ("n IS DISTINCT FROM 3", 2),
    "LIKE ESCAPE": ("w || '%' LIKE 'abcd!%' ESCAPE '!'", 1),
    "ILIKE ESCAPE": ("w || '_' ILIKE '%C!_' ESCAPE '!'", 1),
    "STARTS_WITH": ("STARTS_WITH(w, 'ab')", 1),
    "ENDS_WITH": ("ENDS_WITH(w, 'bc')", 1),
    "CONTAINS": ("CONTAINS(w, 'bc')", 2),
}
"""Conditions, and how many of the three rows fulfil them."""

_SUMS: Final[Mapping[str, tuple[str, float, float]]] = {
    "+": ("x + n", 5.5 - 6, 15),
    "-": ("x - n", -0.5 - 2, 15),
    "*": ("x * n", 7.5 + 8, 50),
    "/": ("x / 4", 0.625 - 1, 2.5),
    "//": ("(n - 1) // 2", 1 - 1, 3),
    "%": ("n % 2", 1, 1),
    "NEGATE": ("-n", -3 + 2, 5),
    "ABS": ("ABS(x)", 6.5, 10),
    "ROUND": ("ROUND(x)", 3 - 4, 10),
    "ROUND TO": ("ROUND(x / 8, 1)", 0.3 - 0.5, 1.3),
    "FLOOR": ("FLOOR(x)", 2 - 4, 10),
    "CEIL": ("CEIL(x)", 3 - 4, 10),
    "SQRT": ("SQRT(ABS(n))", math.sqrt(3) + math.sqrt(2), math.sqrt(5)),
    "EXP": ("EXP(n / 5)", math.exp(0.6) + math.exp(-0.4), math.e),
    "LN": ("LN(ABS(n) + 1)", math.log(4) + math.log(3), math.log(6)),
    "LOG10": ("LOG(ABS(n) + 1)", math.log10(4) + math.log10(3), math.log10(6)),
    "LOG": ("LOG(2, ABS(n) + 1)", 2 + math.log2(3), math.log2(6)),
    "POWER": ("POWER(n, 2)", 9 + 4, 25),
    "LEAST": ("LEAST(x, n)", 2.5 - 4, 10),
    "GREATEST": ("GREATEST(x, n)", 3 - 2, 10),
    "CLAMP": ("CLAMP(x, 0, 2)", 2, 2),
    "WIDTH_BUCKET": ("WIDTH_BUCKET(x, -10, 10, 4)", 3 + 2, 5),
    "CASE": ("CASE WHEN b THEN 1 WHEN n < 0 THEN 2 ELSE 3 END", 1 + 2 + 3, 3),
    "COALESCE": ("COALESCE(n, 4)", 3 - 2 + 4, 5),
    "CAST INTEGER": ("CAST(x * 1.1 AS BIGINT)", 3 - 4, 11),
    "CAST INT": ("CAST(x * 1.1 AS INTEGER)", 3 - 4, 11),
    "CAST NUMBER": ("CAST(n AS DOUBLE)", 3 - 2, 5),
    "EXTRACT year": ("EXTRACT(year FROM t)", 2 * 2024, 2024),
    "EXTRACT quarter": ("EXTRACT(quarter FROM t)", 1 + 4, 4),
    "EXTRACT month": ("EXTRACT(month FROM t)", 2 + 12, 12),
    "EXTRACT week": ("EXTRACT(week FROM t)", 9 + 1, 53),
    "EXTRACT day": ("EXTRACT(day FROM t)", 29 + 30, 31),
    "EXTRACT dow": ("EXTRACT(dow FROM t)", 4 + 1, 6),
    "EXTRACT isodow": ("EXTRACT(isodow FROM t)", 4 + 1, 7),
    "EXTRACT doy": ("EXTRACT(doy FROM t)", 60 + 365, 366),
    "EXTRACT hour": ("EXTRACT(hour FROM t)", 13 + 23, 23),
    "EXTRACT minute": ("EXTRACT(minute FROM t)", 45 + 59, 59),
    "EXTRACT second": ("EXTRACT(second FROM t)", 30, 59),
    "EXTRACT isoyear": ("EXTRACT(isoyear FROM t)", 2024 + 2025, 2025),
    "TRUNC": ("TRUNC(x)", 2 - 4, 10),
    "SIGN": ("SIGN(x)", 1 - 1, 1),
}
"""Terms, their sum over the three rows, and the largest that they can be by their bounds.

Where a bound that floats may miss by a little meets a rounding, there is room for one more.
"""

_BIGQUERY: Final[Mapping[str, tuple[str, int]]] = {
    "EXTRACT day of the week from 1": ("EXTRACT(DAYOFWEEK FROM d) = 5", 1),
    "EXTRACT sunday week": ("EXTRACT(WEEK FROM d) = 8", 1),
    "EXTRACT monday week": ("EXTRACT(WEEK(MONDAY) FROM d) = 9", 1),
    "DATE_TRUNC sunday week DATE": ("DATE_TRUNC(d, WEEK) = '2024-02-25'", 1),
    "DATE_TRUNC sunday week TIMESTAMP": ("TIMESTAMP_TRUNC(t, WEEK) = '2024-02-25 00:00:00'", 1),
    "DATE_TRUNC monday week DATE": ("DATE_TRUNC(d, ISOWEEK) = '2024-02-26'", 1),
    "DATE_TRUNC monday week TIMESTAMP": ("TIMESTAMP_TRUNC(t, ISOWEEK) = '2024-02-26 00:00:00'", 1),
    "DATE_DIFF sunday week": ("DATE_DIFF(d, DATE '2024-02-24', WEEK) = 1", 1),
    "DATE_DIFF monday week": ("DATE_DIFF(d, DATE '2024-02-25', ISOWEEK) = 1", 1),
    "LEAST OF ALL": ("LEAST(n, NULL) IS NULL", 3),
    "CONCAT OF ALL": ("CONCAT(w, NULL) IS NULL", 3),
    "GREATEST OF ALL": ("GREATEST(n, 1) = 3", 1),
    "DATE_ADD month DATE": ("DATE_ADD(d, INTERVAL 1 YEAR) = '2025-02-28'", 1),
}
"""Conditions as BigQuery means them, and how many of the three rows fulfil them."""

_OF_DATES: Final = (
    Fixture("aggregates", "MAX of dates", "SELECT MAX(day) FROM visits", [(date(2024, 3, 31),)], function="DAYS AFTER"),
    Fixture(
        "aggregates",
        "MAX of times",
        "SELECT YEAR(MAX(t)) FROM beds",
        [(2024,)],
        rows=(1,),
        sensitivity=(SINGLE,),
        function="MINUTES AFTER",
    ),
)

FUNCTIONS: Final = (
    *_OF_DATES,
    *(_sum(name, *row) for name, row in _SUMS.items()),
    *(_holds(name, *row) for name, row in _COUNTS.items()),
    *(_holds(name, *row, select="SELECT WITH DIFFERENTIAL_PRIVACY") for name, row in _BIGQUERY.items()),
)

_NAMED: Final = "SQRT(CLAMP(" * 10 + "nights" + ", 0, 10))" * 10

ALIKE: Final = (
    Fixture("functions", "/", "SELECT COUNT(x / 0) FROM beds", [(0,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "LN", "SELECT COUNT(LN(x)) FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "SQRT", "SELECT COUNT(SQRT(x)) FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "%", "SELECT COUNT(MOD(n, 0)) FROM beds", [(0,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "CASE", "SELECT COUNT_IF(IF(b, n, 0) = 3) FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "CASE", "SELECT COUNT_IF(CASE n WHEN 3 THEN b END) FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "NOT", "SELECT COUNT_IF(w NOT LIKE 'a%') FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "NOT", "SELECT COUNT_IF(CASE WHEN w NOT LIKE 'a%' THEN 'x' ELSE 'y' END NOT ILIKE 'X') FROM beds", [(2,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "CAST DATE", "SELECT COUNT(TRY_CAST(w AS DATE)) FROM beds", [(0,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "EXTRACT dow", "SELECT COUNT_IF(DAYOFWEEK(d) = 4) FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "EXTRACT month", "SELECT COUNT_IF(MONTH(d) = 2) FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "EXTRACT year", "SELECT COUNT_IF(DATE_PART('year', d) = 2024) FROM beds", [(2,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "/", "SELECT COUNT_IF(SAFE_DIVIDE(n, 0) IS NULL) FROM beds", [(3,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "*", "SELECT COUNT_IF(PI() * n > 9) FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "NOT", "SELECT COUNT_IF(n IS NOT DISTINCT FROM 3) FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "NOT", "SELECT COUNT_IF(w NOT LIKE 'abc!%' ESCAPE '!') FROM beds", [(2,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "SUBSTR", "SELECT COUNT_IF(LEFT(w, 2) = 'ab') FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "DATE_DIFF day", "SELECT COUNT_IF(d - DATE '2024-02-01' = 28) FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "SQRT", f"SELECT COUNT_IF({_NAMED} > 0.5) FROM visits", [(7,)]),
    Fixture("functions", "CAST INT", "SELECT SUM(CAST(b AS INT)) FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
    Fixture("functions", "DATE_TRUNC month DATE", "SELECT WITH DIFFERENTIAL_PRIVACY COUNT_IF(DATE_TRUNC(d, MONTH) = '2024-02-01') FROM beds", [(1,)], rows=(1,), sensitivity=(SINGLE,)),
)  # fmt: skip
"""Other spellings, and what is NULL because it has no value."""

ANSWERED: Final = (*AGGREGATES, *KEYS, *JOINS, *SUBQUERIES, *CLAUSE, *STATEMENT, *FUNCTIONS, *ALIKE)


# what is refused, and what works instead

_DEEP: Final = "(" * 40 + "1" + ")" * 40
_LONG: Final = " + ".join(["nights"] * 400)
_TWICE: Final = "1 / (" * 20 + "cost" + ")" * 20
_DOUBLED: Final = (
    "WITH c0 AS (SELECT COUNT(*) AS n FROM visits), "
    + ", ".join(f"c{place} AS (SELECT n + n AS n FROM c{place - 1})" for place in range(1, 25))
    + " SELECT n FROM c24"
)
_TABLES: Final = "tables: visits, patients, labs, bills, items, beds, wards, stays"
_COUNT: Final = "SELECT COUNT(*) FROM visits"


def _no(code: str, shows: str, text: str, says: str, fixed: str | None, **more: Any) -> Refusal:
    return Refusal(code, shows, text, says, fixed, **more)


REFUSED: Final = (
    # rows
    _no("not-an-aggregate", "rows", "SELECT ward FROM visits", "COUNT(*), SUM(x) or AVG(x), with GROUP BY", "SELECT ward, COUNT(*) FROM visits GROUP BY ward"),
    _no("not-an-aggregate", "all columns", "SELECT * FROM visits", "ask for a statistic", _COUNT),
    _no("not-an-aggregate", "a preview", "SELECT ward FROM visits LIMIT 3", "ask for a statistic", _COUNT),
    _no("not-an-aggregate", "a column beside an aggregate", "SELECT ward, COUNT(*) FROM visits", "add ward to GROUP BY", "SELECT ward, COUNT(*) FROM visits GROUP BY ward"),
    _no("not-an-aggregate", "the unit as a value", "SELECT COUNT(*) FROM visits WHERE patient = 'p1'", "COUNT(DISTINCT patient)", "SELECT COUNT(DISTINCT patient) FROM visits"),
    _no("not-an-aggregate", "the unit as a key", "SELECT patient, COUNT(*) FROM visits GROUP BY patient", "or ask about such rows: SELECT AVG(n) FROM", "SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient)"),
    _no("not-an-aggregate", "keys alone", "SELECT ward FROM visits GROUP BY ward", "add COUNT(*) to the SELECT", "SELECT ward, COUNT(*) FROM visits GROUP BY ward"),
    _no("not-an-aggregate", "LIMIT on rows", "SELECT COUNT(*) FROM (SELECT ward FROM visits LIMIT 3)", "use LIMIT on the released result", "SELECT COUNT(*) FROM (SELECT ward FROM visits) LIMIT 3"),
    _no("not-an-aggregate", "OFFSET on rows", "SELECT COUNT(*) FROM (SELECT ward FROM visits OFFSET 3)", "use OFFSET on the released result", "SELECT COUNT(*) FROM (SELECT ward FROM visits) OFFSET 0"),
    _no("not-an-aggregate", "DISTINCT on rows", "SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits)", "GROUP BY x instead of DISTINCT", "SELECT COUNT(*) FROM (SELECT ward, COUNT(*) FROM visits GROUP BY ward)"),
    _no("not-an-aggregate", "a window beyond the unit", "SELECT COUNT(v) FROM (SELECT LAG(ward) OVER (ORDER BY day) AS v FROM visits)", "PARTITION BY the unit", "SELECT COUNT(v) FROM (SELECT LAG(ward) OVER (PARTITION BY patient ORDER BY day) AS v FROM visits)"),
    # names
    _no("unknown-table", "a table that is not declared", "SELECT COUNT(*) FROM visit", "visits", _COUNT),
    _no("unknown-table", "a table of another schema", "SELECT COUNT(*) FROM private.visits", "visits", _COUNT),
    _no("unknown-table", "one name for two tables", "SELECT COUNT(*) FROM labs JOIN labs ON labs.patient = labs.patient", "t AS a", "SELECT COUNT(*) FROM labs AS a JOIN labs AS b ON a.patient = b.patient"),
    _no("unknown-column", "a column that is not declared", "SELECT SUM(costs) FROM visits", "cost", "SELECT SUM(cost) FROM visits"),
    _no("unknown-column", "a column that two tables have", "SELECT COUNT(ward) FROM visits JOIN wards ON visits.ward = wards.ward", "t.x", "SELECT COUNT(visits.ward) FROM visits JOIN wards ON visits.ward = wards.ward"),
    # bounds and keys
    _no("undeclared-bounds", "a sum without bounds", "SELECT SUM(weight) FROM visits", "write SUM(CLAMP(weight, 0, 100))", "SELECT SUM(CLAMP(weight, 0, 100)) FROM visits"),
    _no("undeclared-bounds", "a logarithm of 0", "SELECT GEOMEAN(cost) FROM visits", "GEOMEAN(CLAMP(cost, 1, 100))", "SELECT GEOMEAN(CLAMP(cost, 1, 100)) FROM visits"),
    _no("undeclared-bounds", "an average without bounds", "SELECT AVG(weight) FROM visits", "write AVG(CLAMP(weight, 0, 100))", "SELECT AVG(CLAMP(weight, 0, 100)) FROM visits"),
    _no("undeclared-bounds", "a quantile without bounds", "SELECT MEDIAN(weight) FROM visits", "write MEDIAN(CLAMP(weight, 0, 100))", "SELECT MEDIAN(CLAMP(weight, 0, 100)) FROM visits"),
    _no("undeclared-bounds", "numbers as keys", "SELECT weight, COUNT(*) FROM visits GROUP BY weight", "GROUP BY WIDTH_BUCKET(weight, 0, 100, 10)", "SELECT COUNT(*) FROM visits GROUP BY WIDTH_BUCKET(weight, 0, 100, 10)"),
    _no("undeclared-bounds", "the mode of private text", "SELECT MODE(note) FROM visits", "declare its values", "SELECT MODE(kind) FROM visits"),
    _no("private-keys-need-delta", "private keys without δ", "SELECT city, COUNT(*) FROM patients GROUP BY city", "give its budget a delta", None, fixed_policy="delta"),
    _no("private-keys-need-delta", "private keys, named instead", "SELECT city, COUNT(*) FROM patients GROUP BY city", "group by CASE", "SELECT CASE city WHEN 'Ulm' THEN 'Ulm' ELSE 'other' END AS c, COUNT(*) FROM patients GROUP BY c"),
    _no("too-many-groups", "too many keys", "SELECT COUNT(*) FROM patients GROUP BY age, age * 100", "coarser keys", "SELECT COUNT(*) FROM patients GROUP BY age"),
    # joins
    _no("join-off-unit", "private tables off the unit", "SELECT COUNT(*) FROM visits AS v JOIN beds AS b ON v.ward = b.ward", "name a unit", None, fixed_policy="never"),
    _no("join-off-unit", "a table with itself off the unit", "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.ward = b.ward", "add a.patient = b.patient to ON", "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.ward = b.ward AND a.patient = b.patient"),
    _no("join-off-unit", "the unit under OR", "SELECT COUNT(*) FROM visits AS a JOIN patients AS b ON a.patient = b.patient OR TRUE", "add a.patient = b.patient to ON", "SELECT COUNT(*) FROM visits AS a JOIN patients AS b ON a.patient = b.patient"),
    _no("join-off-unit", "NATURAL", "SELECT COUNT(*) FROM visits NATURAL JOIN patients", "write JOIN … ON", "SELECT COUNT(*) FROM visits JOIN patients ON visits.patient = patients.patient"),
    _no("join-off-unit", "CROSS", "SELECT COUNT(*) FROM visits CROSS JOIN patients", "add visits.patient = patients.patient to WHERE", "SELECT COUNT(*) FROM visits CROSS JOIN patients WHERE visits.patient = patients.patient"),
    _no("join-off-unit", "rows kept for public ones", "SELECT COUNT(*) FROM visits SEMI JOIN wards ON visits.ward = wards.ward", "write x IN (SELECT x FROM …)", "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards)"),
    _no("join-off-unit", "a comma before a RIGHT join", "SELECT COUNT(*) FROM visits, patients RIGHT JOIN labs ON labs.patient = patients.patient WHERE visits.patient = patients.patient", "write JOIN … ON for all of them", "SELECT COUNT(*) FROM visits JOIN patients ON visits.patient = patients.patient RIGHT JOIN labs ON labs.patient = patients.patient"),
    _no("wrong-unit", "a privacy clause over public rows", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column = ward) COUNT(*, contribution_bounds_per_group => (0, 1)) FROM wards", "leave WITH DIFFERENTIAL_PRIVACY out", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column = patient) COUNT(*, contribution_bounds_per_group => (0, 1)) FROM visits"),
    _no("undeclared-bounds", "PUBLIC_GROUPS of private keys", _clause("epsilon = 1, group_selection_strategy = PUBLIC_GROUPS", "city, COUNT(*)", "patients GROUP BY city"), "RIGHT JOIN (SELECT DISTINCT key FROM a_public_table)", _clause("epsilon = 1, group_selection_strategy = PUBLIC_GROUPS", "ward, COUNT(*)", "visits RIGHT JOIN (SELECT DISTINCT ward FROM wards) USING (ward) GROUP BY ward"), cost={}),
    _no("syntax", "a least number of units of public keys", _clause("epsilon = 1, min_privacy_units_per_group = 2", "ward, COUNT(*)", "visits GROUP BY ward"), "HAVING COUNT(DISTINCT unit) >= 10", _clause("epsilon = 1", "ward, COUNT(*)", "visits GROUP BY ward HAVING COUNT(DISTINCT patient) >= 2"), cost={}),
    _no("cost-invalid", "clauses of which only some name a cost", f"{_clause('epsilon = 1')} UNION ALL SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM patients", "give each of them epsilon", f"{_clause('epsilon = 1')} UNION ALL {_clause('epsilon = 2', source='patients')}", cost={}),
    _no("join-off-unit", "rows that are units, with several matches", "SELECT COUNT(*) FROM beds JOIN stays ON beds.ward = stays.ward", "unique", "SELECT COUNT(*) FROM beds JOIN wards ON beds.ward = wards.ward"),
    _no("wrong-unit", "another unit", _clause("epsilon = 1, privacy_unit_column = ward"), "write privacy_unit_column = patient", _clause("epsilon = 1, privacy_unit_column = patient"), cost={}),
    # subqueries
    _no("private-subquery", "IN over private rows", "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM beds)", "count in it", "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM beds GROUP BY ward HAVING COUNT(*) > 0)"),
    _no("private-subquery", "a scalar over private rows", "SELECT COUNT(*) FROM visits WHERE cost > (SELECT cost FROM visits)", "(SELECT AVG(x) FROM t)", "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)"),
    _no("private-subquery", "EXISTS", "SELECT COUNT(*) FROM visits AS v WHERE EXISTS (SELECT 1 FROM patients AS p)", "add v.patient = p.patient to its WHERE", "SELECT COUNT(*) FROM visits AS v WHERE EXISTS (SELECT 1 FROM patients AS p WHERE v.patient = p.patient)"),
    _no("private-subquery", "the unit IN something else", "SELECT COUNT(*) FROM visits WHERE patient IN (SELECT nights FROM visits)", "select the unit alone", "SELECT COUNT(*) FROM visits WHERE patient IN (SELECT patient FROM visits)"),
    _no("not-an-aggregate", "a correlated subquery", "SELECT COUNT(*) FROM visits AS v WHERE cost > (SELECT AVG(level) FROM labs WHERE labs.patient = v.patient)", "COUNT(DISTINCT patient)", "SELECT COUNT(DISTINCT patient) FROM visits"),
    # functions
    _no("function-not-allowed", "a function off the list", "SELECT SUM(SIN(nights)) FROM visits", "compute it from the answer", "SELECT SUM(SQRT(nights)) FROM visits"),
    _no("function-not-allowed", "an aggregate off the list", "SELECT STRING_AGG(note, ',') FROM visits", "use APPROX_TOP_COUNT", "SELECT MODE(kind) FROM visits"),
    _no("function-not-allowed", "an aggregate in WHERE", "SELECT COUNT(*) FROM visits WHERE COUNT(*) > 1", "use aggregates in SELECT, HAVING, ORDER BY", "SELECT COUNT(*) FROM visits HAVING COUNT(*) > 1"),
    _no("function-not-allowed", "text where a number belongs", "SELECT SUM(note) FROM visits", "cast it, or count it", "SELECT COUNT(note) FROM visits"),
    _no("function-not-allowed", "kinds that do not mix", "SELECT COUNT(*) FROM visits WHERE nights = 'two'", "write both of one kind", "SELECT COUNT(*) FROM visits WHERE nights = 2"),
    _no("function-not-allowed", "a table function", "SELECT COUNT(*) FROM read_csv('visits.csv')", _TABLES, _COUNT),
    _no("function-not-allowed", "a quantile above 1", "SELECT QUANTILE(nights, 2) FROM visits", "write PERCENTILE_CONT(x, 0.5)", "SELECT PERCENTILE_CONT(nights, 0.5) FROM visits"),
    _no("function-not-allowed", "frames of values", "SELECT SUM(v) FROM (SELECT COUNT(*) OVER (PARTITION BY patient ORDER BY nights RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS v FROM visits)", "write ROWS BETWEEN", "SELECT SUM(v) FROM (SELECT COUNT(*) OVER (PARTITION BY patient ORDER BY nights ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS v FROM visits)"),
    # statements
    _no("statement-not-allowed", "TABLESAMPLE", "SELECT COUNT(*) FROM visits TABLESAMPLE 10%", "", _COUNT),
    _no("statement-not-allowed", "UNION", "SELECT COUNT(*) FROM (SELECT patient, nights FROM visits UNION SELECT patient, level FROM labs)", "write UNION ALL", "SELECT COUNT(*) FROM (SELECT patient, nights FROM visits UNION ALL SELECT patient, level FROM labs)"),
    _no("statement-not-allowed", "UNION ALL with public rows", "SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL SELECT ward FROM wards)", "ask both questions", "SELECT COUNT(*) FROM (SELECT ward FROM visits)"),
    _no("statement-not-allowed", "UNION ALL of rows that are units", "SELECT COUNT(*) FROM (SELECT x FROM beds UNION ALL SELECT x FROM beds)", "ask both questions", "SELECT COUNT(*) FROM beds"),
    _no("statement-not-allowed", "INTERSECT", "SELECT COUNT(*) FROM (SELECT ward FROM visits INTERSECT SELECT ward FROM beds)", "one SELECT", _COUNT),
    _no("statement-not-allowed", "EXCEPT", "SELECT COUNT(*) FROM (SELECT ward FROM visits EXCEPT SELECT ward FROM beds)", "one SELECT", _COUNT),
    _no("statement-not-allowed", "recursion", "WITH RECURSIVE r AS (SELECT ward FROM visits UNION ALL SELECT ward FROM r) SELECT COUNT(*) FROM r", "without RECURSIVE", "WITH r AS (SELECT ward FROM visits) SELECT COUNT(*) FROM r"),
    _no("statement-not-allowed", "DISTINCT ON", "SELECT DISTINCT ON (ward) ward, COUNT(*) FROM visits GROUP BY ward", "use DISTINCT or GROUP BY", "SELECT DISTINCT ward, COUNT(*) FROM visits GROUP BY ward"),
    _no("statement-not-allowed", "renamed columns of a table", "SELECT COUNT(a) FROM visits AS v(a)", "rename them in SELECT", "SELECT COUNT(a) FROM (SELECT ward AS a FROM visits) AS v"),
    _no("statement-not-allowed", "two statements", f"{_COUNT}; {_COUNT}", "one SELECT at a time", _COUNT),
    _no("statement-not-allowed", "writing", "DELETE FROM visits", "write one SELECT", _COUNT),
    _no("statement-not-allowed", "settings", "SET threads = 1", "write one SELECT", _COUNT),
    # text
    _no("syntax", "no SQL", "how many visits?", 'syntax error near "visits" (line 1, column 10)', _COUNT),
    _no("syntax", "nothing", " ", "such as SELECT COUNT(*) FROM", _COUNT),
    _no("syntax", "nothing to read from", "SELECT 1", "FROM a_table", "SELECT COUNT(*) FROM visits"),
    _no("syntax", "an open quote", "SELECT COUNT(*) FROM visits WHERE ward = 'A", "close it", "SELECT COUNT(*) FROM visits WHERE ward = 'A'"),
    _no("syntax", "a control character", "SELECT COUNT(*)\x00 FROM visits", "remove it", _COUNT),
    _no("syntax", "a lone surrogate", "SELECT COUNT(*) FROM visits WHERE ward = '\ud800'", "remove the lone surrogates", "SELECT COUNT(*) FROM visits WHERE ward = ''"),
    _no("syntax", "a parameter without a value", "SELECT COUNT(*) FROM visits WHERE ward = $w", "params=", "SELECT COUNT(*) FROM visits WHERE ward = 'A'"),
    _no("syntax", "a date that is none", "SELECT COUNT(*) FROM visits WHERE day < '2024-13-01'", "write it as 2026-01-31", "SELECT COUNT(*) FROM visits WHERE day < '2026-01-31'"),
    _no("syntax", "an unknown option", _clause("epsilon = 1, speed = 3"), "options: epsilon", _clause("epsilon = 1"), cost={}),
    _no("syntax", "an unknown named argument", "SELECT SUM(cost, bounds => (0, 1)) FROM visits", "contribution_bounds_per_group", "SELECT SUM(cost, contribution_bounds_per_group => (0, 1)) FROM visits"),
    _no("syntax", "no item of this number", "SELECT ward, COUNT(*) FROM visits GROUP BY 7", "use 1 to 2", "SELECT ward, COUNT(*) FROM visits GROUP BY 1"),
    _no("too-complex", "deep nesting", f"SELECT SUM({_DEEP}) FROM visits", "ask a simpler question", "SELECT SUM((1)) FROM visits"),
    _no("too-complex", "arrays in arrays, which double the parser's work", f"SELECT {'ARRAY[' * 28}1{']' * 28} FROM visits", "ask a simpler question", "SELECT COUNT(*) FROM visits"),
    _no("too-complex", "long chains", f"SELECT SUM({_LONG}) FROM visits", "ask a simpler question", "SELECT SUM(nights + nights) FROM visits"),
    _no("too-complex", "long texts", f"{_COUNT} -- {'x' * 100_000}", "ask a shorter one", _COUNT),
    _no("function-not-allowed", "computing with a list", "SELECT HISTOGRAM(nights, 5) IS NULL FROM visits", "take one of its numbers", "SELECT COUNT_IF(nights < 10) FROM visits"),
    _no("function-not-allowed", "lists below each other", "SELECT HISTOGRAM(nights, 5) FROM visits UNION ALL SELECT HISTOGRAM(nights, 5) FROM visits", "in a SELECT of its own", "SELECT HISTOGRAM(nights, 5) FROM visits"),
    _no("too-complex", "functions around functions", f"SELECT SUM({_TWICE}) FROM visits", "nest fewer functions", "SELECT SUM(SQRT(SQRT(cost))) FROM visits"),
    _no("too-complex", "subqueries that are used twice, again and again", _DOUBLED, "ask several questions", "WITH c0 AS (SELECT COUNT(*) AS n FROM visits) SELECT 16 * n AS n FROM c0"),
    _no("too-complex", "too many aggregates", f"SELECT {', '.join(f'SUM(CLAMP(cost, 0, {k}))' for k in range(1, 1002))} FROM visits", "ask several smaller questions", "SELECT SUM(cost), COUNT(*) FROM visits"),
    # costs
    _no("cost-missing", "no cost", _COUNT, "add epsilon, such as epsilon=", None, cost={}, fixed_cost={"epsilon": 1}),
    _no("cost-invalid", "a cost that is none", _COUNT, "give a number such as", None, cost={"epsilon": 0}, fixed_cost={"epsilon": 1}),
    _no("cost-invalid", "two costs", _COUNT, "give one of them", None, cost={"epsilon": 1, "rho": 1}, fixed_cost={"epsilon": 1}),
    _no("cost-invalid", "ρ in a pure budget", _COUNT, "give epsilon", None, cost={"rho": 1}, fixed_cost={"epsilon": 1}),
    _no("cost-twice", "two opinions about the cost", _clause("epsilon = 1"), "say it once", None, cost={"epsilon": 2}, fixed_cost={}),
    _no("cost-invalid", "an option that is no number", _clause("epsilon = much"), "write epsilon = 1", _clause("epsilon = 1"), cost={}),
    _no("cost-invalid", "a confidence that is none", _COUNT, "0.95", None, cost={"epsilon": 1, "confidence": 2}, fixed_cost={"epsilon": 1, "confidence": 0.95}),
    _no("cost-too-high", "a cost above the policy's limit", _COUNT, "use epsilon 0.5 or less", None, policy="limited", fixed_cost={"epsilon": 0.5}),
    _no("budget-exhausted", "a cost above what is left", _COUNT, "", None, policy="poor", fixed_cost={"epsilon": 0.25}),
    _no("unknown-analyst", "a stranger", _COUNT, "analysts:", None, cost={"epsilon": 1, "analyst": "eve"}, fixed_cost={"epsilon": 1}),
)  # fmt: skip
