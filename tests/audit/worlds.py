"""Small worlds to replay in: policies, every small table over a few rows, questions of every kind."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from discreet.policy import Policy, parse

Row = Mapping[str, Any]
Data = Mapping[str, Sequence[Row]]

FILE = Path("/srv/world/world.toml")
HEAD = '[budget]\nepsilon = 3\n{delta}[unit]\nname = "person"\n'
COLUMNS = """
ward = { values = ["A", "B"] }
region = { values = ["N", "S"], nullable = true }
room = { values = [1, 2] }
flag = { type = "boolean" }
cost = { min = -2, max = 10, step = 0.5 }
ratio = { min = 0, max = 1 }
age = { type = "integer", min = 0, max = 3 }
day = { min = 2026-01-01, max = 2026-03-31 }
moment = { min = 2026-01-01T00:00:00, max = 2026-01-01T02:30:00 }
note = { type = "text" }
"""


@dataclass(frozen=True)
class World:
    """A policy over a table `visits`, and how its rows are laid out in tables."""

    name: str
    limits: str = ""
    unit: str = "person"
    delta: str = ""
    rows: int = 1
    """How many rows of one unit are read."""

    @property
    def text(self) -> str:
        visits = f'[tables.visits]\nsource = "visits.csv"\nunit = "{self.unit}"\n{self.limits}\n'
        text = HEAD.format(delta=self.delta) + visits + "[tables.visits.columns]" + COLUMNS
        if "->" in self.unit:
            text += '[tables.accounts]\nsource = "accounts.csv"\nunit = "person"\nmax_rows = 2\n'
            text += '[tables.accounts.columns]\nkind = { values = ["x", "y"] }\n'
        return text

    @property
    def policy(self) -> Policy:
        return parse(self.text.encode(), FILE)

    def data(self, rows: Sequence[Row]) -> Data:
        """Rows with a `person`, as the tables of this world hold them."""
        if "->" not in self.unit:
            return {"visits": list(rows)}
        visits = [{**row, "account": ACCOUNTS.get(row["person"]), "person": None} for row in rows]
        persons = dict.fromkeys(row["person"] for row in rows)
        accounts = [{"account": ACCOUNTS[person], "person": person} for person in persons if person in ACCOUNTS]
        return {"visits": visits, "accounts": accounts}


ACCOUNTS = {1: "a1", 2: "a2", 3: "a3"}

WORLDS = {
    world.name: world
    for world in (
        World("one row"),
        World("two rows", "max_rows = 2", rows=2),
        World("three rows", "max_rows = 3", rows=3),
        World("one group", "max_rows = 3\nmax_groups = 1", rows=3),
        World("one row in a group", "max_rows = 3\nmax_groups = 2\nmax_rows_per_group = 1", rows=3),
        World("two rows in a group", "max_rows = 3\nmax_rows_per_group = 2", rows=3),
        World("all limits", "max_rows = 3\nmax_groups = 2\nmax_rows_per_group = 2", rows=3),
        World("rows are units", unit="row"),
        World("foreign key", "max_rows = 2\nmax_groups = 1", unit="account -> accounts.person", rows=2),
        World("gaussian", "max_rows = 2\nmax_rows_per_group = 1", delta="delta = 1e-6\n", rows=2),
    )
}


def row(person: object, **values: object) -> Row:
    """A row of visits; columns that are not named hold ordinary values."""
    ordinary = {
        "ward": "A",
        "region": "N",
        "room": 1,
        "flag": True,
        "cost": 10,
        "ratio": 1,
        "age": 3,
        "day": "2026-01-31",
        "moment": "2026-01-01 01:00:00",
        "note": "x",
    }
    return {"person": person, **ordinary, **values}


EMPTY = dict.fromkeys(("ward", "region", "room", "flag", "cost", "ratio", "age", "day", "moment", "note"))
OUTSIDE = {
    "ward": "Z",
    "region": "a",
    "room": 3,
    "cost": 1e300,
    "ratio": -7,
    "age": -9,
    "day": "1999-12-31",
    "moment": "2026-01-01 02:59:59",
    "note": "",
}
OTHER = {
    "ward": "B",
    "region": "S",
    "room": 2,
    "flag": False,
    "cost": -2,
    "ratio": 0.25,
    "age": 1,
    "day": "2026-02-01",
    "moment": "2026-01-01 02:00:00",
    "note": "y",
}

DOMAINS: Mapping[str, tuple[Row, Row, Row]] = {
    "two units": (row(1), row(1, **OTHER), row(2)),
    "one unit": (row(1), row(1, **OTHER), row(1, **EMPTY)),
    "outside": (row(1, **OUTSIDE), row(1), row(2, **OUTSIDE)),
    "nobody's": (row(None), row(1, **OTHER), row(2, **EMPTY)),
    "half empty": (
        row(1, cost=None, ward=None, region="N"),
        row(1, flag=None, region=None),
        row(2, age=None, day=None),
    ),
    "units alone": (row(1), row(2, **OTHER), row(3, **EMPTY)),
}
"""Rows that small tables are made of, three at a time."""


def small_tables(rows: Sequence[Row], most: int = 4) -> Iterator[list[Row]]:
    """Every multiset of at most so many of these rows."""
    for count in range(most + 1):
        yield from (list(chosen) for chosen in itertools.combinations_with_replacement(rows, count))


# questions

UNITS = "COUNT(DISTINCT person)"
AGGREGATES: Mapping[str, str] = {
    "rows": "COUNT(*)",
    "present": "COUNT(cost)",
    "count if": "COUNT_IF(cost > 1)",
    "filter": "COUNT(*) FILTER (WHERE flag)",
    "filtered sum": "SUM(age) FILTER (WHERE flag IS NOT NULL)",
    "units": UNITS,
    "sum": "SUM(cost)",
    "whole sum": "SUM(age)",
    "fine sum": "SUM(ratio)",
    "clamped sum": "SUM(CLAMP(cost * 2, 0.5, 4))",
    "average": "AVG(cost)",
    "whole average": "AVG(age)",
}
KEYS: Mapping[str, str] = {
    "all": "",
    "declared": "ward",
    "nullable": "region",
    "numbers": "room",
    "boolean": "flag",
    "condition": "cost > 1",
    "certain condition": "cost IS NULL",
    "case": "CASE WHEN cost > 1 THEN 'dear' WHEN cost < 0 THEN 'gift' END",
    "bucket": "WIDTH_BUCKET(cost, 0, 8, 2)",
    "month": "DATE_TRUNC('month', day)",
    "hour": "DATE_TRUNC('hour', moment)",
    "part": "EXTRACT(month FROM day)",
    "whole": "age",
    "two": "ward, flag",
    "two cut": "region, WIDTH_BUCKET(cost, 0, 8, 2)",
}
NODES: Mapping[str, str] = {
    "plain": "SELECT {items} FROM visits",
    "where": "SELECT {items} FROM visits WHERE cost >= 0 OR flag IS NULL",
    "computed": "SELECT {items} FROM (SELECT ward, region, room, flag, cost / 2 + 1 AS cost, ratio, age, day, moment"
    " FROM visits) AS v",
    "case": "SELECT {items} FROM (SELECT ward, region, room, flag, CASE WHEN flag THEN cost ELSE 0 END AS cost, ratio,"
    " age, day, moment FROM visits) AS v",
    "subquery": "SELECT {items} FROM (SELECT * FROM visits WHERE age > 0) AS v WHERE ward IS NOT NULL",
    "cte": "WITH v AS (SELECT * FROM visits WHERE NOT flag), w AS (SELECT * FROM v) SELECT {items} FROM w",
}


def question(node: str, key: str, aggregates: Sequence[str]) -> str:
    """One question: what is counted of which rows, by which keys."""
    keys = [part for part in [KEYS[key]] if part]
    text = NODES[node].format(items=", ".join([*keys, *(AGGREGATES[aggregate] for aggregate in aggregates)]))
    return f"{text} GROUP BY {keys[0]}" if keys else text


def aggregates_of(world: World) -> list[str]:
    """What can be counted in a world: where rows are units, units have no name."""
    return [name for name in AGGREGATES if name != "units" or world.unit != "row"]


def questions(world: World) -> list[str]:
    """Everything by every key; the main things by some keys of every node; and each aggregate alone."""
    everything = aggregates_of(world)
    some = [aggregate for aggregate in ("rows", "filter", "units", "average") if aggregate in everything]
    found = [question("plain", key, everything) for key in KEYS]
    found += [question(node, key, some) for node in NODES if node != "plain" for key in KEYS_OF_NODES]
    return [*found, *(question("plain", "declared", [aggregate]) for aggregate in everything), *RELEASED]


KEYS_OF_NODES = ("all", "declared", "case", "bucket", "two")
FURTHER = (
    "SELECT VAR_POP(cost), STDDEV_SAMP(age) FROM visits",
    "SELECT ward, MEDIAN(cost) FROM visits GROUP BY ward",
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost), MIN(cost), MAX(age) FROM visits",
    "SELECT CORR(cost, age), COVAR_POP(cost, age), REGR_SLOPE(cost, age) FROM visits",
    "SELECT ward, COUNT(DISTINCT note), COUNT(DISTINCT age) FROM visits GROUP BY ward",
    "SELECT ward, COUNT(*, contribution_bounds_per_group => (0, 1)) FROM visits GROUP BY ward",
    "SELECT ward, SUM(cost, contribution_bounds_per_group => (0, 3)) FROM visits GROUP BY ward",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1) ward, COUNT(*) FROM visits GROUP BY 1",
)
PRIVATE_KEYS = (
    "SELECT note, COUNT(*), SUM(cost) FROM visits GROUP BY note",
    "SELECT note, ward, COUNT(*) FROM visits GROUP BY note, ward",
)
RELEASED = (
    "SELECT SUM(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t",
    "WITH t AS (SELECT flag, AVG(cost) AS c FROM visits GROUP BY flag) SELECT flag, c * 2 FROM t WHERE c > 1",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 1 ORDER BY n DESC LIMIT 1",
)
"""What follows the noise is computed from noisy values alone."""


# made at random, from a seed


def made_world(random: Random) -> World:
    """A policy with limits of its own."""
    rows = random.choice((1, 1, 2, 3, 5))
    limits = [f"max_rows = {rows}"]
    if random.random() < 0.5:
        limits.append(f"max_groups = {random.randint(1, 4)}")
    if random.random() < 0.5:
        limits.append(f"max_rows_per_group = {random.randint(1, 4)}")
    unit = random.choice(("person", "person", "account -> accounts.person"))
    return World("made", "\n".join(limits), unit, random.choice(("", "delta = 1e-6\n")), rows)


VALUES: Mapping[str, Sequence[Any]] = {
    "ward": ("A", "B", "b", "A ", "Z", None),
    "region": ("N", "S", "", "n", None),
    "room": (1, 2, 0, 10**18, None),
    "flag": (True, False, None),
    "cost": (-2, -0.0, 0.0, 0.25, 3, 9.75, 10, 11, 1e308, -1e308, "nan", "inf", "-inf", 5e-324, None),
    "ratio": (0, 1, 0.1, 1e-17, 1.0000001, -5, "inf", "nan", None),
    "age": (0, 1, 2, 3, 4, -1, 2**63 - 1, -(2**63), 10**30, None),
    "day": ("2026-01-01", "2026-02-28", "2026-03-31", "0001-01-01", "9999-12-31", "infinity", "no day", None),
    "moment": ("2026-01-01 00:00:00", "2026-01-01 02:29:59.999999", "2026-01-01 02:30:01", "infinity", None),
    "note": ("", "x", "1e5", "\x00", "Å", "A\u030a", "🦆", None),
}


def made_rows(random: Random, most: int) -> list[Row]:
    """Rows of a few units, ordinary and strange values alike, some of them twice."""
    persons = (1, 2, 3, None)
    rows: list[Row] = [
        {"person": random.choice(persons), **{column: random.choice(values) for column, values in VALUES.items()}}
        for _ in range(random.randint(0, most))
    ]
    return rows + random.choices(rows, k=random.randint(0, 3)) if rows else rows


def made_question(random: Random) -> str:
    """A question put together from the lists above and from made expressions."""
    keys = [made_key(random) for _ in range(random.choice((0, 1, 1, 1, 2)))]
    items = [made_aggregate(random) for _ in range(random.randint(1, 4))]
    where = f" WHERE {made_condition(random)}" if random.random() < 0.4 else ""
    source = "visits"
    if random.random() < 0.3:
        inner = f" WHERE {made_condition(random)}" if random.random() < 0.5 else ""
        source = f"(SELECT * FROM visits{inner}) AS v"
    grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join([*keys, *items])} FROM {source}{where}{grouping}"


def made_key(random: Random) -> str:
    if random.random() < 0.6:
        return random.choice([key for key in KEYS.values() if key and "ward, " not in key and "region, " not in key])
    return random.choice(
        (
            f"CASE WHEN {made_condition(random)} THEN 'yes' ELSE 'no' END",
            f"COALESCE({made_condition(random)}, FALSE)",
            f"WIDTH_BUCKET({made_number(random)}, 0.5, 7.5, {random.randint(1, 5)})",
            f"FLOOR(CLAMP({made_number(random)}, 0, 3))",
            "EXTRACT(hour FROM moment)",
            "DATE_TRUNC('week', day)",
            "CASE WHEN ward = 'A' THEN NULL ELSE ward END",
        )
    )


def made_aggregate(random: Random) -> str:
    number, condition = made_number(random), made_condition(random)
    low = random.randint(0, 3)
    found = random.choice(
        (
            "COUNT(*)",
            UNITS,
            f"COUNT({number})",
            f"COUNT_IF({condition})",
            f"SUM(CLAMP({number}, {low}, {low + random.randint(1, 9)}))",
            f"AVG(CLAMP({number}, {low}, {low + random.randint(1, 9)}))",
            "SUM(cost)",
            "AVG(age)",
            "SUM(ratio * age)",
        )
    )
    return found if found == UNITS or random.random() < 0.8 else f"{found} FILTER (WHERE {condition})"


def made_number(random: Random, depth: int = 2) -> str:
    if depth == 0 or random.random() < 0.3:
        return random.choice(("cost", "age", "ratio", "room", "cost", "3", "-0.5", "0", "LENGTH(note)"))
    a, b = made_number(random, depth - 1), made_number(random, depth - 1)
    return random.choice(
        (
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} * {b})",
            f"({a} / {b})",
            f"({a} % {b})",
            f"({a} // {b})",
            f"POWER({a}, {b})",
            f"EXP({a})",
            f"LN({a})",
            f"SQRT({a})",
            f"ABS({a})",
            f"ROUND({a}, 1)",
            f"LEAST({a}, {b})",
            f"COALESCE({a}, {b})",
            f"NULLIF({a}, {b})",
            f"CASE WHEN {made_condition(random, depth - 1)} THEN {a} ELSE {b} END",
            f"CAST({a} AS INTEGER)",
            "CAST(note AS DOUBLE)",
            "DATE_DIFF('day', day, DATE '2026-02-01')",
        )
    )


def made_condition(random: Random, depth: int = 1) -> str:
    if depth == 0 or random.random() < 0.5:
        return random.choice(
            (
                "flag",
                "cost > 1",
                "age IN (1, 2)",
                "ward = 'A'",
                "note LIKE '%x%'",
                "day >= DATE '2026-02-01'",
                "cost BETWEEN 0 AND 3",
                "ratio IS NULL",
                "LOWER(note) = 'x'",
                "CAST(cost AS VARCHAR) = '-0.0'",
            )
        )
    a, b = made_condition(random, depth - 1), made_condition(random, depth - 1)
    number, other = made_number(random, depth - 1), made_number(random, depth - 1)
    return random.choice((f"({a} AND {b})", f"({a} OR {b})", f"(NOT {a})", f"({number} < {other})"))


# strange values

LONG_TAIL = (
    HEAD.format(delta="")
    + """
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 20
max_groups = 5
max_rows_per_group = 2
[tables.visits.columns]
number = { type = "integer", min = 0, max = 9999 }
day = { min = 2000-01-01, max = 2027-05-18 }
"""
)
"""A unit may be in 5 of 10,000 groups."""

SPELLINGS = (
    HEAD.format(delta="")
    + """
