"""Record and replay for every plan node, for nodes stacked on each other, and for every aggregate and kind of key."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from discreet.audit import Replay, neighbours
from discreet.mechanisms import KeySelection
from discreet.policy import Policy
from discreet.sql import vectors
from discreet.sql.aggregates import AGGREGATES, NAMED
from tests.audit.worlds import HEAD, Data, Row, read
from tests.budget import later

audit = sys.modules[Replay.__module__]
"""The module: its name in the package is that of the function."""

TABLES = """
[tables.visits]
source = "visits.csv"
unit = "person"
{visits}
[tables.visits.columns]
ward = {{ values = ["A", "B"], nullable = true }}
cost = {{ min = -2, max = 10, step = 0.5 }}
age = {{ type = "integer", min = 0, max = 3 }}
note = {{ type = "text" }}
[tables.stays]
source = "stays.csv"
unit = "who"
{stays}
[tables.stays.columns]
ward = {{ values = ["A", "B"], nullable = true }}
length = {{ type = "integer", min = 0, max = 4 }}
[tables.people]
source = "people.csv"
unit = "person"
[tables.people.columns]
born = {{ type = "integer", min = 0, max = 5 }}
[tables.labs]
source = "labs.csv"
unit = "visit -> visits(id).person"
max_rows = 2
[tables.labs.columns]
level = {{ type = "integer", min = 0, max = 4 }}
[tables.bills]
source = "bills.csv"
unit = "who"
max_rows = 3
[tables.bills.columns]
number = {{ type = "integer", min = 0, max = 5, unique = true }}
ward = {{ values = ["A", "B"], nullable = true }}
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = {{ values = ["A", "B"] }}
beds = {{ type = "integer", min = 0, max = 9 }}
[tables.floors]
source = "floors.csv"
public = true
[tables.floors.columns]
ward = {{ values = ["A", "B"] }}
floor = {{ values = ["one", "two"] }}
level = {{ type = "integer", min = 0, max = 2000 }}
"""
LIMITS = (
    ("max_rows = 1", "max_rows = 1"),
    ("max_rows = 2", "max_rows = 2\nmax_groups = 1"),
    ("max_rows = 3\nmax_groups = 2\nmax_rows_per_group = 1", "max_rows = 2\nmax_rows_per_group = 1"),
    ("max_rows = 3\nmax_groups = 1", "max_rows = 1"),
    ("max_rows = 3\nmax_rows_per_group = 2", "max_rows = 3\nmax_groups = 2"),
)
OPTIONS = (
    "",
    "",
    "max_groups_contributed = 1",
    "max_rows_contributed = 1",
    "max_rows_contributed = 2, max_groups_contributed = 2",
    "max_rows_per_group = 1",
)
BUDGETS = ("", "delta = 1e-6\n")


def policy_of(limits: int, budget: int) -> Policy:
    visits, stays = LIMITS[limits % len(LIMITS)]
    return read(HEAD.format(delta=BUDGETS[budget]) + TABLES.format(visits=visits, stays=stays))


PUBLIC: Data = {
    "wards": [{"ward": "A", "beds": 3}, {"ward": "B", "beds": 9}],
    "floors": [
        {"ward": ward, "floor": floor, "level": level}
        for ward, floor, level in (("A", "one", 1), ("A", "two", 2), ("A", "two", 2), ("B", "one", 1))
    ],
}


def made(random: Random, most: int) -> Data:
    """Rows of a few people in every table, some of nobody, some outside of what is declared."""
    persons = (1, 1, 2, 3, None)
    visits: list[Row] = [
        {
            "id": place,
            "person": random.choice(persons),
            "ward": random.choice(("A", "A", "B", "Z", None)),
            "cost": random.choice((-2, 0, 3, 10, 99, "nan", None)),
            "age": random.choice((0, 1, 3, 7, None)),
            "note": random.choice(("x", "y", "it's", "OTHER", "", "\x00", None)),
        }
        for place in range(random.randint(1, most))
    ]
    stays: list[Row] = [
        {"who": random.choice(persons), "ward": random.choice("ABC"), "length": random.choice((0, 2, 77, None))}
        for _ in range(random.randint(1, most))
    ]
    people: list[Row] = [{"person": person, "born": person} for person in (1, 2, 2, 4)]
    labs: list[Row] = [
        {"visit": random.randint(0, most), "level": random.choice((1, 4, 9))} for _ in range(random.randint(0, most))
    ]
    bills: list[Row] = [
        {"who": random.choice(persons), "number": random.choice((0, 1, 1, 3, None)), "ward": random.choice("AB")}
        for _ in range(random.randint(1, most))
    ]
    return {"visits": visits, "stays": stays, "people": people, "labs": labs, "bills": bills, **PUBLIC}


# nodes: each reads {s}, whose columns are ward, cost, age and note of a person, and gives the same columns

SAME = "s.ward AS ward, s.cost AS cost, s.age AS age, s.note AS note"
MINE = "PARTITION BY person"
NODES: Mapping[str, str] = {
    "rows": f"SELECT person, {SAME} FROM {{s}} WHERE cost > 0 OR age IS NULL",
    "inner": "SELECT s.person, s.ward AS ward, s.cost AS cost, b.length AS age, s.note AS note FROM {s}"
    " JOIN stays b ON s.person = b.who",
    "left": "SELECT s.person, s.ward AS ward, s.cost AS cost, b.length AS age, s.note AS note FROM {s}"
    " LEFT JOIN stays b ON s.person = b.who AND b.length > s.age",
    "right": "SELECT b.who, b.ward AS ward, s.cost AS cost, b.length AS age, s.note AS note FROM {s}"
    " RIGHT JOIN stays b ON b.who = s.person AND s.ward = b.ward",
    "full": "SELECT COALESCE(s.person, b.who) AS who, COALESCE(s.ward, b.ward) AS ward, s.cost AS cost,"
    " COALESCE(s.age, b.length) AS age, s.note AS note FROM {s} FULL JOIN stays b"
    " ON s.person = b.who AND s.ward = b.ward",
    "full one by one": "SELECT COALESCE(s.person, b.who) AS person, s.ward AS ward, s.cost AS cost,"
    " COALESCE(s.age, b.age) AS age, s.note AS note FROM (SELECT person, MIN(ward) AS ward, MAX(cost) AS cost,"
    " MAX(age) AS age, MIN(note) AS note FROM {s} GROUP BY person) AS s"
    " FULL JOIN (SELECT who, MAX(length) AS age FROM stays GROUP BY who) AS b"
    " ON s.person = b.who AND s.age = b.age",
    "using": "SELECT s.person, s.ward AS ward, s.cost AS cost, b.born AS age, s.note AS note FROM {s}"
    " JOIN people b USING (person)",
    "self": "SELECT s.person, b.ward AS ward, s.cost AS cost, b.age AS age, s.note AS note FROM {s}"
    " JOIN visits b ON s.person = b.person AND b.age >= s.age",
    "foreign key": "SELECT s.person, s.ward AS ward, s.cost AS cost, b.level AS age, s.note AS note FROM {s}"
    " LEFT JOIN labs b ON s.person = b.person",
    "key": "SELECT s.person, b.ward AS ward, s.cost AS cost, b.number AS age, s.note AS note FROM {s}"
    " JOIN bills b ON s.person = b.who AND s.age = b.number",
    "key left": "SELECT b.who, b.ward AS ward, s.cost AS cost, b.number AS age, s.note AS note FROM bills b"
    " LEFT JOIN {s} ON s.person = b.who AND b.number = s.age",
    "key full": "SELECT COALESCE(s.person, b.who) AS person, b.ward AS ward, s.cost AS cost, s.age AS age,"
    " s.note AS note FROM {s} FULL JOIN bills b ON s.person = b.who AND s.age = b.number",
    "keys of both": "SELECT s.person, s.ward AS ward, s.cost AS cost, s.age AS age, s.note AS note FROM"
    " (SELECT person, age, MIN(ward) AS ward, SUM(cost) AS cost, MIN(note) AS note FROM {s} GROUP BY person, age) AS s"
    " JOIN bills b ON s.person = b.who AND s.age = b.number AND b.ward = 'A'",
    "unique": "SELECT s.person, s.ward AS ward, s.cost AS cost, w.beds AS age, s.note AS note FROM {s}"
    " JOIN wards w ON s.ward = w.ward",
    "unique left": "SELECT s.person, w.ward AS ward, s.cost AS cost, w.beds AS age, s.note AS note FROM {s}"
    " LEFT JOIN wards w ON s.ward = w.ward AND w.beds > s.age",
    "comma": "SELECT s.person, s.ward AS ward, s.cost AS cost, b.length AS age, s.note AS note FROM {s}, stays b,"
    " people p WHERE b.who = p.person AND s.person = p.person AND b.length >= s.age",
    "cross": "SELECT s.person, s.ward AS ward, s.cost AS cost, f.level AS age, f.floor AS note FROM {s}"
    " CROSS JOIN floors f WHERE s.cost > f.level",
    "between": "SELECT s.person, w.ward AS ward, s.cost AS cost, w.beds AS age, s.note AS note FROM {s}"
    " LEFT JOIN wards w ON s.age BETWEEN w.beds - 3 AND w.beds",
    "released cross": "SELECT s.person, s.ward AS ward, s.cost AS cost, CLAMP(r.n, 0, 5) AS age, s.note AS note FROM"
    " {s} CROSS JOIN (SELECT COUNT(*) AS n FROM stays) AS r",
    "released rows cross": "SELECT s.person, s.ward AS ward, s.cost AS cost, CLAMP(r.n, 0, 5) AS age, r.ward AS note"
    " FROM {s} CROSS JOIN (SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward) AS r",
    "public groups": "SELECT s.person, s.ward AS ward, s.cost AS cost, s.age AS age, k.ward AS note FROM {s}"
    " RIGHT JOIN (SELECT DISTINCT ward FROM floors WHERE level < 2) AS k ON s.ward = k.ward",
    "public groups first": "SELECT s.person, ward, s.cost AS cost, k.beds AS age, s.note AS note FROM wards k"
    " FULL JOIN {s} USING (ward)",
    "in": f"SELECT person, {SAME} FROM {{s}} WHERE person IN (SELECT who FROM stays WHERE length > 1)",
    "not in": f"SELECT person, {SAME} FROM {{s}} WHERE cost > 0 AND person NOT IN (SELECT who FROM stays GROUP BY who"
    " HAVING COUNT(*) > 1)",
    "exists": f"SELECT person, {SAME} FROM {{s}} WHERE EXISTS (SELECT 1 FROM stays b WHERE b.who = s.person AND"
    " b.length > s.age)",
    "not exists": f"SELECT person, {SAME} FROM {{s}} WHERE NOT EXISTS (SELECT 1 FROM stays b, bills WHERE b.who ="
    " bills.who AND bills.who = s.person AND b.ward = s.ward)",
    "semi": f"SELECT s.person, {SAME} FROM {{s}} SEMI JOIN bills b ON s.person = b.who AND b.number <> s.age",
    "anti": f"SELECT s.person, {SAME} FROM {{s}} ANTI JOIN stays b ON s.person = b.who",
    "distinct": f"SELECT DISTINCT person, {SAME} FROM {{s}}",
    "distinct unit": "SELECT s.person, b.ward AS ward, b.cost AS cost, b.age AS age, b.note AS note FROM"
    " (SELECT DISTINCT person FROM {s}) AS s JOIN visits b ON s.person = b.person",
    "parentheses": "SELECT s.person, s.ward AS ward, s.cost AS cost, b.length AS age, s.note AS note FROM"
    " ({s} JOIN (people p JOIN stays b ON p.person = b.who) ON p.person = s.person)",
    "fan": "SELECT s.person, s.ward AS ward, s.cost AS cost, f.level AS age, f.floor AS note FROM {s}"
    " JOIN floors f ON s.ward = f.ward",
    "fan left": "SELECT s.person, s.ward AS ward, s.cost AS cost, f.level AS age, f.floor AS note FROM {s}"
    " LEFT JOIN floors f ON s.ward = f.ward",
    "public first": f"SELECT s.person, {SAME} FROM wards w JOIN {{s}} ON w.ward = s.ward AND s.cost < w.beds",
    "fan first": "SELECT s.person, s.ward AS ward, s.cost AS cost, f.level AS age, s.note AS note FROM floors f"
    " RIGHT JOIN {s} ON f.ward = s.ward",
    "per unit": "SELECT person, MIN(ward) AS ward, SUM(cost) AS cost, COUNT(*) AS age, MAX(note) AS note FROM {s}"
    " GROUP BY person",
    "per unit having": "SELECT person, MAX(ward) AS ward, AVG(cost) AS cost, COUNT(DISTINCT note) AS age, MIN(note) AS"
    " note FROM {s} GROUP BY person HAVING COUNT(*) > 1 AND SUM(age) < 99",
    "per unit and ward": "SELECT person, ward, SUM(cost) AS cost, COUNT(age) AS age, MIN(note) AS note FROM {s}"
    " GROUP BY person, ward HAVING COUNT(*) < 3",
    "per unit and age": "SELECT person, MIN(ward) AS ward, MAX(cost) AS cost, age, MAX(note) AS note FROM {s}"
    " GROUP BY person, age",
    "ends": "SELECT person, FIRST(ward ORDER BY cost) AS ward, LAST(cost ORDER BY age DESC) AS cost, MAX(age) AS age,"
    " LAST(note ORDER BY ward, cost) AS note FROM {s} GROUP BY person",
    "window": f"SELECT person, ward, SUM(cost) OVER ({MINE} ORDER BY age ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS"
    f" cost, ROW_NUMBER() OVER ({MINE}, ward ORDER BY cost DESC) AS age, LAG(note) OVER ({MINE} ORDER BY age) AS note"
    " FROM {s}",
    "whole window": f"SELECT person, LEAD(ward, 1) OVER ({MINE}) AS ward, MAX(cost) OVER ({MINE}, ward) AS cost,"
    f" COUNT(*) OVER ({MINE}) AS age, MIN(note) OVER ({MINE} ORDER BY cost) AS note FROM {{s}}",
    "union": f"SELECT person, {SAME} FROM {{s}} UNION ALL SELECT who, ward, length, length, NULL FROM stays",
    "union with itself": f"SELECT person, {SAME} FROM {{s}} UNION ALL SELECT person, {SAME} FROM {{s}} WHERE cost > 1",
    "cte": f"WITH c AS (SELECT person, {SAME} FROM {{s}}), d AS (SELECT * FROM c WHERE age < 9) SELECT person, ward,"
    " cost, age, note FROM d WHERE ward IS NOT NULL",
    "cte twice": f"WITH c AS (SELECT person, {SAME} FROM {{s}}) SELECT a.person, a.ward AS ward, b.cost AS cost,"
    " a.age AS age, b.note AS note FROM c a JOIN c b ON a.person = b.person AND a.cost <= b.cost",
    "released in": f"SELECT person, {SAME} FROM {{s}} WHERE ward IN (SELECT ward FROM stays GROUP BY ward HAVING"
    " COUNT(*) > 0)",
    "released scalar": f"SELECT person, {SAME} FROM {{s}} WHERE cost > (SELECT AVG(cost) FROM {{s}})",
    "released twice": f"WITH r AS (SELECT ward, AVG(cost) AS m FROM visits GROUP BY ward) SELECT person, {SAME} FROM"
    " {s} WHERE cost > (SELECT MIN(m) FROM r) OR age < (SELECT MAX(m) FROM r)",
    "released rows": "SELECT s.person, s.ward AS ward, s.cost AS cost, CLAMP(r.n, 0, 5) AS age, s.note AS note FROM"
    " {s} LEFT JOIN (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS r ON s.ward = r.ward",
}


def stacked(*nodes: str) -> str:
    """Each node as the source of the next, the first over visits."""
    source = "visits AS s"
    for node in nodes:
        source = f"({NODES[node].format(s=source)}) AS s"
    return source


# what is asked of them

COUNTED: Mapping[str, str] = {
    "rows": "COUNT(*)",
    "present": "COUNT(cost)",
    "units": "COUNT(DISTINCT person)",
    "rows with a unit": "COUNT(person)",
    "units of a filter": "COUNT(DISTINCT person) FILTER (WHERE cost > 0)",
    "distinct": "COUNT(DISTINCT age)",
    "approximately distinct": "APPROX_COUNT_DISTINCT(age)",
    "distinct notes": "COUNT(DISTINCT note) FILTER (WHERE cost > 0)",
    "count if": "COUNT_IF(cost > 1)",
    "filter": "COUNT(*) FILTER (WHERE ward = 'A')",
    "per group": "COUNT(*, contribution_bounds_per_group => (0, 1))",
    "at least two": "COUNT(cost, contribution_bounds_per_group => (2, 3))",
    "sum": "SUM(cost)",
    "whole sum": "SUM(age)",
    "sum per group": "SUM(cost, contribution_bounds_per_group => (-1, 2.5))",
    "filtered sum per group": "SUM(age, contribution_bounds_per_group => (0, 2)) FILTER (WHERE cost > 0)",
    "sum per row": "SUM(cost, contribution_bounds_per_row => (0, 3))",
    "average": "AVG(cost)",
    "average per row": "AVG(age, contribution_bounds_per_row => (0, 2)) FILTER (WHERE ward IS NOT NULL)",
    "average of units": "AVG(cost, contribution_bounds_per_group => (0, 3))",
    "average of some units": "AVG(age, contribution_bounds_per_group => (1, 2)) FILTER (WHERE cost > 0)",
    "list of quantiles": "APPROX_QUANTILES(cost, 2)",
    "median": "MEDIAN(age)",
    "median of numbers": "MEDIAN(cost)",
    "percentile": "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost)",
    "percentile per row": "PERCENTILE_CONT(cost, 0.9, contribution_bounds_per_row => (0, 5))",
    "quantile": "QUANTILE(cost, 1) FILTER (WHERE age > 0)",
    "approximate quantile": "APPROX_QUANTILE(cost, 0.25)",
    "one of the quantiles": "APPROX_QUANTILES(cost, 4)[2]",
    "last day": "MAX(CASE WHEN cost > 1 THEN DATE '2024-01-31' WHEN age > 0 THEN DATE '2024-01-01' END)",
    "median of times": "MEDIAN(CASE WHEN cost > 1 THEN TIMESTAMP '2024-01-31 10:30:00' ELSE DATE '2024-01-01' END)",
    "var": "VAR(cost)",
    "least": "MIN(cost)",
    "largest": "MAX(age)",
    "mode": "MODE(ward)",
    "filtered mode": "MODE(ward) FILTER (WHERE cost > 1)",
    "top": "APPROX_TOP_COUNT(ward, 1)",
    "top k": "APPROX_TOP_K(ward, 2)",
    "histogram": "HISTOGRAM(cost, 3)",
    "geomean": "GEOMEAN(CLAMP(cost, 1, 5))",
    "geomean per row": "GEOMEAN(age + 1, contribution_bounds_per_row => (1, 5)) FILTER (WHERE cost > 0)",
    "variance": "VARIANCE(cost)",
    "var_pop": "VAR_POP(age)",
    "stddev": "STDDEV(cost)",
    "stddev_samp": "STDDEV_SAMP(age) FILTER (WHERE ward = 'A')",
    "stddev_pop": "STDDEV_POP(cost)",
    "covar_pop": "COVAR_POP(cost, age)",
    "covar_samp": "COVAR_SAMP(age, cost)",
    "corr": "CORR(cost, age)",
    "slope": "REGR_SLOPE(cost, age) FILTER (WHERE cost > 0)",
    "intercept": "REGR_INTERCEPT(age, cost)",
    "tree": ", ".join(f"QUANTILE_CONT(cost, {place / 20})" for place in range(1, 18)),
}
KEYS = (
    "",
    "ward",
    "age > 1",
    "ward, age > 1",
    "CASE WHEN cost > 1 THEN 'dear' WHEN cost < 0 THEN 'gift' END",
    "WIDTH_BUCKET(cost, 0, 8, 2)",
    "CLAMP(age, 0, 3)",
)
PRIVATE = ("note", "note, ward", "ward, note, age > 1", "note || 'x'")


def asked(source: str, counted: Sequence[str], key: str = "", options: str = "") -> str:
    items = ", ".join([*([key] if key else []), *(COUNTED[name] for name in counted)])
    clause = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) " if options else ""
    return f"SELECT {clause}{items} FROM {source}{f' GROUP BY {key}' if key else ''}"


class Audited:
    """Replays questions, each on every neighbour of its database; remembers which were answered."""

    def __init__(self, limits: int, budget: int = 0) -> None:
        self.policy = policy_of(limits, budget)
        self.auditor = Replay(self.policy)
        self.answered = 0
        self.refused: list[str] = []

    def __enter__(self) -> Audited:
        return self

    def __exit__(self, *failure: object) -> None:
        self.auditor.close()

    def check(self, text: str, data: Data, most: int | None = None) -> Fraction:
        """The same is seen on all pairs; how much of the sensitivity was used."""
        used = Fraction(0)
        others = list(itertools.islice(neighbours(self.policy, data), most))
        reports = self.auditor.compare_each(text, data, others, epsilon=1, dialect="duckdb")
        for report, neighbour in zip(reports, others, strict=True):
            assert report.same, f"{report}\n{data}\n{neighbour}"
            used = max(used, report.l1)
            if report.calls:
                self.answered += 1
            else:
                outcome = self.auditor.run(text, data, epsilon=1, dialect="duckdb").outcome
                assert outcome[0] == "refused", (text, outcome)
                self.refused.append(f"{outcome}: {text}")
        return used


@pytest.fixture(autouse=True)
def trees_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quantiles choose among 256 cells and not 65,536: the same, and sooner."""
    monkeypatch.setattr(vectors, "MAX_LEAVES", 256)


