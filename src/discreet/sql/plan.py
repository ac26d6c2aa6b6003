"""From a question to its plan: releases of private rows, and the SELECT over what they gave.

A plan follows from text and policy alone (and from public tables). It knows nothing of costs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from discreet.accounting.part import Part
from discreet.answers.buckets import Buckets
from discreet.composed import Sql
from discreet.errors import Refused
from discreet.policy import Policy, fingerprint
from discreet.sql.clause import NOTHING, Options
from discreet.sql.described import buckets_of, described
from discreet.sql.keys import GroupKey, PublicKey
from discreet.sql.memo import Memo
from discreet.sql.nodes import Node
from discreet.sql.pairs import bounded
from discreet.sql.places import reading
from discreet.sql.planner import Planner
from discreet.sql.postprocess import After
from discreet.sql.read import Statement, language_of, statement
from discreet.sql.relation import PUBLIC, Public, Released
from discreet.sql.release import Release
from discreet.sql.unknown import Found, Unknown
from discreet.sql.work import planning, remarks

VERSION: Final = 1
"""Of what a plan's fingerprint covers: counts up when the same text starts to mean something else."""
DROPPED: Final = "rows with NULL unit id are dropped"


@dataclass(frozen=True)
class Plan:
    """What a question needs: releases, drawn in this order, and the SELECT that shows them."""

    policy: Policy
    releases: tuple[Release, ...]
    below: Any
    after: After
    notes: tuple[str, ...]
    options: Options = NOTHING
    explain: bool = False
    reads_tables: bool = False
    """Whether public tables are read for what is shown."""
    digest: str = ""
    """Of the policy."""
    schemas: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Columns and types of public tables of which the policy declares none."""
    unknown: tuple[Unknown, ...] = ()
    """What is searched for first: the releases then are those of the plan with what was found."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What columns are, in words."""

    @property
    def columns(self) -> list[str]:
        return self.after.columns

    @property
    def is_charged(self) -> bool:
        """Whether private rows are read for it, for a cost that nothing has to be searched for."""
        return bool(self.releases) and not (self.explain or self.unknown or self.options.error)

    @property
    def buckets(self) -> dict[str, Buckets]:
        """Columns whose numbers stand for ranges, and for which."""
        return buckets_of(self.below, self.releases, self.after.items)

    @property
    def groups(self) -> int | None:
        """How many rows there are before HAVING and the like; None where private keys or public rows decide it."""
        if not isinstance(self.below, Released) or self.releases[self.below.number].private_keys:
            return None
        return self.releases[self.below.number].groups

    @property
    def searched_first(self) -> tuple[Unknown, ...]:
        """The searches that depend on no other: which rows count is found one after the other, and before the rest."""
        return tuple(unknown for unknown in self.unknown if unknown.first)[:1] or self.unknown

    @cached_property
    def memo(self) -> Memo:
        """What was computed from this plan before, and follows from it alone."""
        return Memo()

    @cached_property
    def fingerprint(self) -> str:
        """The digest of what is drawn: the same for questions that differ only in what follows the noise."""
        drawn: list[list[Any]] = [
            [release.sql().text, [_listed(key) for key in release.keys], str(release.contribution)]
            + [[type(m).__name__, m.detail, m.size, m.length, str(release.sensitivity(m))] for m in release.measures]
            + [[release.other, *release.said] if release.said else release.other]
            for release in self.releases
        ]
        searched = [[unknown.key for unknown in self.unknown]] if self.unknown else []
        written = json.dumps([VERSION, self.digest, drawn, *searched], sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()

    @cached_property
    def queries(self) -> tuple[Sql, ...]:
        """Everything that an engine will be asked, but for the values of earlier releases."""
        texts = [self.after.sql(self.below.sql()), *(unknown.sql() for unknown in self.unknown)]
        for release in self.releases:
            texts.append(release.sql())
            if release.private_keys and not release.counts_units:
                texts.append(release.selection_sql())
            if release.other:
                texts.append(release.other_sql(()))
        return tuple(texts)


def plan(
    policy: Policy,
    text: object,
    *,
    public: Public,
    digest: str = "",
    dialect: str | None = None,
    params: Mapping[str, object] | None = None,
    part: Part | None = None,
    bounds: Found | None = None,
    now: datetime | None = None,
    apart: bool = False,
    promised: bool = False,
) -> Plan:
    """The plan of a question, or a refusal; where a part is given, of a question about that part alone.

    `bounds` are those that the text leaves out, `now` is the moment that CURRENT_DATE means. `apart`: each column is to
    have an error of its own, so that they do not share one release; `promised`: an error is wanted, and not a cost.
    """
    with reading(*language_of(text, dialect)):
        query = statement(text, dialect, params, now)
        return planned(
            policy, query, public=public, digest=digest, part=part, bounds=bounds, apart=apart, promised=promised
        )


def planned(
    policy: Policy,
    query: Statement,
    *,
    public: Public,
    digest: str = "",
    part: Part | None = None,
    bounds: Found | None = None,
    apart: bool = False,
    promised: bool = False,
) -> Plan:
    """The plan of a statement."""
    with planning():
        planner = Planner(policy, public, query.clauses, part, bounds, apart=apart, promised=promised)
        shown = planner.shown(query.tree)
        remarked = remarks()
    plan = Plan(
        policy,
        tuple(planner.releases),
        shown.below,
        shown.after,
        (*remarked, *query.notes, *dict.fromkeys(planner.notes)),
        options=query.options,
        explain=query.explain,
        reads_tables=planner.reads_tables,
        digest=digest or fingerprint(policy),
        unknown=planner.unknown,
    )
    plan = replace(plan, words=described(query.tree, plan.columns, plan.buckets))
    return plan if part is None else _inside(plan, part)


def private_rows(policy: Policy, text: object, *, public: Public) -> Node:
    """The private rows that a SELECT describes, for what learns from them; they never leave as they are."""
    with reading(*language_of(text)):
        select = statement(text)
        planner = Planner(policy, public, select.clauses, None)
        with planning():
            node = planner.query(select.tree, {})
    if isinstance(node, PUBLIC) or planner.releases or select.explain or select.clauses:
        raise Refused(
            "not-rows",
            "private rows are what this takes, and the text describes something else",
            "write SELECT columns FROM a private table, without aggregates, EXPLAIN or WITH DIFFERENTIAL_PRIVACY",
        )
    return bounded(node)


def _inside(planned: Plan, part: Part) -> Plan:
    """The plan, if every unit that it counts is in the part."""
    if not all(release.child.inside for release in planned.releases):
        raise Refused(
            "outside-part",
            "the query reads units outside of the part",
            f"ask about {part.table}, or join other tables to it on the unit with JOIN or LEFT JOIN",
        )
    return replace(planned, notes=(f"only the part with {part.label}", *planned.notes))


def _listed(key: GroupKey) -> object:
    return list(map(str, key.values())) if isinstance(key, PublicKey) else "selected"