[tables.visits]
source = "visits.csv"
unit = "person"
[tables.visits.columns]
ward = { values = ["a", "A", "a ", "\\u00C5", "A\\u030A", "\\U0001F986", "", "ß", "SS"] }
note = { type = "text" }
"""
)
LISTED = ("a", "A", "a ", "\u00c5", "A\u030a", "\U0001f986", "", "ß", "SS")
UNLISTED = (" a", "a\x00", "\x00", "NULL", "nan", "\ufeffa", "\u200d", "ａ")

NAMES = (
    HEAD.format(delta="")
    + """
[tables.u]
source = "u.csv"
unit = "o"
max_rows = 3
max_groups = 2
max_rows_per_group = 1
[tables.u.columns]
k0 = { values = ["A", "B", "C"] }
k1 = { values = ["A", "B", "C"] }
place = { values = ["A", "B", "C"] }
x0 = { min = 0, max = 5 }
u = { min = 0, max = 5 }
r0 = { min = 0, max = 5 }
m0 = { min = 0, max = 5 }
c0_rank = { type = "integer", min = 0, max = 3 }
one = { type = "boolean" }
"""
)
"""Columns named like those that plans make."""

ACCOUNTS_OF = (
    HEAD.format(delta="")
    + """
[tables.branches]
source = "branches.csv"
unit = "owner"
[tables.accounts]
source = "accounts.csv"
unit = "branch -> branches.owner"
[tables.visits]
source = "visits.csv"
unit = "account -> accounts(id).branch -> branches.owner"
[tables.visits.columns]
cost = { min = 0, max = 5 }
[tables.wards]
source = "wards.csv"
public = true
"""
)
"""Units two foreign keys away."""


def read(text: str) -> Policy:
    return parse(text.encode(), FILE)


# several tables

OWNED = (
    HEAD.format(delta="")
    + """
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 3
{visits}
[tables.visits.columns]
ward = {{ values = ["A", "B"] }}
cost = {{ min = 0, max = 10, step = 0.5 }}
day = {{ min = 2026-01-01, max = 2026-03-31 }}
big = {{ min = 0, max = 1e17 }}
[tables.stays]
source = "stays.csv"
unit = "who"
max_rows = 2
{stays}
[tables.stays.columns]
ward = {{ values = ["A", "B", "C"], nullable = true }}
length = {{ type = "integer", min = 0, max = 4 }}
[tables.rows]
source = "rows.csv"
unit = "row"
[tables.rows.columns]
ward = {{ values = ["A", "B"] }}
cost = {{ min = 0, max = 10 }}
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
[tables.numbers]
source = "numbers.csv"
public = true
[tables.numbers.columns]
id = {{ type = "integer" }}
"""
)
"""Two private tables, one whose rows are units, a public table in which wards are unique and one in which not."""
OWNED_LIMITS = (
    ("", ""),
    ("max_groups = 1", "max_groups = 1"),
    ("max_groups = 2\nmax_rows_per_group = 1", ""),
    ("max_rows_per_group = 2", "max_rows_per_group = 1"),
)
OWNED_QUESTIONS = """\
SELECT COUNT(*), SUM(v.cost), SUM(s.length) FROM visits v JOIN stays s ON v.person = s.who;
SELECT v.ward, COUNT(*), COUNT(DISTINCT person) FROM visits v JOIN stays s ON v.person = s.who AND v.ward =
  s.ward GROUP BY v.ward;
