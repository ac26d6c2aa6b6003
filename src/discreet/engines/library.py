"""DuckDB, imported when something of it is first used: `from discreet.engines.library import duckdb`."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from discreet.late import late

if TYPE_CHECKING:
    import duckdb

__all__ = ["duckdb"]


def _duckdb() -> ModuleType:
    import duckdb

    return duckdb


if not TYPE_CHECKING:
    duckdb = late(_duckdb)
