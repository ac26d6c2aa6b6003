"""The private copy of 10⁷ rows, in a process of its own so that its peak memory can be told."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb

from benchmarks.figures import Figure, at_most

POLICY = """
name = "shop"
[budget]
epsilon = 3
[unit]
name = "customer"
[tables.sales]
source = "sales.parquet"
unit = "customer"
max_rows = 20
max_groups = 3
[tables.sales.columns]
category = { type = "text" }
amount = { min = 0, max = 100 }
day = { type = "date", min = 2024-01-01, max = 2026-12-31 }
"""
ROWS = """
SELECT (random() * 1e6)::BIGINT AS customer, 'c' || (100 * pow(random(), 2))::INT AS category,
       random() * 100 AS amount, DATE '2024-01-01' + (random() * 700)::INT AS day
FROM range(10000000)
"""
COPY = """
import json, resource, sys, time
from pathlib import Path
from discreet.engines.copy import private_copy
from discreet.policy import read
start = time.perf_counter()
private_copy(read(Path(sys.argv[1])), 1)
print(json.dumps([time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20]))
"""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        policy = Path(folder) / "shop.toml"
        policy.write_text(POLICY, encoding="utf-8")
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({ROWS}) TO '{folder}/sales.parquet' (FORMAT parquet)")
        shown = subprocess.run([sys.executable, "-c", COPY, str(policy)], check=True, capture_output=True, text=True)
        seconds, gigabytes = json.loads(shown.stdout.splitlines()[-1])
    yield at_most("copying 10⁷ rows, time", f"{seconds:.1f} s", "limit 15 s", seconds / 15, 1)
    yield at_most("copying 10⁷ rows, memory", f"{gigabytes:.2f} GB", "limit 2 GB", gigabytes / 2, 1)