SELECT s.ward, COUNT(*), SUM(cost) FROM visits v LEFT JOIN stays s ON v.person = s.who GROUP BY s.ward;
SELECT s.ward, COUNT(*), SUM(cost) FROM visits v RIGHT JOIN stays s ON v.person = s.who AND v.cost > 3 GROUP
  BY s.ward;
SELECT s.ward, v.ward, COUNT(*), SUM(cost), COUNT(DISTINCT person) FROM visits v FULL JOIN stays s ON v.person
  = s.who AND v.ward = s.ward GROUP BY 1, 2;
SELECT COUNT(*) FROM visits v FULL JOIN stays s ON v.person = s.who AND v.ward = s.ward;
SELECT a.ward, COUNT(*), SUM(b.cost) FROM visits a JOIN visits b ON a.person = b.person GROUP BY a.ward;
SELECT COUNT(*), SUM(beds) FROM visits JOIN wards ON visits.ward = wards.ward;
SELECT beds, COUNT(*) FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY beds;
SELECT beds, COUNT(*), SUM(cost) FROM rows LEFT JOIN wards ON rows.ward = wards.ward GROUP BY beds;
SELECT floor, COUNT(*), SUM(cost) FROM visits LEFT JOIN floors ON visits.ward = floors.ward GROUP BY floor;
SELECT COUNT(*), SUM(cost) FROM (SELECT ward, cost FROM visits UNION ALL SELECT ward, cost FROM visits) AS t;
SELECT ward, COUNT(*) FROM (SELECT ward, cost FROM visits UNION ALL SELECT ward, length FROM stays) AS t GROUP
  BY ward;
