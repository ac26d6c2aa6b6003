"""WHERE."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.sql.expression import Expr
from discreet.sql.nodes.node import Field, Limits, Node, Owner


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which a condition is true.

    Theorem  Rows per unit do not grow. Proof: each row is kept or not by its own values.
    """

    child: Node
    condition: Expr

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.child.fields

    @property
    def owner(self) -> Owner:
        return self.child.owner

    @property
    def rows(self) -> int | None:
        return self.child.rows

    @property
    def order(self) -> tuple[str, ...]:
        return self.child.order

    @property
    def limits(self) -> Limits:
        return self.child.limits

    def sql(self) -> str:
        return f"SELECT * FROM ({self.child.sql()}) WHERE {self.condition.sql}"
