"""Which engine computes, as a policy says it, and what that asks of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from discreet.policy.model import Format, Table
from discreet.policy.section import RuleError, Section

DUCKDB: Final = "duckdb"
POSTGRES: Final = "postgres"
SPARK: Final = "spark"
ENGINES: Final = (DUCKDB, POSTGRES, SPARK)
OWN: Final = "own"
"""Each engine takes the hash that it has, which is the fastest there."""
MD5: Final = "md5"
"""All engines take one hash, and so choose the same rows of a unit that has too many."""
HASHES: Final = (OWN, MD5)


def read_engine(value: object) -> str:
    """The name of an engine."""
    if not isinstance(value, str) or value not in ENGINES:
        raise RuleError("is no engine", f"write one of: {', '.join(ENGINES)}")
    return value


def read_hash(value: object) -> str:
    """The name of a hash."""
    if not isinstance(value, str) or value not in HASHES:
        raise RuleError("is no hash that engines share", f"write one of: {', '.join(HASHES)}; or leave it out")
    return value


def check_engine(section: Section, engine: str, tables: Mapping[str, Table], *, schema: bool) -> None:
    """Where a database computes, all private tables lie in it."""
    if schema and engine != POSTGRES:
        section.at("engine_schema").report("is for an engine that is a database", "remove it")
    if engine == DUCKDB:
        return
    private = [table for table in tables.values() if not table.is_public]
    form, called = _INSIDE[engine]
    for table in private:
        here = section.at("tables", table.name)
        if table.source.format is not form:
            fix = f"name a table of {called}, or leave engine out"
            here.at("source").report("lies outside of the database that computes", fix)
        elif (table.source.login, table.source.cluster) != (private[0].source.login, private[0].source.cluster):
            fix = f"write the address that {private[0].name} has"
            here.at("source").report("is another address, and one database computes", fix)
        if table.stream is not None:
            here.at("stream").report("blocks are files beside the policy", "leave engine out, or the stream")
        if table.source.newer_by is not None:
            here.at("newer_by").report("is for rows that leave the database", "remove it")


_INSIDE: Final = {POSTGRES: (Format.POSTGRES, "PostgreSQL"), SPARK: (Format.SPARK, "Spark")}
"""Where private tables lie, for each engine that is not DuckDB."""