SELECT COUNT(*), SUM(total), AVG(most) FROM (SELECT person, SUM(cost) AS total, COUNT(*) AS n, MAX(cost) AS
  most FROM visits GROUP BY person) AS t;
SELECT n, COUNT(*) FROM (SELECT person, SUM(cost) AS total, COUNT(*) AS n, MAX(cost) AS most FROM visits GROUP
  BY person HAVING COUNT(*) > 1) AS t GROUP BY n;
SELECT ward, COUNT(*), SUM(s) FROM (SELECT person, ward, SUM(cost) AS s FROM visits GROUP BY person, ward) AS
  t GROUP BY ward;
SELECT f, COUNT(*) FROM (SELECT person, FIRST(ward ORDER BY cost) AS f FROM visits GROUP BY person) AS t GROUP
  BY f;
SELECT r, SUM(p) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY person ORDER BY cost) AS r, LAG(cost) OVER
  (PARTITION BY person ORDER BY day) AS p FROM visits) AS t GROUP BY r;
SELECT SUM(CLAMP(c, 0, 9)) FROM (SELECT SUM(cost) OVER (PARTITION BY person ORDER BY day ROWS BETWEEN 1
  PRECEDING AND CURRENT ROW) AS c FROM visits) AS t;
SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits);
SELECT SUM(CLAMP(cost, 0, 5)), COUNT_IF(cost > (SELECT SUM(length) FROM stays)) FROM visits;
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards);
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM stays GROUP BY ward HAVING COUNT(*) > 1);
WITH t AS (SELECT ward, AVG(cost) AS m FROM visits GROUP BY ward) SELECT COUNT(*), SUM(CLAMP(cost - m, 0, 9))
  FROM visits v JOIN t ON v.ward = t.ward;
