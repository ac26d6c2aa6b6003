"""One private and one public table with the same rows, behind a release point without noise, beside plain DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any, Final

import duckdb

from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.exit.sampler import Sampler
from tests.plain import fill, plain
from tests.sql.worlds import ledger_of, policy_of

HEAD: Final = 'name = "twins"\n[budget]\nepsilon = 3\ndelta = 0.001\n[unit]\nname = "person"\n'
COLUMNS: Final = """
id = { type = "integer", min = 0, max = 100 }
k = { values = ["A", "B", "C"] }
i = { type = "integer", min = -20, max = 20 }
j = { type = "integer", min = -20, max = 20 }
x = { min = -10, max = 10, step = 0.25 }
y = { min = -10, max = 10, step = 0.25 }
w = { type = "text" }
b = { type = "boolean" }
d = { type = "date", min = 2019-12-25, max = 2026-12-31 }
ts = { type = "timestamp", min = 2019-12-25T00:00:00, max = 2026-12-31T00:00:00 }
big = { type = "integer" }
"""
POLICY: Final = policy_of(
    f'[tables.t]\nsource = "t.csv"\nunit = "person"\nmax_rows = 20\n[tables.t.columns]\n{COLUMNS}',
    f'[tables.s]\nsource = "s.csv"\nunit = "person"\nmax_rows = 20\n[tables.s.columns]\n{COLUMNS}',
    f'[tables.p]\nsource = "p.csv"\npublic = true\n[tables.p.columns]\n{COLUMNS}',
    f'[tables.q]\nsource = "q.csv"\npublic = true\n[tables.q.columns]\n{COLUMNS}',
    head=HEAD,
)
TYPES: Final[Mapping[str, str]] = {
    "person": "VARCHAR", "id": "BIGINT", "k": "VARCHAR", "i": "BIGINT", "j": "BIGINT", "x": "DOUBLE", "y": "DOUBLE",
    "w": "VARCHAR", "b": "BOOLEAN", "d": "DATE", "ts": "TIMESTAMP", "big": "BIGINT",
}  # fmt: skip
_BIG: Final = (-(2**63), -(2**63) + 1, 2**63 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 0, 1, 10**17 + 1, None)
_WORDS: Final = ("a", "B", "", "Zoë", "ß", "it's", "100%", "a_b", "  pad ", None)
_DAYS: Final = (
    date(2020, 1, 1), date(2020, 2, 29), date(2021, 1, 3), date(2021, 1, 4), date(2024, 12, 29), date(2024, 12, 31),
    date(2026, 11, 15), date(2026, 11, 16), date(2022, 7, 31), None,
)  # fmt: skip
_WHOLE: Final = (-7, 7, 0, 3, -3, 2, -20, 20, 1, None)
_REAL: Final = (-7.5, 7.5, 0.0, 2.5, -2.5, 0.25, -10.0, 10.0, 3.5, None)


def rows() -> list[dict[str, Any]]:
    """Thirty rows of four persons: every value beside several others, ties in every order."""
    found = []
    for place in range(30):
        day = _DAYS[place * 3 % 10]
        found.append({
            "person": f"p{place % 4}",
            "id": place,
            "k": "ABC"[place % 3],
            "i": _WHOLE[place % 10],
            "j": _WHOLE[(place * 3 + place // 10) % 10],
            "x": _REAL[place * 7 % 10],
            "y": _REAL[(place + place // 10) % 10],
            "w": _WORDS[place * 3 % 10],
            "b": (True, False, None)[place // 10],
            "d": day,
            "ts": None if day is None else datetime(day.year, day.month, day.day, place % 24, place % 7 * 8, place),
            "big": _BIG[place * 7 % 10],
        })  # fmt: skip
    return found


class Twins:
    """The curator, and the same tables in plain DuckDB."""

    def __init__(self, curator: Curator, plain: duckdb.DuckDBPyConnection) -> None:
        self.curator = curator
        self.plain = plain

    @property
    def charges(self) -> int:
        return self.curator.count()


@contextmanager
def twins() -> Iterator[Twins]:
    held = rows()
    tables = dict.fromkeys("tspq", held)
    engine, theirs = Memory(POLICY, tables), plain()
    for name in tables:
        kinds = TYPES if name in "ts" else {column: kind for column, kind in TYPES.items() if column != "person"}
        fill(theirs, name, kinds, [[row[column] for column in kinds] for row in held])
    exact = Sampler(
        add_noise=lambda mechanism, sensitivity, exact, bits: exact,  # noqa: ARG005
        select=lambda mechanism, exact, bits: dict(exact),  # noqa: ARG005
        choose=lambda mechanism, scores, bits: [max(range(len(g)), key=g.__getitem__) for g in scores],  # noqa: ARG005
    )
    try:
        with ledger_of(POLICY) as ledger:
            yield Twins(Curator(POLICY, ledger, engine=engine, sampler=exact), theirs)
    finally:
        engine.close()
        theirs.close()