def every_second(mechanism: KeySelection, exact: Mapping[Any, int], bits: object) -> list[Any]:  # noqa: ARG001
    """In the place of noise: small worlds hold too few units for any key to be selected."""
    return sorted(exact, key=repr)[::2]


@pytest.fixture
def keys_are_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "select", every_second)


def test_all_aggregates_are_asked() -> None:
    texts = re.sub(r", contribution_bounds_per_\w+ => \([^)]*\)", "", ", ".join(COUNTED.values()))
    found = list(sqlglot.parse_one(f"SELECT {texts}", read="duckdb").walk())
    assert {kind.__name__ for kind in AGGREGATES} - {type(node).__name__ for node in found} == set()
    named = {str(node.this).upper() for node in found if isinstance(node, exp.Anonymous)}
    assert {name for name in NAMED if name not in named} == set()


@pytest.mark.usefixtures("keys_are_selected")
@pytest.mark.parametrize("least", [2, 3])
def test_keys_of_few_units_move_no_further_than_others(least: int) -> None:
    random = Random(least)
    with Audited(2, 1) as audited:
        for _ in range(3):
            text = asked("visits AS s", ["rows", "units"], "note", f"min_privacy_units_per_group = {least}")
            audited.check(text, made(random, 12), 3)
        assert audited.answered


