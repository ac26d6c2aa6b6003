"""What is said of functions that are not there: of those of DuckDB, BigQuery, PostgreSQL, Snowflake and Spark."""

from __future__ import annotations

import re
from functools import cache

import duckdb
import pytest
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from discreet.errors import Refused
from discreet.sql import instead
from discreet.sql.places import reading
from discreet.sql.wording import NAMES, not_allowed

DIALECTS = ("bigquery", "postgres", "snowflake", "spark")
UNKNOWN = "nobody proved"


@cache
def functions() -> frozenset[str]:
    """Names that other systems have."""
    listed = (
        "SELECT DISTINCT upper(function_name) FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate')"
    )
    with duckdb.connect() as plain:
        own = {name for (name,) in plain.execute(listed).fetchall() if not name.startswith("__")}
    others = {name for dialect in DIALECTS for name in Dialect.get_or_raise(dialect).parser_class.FUNCTIONS}
    return frozenset(name for name in own | others if re.fullmatch(r"[A-Z][A-Z0-9_]*", name)) - frozenset(NAMES)


def refused(name: str) -> Refused:
    with reading(f"{name}(x)", "duckdb"):
        return not_allowed(exp.Anonymous(this=name, expressions=[]))


SYNTAX = {"AND", "EXISTS", "FORMAT_DATE", "ILIKE", "LIKE", "OR", "X_M_L_TABLE"}
"""Written in another form, or the parser's own name of one."""


def test_all_of_them_have_a_reason_or_another_name() -> None:
    assert len(functions()) > 1_300
    assert {name for name in functions() if UNKNOWN in refused(name).reason} <= SYNTAX


@pytest.mark.parametrize("name", sorted(instead._SAME))
def test_another_name_is_on_the_list_and_is_an_edit(name: str) -> None:
    answer = refused(name)
    assert instead._SAME[name] in NAMES
    assert name not in NAMES
    assert answer.edit is not None
    assert (answer.edit.old, answer.edit.new) == (name, instead._SAME[name])


@pytest.mark.parametrize("place", range(len(instead._FAMILIES)))
def test_every_family_has_members_and_proposes_what_is_there(place: int) -> None:
    pattern, said = instead._FAMILIES[place]
    members = [name for name in functions() if re.fullmatch(pattern, name) and instead.instead(name) == said]
    assert members, pattern
    called = set(re.findall(r"\b([A-Z_]{2,})\(", said.fix)) - {"INTERVAL"}
    assert called <= set(NAMES), called - set(NAMES)
    assert not said.reason.endswith(".")


@pytest.mark.parametrize(
    ("slip", "meant"), [("CUONT", "COUNT"), ("MEDAIN", "MEDIAN"), ("AVGE", "AVG"), ("SUMM", "SUM")]
)
def test_slips_are_found(slip: str, meant: str) -> None:
    answer = refused(slip)
    assert answer.fix == f"did you mean {meant}?"
    assert answer.edit is not None


@pytest.mark.parametrize("name", ["SWITCHBOARD", "CONJURE", "STATUS_OF", "FROBNICATE", "X" * 500])
def test_names_that_are_only_a_little_alike_are_not_proposed(name: str) -> None:
    answer = refused(name)
    assert UNKNOWN in answer.reason
    assert "did you mean" not in answer.fix
    assert len(answer.reason) < 250
