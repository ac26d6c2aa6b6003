"""The task of a query: what its text means now, and whether bounds have to be found for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.answers.call import Call
from discreet.answers.ibis_tables import is_expression, text_of
from discreet.curator.prepared import PreparedQuery, prepared
from discreet.curator.search import PreparedSearch, prepared_search
from discreet.curator.shape import Shape
from discreet.curator.task import Context, demand_choice
from discreet.sql.plan import Plan


@dataclass(frozen=True, slots=True)
class Query:
    """A query as a task."""

    call: Call

    @property
    def analyst(self) -> str | None:
        return self.call.analyst

    @property
    def blocks(self) -> object:
        return self.call.blocks

    def prepared(self, context: Context) -> PreparedQuery | PreparedSearch:
        """The query with its plan and its bill, or a refusal."""
        call, plan = self._planned(context)
        return prepared_search(context, call, plan) if plan.unknown else prepared(context, call, plan)

    def shape(self, context: Context) -> Shape:
        """The columns of its answer: its cost need not be known."""
        return Shape.of(self._planned(context)[1])

    def _planned(self, context: Context) -> tuple[Call, Plan]:
        call = self.call
        if is_expression(call.sql):
            call = replace(call, sql=text_of(call.sql), dialect="duckdb")
        demand_choice(call.fresh, "a cached answer")
        now, blocks = call.now or context.present([call.sql], call.key), context.blocks
        if now is not call.now or blocks is not call.blocks:
            call = replace(call, now=now, blocks=blocks)
        return call, context.plan(context.version, call)
