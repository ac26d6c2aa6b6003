"""What is asked of an engine, whichever it is.

Queries are values of one relational language (`composed.Sql`); its canonical text is DuckDB's, so that one plan has one
fingerprint. Each engine prints it in the dialect that it runs. To add another: write the class, with its own way of
printing by an allow-list of nodes, and name it in `tests.contracts.test_engines`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from discreet.composed import Sql

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Engine(Protocol):
    """The tables of one policy and data version, with the columns of `policy.layout`. Many threads may ask it."""

    @property
    def dialect(self) -> str:
        """Which SQL it runs."""
        ...

    @property
    def copy(self) -> str:
        """The name of the rows that it has: as long as it is the same, so are the ranks of all rows and keys."""
        ...

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:
        """The answer as Python values: integers of any size stay exact. It is interrupted after so many seconds."""
        ...

    def columns(self, query: Sql, seconds: float | None = None) -> list[NDArray[Any]]:
        """The same answer column by column, as NumPy has it, NULL masked: dates are moments, and numbers that have no
        type there are Python's.
        """
        ...

    def schema(self, table: str) -> dict[str, str]:
        """The columns of a table with their types, as DuckDB calls them."""
        ...

    def close(self) -> None: ...