SELECT COUNT(*) FROM (SELECT * FROM visits v JOIN wards w ON v.ward = w.ward) AS t JOIN stays s ON t.person =
  s.who;
SELECT COUNT(*), SUM(x) FROM (SELECT person, COUNT(*) AS x FROM (SELECT * FROM visits UNION ALL SELECT * FROM
  visits) AS u GROUP BY person) AS t""".split(";\n")  # noqa: SIM905  (they are long)
PUBLIC: Data = {
    "wards": [{"ward": "A", "beds": 3}, {"ward": "B", "beds": 9}],
    "floors": [
        {"ward": ward, "floor": floor} for ward, floor in (("A", "one"), ("A", "two"), ("A", "two"), ("B", "one"))
    ],
    "numbers": [{"id": 2**53}, {"id": 2**53 + 1}],
}


def made_owned(random: Random, most: int) -> Data:
    """Visits and stays of a few people, with the public tables."""
    visits: list[Row] = [
        {
            "person": random.choice((1, 1, 2, None)),
            "ward": random.choice(("A", "B", None)),
            "cost": random.choice((0, 3, 10, 99, None)),
            "day": random.choice(("2026-01-01", "2026-02-02", None)),
            "big": 2**53,
        }
        for _ in range(random.randint(0, most))
    ]
    stays: list[Row] = [
        {
            "who": random.choice((1, 2, 3, None)),
            "ward": random.choice("ABCD"),
            "length": random.choice((0, 2, 77, None)),
        }
        for _ in range(random.randint(0, most))
    ]
    rows: list[Row] = [{"ward": random.choice("ABZ"), "cost": 10} for _ in range(2)]
    return {"visits": visits, "stays": stays, "rows": rows, **PUBLIC}
