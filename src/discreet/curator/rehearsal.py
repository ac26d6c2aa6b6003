"""Before anything is charged, all queries of a plan are run over empty tables: none fails for its text afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.composed import Sql
from discreet.engines.rehearsal import runs
from discreet.errors import Refused
from discreet.policy import Policy
from discreet.sql.plan import Plan
from discreet.sql.released import with_nothing


def rehearse(plan: Plan) -> None:
    """Refuse a plan of which a query cannot be run."""
    runnable(plan.policy, plan.digest, [with_nothing(plan, query) for query in plan.queries], plan.schemas)


def runnable(policy: Policy, digest: str, queries: Iterable[Sql], schemas: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse queries that cannot be run, whatever the rows are."""
    for query in queries:
        if not runs(policy, digest, query, schemas):
            raise Refused(
                "statement-not-allowed",
                "the engine cannot compute this combination",
                "compute it step by step, in subqueries",
            )