# one node


def check_nodes(nodes: Sequence[str], limits: int, seed: int, most: int, each: int) -> int:
    """Each node with a mixture of aggregates and keys."""
    random = Random(seed)
    names = list(COUNTED)
    data = made(random, most)
    with Audited(limits, seed % 2) as audited:
        for node in nodes:
            counted = random.sample(names, 3)
            text = asked(stacked(node), counted, random.choice(KEYS), random.choice(OPTIONS))
            audited.check(text, data, each)
        assert not audited.refused, audited.refused
        return audited.answered


@pytest.mark.long
@pytest.mark.parametrize("limits", later(range(len(LIMITS)), 3))  # three thirds: every node
def test_every_node(limits: int) -> None:
    assert check_nodes(list(NODES)[limits % 3 :: 3], limits, limits, 8, 1) >= len(NODES) // 3


@pytest.mark.slow
@pytest.mark.parametrize("limits", range(len(LIMITS)))
def test_every_node_on_many_tables(limits: int) -> None:
    seed = 100 + limits
    assert check_nodes(list(NODES), limits, seed, 3 + seed % 9, 3) >= len(NODES)


# pairs of nodes


def random_half(part: int, parts: int) -> int:
    """Where every second one of a part begins."""
    return part + parts * Random().randrange(2)


