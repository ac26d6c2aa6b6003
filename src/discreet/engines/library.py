"""DuckDB, imported when something of it is first used: `from discreet.engines.library import duckdb`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.late import late

if TYPE_CHECKING:
    import duckdb

__all__ = ["duckdb"]

if not TYPE_CHECKING:
    duckdb = late("duckdb")
