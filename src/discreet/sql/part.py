"""One part of a table whose units were divided among parts: what the policy allows, and its rows."""

from __future__ import annotations

from typing import Any

from discreet.accounting.part import Part
from discreet.answers import parts
from discreet.answers.facts import Facts
from discreet.composed import Sql, literal, name, sql
from discreet.errors import Refused
from discreet.policy.layout import key_rank, ranked_keys
from discreet.policy.model import Policy, Table


def part_of(policy: Policy, table: str, column: str, key: Any, most: int) -> Part:
    """A part of this policy, or a refusal."""
    facts = {each.name: Facts.of(each, "a stream" if each.stream else None) for each in policy.tables.values()}
    part = parts.part_of(facts, table, column, key, most)
    declared = policy.tables[table]
    if declared.owner is not None and declared.owner.column is not None and column not in ranked_keys(declared):
        raise Refused("unknown-column", "a table is divided by one of its key columns", "choose another")
    return part


def conditions(part: Part, table: Table) -> list[Sql]:
    """What a row of the part fulfils."""
    column = name(part.column)
    test = sql("{} IS NULL", column) if part.key is None else sql("{} = {}", column, literal(part.key))
    if table.owner is None or table.owner.column is None:
        return [test]  # every row is a unit and has one key
    return [test, sql("{} <= {}", name(key_rank(part.column)), literal(part.most))]