def check_pairs(pairs: Sequence[tuple[str, str]], seed: int, most: int, each: int) -> tuple[int, list[str]]:
    random = Random(seed)
    data = made(random, most)
    with Audited(seed, seed % 2) as audited:
        for below, above in pairs:
            counted = ["rows", *random.sample(list(COUNTED), 2)]
            text = asked(stacked(below, above), counted, random.choice(KEYS), random.choice(OPTIONS))
            audited.check(text, data, each)
        return audited.answered, audited.refused


@pytest.mark.long
@pytest.mark.parametrize("part", later((1, 0, 2, 3, 4)))  # the first has units of many rows
def test_nodes_on_nodes(part: int) -> None:
    """Of five such parts a 23rd of the product: steps that meet ever other nodes on both sides."""
    pairs = list(itertools.product(NODES, NODES))[part * 11 :: 117]
    answered, refused = check_pairs(pairs, part, 7, 1)
    assert answered >= len(pairs) * 0.9, refused


@pytest.mark.slow
@pytest.mark.parametrize("part", range(12))
def test_every_node_on_every_node(part: int) -> None:
    """Every second pair, others each time; the parts differ in their limits and tables."""
    pairs = list(itertools.product(NODES, NODES))[random_half(part, 12) :: 24]
    answered, refused = check_pairs(pairs, 1000 + part, 4 + part % 5, 1)
    assert answered >= len(pairs) * 0.9, refused


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2006))
def test_three_nodes_on_each_other(seed: int) -> None:
    random = Random(seed)
    data = made(random, 6)
    with Audited(seed, seed % 2) as audited:
        for _ in range(40):
            nodes = random.sample(list(NODES), 3)
            text = asked(stacked(*nodes), random.sample(list(COUNTED), 2), random.choice(KEYS), random.choice(OPTIONS))
            audited.check(text, data, 1)
        assert audited.answered > 25, audited.refused


