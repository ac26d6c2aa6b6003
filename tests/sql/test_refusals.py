"""Refusals: a stable code for every kind of text that is not supported; from text and policy alone; with the fix in them."""

# ruff: noqa: E501 (a table of texts)

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from discreet.composed import Sql
from discreet.curator.curator import Curator
from discreet.errors import Refused
from discreet.policy import Policy
from tests.sql.worlds import ledger_of, policy_of

TABLES: Final = """
[tables.people]
source = "people.csv"
unit = "id"
[tables.people.columns]
age = { type = "integer", min = 0, max = 110 }
height = { min = 0, max = 3 }
wealth = { type = "number" }
score = { type = "integer" }
sex = { values = ["F", "M"] }
zip = { type = "text" }
born = { type = "date", min = 1900-01-01, max = 2030-01-01 }
seen = { type = "timestamp" }
big = { type = "integer", min = 0, max = 1000000 }
some = { type = "integer", min = 0, max = 999 }
flag = { type = "boolean" }

[tables.visits]
source = "visits.csv"
unit = "id"
max_rows = 5
[tables.visits.columns]
cost = { min = 0, max = 100, step = 0.01 }
ward = { values = ["A", "B"] }

[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = { values = ["A", "B"] }
beds = { type = "integer" }

[analysts.ann]
epsilon = 1
"""
MOST_LETTERS: Final = "SELECT COUNT(*) FROM people WHERE zip = '" + "x" * 100_001 + "'"
CODES: Final[dict[str, list[str]]] = {
    "syntax": [
        "", "   ", ";", "-- nothing", "SELECT", "SELECT COUNT(* FROM people", "SELECT COUNT(*) FROM people WHERE",
        "SELECT COUNT(*) FROM people GROUP BY 7", "SELECT COUNT(*) FROM people ORDER BY 9", "SELECT COUNT(*)", "SELECT 1",
        "SELECT COUNT(*) FROM people LIMIT -1", "SELECT COUNT(*) FROM people LIMIT 1.5", "SELECT COUNT(*) FROM people LIMIT 'x'",
        "SELECT COUNT(*) FROM people WHERE zip = 'open", "SELECT COUNT(*) /* open FROM people", "FROM", "SELECT FROM people",
        "SELECT COUNT(*) FROM people WHERE born > 'yesterday'", "SELECT COUNT(*) FROM people WHERE born > DATE '2024-13-01'",
        "SELECT COUNT(*) FROM people WHERE age > $x", "SELECT COUNT(*)\x00 FROM people", "SELECT COUNT(*)\x1b FROM people",
        "SELECT COUNT(*) FROM people WHERE zip = '\ud800'", "SELECT COUNT(*) FROM people WHERE age > 1e999",
        "SELECT COUNT(*) FROM people WHERE seen > '2024-01-01 00:00:00+02:00'", "SELECT SUM(age FROM people)",
    ],
    "too-complex": [
        "SELECT COUNT(*) FROM people WHERE " + "(" * 31 + "age > 1" + ")" * 31,
        "SELECT COUNT(*) FROM people WHERE age = " + " + ".join(["1"] * 400),
        "SELECT COUNT(*) FROM people WHERE age IN (" + ", ".join(["1"] * 12_000) + ")",
        MOST_LETTERS,
        "SELECT " + "CASE WHEN flag THEN " * 31 + "1" + " END" * 31 + " FROM people",
    ],
    "not-an-aggregate": [
        "SELECT * FROM people", "SELECT age FROM people", "SELECT age + 1 FROM people", "SELECT id FROM people",
        "SELECT age, COUNT(*) FROM people", "SELECT zip, COUNT(*) FROM people GROUP BY sex", "SELECT people.* FROM people",
        "SELECT id, COUNT(*) FROM people GROUP BY id", "SELECT COUNT(*) FROM people WHERE id = 5", "SELECT sex FROM people GROUP BY sex",
        "SELECT DISTINCT sex FROM people", "SELECT COUNT(*) FROM (SELECT * FROM people LIMIT 5) AS q",
        "SELECT COUNT(*) FROM (SELECT DISTINCT sex FROM people) AS q", "SELECT SUM(age) FROM people ORDER BY age",
        "SELECT COUNT(*) FROM people HAVING age > 1", "SELECT COUNT(*), age FROM people", "SELECT SUM(id) FROM people",
        "WITH q AS (SELECT age FROM people) SELECT * FROM q", "SELECT COUNT(*) FROM (SELECT * FROM people OFFSET 1) AS q",
        "SELECT COUNT(*) OVER () FROM people", "SELECT SUM(age) + zip FROM people", "TABLE people",
        "SELECT id + 0 FROM people", "SELECT COUNT(*) FROM people GROUP BY id",
    ],
    "unknown-table": [
        "SELECT COUNT(*) FROM peeple", "SELECT COUNT(*) FROM other.people", "SELECT COUNT(*) FROM main.people",
        "SELECT COUNT(*) FROM information_schema.tables", "SELECT COUNT(*) FROM duckdb_settings",
        "SELECT COUNT(*) FROM sqlite_master", 'SELECT COUNT(*) FROM "people.csv"', "SELECT COUNT(*) FROM discreet_source.people",
        "WITH q AS (SELECT COUNT(*) AS n FROM people) SELECT * FROM p",
    ],
    "unknown-column": [
        "SELECT SUM(agee) FROM people", "SELECT COUNT(*) FROM people WHERE hidden > 1", "SELECT SUM(visits.cost) FROM people",
        "SELECT COUNT(*) FROM people WHERE _discreet_row = 1", "SELECT COUNT(*) FROM people WHERE _discreet_unit = 'x'",
        "SELECT COUNT(*) FROM people GROUP BY nothing", "SELECT COUNT(rowid) FROM people", "SELECT SUM(x) FROM (SELECT age AS y FROM people) AS q",
        "SELECT COUNT(*) FROM people HAVING nothing > 1", "SELECT beds, nothing FROM wards",
    ],
    "undeclared-bounds": [
        "SELECT SUM(wealth) FROM people", "SELECT AVG(score) FROM people", "SELECT SUM(age / height) FROM people",
        "SELECT SUM(LENGTH(zip)) FROM people", "SELECT SUM(EXP(age * 1000)) FROM people", "SELECT SUM(CAST(zip AS DOUBLE)) FROM people",
        "SELECT COUNT(*) FROM people GROUP BY height",
        "SELECT AVG(POWER(2, age)) FROM people",
        "SELECT SUM(wealth) FILTER (WHERE age > 5) FROM people", "SELECT SUM(CLAMP(wealth, 0, 5) + wealth) FROM people",
    ],
    "private-keys-need-delta": [
        "SELECT zip, COUNT(*) FROM people GROUP BY zip", "SELECT LOWER(zip), COUNT(*) FROM people GROUP BY 1",
        "SELECT COUNT(*) FROM people GROUP BY score", "SELECT COUNT(*) FROM people GROUP BY DATE_TRUNC('month', seen)",
        "SELECT COUNT(*) FROM people GROUP BY sex || zip", "SELECT CAST(age AS VARCHAR), COUNT(*) FROM people GROUP BY ALL",
    ],
    "join-off-unit": [
        "SELECT COUNT(*) FROM people, visits", "SELECT COUNT(*) FROM people JOIN visits ON people.age = visits.cost",
        "SELECT COUNT(*) FROM people CROSS JOIN visits", "SELECT COUNT(*) FROM people AS a JOIN people AS b ON a.age = b.age",
    ],
    "private-subquery": [
        "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits)", "SELECT (SELECT age FROM people) FROM visits",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT age FROM people)",
    ],
    "function-not-allowed": [
        "SELECT COUNT(*) FROM people WHERE getenv('HOME') = 'x'", "SELECT SUM(random()) FROM people", "SELECT SUM(error(zip)) FROM people",
        "SELECT COUNT(*) FROM read_csv('people.csv')", "SELECT COUNT(*) FROM range(5)", "SELECT SUM(sex) FROM people",
        "SELECT COUNT(*) FROM people WHERE age", "SELECT COUNT(*) FROM people WHERE age > 'x'", "SELECT SUM(age || zip) FROM people",
        "SELECT COUNT(*) FROM people WHERE hash(zip) = 5", "SELECT COUNT(*) FROM people WHERE discreet_secret() = 'x'",
        "SELECT SUM(CLAMP(wealth, 9, 1)) FROM people", "SELECT SUM(CLAMP(wealth, age, 100)) FROM people", "SELECT COUNT(*) FROM people WHERE ABS(zip) > 1",
        "SELECT SUM(SUM(age)) FROM people", "SELECT COUNT(*) FROM people WHERE COUNT(*) > 1",
        "SELECT STRING_AGG(zip) FROM people", "SELECT LIST(age) FROM people", "SELECT ANY_VALUE(age) FROM people", "SELECT ARG_MAX(zip, age) FROM people",
        "SELECT SUM(CAST(age AS BLOB)) FROM people", "SELECT COUNT(*) FROM people WHERE zip LIKE sex", "SELECT COUNT(*) FROM people WHERE SUBSTR(zip, age) = 'x'",
        "SELECT COUNT(*) FROM people WHERE zip SIMILAR TO 'x'", "SELECT COUNT(*) FROM people WHERE regexp_matches(zip, 'x')",
        "SELECT COUNT(*) FROM people WHERE EXTRACT(epoch FROM seen) > 1", "SELECT SUM(ROUND(height, 99)) FROM people",
        "SELECT COUNT(*) FROM people WHERE current_time > born", "SELECT COUNT(*) FROM people WHERE age = ANY([1, 2])",
        "SELECT COUNT(*) FROM people WHERE zip COLLATE NOCASE = 'x'", "SELECT SUM(WIDTH_BUCKET(age, 5, 5, 3)) FROM people", "SELECT COUNT(*) FROM people WHERE nextval('s') > 1",
    ],
    "statement-not-allowed": [
        "DROP TABLE people", "DELETE FROM people", "UPDATE people SET age = 1", "INSERT INTO people VALUES (1)", "CREATE TABLE x AS SELECT 1",
        "ATTACH 'x.db'", "COPY people TO 'x.csv'", "PRAGMA database_list", "SET threads = 9", "INSTALL httpfs", "LOAD httpfs", "CALL pragma_version()",
        "SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people", "SELECT COUNT(*) FROM people EXCEPT SELECT COUNT(*) FROM visits",
        "SELECT age FROM people INTERSECT SELECT age FROM people", "SELECT COUNT(*) FROM people TABLESAMPLE 10%", "SELECT COUNT(*) FROM people USING SAMPLE 5",
        "SELECT DISTINCT ON (sex) sex, COUNT(*) FROM people GROUP BY sex",
        "WITH RECURSIVE q AS (SELECT COUNT(*) AS n FROM people) SELECT n FROM q",
        "DESCRIBE people", "SHOW TABLES", "EXPLAIN SELECT COUNT(*) FROM people", "VACUUM", "BEGIN",
        "SELECT COUNT(*) FROM people AS p(a, b)",
    ],
    "too-many-groups": [
        "SELECT COUNT(*) FROM people GROUP BY big", "SELECT COUNT(*) FROM people GROUP BY some, age", "SELECT COUNT(*) FROM people GROUP BY born, sex, flag",
        "SELECT COUNT(*) FROM people GROUP BY WIDTH_BUCKET(height, 0, 3, 1000000)",
    ],
}  # fmt: skip
CASES: Final = [(code, text) for code, texts in CODES.items() for text in texts]


