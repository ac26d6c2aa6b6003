"""Sixteen shapes of queries beside the same queries on raw rows: processor time of both, in one process.

Time on the wall would measure what else the machine does. Raw rows lie in memory, as Parquet gives them. The data are
made for this, of hashes, and no constant of the program was chosen on them.

`python -m benchmarks.query_shapes FOLDER MAX_ROWS [ROWS]` prints the figures of one `max_rows` as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import duckdb

import discreet
from benchmarks.figures import Figure, at_most

ROWS: Final = 10_000_000
MAX_ROWS: Final = (20, 1, 5, 50, 200)
"""The first is what the limits are for."""
MAX_GROUPS: Final = 5
EVENTS: Final = """
SELECT (hash(i, 11) % {units})::BIGINT AS person,
       'p' || floor(80 * pow(hash(i, 12) / pow(2, 64), 2))::INTEGER AS product,
       ['north', 'south', 'east', 'west', 'centre'][1 + (hash(i, 13) % 5)::INTEGER] AS region,
       't' || (hash(i, 14) % 400) AS tag, round(200 * (hash(i, 15) / pow(2, 64)), 2) AS amount,
       (hash(i, 16) % 100)::BIGINT AS age, DATE '2025-01-01' + (hash(i, 17) % 365)::INTEGER AS day
FROM range({rows}) AS r(i)
"""
PEOPLE: Final = "SELECT range AS person, ['f', 'm'][1 + (hash(range, 18) % 2)::INTEGER] AS sex FROM range({units})"
POLICY: Final = """
name = "shapes"
[budget]
epsilon = 1000000.0
delta = 1e-6
[unit]
name = "person"
type = "integer"
[tables.events]
source = "events.parquet"
unit = "person"
max_rows = {rows}
max_groups = {groups}
[tables.events.columns]
product = {{ values = {products} }}
region = {{ values = ["north", "south", "east", "west", "centre"] }}
tag = {{ type = "text" }}
amount = {{ min = 0, max = 200, step = 0.01 }}
age = {{ type = "integer", min = 0, max = 99 }}
day = {{ type = "date", min = 2025-01-01, max = 2025-12-31 }}
[tables.people]
source = "people.parquet"
unit = "person"
[tables.people.columns]
sex = {{ values = ["f", "m"] }}
"""
FEW: Final = "amount > 100 AND age < 30"
OVER: Final = "OVER (PARTITION BY person ORDER BY day)"
SHAPES: Final[dict[str, tuple[str, float]]] = {
    "sums": ("SELECT COUNT(*), SUM(amount) FROM events", 2.5),
    "sums of a filter": ("SELECT SUM(amount), COUNT(*) FROM events WHERE age < 30", 2.5),
    "one key": ("SELECT product, COUNT(*), SUM(amount) FROM events GROUP BY product", 2.5),
    "one key, few groups": ("SELECT region, AVG(amount) FROM events GROUP BY region", 2.5),
    "one key, 15 % of rows": (f"SELECT product, COUNT(*) FROM events WHERE {FEW} GROUP BY product", 5),
    "two keys": ("SELECT product, region, COUNT(*) FROM events GROUP BY product, region", 3),
    "two keys, 15 % of rows": (
        f"SELECT product, region, COUNT(*) FROM events WHERE {FEW} GROUP BY product, region", 5,
    ),
    "month and region": (
        "SELECT DATE_TRUNC('month', day) AS month, region, SUM(amount) FROM events GROUP BY month, region", 3,
    ),
    "a function of a listed key": ("SELECT UPPER(product) AS p, COUNT(*) FROM events GROUP BY p", 3),
    "private keys": ("SELECT tag, COUNT(*) FROM events GROUP BY tag", 3),
    "a function of private keys": ("SELECT UPPER(tag) AS t, COUNT(*) FROM events GROUP BY t", 3),
    "units by two keys": ("SELECT product, region, COUNT(DISTINCT person) FROM events GROUP BY product, region", 3),
    "a join on the unit": (
        "SELECT sex, COUNT(*), SUM(amount) FROM events JOIN people ON events.person = people.person GROUP BY sex", 2.5,
    ),
    "a window per unit": (
        f"SELECT COUNT(*) FROM (SELECT person, ROW_NUMBER() {OVER} AS r FROM events) WHERE r = 1", 2.5,
    ),
    "quantiles": ("SELECT region, MEDIAN(amount) FROM events GROUP BY region", 2.5),
    "a subquery per unit": (
        "SELECT AVG(total) FROM (SELECT person, SUM(amount) AS total FROM events GROUP BY person)", 2.5,
    ),
}  # fmt: skip
"""Each with how many times the raw query's processor time it may take, at 20 rows a unit."""


def figures(folder: Path) -> Iterator[Figure]:
    """All shapes at 20 rows a unit with their limits; at others the same, and twice as much above 64 rows a unit."""
    made(folder, ROWS)
    for most in MAX_ROWS:
        command = [sys.executable, "-m", "benchmarks.query_shapes", str(folder), str(most)]
        shown = subprocess.run(command, check=True, capture_output=True, text=True)
        for shape, (raw, ours) in json.loads(shown.stdout.splitlines()[-1]).items():
            limit = SHAPES[shape][1] * (1 if most <= 64 else 2)
            what = f"{shape}, {most} rows a unit"
            yield at_most(what, f"{ours:.3g} s of CPU", f"raw {raw:.3g} s", ours / raw, limit)


def made(folder: Path, rows: int) -> None:
    """The sources and the policies."""
    folder.mkdir(exist_ok=True)
    with duckdb.connect() as connection:
        for name, query in (("events", EVENTS), ("people", PEOPLE)):
            text = query.format(rows=rows, units=rows // 10)
            connection.execute(f"COPY ({text}) TO '{folder}/{name}.parquet' (FORMAT parquet)")
    products = json.dumps([f"p{number}" for number in range(80)])
    for most in MAX_ROWS:
        text = POLICY.format(rows=most, groups=min(most, MAX_GROUPS), products=products)
        (folder / f"shapes{most}.toml").write_text(text, encoding="utf-8")


def measured(folder: Path, most: int) -> dict[str, tuple[float, float]]:
    """For each shape the processor time of the raw query and of ours."""
    raw = duckdb.connect()
    for name in ("events", "people"):
        raw.execute(f"CREATE TABLE {name} AS FROM '{folder}/{name}.parquet'")
    results = {}
    with discreet.open(folder / f"shapes{most}.toml") as curator:
        for shape, (text, _) in SHAPES.items():
            plain = cpu_of(lambda text=text: raw.execute(text).fetchall())  # type: ignore[misc]
            ours = cpu_of(lambda text=text: curator.query(text, epsilon=1, fresh=True))  # type: ignore[misc]
            results[shape] = (plain, ours)
    raw.close()
    return results


def cpu_of(work: Callable[[], object], times: int = 3) -> float:
    """The least processor time of several runs, all threads together."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if len(sys.argv) > 3:
        made(place, int(sys.argv[3]))
    print(json.dumps(measured(place, int(sys.argv[2]))))