# aggregates and keys


def check_aggregates(
    names: Sequence[str], keys: Sequence[str], seed: int, each: int, shift: int | None = None
) -> Audited:
    """Each aggregate by one of the keys: by any, or by that which its number and a shift say."""
    random = Random(seed)
    data = made(random, 9)
    with Audited(seed, 1) as audited:
        for number, name in enumerate(names):
            key = random.choice(keys) if shift is None else keys[(number + shift) % len(keys)]
            nodes = random.choice(([], [], ["union"], ["inner"], ["fan first"]))
            options = random.choice(OPTIONS)
            if key in PRIVATE and random.random() < 0.5:
                options = f"other = true{', ' if options else ''}{options}"
            audited.check(asked(stacked(*nodes), [name], key, options), data, each)
        return audited


@pytest.mark.long
@pytest.mark.parametrize("part", range(2))
def test_every_aggregate_by_public_keys(part: int) -> None:
    names = list(COUNTED)[part::2]
    audited = check_aggregates(names, KEYS, part + 1, 1)
    assert not audited.refused
    assert audited.answered == len(names)


@pytest.mark.long
@pytest.mark.usefixtures("keys_are_selected")
@pytest.mark.parametrize("part", range(2))
def test_every_aggregate_by_private_and_mixed_keys(part: int) -> None:
    names = list(COUNTED)[part::2]
    audited = check_aggregates(names, PRIVATE, part + 3, 1)
    assert not audited.refused
    assert audited.answered == len(names)


