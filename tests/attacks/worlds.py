"""Neighbouring files: the same rows of everybody else, with and without what one person puts beside them."""

from __future__ import annotations

from pathlib import Path

from discreet.engines.duckdb import DuckDB
from discreet.policy import read
from discreet.policy.layout import UNIT
from discreet.quoting import name

HEAD = 'name = "world"\n[budget]\nepsilon = 9\n[unit]\nname = "person"\n'
Row = tuple[object, ...]


def held(folder: Path, policy: str, table: str, *, but: str) -> list[Row]:
    """All that the private copy holds of everybody but one person: columns, ranks and steps."""
    path = folder / "world.toml"
    path.write_text(policy, encoding="utf-8")
    engine = DuckDB(read(path), 1)
    try:
        rows = engine.execute(f"SELECT * FROM {name(table)} WHERE {name(UNIT)} IS DISTINCT FROM '{but}' ORDER BY ALL")
        return [tuple(row) for row in rows]
    finally:
        engine.close()


def secret_of(folder: Path) -> None:
    """The same secret in every world, so that ranks can be compared."""
    state = folder / "world.discreet"
    state.mkdir(mode=0o700, parents=True)
    (state / "secret").write_text("5" * 64, encoding="ascii")
