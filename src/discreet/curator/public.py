"""What planning may look up: public tables, never private ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.curator.draw import Engine
from discreet.policy import Key
from discreet.quoting import name
from discreet.sql.keys import MOST_GROUPS


@dataclass(frozen=True, slots=True)
class PublicTables:
    """Public tables as the engine holds them; it is started when something is looked up."""

    engine: Callable[[], Engine]

    def schema(self, table: str) -> dict[str, str]:
        return self.engine().schema(table)

    def keys(self, table: str, column: str, kind: str) -> tuple[Key | None, ...]:
        values = f"TRY_CAST({name(column)} AS {kind})"
        query = f"SELECT DISTINCT {values} FROM {name(table)} ORDER BY 1 LIMIT {MOST_GROUPS + 1}"
        return tuple(row[0] for row in self.engine().rows(query))

    def unique(self, table: str, columns: tuple[str, ...]) -> bool:
        grouped = ", ".join(map(name, columns))
        query = f"SELECT 1 FROM {name(table)} GROUP BY {grouped} HAVING COUNT(*) > 1 LIMIT 1"
        return not self.engine().rows(query)