@pytest.fixture(scope="module")
def policy() -> Policy:
    return policy_of(TABLES)


class Untouchable:
    """An engine that must not be asked for anything."""

    dialect = "duckdb"

    copy = "none"

    def schema(self, table: str) -> dict[str, str]:
        raise AssertionError(table)

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:  # noqa: ARG002
        raise AssertionError(query)

    def columns(self, query: Sql, seconds: float | None = None) -> list[Any]:  # noqa: ARG002
        raise AssertionError(query)

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def curator(policy: Policy) -> Iterator[Curator]:
    with ledger_of(policy) as ledger, Curator(policy, ledger, engine=Untouchable()) as found:
        yield found


@pytest.mark.parametrize(("code", "text"), CASES, ids=[f"{code}: {text[:60]!r}" for code, text in CASES])
def test_every_refusal_has_its_code_and_a_fix(curator: Curator, code: str, text: str) -> None:
    told = set()
    for act in (curator.query, curator.preview, curator.query):
        with pytest.raises(Refused) as refused:
            act(text, epsilon=0.1)
        assert refused.value.code == code, refused.value
        assert refused.value.reason
        assert refused.value.fix
        assert refused.value.__cause__ is None
        told.add(str(refused.value))
    assert len(told) == 1
    (message,) = told
    assert len(message) < 400
    assert re.fullmatch(r"[a-z-]+: .+ → .+", message, re.DOTALL)
    assert curator.entries() == []


