"""The columns that the private copy adds to a table: whose a row is, and its ranks (see `engines.copy`)."""

from __future__ import annotations

from typing import Final

UNIT: Final = "_discreet_unit"
ROW: Final = "_discreet_row"


def key_rank(column: str) -> str:
    """The column that ranks the keys of this one among its unit's keys."""
    return f"_discreet_key_{column}"


def row_in_key(column: str) -> str:
    """The column that ranks a row among the rows of its unit that have the same key in this one."""
    return f"_discreet_nth_{column}"
