"""Tasks that read private rows as they are: bounded for each unit, column by column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from discreet.answers import Preview
from discreet.composed import Sql, joined, sql
from discreet.curator.holdout import Holdout
from discreet.curator.public import PublicTables
from discreet.curator.task import Context
from discreet.engines.printed import confirmed
from discreet.engines.rehearsal import demand_runnable
from discreet.errors import BudgetExhausted, Refused
from discreet.exact import whole
from discreet.exit import Bill
from discreet.ledger import Charge
from discreet.policy import Policy
from discreet.printing import counted
from discreet.sql.nodes import Bound, Field, Node
from discreet.sql.plan import private_rows


def bounded_rows(policy: Policy, text: Any, max_rows: object, *, public: PublicTables) -> Node:
    """The private rows of a SELECT, at most `max_rows` of each unit: one, unless the caller says more."""
    node = private_rows(policy, text, public=public)
    try:
        most = 1 if max_rows is None else whole(max_rows, "max_rows")
    except (TypeError, ValueError) as wrong:
        raise Refused("cost-invalid", str(wrong), "give a number such as 1") from None
    if node.owner.column is not None and (node.rows is None or node.rows > most):
        return Bound(node, most)
    return node


def columns_of(
    node: Node,
    fields: Sequence[Field],
    *,
    with_unit: bool = False,
    holdout: Holdout | None = None,
    by: Sql | None = None,
) -> Sql:
    """A query for these columns of the rows; with the unit of each row before them, where rows have one.

    Rows are held out by their units, or by what `by` is of them.
    """
    columns = [field.expr.sql for field in fields]
    if with_unit and node.owner.column is not None:
        columns.insert(0, node.owner.column)
    rows = node.sql()
    if holdout is not None and node.owner.column is not None:
        rows = holdout.rows(rows, by or node.owner.column)
    return sql("SELECT {} FROM ({})", joined(", ", columns), rows)


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTask:
    """A task over private rows with its bill: what is alike whatever is made of the rows."""

    context: Context
    bill: Bill
    is_public: ClassVar[bool] = False

    def _demand_runnable(self, query: Sql, schemas: Mapping[str, Mapping[str, str]]) -> None:
        """Ask the engine's parser whether it reads what was planned, and can run it."""
        confirmed(query)
        demand_runnable(self.context.policy, self.context.digest, [query], schemas)

    def ready(self) -> None:
        """Nothing else can be in the way."""

    def rehearse(self) -> None:
        """Rows are read one by one, which `check` refuses where a database computes."""

    def exhausted(self, charge: Charge, refused: BudgetExhausted) -> BudgetExhausted:  # noqa: ARG002
        return BudgetExhausted(refused.reason, refused.fix, edit=refused.edit)

    def show_public(self, preview: Callable[[], Preview]) -> NoReturn:  # noqa: ARG002
        raise AssertionError("a task of private rows is never free")

    def _previewed(
        self,
        *,
        columns: list[str],
        cached: bool,
        error: Mapping[str, float],
        noise: Mapping[str, str],
        notes: tuple[str, ...],
        confidence: float = 0.95,
        groups: int | None = None,
        shares: Mapping[str, float] | None = None,
    ) -> Preview:
        """With what is known from the bill; without shares it is one measurement."""
        context, bill = self.context, self.bill
        return Preview(
            question=bill.why,
            columns=columns,
            loss=bill.loss,
            error=dict(error),
            confidence=confidence,
            groups=groups,
            noise=dict(noise),
            shares=dict(shares or {bill.why.partition(":")[0]: 1.0}),
            averages={},
            notes=(*context.notes, *notes),
            cached=cached,
            remaining=context.remaining(bill.analyst),
            used=context.used(bill.analyst),
            guarantee=context.guarantee,
            more=context.affordable_count(bill.loss, bill.analyst),
        )

    def _rows_note(self, rows: int) -> str:
        return f"contribution bound: at most {counted(rows, 'row')} of each {self.context.policy.unit}"