def test_refusals_come_before_the_cost_is_looked_at(curator: Curator) -> None:
    with pytest.raises(Refused, match="unknown-table"):
        curator.query("SELECT COUNT(*) FROM nowhere")
    with pytest.raises(Refused, match="cost-missing"):
        curator.query("SELECT COUNT(*) FROM people")


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"x": 5}, None), ({"x": 5.5}, None), ({"x": "a'b"}, "function-not-allowed"), ({}, "syntax"), ({"y": 5}, "syntax"),
        ({"x": object()}, "syntax"), ({"x": [1]}, "syntax"), ({"x": float("nan")}, "syntax"), ({"x": 1j}, "syntax"),
        ({"x": -3}, None), ({"x": None}, None), ({"x": 10**400}, "syntax"),
    ],
)  # fmt: skip
def test_parameters_are_values_and_nothing_else(curator: Curator, params: dict[str, Any], code: str | None) -> None:
    text = "SELECT COUNT(*) FROM people WHERE age > $x"
    if code is None:
        assert curator.preview(text, epsilon=0.1, params=params).groups == 1
        return
    with pytest.raises(Refused) as refused:
        curator.preview(text, epsilon=0.1, params=params)
    assert refused.value.code == code


def test_a_parameter_cannot_become_sql(curator: Curator) -> None:
    text = "SELECT COUNT(*) AS n FROM people WHERE zip = $x"
    assert curator.preview(text, epsilon=0.1, params={"x": "' OR 1 = 1 --"}).columns == ["n"]
    injected = curator.preview(text, epsilon=0.1, params={"x": "') UNION SELECT 1 --"})
    assert injected.columns == ["n"]


