"""How wide the language is: sixty questions as analysts ask them, over a hospital and a shop, each at ε = 1.

python -m benchmarks.width          a table: answered, with its expected error, or refused, with the reason
python -m benchmarks.width suites   likewise after TPC-H, TPC-DS and BigQuery's documentation, errors also in per cent
                                    of what is true in invented rows

Questions are written as people write them who know SQL and not discreet; nothing in them was bent to be answered.
"""

# ruff: noqa: E501 (a question is one line)

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb

from benchmarks import width_suites as suites
from benchmarks.width_suites import HEAD
from discreet.curator.curator import Curator
from discreet.curator.dummy import Dummy
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.ledger import Grant, Ledger
from discreet.ledger import Memory as Journal
from discreet.policy import Policy
from discreet.policy.read import parse

HOSPITAL: Final = f"""
name = "hospital"
{HEAD}
[unit]
name = "patient"
[tables.patients]
source = "patients.csv"
unit = "patient_id"
[tables.patients.columns]
born = {{ type = "date", min = 1920-01-01, max = 2026-12-31 }}
sex = {{ values = ["F", "M"] }}
city = {{ type = "text" }}
insured = {{ type = "boolean" }}
[tables.visits]
source = "visits.csv"
unit = "patient_id"
max_rows = 20
max_groups = 5
[tables.visits.columns]
ward = {{ values = ["Cardiology", "Surgery", "ICU", "Paediatrics"] }}
day = {{ type = "date", min = 2024-01-01, max = 2026-12-31 }}
discharged = {{ type = "timestamp", min = 2024-01-01T00:00:00, max = 2026-12-31T00:00:00 }}
cost = {{ min = 0, max = 20000, step = 0.01 }}
nights = {{ type = "integer", min = 0, max = 60 }}
emergency = {{ type = "boolean" }}
diagnosis = {{ type = "text" }}
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = {{ values = ["Cardiology", "Surgery", "ICU", "Paediatrics"] }}
beds = {{ type = "integer", min = 1, max = 100 }}
"""
SHOP: Final = f"""
name = "shop"
{HEAD}
[unit]
name = "customer"
[tables.customers]
source = "customers.csv"
unit = "customer_id"
[tables.customers.columns]
country = {{ values = ["DE", "FR", "IT", "US"] }}
joined = {{ type = "date", min = 2018-01-01, max = 2026-12-31 }}
newsletter = {{ type = "boolean" }}
[tables.orders]
source = "orders.csv"
unit = "customer_id"
max_rows = 50
max_groups = 10
[tables.orders.columns]
order_id = {{ type = "integer", unique = true }}
placed = {{ type = "timestamp", min = 2024-01-01T00:00:00, max = 2026-12-31T00:00:00 }}
total = {{ min = 0, max = 2000, step = 0.01 }}
items = {{ type = "integer", min = 1, max = 50 }}
channel = {{ values = ["web", "app", "store"] }}
coupon = {{ type = "text" }}
returned = {{ type = "boolean" }}
"""
WORLDS: Final = {"hospital": HOSPITAL, "shop": SHOP}


@dataclass(frozen=True)
class Question:
    """A question, over which world, and in which dialect."""

    world: str
    text: str
    dialect: str = "duckdb"


def _of(world: str, dialect: str, texts: str) -> list[Question]:
    return [Question(world, text.strip(), dialect) for text in texts.strip().split("\n") if text.strip()]


