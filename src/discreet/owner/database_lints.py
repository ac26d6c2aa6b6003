"""Lints of sources that are tables of PostgreSQL: what the role may do, who may answer in the server's place."""

from __future__ import annotations

import os
from collections.abc import Iterator

from discreet.owner.column_lints import Judgement
from discreet.owner.inspection import Inspection
from discreet.owner.unit_lints import of_tables
from discreet.policy import Severity, Table
from discreet.policy.databases import connection_options, is_local

CHECKED = "verify-full"


@of_tables("source", private=False)
def rights(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Roles that may do more than read: a mistake here, or whoever takes the password, could change rows."""
    relation = inspection.relation(table)
    if relation is not None and relation.rights:
        message = f"the role may do more than read: it {', '.join(relation.rights)}"
        fix = f"connect as a role of its own: CREATE ROLE reader LOGIN; GRANT SELECT ON {relation.quoted} TO reader"
        yield Severity.WARNING, message, fix


@of_tables("source", private=False)
def hidden_rows(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Rows that the database hides from the role."""
    relation = inspection.relation(table)
    if relation is not None and relation.filtered:
        message = "row-level security chooses which rows this role sees: answers are about those alone"
        yield Severity.WARNING, message, "let the role see all rows, or see that this is what you mean"


@of_tables("source", private=False)
def unchecked_servers(_: Inspection, table: Table) -> Iterator[Judgement]:
    """Connections to other machines on which anybody could answer."""
    login = table.source.login
    if login is None or is_local(login.host or os.environ.get("PGHOST", "")):
        return
    mode = connection_options(login, os.environ)["sslmode"]
    if mode != CHECKED:
        message = f"sslmode={mode} does not see whether it is the server that answers, and others may read along"
        yield Severity.WARNING, message, f"write sslmode={CHECKED}, or nothing: it is what holds for other hosts"