@pytest.mark.slow
@pytest.mark.usefixtures("keys_are_selected")
@pytest.mark.parametrize("shift", range(len(KEYS) + len(PRIVATE)))
def test_every_aggregate_by_every_kind_of_key(shift: int) -> None:
    """Over all shifts every aggregate meets every key once."""
    audited = check_aggregates(list(COUNTED), (*KEYS, *PRIVATE), 3000 + shift, 3, shift)
    assert not audited.refused
    assert audited.answered > len(COUNTED)


@pytest.mark.parametrize("limits", later(range(len(LIMITS)), 2))
@pytest.mark.usefixtures("keys_are_selected")
def test_one_unit_with_many_small_keys_moves_other_no_further(limits: int) -> None:
    """All its keys fall into one cell: what it may add to a group holds for that cell as well."""
    visits: list[Row] = [
        {"id": place, "person": 1, "ward": "AB"[place % 2], "cost": 10, "age": 3, "note": f"n{place:02}"}
        for place in range(30)
    ]
    visits += [{"id": 99, "person": 2, "ward": "A", "cost": -2, "age": 0, "note": "n01"}]
    counted = ["rows", "units", "sum", "sum per group", "median"]
    with Audited(limits, 1) as audited:
        used = [
            audited.check(asked("visits AS s", counted, key, f"other = true{more}"), {"visits": visits, **PUBLIC})
            for key, more in (("note", ""), ("note, ward", ""), ("note", ", max_rows_per_group = 1"))
        ]
        assert audited.answered == 6
    assert max(used) > Fraction(1, 3)


