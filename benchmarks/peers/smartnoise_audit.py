"""smartnoise-sql over pandas. The tiny table stands there once for each of many keys, and one query is many samples.

That is fair: rows of one key have nothing to do with the answer of another, as its own cost per query assumes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
import snsql  # type: ignore[import-not-found, unused-ignore]

from benchmarks.peers.sampling import Primitive, Sampler, serve

KEYS = 5_000
NO_KEY = -1
"""Of a row that is always there, since a table without rows is refused."""
COLUMNS = {
    "key": {"type": "int"},
    "whole": {"type": "int", "lower": 0, "upper": 1},
    "value": {"type": "float", "lower": 0.0, "upper": 1.0},
}
BY_ROW = {"row_privacy": True, "censor_dims": False, "person": {"type": "int"}}
"""Rows are protected, keys are public."""
BY_PERSON = {"max_ids": 1, "censor_dims": True, "person": {"type": "int", "private_id": True}}
"""People are protected, keys are private."""


def aggregate(shown: str, unit: Mapping[str, Any] = BY_ROW) -> Primitive:
    query = f"SELECT key, {shown} AS found FROM main.tiny GROUP BY key"

    def make(epsilon: float, delta: float) -> Sampler:
        def many(rows: list[Any], n: int) -> list[float]:
            found: list[float] = []
            while len(found) < n:
                keys = range(min(KEYS, n - len(found)))
                reader = _reader(_frame(rows, keys), unit, query, epsilon, delta)
                answers = {int(key): float(value) for key, value in reader.execute(query)[1:]}
                found += [answers.get(key, math.nan) for key in keys]
            return found

        return many

    return make


def _frame(rows: list[Any], keys: Iterable[int]) -> pd.DataFrame:
    repeated = [(key, row) for key in keys for row in rows] + [(NO_KEY, 0.0)]
    columns = {
        "key": [key for key, _ in repeated],
        "whole": [None if value is None else int(value) for _, value in repeated],
        "value": [value for _, value in repeated],
        "person": list(range(len(repeated))),
    }
    return pd.DataFrame(columns)


def _reader(frame: pd.DataFrame, unit: Mapping[str, Any], query: str, epsilon: float, delta: float) -> Any:
    """With the ε and δ of a column at which its own cost of the whole query is at most what is claimed."""
    metadata = {"": {"main": {"tiny": {"rows": len(frame), **unit, **COLUMNS}}}}

    def reader(epsilon: float, delta: float) -> Any:
        return snsql.from_df(frame, privacy=snsql.Privacy(epsilon=epsilon, delta=delta), metadata=metadata)

    cost = [float(part) for part in reader(epsilon, delta).get_privacy_cost(query)]
    found = reader(epsilon * epsilon / cost[0], 0.99 * delta * min(1.0, delta / cost[1]))
    asked = [float(part) for part in found.get_privacy_cost(query)]
    if asked[0] > epsilon * (1 + 1e-9) or asked[1] > delta:
        raise ValueError(f"its cost is {asked}, more than what is claimed")
    return found


PRIMITIVES = {
    "COUNT(*)": aggregate("COUNT(*)"),
    "COUNT(*), private keys": aggregate("COUNT(*)", BY_PERSON),
    "COUNT(DISTINCT person), private keys": aggregate("COUNT(DISTINCT person)", BY_PERSON),
    "SUM, int": aggregate("SUM(whole)"),
    "SUM, float": aggregate("SUM(value)"),
    "AVG, float": aggregate("AVG(value)"),
}

if __name__ == "__main__":
    serve(PRIMITIVES, "smartnoise-sql")
