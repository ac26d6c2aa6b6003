"""What the private copy looks like: the types of its columns, and those that it adds, whose a row is and its ranks."""

from __future__ import annotations

from typing import Final

from discreet.policy.model import Kind

TYPES: Final = {
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}
UNIT: Final = "_discreet_unit"
ROW: Final = "_discreet_row"


def key_rank(column: str) -> str:
    """The column that ranks the keys of this one among its unit's keys."""
    return f"_discreet_key_{column}"


def row_in_key(column: str) -> str:
    """The column that ranks a row among the rows of its unit that have the same key in this one."""
    return f"_discreet_nth_{column}"
