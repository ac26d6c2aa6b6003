"""What an engine does for a question, counted in rows: seconds depend on the machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from discreet.engines.duckdb import DuckDB

LOOPS = ("NESTED_LOOP_JOIN", "BLOCKWISE_NL_JOIN", "CROSS_PRODUCT")
"""Operators that compare all rows with all rows."""


class Work:
    """The operators of every query that an engine ran, each with the rows that it made."""

    def __init__(self) -> None:
        self.operators: list[tuple[str, int]] = []

    @property
    def rows(self) -> int:
        return sum(rows for _, rows in self.operators)

    @property
    def most(self) -> int:
        """Of one operator."""
        return max((rows for _, rows in self.operators), default=0)

    @property
    def loops(self) -> list[str]:
        return [kind for kind, _ in self.operators if kind in LOOPS]

    def add(self, plan: dict[str, Any]) -> None:
        for operator in plan.get("operator", plan.get("children", ())):
            self.operators.append((operator["type"], operator["intermediate_rows"]))
            self.add(operator)


@contextmanager
def counted(patch: pytest.MonkeyPatch, only: str, engine: Any = DuckDB) -> Iterator[Work]:
    """The work of all queries that mention a table."""
    found = Work()

    def watched(original: Any) -> Any:
        def read(self: Any, query: Any, seconds: float | None = None) -> Any:
            if f'"{only}"' in query.text:
                found.add(json.loads(self.execute(f"EXPLAIN (ANALYZE, FORMAT json) {query.text}", seconds)[0][1]))
            return original(self, query, seconds)

        return read

    with patch.context() as patched:
        for way in ("rows", "columns"):
            patched.setattr(engine, way, watched(getattr(engine, way)))
        yield found
