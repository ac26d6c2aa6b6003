"""Before a charge Spark is asked for its plan of a query, over frames that have no rows.

Theorem  Whether a query passes depends on policy, text and public schemas, and on whether Spark is there.
Proof    The frames have the columns and types of the copy (`stored`), and are made of no rows; what is asked for is the
         physical plan, which is made of them before anything is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.composed import Sql
from discreet.engines.rewriting.spark import SETTINGS
from discreet.engines.rewriting.spark_forms import TYPES as NAMES
from discreet.engines.rewriting.spark_forms import identifier
from discreet.engines.rewriting.terms import TYPES as KINDS
from discreet.engines.spark.cluster import session
from discreet.engines.spark.copy import SECRET_VIEW, cluster_of, stored, view
from discreet.engines.spark.engine import UnansweredError, aggregate
from discreet.policy import Policy


def plans(policy: Policy, query: Sql, schemas: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether Spark makes a plan of a query; `UnansweredError` if there is no Spark."""
    text = aggregate(query, policy, schemas).text
    cluster = cluster_of(policy)
    try:
        folder = policy.state if policy.state.is_dir() else policy.folder
        with session(cluster, folder, "engine", runs=False) as held:
            for key, value in SETTINGS.items():
                held.conf.set(key, value)
            show_empty(held, policy, schemas)
            return _plans(held, text)
    except Exception:
        raise UnansweredError from None


def show_empty(held: Any, policy: Policy, schemas: Mapping[str, Mapping[str, str]]) -> None:
    """Let a session know the tables by their names, without rows."""
    for label, table in stored(policy, schemas).items():
        typed = ", ".join(f"{identifier(column)} {NAMES[KINDS[kind]]}" for column, kind in table.columns.items())
        empty = held.createDataFrame([], typed or "`_discreet_none` BIGINT")
        for placed in (False, True):
            empty.createOrReplaceTempView(view(policy, label, placed=placed))
    held.createDataFrame([("",)], "secret string").createOrReplaceTempView(SECRET_VIEW)


def _plans(held: Any, text: str) -> bool:
    from pyspark.errors import PySparkException

    try:
        frame = held.sql(text)
        if hasattr(frame, "_jdf"):
            frame._jdf.queryExecution().executedPlan()
        else:  # a client of Spark Connect asks for the plan as a text
            frame._explain_string()
    except PySparkException:
        held.sql("SELECT 1").collect()  # it is the query and not Spark that fails
        return False
    return True