# fan-out


def check_fan_out(matches: int) -> None:
    """One row of a unit matches very many: no more of them count than before."""
    floors: list[Row] = [{"ward": "A", "floor": "one", "level": level} for level in range(matches)]
    visits: list[Row] = [
        {"id": 1, "person": 1, "ward": "A", "cost": 10, "age": 3, "note": "x"},
        {"id": 2, "person": 1, "ward": "A", "cost": 10, "age": 3, "note": "y"},
        {"id": 3, "person": 2, "ward": "B", "cost": 10, "age": 3, "note": "x"},
    ]
    data = {"visits": visits, "wards": PUBLIC["wards"], "floors": floors}
    with Audited(1) as audited:
        for node in ("fan", "fan left", "fan first"):
            for above in ([], ["per unit"], ["per unit and age"], ["window"], ["union"], ["inner"]):
                text = asked(stacked(node, *above), ["rows", "sum", "distinct"], "")
                audited.check(text, data, 1)
        assert audited.answered == 18


@pytest.mark.long
def test_a_fan_out_of_1_000_rows() -> None:
    check_fan_out(1_000)


def check_many_rows_of_one_unit(count: int) -> None:
    """A join on the owner of two tables in which one unit has very many rows."""
    visits: list[Row] = [
        {"id": place, "person": 1, "ward": "AB"[place % 2], "cost": 10, "age": 3, "note": "x"} for place in range(count)
    ]
    stays: list[Row] = [{"who": 1, "ward": "A", "length": 4} for _ in range(count)]
    data = {"visits": [*visits, {"id": -1, "person": 2, "ward": "A"}], "stays": stays, **PUBLIC}
    with Audited(2) as audited:
        for node in ("inner", "left", "right", "full", "self", "fan", "union", "per unit", "cte twice"):
            audited.check(asked(stacked(node), ["rows", "sum", "units"], "ward"), data, 1)
        assert audited.answered == 9


