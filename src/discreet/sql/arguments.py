"""What aggregates are called with: their conditions and bounds, and arguments that are bounded numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.errors import Edit, Refused
from discreet.policy.model import Kind
from discreet.sql.bind import apply
from discreet.sql.expression import Expr
from discreet.sql.work import brief

Bounds = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Call:
    """How an aggregate is called: the rows it looks at, its named bounds, and what is public about the grouping."""

    condition: Expr | None
    per_group: Bounds | None
    per_row: Bounds | None
    is_unit: Callable[[exp.Expression], bool]
    groups: int

    def of(self, value: Expr) -> Expr:
        """The argument, NULL in rows that the FILTER leaves out."""
        return value if self.condition is None else apply("CASE", [self.condition, value, Expr.literal(None)])

    def unbounded(self, node: Any) -> None:
        """Refuse bounds where they mean nothing."""
        if self.per_group is not None or self.per_row is not None:
            raise Refused("function-not-allowed", f"{node.key.upper()} takes no bounds", "leave them out")


def numeric(value: Expr, node: Any) -> Expr:
    """The value, if it is a number."""
    if value.domain.kind not in (Kind.INTEGER, Kind.NUMBER):
        word = str(node.this).upper() if isinstance(node, exp.Anonymous) else node.key.upper()
        raise Refused("function-not-allowed", f"{word} takes a number", "cast it, or count it")
    return value


def bounds_of(value: Expr, word: str, shown: str) -> Bounds:
    """The bounds that a value is known to have, or a refusal."""
    shown = brief(shown)
    if value.domain.bounded is None:
        raise Refused(
            "undeclared-bounds",
            f"{shown} has no bounds, so one unit could move the answer without limit",
            f"add min and max to the policy, or write {word}(CLAMP({shown}, 0, 100)) with bounds you know",
            edit=Edit(f"{word}({shown})", f"{word}(CLAMP({shown}, 0, 100))"),
        )
    return drawable(value.domain.bounded, shown)


def drawable(bounds: Bounds, shown: str) -> Bounds:
    """Bounds within which noise can be drawn."""
    most = max(abs(edge) for edge in bounds)
    if most and not Fraction(1, 10**90) <= most <= Fraction(10**90):
        raise Refused("undeclared-bounds", f"the bounds of {shown} are too large or too small", "use another unit")
    return bounds


def only(node: exp.Anonymous) -> Any:
    """The one argument of a call."""
    if len(node.expressions) != 1 or isinstance(node.expressions[0], (exp.Distinct, exp.Star)):
        raise Refused("function-not-allowed", f"{str(node.this).upper()} takes one argument", "write GEOMEAN(x)")
    return node.expressions[0]