QUESTIONS: Final = (
    *_of("hospital", "duckdb", """
        SELECT ward, COUNT(*) AS visits, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY ward ORDER BY visits DESC
        SELECT AVG(nights) AS stay, STDDEV(nights) AS spread, MEDIAN(nights) AS middle FROM visits WHERE emergency
        SELECT DATE_TRUNC('month', day) AS month, SUM(cost) AS spent FROM visits GROUP BY month ORDER BY month
        SELECT STRFTIME(day, '%A') AS weekday, COUNT(*) AS n FROM visits GROUP BY weekday
        SELECT ward, COUNT(*) FILTER (WHERE emergency) * 100.0 / COUNT(*) AS emergencies FROM visits GROUP BY ward
        SELECT COUNT(*) AS n FROM visits WHERE day >= CURRENT_DATE - INTERVAL 30 DAY
        SELECT DATE_DIFF('year', born, CURRENT_DATE) // 10 * 10 AS age, COUNT(*) AS n FROM patients GROUP BY age ORDER BY age
        SELECT CASE WHEN nights = 0 THEN 'day case' WHEN nights < 4 THEN 'short' ELSE 'long' END AS stay, AVG(cost) AS cost FROM visits GROUP BY stay
        SELECT ward, nights, COUNT(*) AS n FROM visits WHERE nights <= 7 GROUP BY ward, nights
        SELECT p.sex, AVG(v.cost) AS cost FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.sex
        SELECT w.ward, COUNT(*) / MAX(w.beds) AS per_bed FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.ward
        SELECT diagnosis, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY diagnosis ORDER BY patients DESC LIMIT 20
        SELECT AVG(n) AS visits_each, MAX(n) AS most FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id)
        SELECT COUNT(*) AS returning FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 1)
        SELECT ward, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM visits GROUP BY ward
        SELECT ward, n, n / SUM(n) OVER () AS share FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
        SELECT MIN(day) AS first, MAX(day) AS last FROM visits
        SELECT CORR(nights, cost) AS r, REGR_SLOPE(cost, nights) AS per_night FROM visits
        SELECT QUANTILE_CONT(cost, 0.9) AS p90, QUANTILE_CONT(cost, 0.99) AS p99 FROM visits
        SELECT EXTRACT(hour FROM discharged) AS hour, COUNT(*) AS n FROM visits GROUP BY hour
        SELECT COUNT(*) AS n FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits)
        SELECT COUNT(*) AS n FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.ward = 'ICU')
        SELECT ward, SUM(CASE WHEN emergency THEN 1 ELSE 0 END) AS urgent, SUM(CAST(emergency AS INT)) AS same FROM visits GROUP BY ward
        SELECT AVG(gap) AS days FROM (SELECT DATE_DIFF('day', LAG(day) OVER (PARTITION BY patient_id ORDER BY day), day) AS gap FROM visits)
        SELECT city, COUNT(*) AS n FROM patients GROUP BY city HAVING COUNT(*) > 100
        SELECT HISTOGRAM(cost, 10) AS costs FROM visits
        SELECT diagnosis FROM visits WHERE patient_id = 17
        SELECT STRING_AGG(diagnosis, ', ') AS all_of_them FROM visits WHERE ward = 'ICU'
        SELECT ward, MODE(diagnosis) AS usual FROM visits GROUP BY ward
        SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)
    """),
    *_of("hospital", "bigquery", """
        SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = 1e-7, privacy_unit_column = patient_id) ward, COUNT(*) AS n FROM visits GROUP BY ward
        SELECT FORMAT_DATE('%Y-%m', day) AS month, COUNTIF(emergency) AS urgent FROM visits GROUP BY month
        SELECT ward, SAFE_DIVIDE(SUM(cost), SUM(nights)) AS per_night FROM visits GROUP BY ward
        SELECT APPROX_QUANTILES(cost, 4)[OFFSET(2)] AS middle FROM visits
        SELECT COUNT(*) AS n FROM visits WHERE day BETWEEN DATE_SUB(CURRENT_DATE(), INTERVAL 1 YEAR) AND CURRENT_DATE()
    """),
    *_of("shop", "duckdb", """
        SELECT channel, COUNT(*) AS orders, SUM(total) AS revenue, AVG(total) AS basket FROM orders GROUP BY channel
        SELECT DATE_TRUNC('week', placed) AS week, SUM(total) AS revenue FROM orders GROUP BY week ORDER BY week
        SELECT c.country, SUM(o.total) AS revenue FROM orders o JOIN customers c USING (customer_id) GROUP BY c.country
        SELECT COUNT(DISTINCT customer_id) AS active FROM orders WHERE placed >= CURRENT_TIMESTAMP - INTERVAL 90 DAY
        SELECT country, newsletter, COUNT(*) AS n FROM customers GROUP BY ALL
        SELECT AVG(spent) AS lifetime FROM (SELECT customer_id, SUM(total) AS spent FROM orders GROUP BY customer_id)
        SELECT channel, COUNT(*) FILTER (WHERE returned) / COUNT(*) AS returns FROM orders GROUP BY channel HAVING COUNT(*) > 100
        SELECT DATE_TRUNC('month', joined) AS cohort, COUNT(*) AS n FROM customers GROUP BY cohort
        SELECT items, AVG(total / items) AS per_item FROM orders WHERE items <= 10 GROUP BY items
        SELECT WIDTH_BUCKET(total, 0, 2000, 20) AS bucket, COUNT(*) AS n FROM orders GROUP BY bucket
        SELECT coupon, COUNT(*) AS n FROM orders WHERE coupon LIKE 'SUMMER!_%' ESCAPE '!' GROUP BY coupon
        SELECT MEDIAN(total) AS middle FROM orders WHERE channel = 'app' AND placed > TIMESTAMP '2026-01-01 00:00:00'
        SELECT STDDEV(n) AS spread FROM (SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel)
        SELECT COUNT(*) AS n FROM orders o LEFT JOIN customers c ON o.customer_id = c.customer_id WHERE c.country IS DISTINCT FROM 'DE'
        SELECT channel, total FROM orders ORDER BY total DESC LIMIT 10
    """),
    *_of("shop", "postgres", """
        SELECT to_char(placed, 'YYYY-MM') AS month, count(*) AS n FROM orders GROUP BY 1 ORDER BY 1
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) AS middle FROM orders
        SELECT channel, sum(total)::float8 / count(*) AS basket FROM orders GROUP BY channel
        SELECT extract(isodow FROM placed) AS weekday, count(*) AS n FROM orders GROUP BY 1
    """),
    *_of("shop", "snowflake", """
        SELECT TOP 2 channel, COUNT_IF(returned) AS returns FROM orders GROUP BY channel ORDER BY returns DESC
        SELECT COUNT(*) AS n FROM orders WHERE placed > DATEADD(month, -3, CURRENT_DATE())
        SELECT APPROX_COUNT_DISTINCT(items) AS sizes FROM orders
    """),
    *_of("shop", "spark", """
        SELECT year(placed) AS year, percentile_approx(total, 0.5) AS middle FROM orders GROUP BY year(placed)
        SELECT country, avg(datediff(current_date(), joined)) AS days FROM customers GROUP BY country
        SELECT dayofweek(placed) AS weekday, sum(total) AS revenue FROM orders GROUP BY dayofweek(placed)
    """),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of a question: its expected errors, or the refusal."""

    question: Question
    errors: dict[str, float | None]
    refused: str | None = None
    sizes: Mapping[str, float] = field(default_factory=dict)
    """The median of each column in invented rows, where they are known."""
    averages: frozenset[str] = frozenset()
    """Columns whose errors are those of averages, in groups of 10,000 rows."""


def outcomes(questions: tuple[Question, ...] = QUESTIONS) -> list[Outcome]:
    """Each question's, from text and policy alone."""
    found = []
    worlds = {name: Dummy(_policy(text), rows=10) for name, text in WORLDS.items()}
    try:
        for question in questions:
            priced = "epsilon =" in question.text
            try:
                preview = worlds[question.world].preview(
                    question.text, epsilon=None if priced else 1, dialect=question.dialect
                )
                found.append(Outcome(question, dict(preview.error)))
            except Refused as refused:
                found.append(Outcome(question, {}, str(refused)))
    finally:
        for curator in worlds.values():
            curator.close()
    return found


def _policy(text: str) -> Policy:
    return parse(text.encode(), Path("width.toml").absolute())


SUITES: Final = {
    "TPC-H": tuple(Question("trade", text, "duckdb") for text in suites.AFTER_TPC_H),
    "TPC-DS": tuple(Question("retail", text, "duckdb") for text in suites.AFTER_TPC_DS),
    "BigQuery": tuple(Question("loans", text, "bigquery") for text in suites.AFTER_BIGQUERY),
}


class World:
    """Invented rows in plain DuckDB, and a curator that knows the public ones."""

    def __init__(self, name: str, *, sizes: bool) -> None:
        policy = _policy(suites.WORLDS[name])
        self.sizes = sizes
        self.plain = duckdb.connect(":memory:")
        private = tuple(f"CREATE TABLE {table}" for table in policy.private_tables)
        for statement in suites.ROWS[name].strip().splitlines():
            if sizes or not statement.startswith(private):
                self.plain.execute(statement)
        rows: dict[str, list[dict[str, Any]]] = {}
        for table in policy.tables.values():
            columns = ", ".join(table.columns)
            found = self.plain.execute(f"SELECT {columns} FROM {table.name}").fetchall() if table.is_public else []
            rows[table.name] = [dict(zip(table.columns, row, strict=True)) for row in found]
        grant = Grant.of(policy.budget.epsilon, policy.budget.delta)
        self.curator = Curator(policy, Ledger(Journal(), grant, shares={}), engine=Memory(policy, rows))

    def outcome(self, question: Question) -> Outcome:
        cost = None if "epsilon =" in question.text else 1
        try:
            preview = self.curator.preview(question.text, epsilon=cost, dialect=question.dialect)
        except Refused as refused:
            return Outcome(question, {}, str(refused))
        large = {f"{name}": sizes[max(sizes)] for name, sizes in preview.averages.items() if sizes}
        return Outcome(question, {**preview.error, **large}, sizes=self._sizes(question), averages=frozenset(large))

    def _sizes(self, question: Question) -> dict[str, float]:
        if question.dialect != "duckdb" or not self.sizes:
            return {}
        found = self.plain.execute(question.text)
        names, rows = [column[0] for column in found.description or ()], found.fetchall()
        columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
        numbers = {
            name: [abs(float(v)) for v in values if isinstance(v, (int, float))] for name, values in columns.items()
        }
        return {name: statistics.median(values) for name, values in numbers.items() if values}


def suite(name: str, *, sizes: bool = True) -> list[Outcome]:
    """What becomes of the questions of one suite; with the true sizes of what they ask for."""
    questions = SUITES[name]
    world = World(questions[0].world, sizes=sizes)
    try:
        return [world.outcome(question) for question in questions]
    finally:
        world.curator.close()
        world.plain.close()


def _told(outcome: Outcome) -> str:
    if outcome.refused is not None:
        return outcome.refused
    parts = []
    for name, error in outcome.errors.items():
        size = outcome.sizes.get(name)
        share = f" ({100 * error / size:,.2g} %)" if size and error is not None else ""
        share += " in groups of 10,000" if name in outcome.averages else ""
        parts.append(f"{name} ± {error:,.4g}{share}" if error is not None else f"{name} by rank or group")
    return ", ".join(parts) or "answered; no error is known in advance"


def _show(found: list[Outcome]) -> None:
    for outcome in found:
        question = outcome.question
        sys.stdout.write(f"{question.world:9} {question.dialect:10} {question.text}\n    → {_told(outcome)}\n")
    answered = sum(outcome.refused is None for outcome in found)
    sys.stdout.write(f"{answered} of {len(found)} are answered\n")


def main(words: list[str]) -> None:
    if words != ["suites"]:
        return _show(outcomes())
    for name in SUITES:
        sys.stdout.write(f"after {name}\n")
        _show(suite(name))
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