@pytest.mark.long
def test_a_join_key_that_matches_100_rows() -> None:
    check_many_rows_of_one_unit(100)


@pytest.mark.slow
def test_a_join_key_that_matches_10_000_rows() -> None:
    check_many_rows_of_one_unit(10_000)


# what was wrong once

BIG = (
    HEAD.format(delta="")
    + """
[tables.visits]
source = "visits.csv"
unit = "person"
[tables.visits.columns]
code = { type = "integer", min = 0, max = 9007199254740993 }
cost = { min = 0, max = 10 }
[tables.numbers]
source = "numbers.csv"
public = true
[tables.numbers.columns]
id = { type = "integer" }
"""
)


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT code + 0 AS c FROM visits)",
        "(SELECT person, SUM(code) AS c FROM visits GROUP BY person)",
        "(SELECT ABS(code) AS c FROM visits UNION ALL SELECT code FROM visits)",
    ],
)
def test_a_unique_public_column_is_so_for_computed_integers(source: str) -> None:
    data: Data = {"visits": [{"person": 1, "code": 2**53}], "numbers": [{"id": 2**53}, {"id": 2**53 + 1}]}
    text = f"SELECT COUNT(*) FROM {source} AS t JOIN numbers AS n ON t.c = n.id"
    policy = read(BIG)
    with Replay(policy) as auditor:
        for neighbour in neighbours(policy, data):
            assert auditor.compare(text, data, neighbour, epsilon=1).same


def test_quantiles_of_many_digits() -> None:
    policy = read(BIG)
    text = "SELECT QUANTILE_CONT(cost, 0.923456789012345678) FROM visits"
    data: Data = {"visits": [{"person": place, "cost": 5} for place in range(20)]}
    with Replay(policy) as auditor:
        for neighbour in neighbours(policy, data):
            report = auditor.compare(text, data, neighbour, epsilon=1)
            assert report.same, report


@pytest.mark.long
@pytest.mark.parametrize("seeds", later([1, 3]))
@pytest.mark.parametrize("above", ["window", "whole window", "max_rows_per_group"])
def test_a_full_join_of_single_rows_has_an_order(above: str, seeds: int) -> None:
    joined = (
        "(SELECT person, COUNT(*) AS n FROM visits GROUP BY person) AS a FULL JOIN (SELECT who, COUNT(*) AS m FROM"
        " stays GROUP BY who) AS b ON a.person = b.who AND a.n > 5"
    )
    numbered = "SELECT n, m, ROW_NUMBER() OVER (PARTITION BY person) AS r"
    texts = {
        "window": f"SELECT r, COUNT(n), COUNT(m) FROM ({numbered} FROM {joined}) AS t GROUP BY r",
        "whole window": f"SELECT COUNT(p) FROM (SELECT LAG(n) OVER (PARTITION BY person) AS p FROM {joined}) AS t",
        "max_rows_per_group": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_per_group = 1) COUNT(n)"
        f" FROM {joined}",
    }
    random = Random(0)
    for _ in range(seeds):
        data: Data = {
            "visits": [{"person": random.randint(1, 5), "cost": 3} for _ in range(random.randint(1, 9))],
            "stays": [{"who": random.randint(1, 5), "length": 2} for _ in range(random.randint(1, 9))],
        }
        with Audited(1) as audited:
            audited.check(texts[above], data, 3)


def test_a_left_join_with_a_table_that_one_unit_alone_fills() -> None:
    """Removing the only unit of stays makes the total of another one 0 in conditions."""
    total = "SELECT s.person, SUM(s.cost) AS cost FROM visits AS s LEFT JOIN stays AS b ON s.person = b.who GROUP BY 1"
    data: Data = {"visits": [{"id": 0, "person": 1, "cost": 10}], "stays": [{"who": 3, "length": 1}]}
    with Audited(2) as audited:
        audited.check(f"SELECT cost > 1, COUNT(*) FROM ({total}) AS s GROUP BY 1", data)


def test_quantiles_of_no_groups_can_be_audited() -> None:
    """No private key is selected, so nothing is chosen."""
    with Audited(1, 1) as audited:
        audited.check(
            "SELECT note, MEDIAN(age) FROM visits GROUP BY note", {"visits": [{"id": 0, "person": 1, "note": "x"}]}
        )
