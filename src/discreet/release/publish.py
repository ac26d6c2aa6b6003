"""Publishing from a curator's tables, as a task: rows are bounded for each unit, and the ledger is charged first."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

from numpy.typing import NDArray

from discreet.accounting.labels import selection_delta
from discreet.accounting.record import Entry, Key
from discreet.answers import Preview, documents
from discreet.answers.call import Call, written
from discreet.answers.values import UNREADABLE
from discreet.composed import Sql, joined, literal, name, sql
from discreet.curator.rows import PreparedTask, bounded_rows, columns_of
from discreet.curator.task import Context, demand_choice
from discreet.errors import Refused
from discreet.exit import Bill, Cost, Exit, Outcome, Reader
from discreet.exit.cost import Loss, cost_missing
from discreet.policy import Kind, Policy
from discreet.policy.problems import meant
from discreet.release.codec import CODEC, decode, encode
from discreet.release.columns import Column
from discreet.release.core import Charged, Publication, Published, loss_of
from discreet.release.rows import Rows
from discreet.release.sent import published_of
from discreet.sql.nodes import Field, Node

TASK: Final = "release"
TASK_VERSION: Final = 1
"""Of what a fingerprint covers: counts up when the same arguments start to mean something else."""
MOST_RECORD: Final = 50_000
"""Characters of a publication that stand in the ledger's record; of longer ones it is their digest."""
MOST_TEXTS: Final = 256
"""Declared texts of a column, up to which an engine reads numbers in their place."""


@dataclass(frozen=True, slots=True, eq=False)
class Publish:
    """Publishing from a table, or from the rows of a SELECT, as a task: see `Curator.release`."""

    publication: Publication
    sql: Any
    epsilon: Any = None
    rho: Any = None
    delta: Any = None
    max_rows: int | None = None
    analyst: str | None = None
    fresh: bool = False
    key: Key | str | None = None
    blocks: Any = None
    """Of a stream: those that are read."""
    max_cells: int | None = None
    """How many numbers may be published, for whoever sends them on; None for as many as a publication allows."""
    path: ClassVar[str] = TASK

    def prepared(self, context: Context) -> PreparedRelease:
        """The publication with its bill, or a refusal.

        Theorem  It costs a unit, with all of its rows, what the caller says.
        Proof    A unit adds or removes its own rows alone, k of them at most (the theorem of each node of the plan),
                 and sensitivities of a publication are those of a unit of k rows.
        """
        demand_choice(self.fresh, "a cached release")
        public, policy = context.public(), context.policy
        text = _text(policy, self.sql)
        node = bounded_rows(policy, text, self.max_rows, public=public)
        rows = node.rows or 1
        publication = _declared(self.publication, node.fields)
        chosen = _chosen(node.fields, publication.columns)
        cost = _cost(policy, publication, epsilon=self.epsilon, rho=self.rho, delta=self.delta)
        try:
            cells = publication.expected(cost, rows).cells
        except UNREADABLE as wrong:  # of arguments of other types, which nobody has looked at yet
            raise Refused("release-invalid", str(wrong), "change the publication's arguments") from None
        if self.max_cells is not None and (cells or 0) > self.max_cells:
            reason = f"{cells:,} numbers would be published; {self.max_cells:,} are the most here"
            raise Refused("too-complex", reason, "use fewer columns, or larger bins")
        with_unit = publication.wants_units and node.owner.column is not None
        query = columns_of(node, chosen, with_unit=with_unit)
        bill = Bill(
            loss=loss_of(cost, publication.is_selecting).per(policy.unit),
            cost=cost,
            why=f"{type(publication).__name__}.release: {text}",
            plan=_fingerprint(context.digest, publication, query, rows),
            **context.about,
            analyst=self.analyst,
            call=_record(self.publication, text, rows),
            key=self.key,
            fresh=self.fresh,
        )
        return PreparedRelease(context, bill, publication, Reading.of(node, chosen, with_unit), rows, public.schemas)

    # by a server

    def request(self) -> dict[str, Any]:
        """What a server is asked, or a refusal: only what JSON can say is sent."""
        if not isinstance(self.sql, str):
            raise Refused("syntax", "a table or a question is a text", "name a table, or write one SELECT")
        try:
            publication = CODEC.written(self.publication)
        except ValueError as wrong:
            raise Refused("release-invalid", str(wrong), "give the publication numbers, texts and lists") from None
        options: dict[str, Any] = {"max_rows": self.max_rows, "analyst": self.analyst}
        return {
            "publication": publication["stored"],
            "fields": publication["fields"],
            "sql": self.sql,
            **written(Call(sql=self.sql, epsilon=self.epsilon, rho=self.rho, delta=self.delta, blocks=self.blocks)),
            **{name: value for name, value in options.items() if value is not None},
        }

    def received(self, document: documents.Release) -> Published:
        """What a server published, as if it had been published here."""
        return published_of(document)


