"""Neighbouring files: the same rows of everybody else, with and without what one person puts beside them."""

from __future__ import annotations

from pathlib import Path

from discreet.engines.copy import private_copy
from discreet.policy import read
from discreet.policy.layout import UNIT
from discreet.quoting import name
from tests.plain import reading

HEAD = 'name = "world"\n[budget]\nepsilon = 9\n[unit]\nname = "person"\n'
Row = tuple[object, ...]


def held(folder: Path, policy: str, table: str, *, but: str) -> list[Row]:
    """All that the private copy holds of everybody but one person: columns, ranks and steps."""
    path = folder / "world.toml"
    path.write_text(policy, encoding="utf-8")
    query = f"SELECT * FROM {name(table)} WHERE {name(UNIT)} IS DISTINCT FROM '{but}' ORDER BY ALL"
    with reading(private_copy(read(path), 1)) as copy:
        return copy.execute(query).fetchall()


def secret_of(folder: Path) -> None:
    """The same secret in every world, so that ranks can be compared."""
    state = folder / "world.discreet"
    state.mkdir(mode=0o700, parents=True)
    (state / "secret").write_text("5" * 64, encoding="ascii")