# texts that nobody wrote


SEEDS: Final = [
    "SELECT sex, COUNT(*) AS n, AVG(age) FROM people WHERE age BETWEEN 3 AND 50 GROUP BY sex HAVING n > 3 ORDER BY n DESC LIMIT 3",
    "WITH q AS (SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward) SELECT MAX(s), COUNT(*) FROM q WHERE s > 1.5",
    "SELECT CASE WHEN age < 18 THEN 'young' ELSE 'old' END AS a, COUNT(*) FILTER (WHERE flag) FROM people GROUP BY a",
    "SELECT DATE_TRUNC('year', born) AS y, SUM(CLAMP(wealth, 0, 9)) / COUNT(*) FROM people AS p GROUP BY y",
    "SELECT COUNT(*) FROM (SELECT age, LOWER(zip) AS z FROM people WHERE sex IN ('F', NULL)) AS q WHERE z LIKE 'a%'",
    "SELECT beds // 2 AS b, ROUND(beds / 3, 1) FROM wards WHERE ward <> 'A' ORDER BY 1 NULLS FIRST",
]  # fmt: skip
KNOWN_CODES: Final = {*CODES, "wrong-unit", "cost-invalid", "cost-missing"}


def mutated(dice: random.Random) -> str:
    """A text that was cut, mixed or swapped somewhere."""
    words = re.findall(r"\w+|\s+|[^\w\s]", dice.choice(SEEDS))
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(words))
        other = re.findall(r"\w+|[^\w\s]", dice.choice(SEEDS))
        act = dice.randrange(6)
        if act == 0:
            del words[place]
        elif act == 1:
            words.insert(place, dice.choice(other))
        elif act == 2:
            words[place] = dice.choice(other)
        elif act == 3:
            words = words[: place + 1]
        elif act == 4:
            start = dice.randrange(len(other))
            words[place:place] = [f"{word} " for word in other[start : start + 6]]
        else:
            words[place] = dice.choice(
                ["(", ")", "'", '"', "*", ",", ";", "--", "é", "\x07", "1e", "0x", "NULL", "{", "[", "::"]
            )
        if not words:
            break
    return "".join(words)


def _known(text: str, refused: Refused) -> None:
    assert refused.code in KNOWN_CODES, (text, refused)
    assert refused.fix, text


def survive(curator: Curator, seed: int, count: int) -> dict[str, int]:
    dice, found = random.Random(seed), {"answered": 0, "refused": 0}
    for _ in range(count):
        text = mutated(dice)
        if re.search(r"(COUNT|SUM|AVG|MAX|MIN)\s*\(\s*,?\s*\)", text, re.IGNORECASE):
            continue  # see test_aggregates_without_an_argument_are_refused
        try:
            assert curator.preview(text, epsilon=0.1).columns
            found["answered"] += 1
        except Refused as refused:
            _known(text, refused)
            found["refused"] += 1
        except Exception as crashed:
            raise AssertionError(f"{text!r} crashed: {crashed!r}") from crashed
    return found


@pytest.mark.parametrize("seed", range(3))
def test_mutated_texts_are_answered_or_refused(curator: Curator, seed: int) -> None:
    found = survive(curator, seed, 200)
    assert found["refused"] > 80
    assert found["answered"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 105))
def test_many_mutated_texts_are_answered_or_refused(curator: Curator, seed: int) -> None:
    survive(curator, seed, 2000)


@pytest.mark.parametrize(
    "text", ["SELECT COUNT() FROM people", "SELECT COUNT(,) FROM people", "SELECT MAX() FROM wards"]
)
def test_aggregates_without_an_argument_are_refused(curator: Curator, text: str) -> None:
    with pytest.raises(Refused):
        curator.preview(text, epsilon=0.1)