@dataclass(frozen=True, slots=True, eq=False)
class PreparedRelease(PreparedTask):
    """A publication with its bill: nothing was read for it."""

    publication: Publication
    """With what the policy declares."""
    reading: Reading
    most: int
    """Rows of a unit."""
    schemas: Mapping[str, Mapping[str, str]]

    @property
    def stages(self) -> tuple[tuple[str, int], ...]:
        """What is planned, for whoever watches."""
        return self.publication.stages

    def check(self) -> None:
        self._demand_runnable(self.reading.query, self.schemas)

    # the charge

    def run(self, rows: Reader, exit_: Exit) -> bytes:
        exact = self.reading.rows(rows.columns(self.reading.query), self.most)
        return encode(self.publication.published(exact, exit_))

    def decode(self, stored: bytes) -> Published | None:
        return decode(stored, Published)

    def is_met(self, value: Published, cost: Loss) -> bool:  # noqa: ARG002
        """Whether a cached value cost enough: plans of publications tell them apart."""
        return cost.covers(self.bill.loss)

    # after it

    def show(self, outcome: Outcome[Published]) -> Published:
        return replace(outcome.value, charged=Charged(outcome.cost, outcome.loss, outcome.receipt))

    def preview(self, *, cached: bool) -> Preview:
        """What it would cost, and the error to expect."""
        expected, names = self.publication.expected(self.bill.cost, self.most), self.reading.names
        return self._previewed(
            columns=[*names, *(name for name in expected.error if name not in names)],
            cached=cached,
            error=expected.error,
            noise=expected.noise,
            notes=(self._rows_note(self.most), *expected.notes),
            groups=expected.cells,
            shares=expected.shares,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """How exact rows are read: column by column, declared texts by their numbers, so that few bytes hold many rows."""

    query: Sql
    names: tuple[str, ...]
    kinds: tuple[Kind | None, ...]
    texts: tuple[tuple[str, ...] | None, ...]
    """Of each column what its numbers stand for, if it is read so."""
    with_unit: bool

    @classmethod
    def of(cls, node: Node, fields: Sequence[Field], with_unit: bool) -> Self:
        texts = tuple(_texts(field) for field in fields)
        columns = [_read_as(field, held) for field, held in zip(fields, texts, strict=True)]
        if with_unit and node.owner.column is not None:
            columns.insert(0, node.owner.column)
        named = [sql("{} AS {}", column, name(f"c{index}")) for index, column in enumerate(columns)]
        query = sql("SELECT {} FROM ({})", joined(", ", named), node.sql())
        names, kinds = zip(*((field.name, field.expr.domain.kind) for field in fields), strict=True)
        return cls(query, names, kinds, texts, with_unit)

    def rows(self, exact: Sequence[NDArray[Any]], most: int) -> Rows:
        """The rows that an engine read."""
        units = [Column.read(array) for array in exact[: self.with_unit]]
        facts = zip(exact[self.with_unit :], self.texts, self.kinds, strict=True)
        columns = [Column.read(array, texts=texts, kind=kind) for array, texts, kind in facts]
        return Rows.read([*units, *columns], self.names, most, with_unit=self.with_unit)


def _texts(field: Field) -> tuple[str, ...] | None:
    domain = field.expr.domain
    listed = domain.kind is Kind.TEXT and domain.values is not None and 0 < len(domain.values) <= MOST_TEXTS
    return tuple(map(str, domain.values or ())) if listed else None


def _read_as(field: Field, texts: tuple[str, ...] | None) -> Sql:
    """A column as it is read. Dates are moments, and none where they are farther away than those go."""
    column = field.expr.sql
    if texts is not None:
        each = [sql("WHEN {} THEN {}", literal(text), literal(number)) for number, text in enumerate(texts)]
        return sql("CASE {} {} END", column, joined(" ", each))
    return sql("TRY_CAST({} AS TIMESTAMP)", column) if field.expr.domain.kind is Kind.DATE else column


def recalled(stored: bytes, entry: Entry) -> Published:
    """What was published for a charge."""
    value = decode(stored, Published)
    if value is None:
        raise Refused("answer-gone", "another version of discreet published this", "release it again")
    return replace(value, charged=Charged(entry.cost, None, f"{entry.number}:"))


# from text and policy alone


def _text(policy: Policy, given: Any) -> Any:
    """A SELECT; the name of a table stands for all of its columns."""
    tables = {name.lower(): name for name in policy.tables}
    named = given.strip() if isinstance(given, str) else ""
    if named.lower() in tables:
        quoted = tables[named.lower()].replace('"', '""')
        return f'SELECT * FROM "{quoted}"'
    if re.fullmatch(r"\w+", named) and named.upper() != "SELECT":
        fix = meant(named, list(tables.values())) or f"tables: {', '.join(tables.values())}"
        raise Refused("unknown-table", "the policy declares no such table", fix)
    return given


def _declared(publication: Publication, fields: Sequence[Field]) -> Publication:
    try:
        declared = publication.declared(fields)
        if not declared.columns:
            raise ValueError("there are no columns to publish")
    except UNREADABLE as wrong:  # of arguments of other types, which nobody has looked at yet
        raise Refused("release-invalid", str(wrong), "change the publication's arguments") from None
    return declared


def _chosen(fields: Sequence[Field], names: Sequence[str]) -> list[Field]:
    by_name = {field.name.lower(): field for field in fields}
    return [by_name[name.lower()] for name in names]


def _cost(policy: Policy, publication: Publication, *, epsilon: Any, rho: Any, delta: Any) -> Cost:
    """What the caller says it may cost, with the δ of partition selection where there is one."""
    if epsilon is None and rho is None:
        raise cost_missing(policy, "release")
    selecting, budget = publication.is_selecting, policy.budget
    if selecting and budget.delta is None:
        raise Refused(
            "private-keys-need-delta",
            "private keys are selected, and the budget has no delta to select them",
            "declare their values in the policy, give its budget a delta, or leave the column out",
        )
    cost = Cost.read(policy, epsilon=epsilon, rho=rho, delta=delta, private_keys=selecting)
    if not selecting or budget.delta is None:
        return replace(cost, delta=None)
    return replace(cost, delta=cost.delta or selection_delta(cost.amount, budget.epsilon, budget.delta))


def _fingerprint(digest: str, publication: Publication, query: Sql, rows: int) -> str:
    """Of what is published, its cost aside. Those of other tasks begin differently."""
    text = json.dumps([TASK_VERSION, digest, CODEC.written(publication), query.text, rows], sort_keys=True)
    return f"{TASK}:{hashlib.sha256(text.encode()).hexdigest()}"


def _record(publication: Publication, text: Any, rows: int) -> dict[str, Any]:
    """How it was asked, for the record."""
    written = CODEC.written(publication)
    size = json.dumps(written, sort_keys=True)
    if len(size) > MOST_RECORD:
        written = {"stored": type(publication).__name__, "digest": hashlib.sha256(size.encode()).hexdigest()}
    return {"task": TASK, "publication": written, "sql": str(text), "max_rows": rows}
