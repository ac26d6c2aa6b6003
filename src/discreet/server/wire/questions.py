"""Queries of tables: what their answers will look like, from the plan alone, and the answers, from the same queue as
those of HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from pydantic import ValidationError
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.answers import Answer
from discreet.answers.call import Call
from discreet.answers.frames import Column, columns_of
from discreet.answers.layout import answer_parts
from discreet.curator.shape import Shape
from discreet.policy import Column as PolicyColumn
from discreet.policy import Kind
from discreet.server import requests
from discreet.server.datasets import Caller, Dataset
from discreet.server.dispatch import Submission
from discreet.server.wire import types
from discreet.server.wire.lexer import Sort, Token, tokens
from discreet.server.wire.problems import Failed, Notice
from discreet.server.wire.protocol import Field
from discreet.server.wire.settings import COSTS, Settings
from discreet.sql.parser import parsed_text

SCHEMA: Final = "public"
MOST_COLUMNS: Final = 1600
"""As PostgreSQL has it."""
FALSE: Final = (["1", "=", "0"], ["0", "=", "1"], ["FALSE"], ["1", "<", ">", "1"], ["1", "!", "=", "1"])


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as somebody asks it, with the settings of their session."""

    dataset: Dataset
    caller: Caller
    text: str
    settings: Settings
    values: Mapping[str, Any]

    def submission(self, *, with_cost: bool = True) -> Submission:
        """For the dispatcher, exactly as if it had come over HTTP."""
        said = self.settings.ours()
        if not with_cost:
            said = {name: value for name, value in said.items() if name not in (*COSTS, "delta", "group_size")}
        if self.values:
            said["params"] = {name: _sent(value) for name, value in self.values.items()}
        try:
            sent = requests.Query(sql=self.text, **said)
        except ValidationError:
            raise Failed("22023", "the query or one of its settings is not of the form that is expected") from None
        return Submission.of(self.dataset, self.caller, sent)

    def shape(self) -> Shape:
        """The columns of the answer, from the plan alone. Whoever may not ask is told so here already."""
        submission = self.submission(with_cost=False)
        curator, call = submission.curator, submission.task
        if is_explanation(self.text):  # free, and what it shows depends on the cost
            answer = self.submission().free()
            return Shape(answer.columns, answer.kinds, [])
        assert isinstance(call, Call)
        wanted = self.settings.ours().get("error")
        shape: Shape = curator.shape(call if wanted is None else replace(call, error=wanted))
        if len(shape.columns) > MOST_COLUMNS:
            raise Failed("54011", f"a result has at most {MOST_COLUMNS} columns", code="too-large")
        return shape


def _sent(value: Any) -> Any:
    if isinstance(value, datetime):
        return requests.Moment(timestamp=value.isoformat())
    if isinstance(value, date):
        return requests.Day(date=value.isoformat())
    return requests.Exact(number=str(value)) if isinstance(value, Decimal) else value


def is_explanation(text: str) -> bool:
    return text[:7].upper() == "EXPLAIN"


def read(text: str, tables: Sequence[str]) -> tuple[str, Probe | None]:
    """The text as the planner reads it, and the probe that it is."""
    said = plain(text, tables)
    return said, probe_of(said)


def plain(text: str, tables: Sequence[str]) -> str:
    """The text as the planner reads it: without the schema that all tables are in, and without the types that drivers
    write after the parameters of LIMIT and OFFSET. Other characters stay where they are.
    """
    words, parts, at = list(tokens(text)), [], 0
    is_table = SCHEMA in (table.lower() for table in tables)
    for index in range(len(words)):
        gap = None if is_table else _schema(words[index : index + 2])
        gap = gap or _cast(words[index : index + 5])
        if gap is not None:
            parts.append(text[at : gap[0]] + " " * (gap[1] - gap[0]))
            at = gap[1]
    return "".join([*parts, text[at:]])


def _schema(words: Sequence[Token]) -> tuple[int, int] | None:
    """`public.`, where it begins and ends."""
    first = words[0]
    named = (first.sort is Sort.NAME and first.text == SCHEMA) or first.upper == SCHEMA.upper()
    return (first.start, words[1].end) if named and [each.upper for each in words[1:]] == ["."] else None


def _cast(words: Sequence[Token]) -> tuple[int, int] | None:
    """The `::INTEGER` in `LIMIT $1::INTEGER`."""
    said = [each.upper for each in words]
    if said[:1] in (["LIMIT"], ["OFFSET"]) and said[2:4] == [":", ":"] and words[4:] and words[4].sort is Sort.WORD:
        return words[2].start, words[4].end
    return None


# probes: what tools ask to learn the columns, and want no rows of


@dataclass(frozen=True, slots=True)
class Probe:
    """A query whose result is empty whatever the rows are: the query that has its columns, or the table."""

    text: str
    table: str | None = None


def probe_of(text: str) -> Probe | None:
    """`… LIMIT 0`, and `SELECT * FROM (…) t WHERE 1 = 0`."""
    words = list(tokens(text))
    said = [word.upper for word in words]
    if said[-2:] == ["LIMIT", "0"]:
        return _probe(text, words[:-2])
    for false in FALSE:
        rest = words[: -len(false) - 1]
        if said[-len(false) - 1 :] == ["WHERE", *false] and said[:3] == ["SELECT", "*", "FROM"]:
            return _inside(text, rest)
    return None


def _probe(text: str, words: Sequence[Token]) -> Probe | None:
    """Without the LIMIT: a table of which all columns are wanted, or any other query."""
    if not words:
        return None
    said = [word.upper for word in words]
    if said[:3] == ["SELECT", "*", "FROM"] and len(words) == 4 and words[3].sort in (Sort.WORD, Sort.NAME):
        return Probe("", words[3].text)
    return Probe(text[: words[-1].end])


def _inside(text: str, words: Sequence[Token]) -> Probe | None:
    """`SELECT * FROM (…) AS t`, whose columns are those of what is inside; or a table."""
    if len(words) > 4 and words[3].upper == "(":
        depth = 0
        for index, word in enumerate(words[3:], 3):
            depth += {"(": 1, ")": -1}.get(word.upper, 0)
            if not depth:
                alias = [each for each in words[index + 1 :] if each.upper != "AS"]
                return Probe(text[words[3].end : word.start].strip()) if len(alias) <= 1 else None
        return None
    names = [word for word in words[3:] if word.upper != "AS"]
    is_table = 1 <= len(names) <= 2 and all(word.sort in (Sort.WORD, Sort.NAME) for word in names)
    return Probe("", names[0].text) if is_table else None


def table_fields(dataset: Dataset, table: str) -> tuple[Field, ...] | None:
    """The declared columns of a table; None if there is none of this name."""
    facts = next((each for name, each in dataset.curator.tables().items() if name.lower() == table.lower()), None)
    if facts is None:
        return None
    return tuple(types.field(each.name, types.OF_KINDS[each.kind]) for each in facts.columns.values())


# keys that everybody knows, by which tools offer filters


def keys_of(dataset: Dataset, text: str) -> tuple[tuple[Field, ...], list[tuple[Any, ...]]] | None:
    """`SELECT ward FROM patients GROUP BY ward`, or DISTINCT: the values that the policy lists, for nothing.

    None for all else. Every listed key is in every answer, whatever the rows are, so that this says nothing of them.
    """
    if "(" in text or not KEYS.search(text):
        return None
    try:
        trees = parsed_text(text, "postgres")
    except SqlglotError:
        return None
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        return None
    if any(value and name not in PLAIN for name, value in tree.args.items()):
        return None
    label, column = tree.expressions[0].alias_or_name, tree.expressions[0].unalias()
    known = _listed(dataset, tree, column)
    by = [each.sql().lower() for each in (tree.args["group"].expressions if tree.args.get("group") else [column])]
    if known is None or len(by) != 1 or by[0] not in ("1", label.lower(), column.sql().lower()):
        return None
    rows = _chosen(tree, [_plain(value) for value in known.values or ()], {"1", label.lower(), column.sql().lower()})
    return None if rows is None else ((types.field(label, types.OF_KINDS[known.kind]),), [(row,) for row in rows])


KEYS: Final = re.compile(r"\b(?:group\s+by|distinct)\b", re.IGNORECASE)
PLAIN: Final = frozenset({"expressions", "from_", "group", "distinct", "order", "limit", "kind"})


def _listed(dataset: Dataset, tree: exp.Select, column: Any) -> PolicyColumn | None:
    """The column, if it is one of a private table, and its values are listed."""
    table = tree.args["from_"].this if tree.args.get("from_") else None
    if not isinstance(table, exp.Table) or table.args.get("joins") or not isinstance(column, exp.Column):
        return None
    tables = dataset.curator.policy.private_tables.values()
    named = next((each for each in tables if each.name.lower() == table.name.lower()), None)
    columns = named.columns.values() if named is not None else ()
    known = next((each for each in columns if each.name.lower() == column.name.lower()), None)
    return known if known is not None and known.values and not known.nullable else None


def _chosen(tree: exp.Select, values: list[Any], names: set[str]) -> list[Any] | None:
    """The values in the order that is wanted, and no more than that."""
    order, limit = tree.args.get("order"), tree.args.get("limit")
    if order is not None:
        if len(order.expressions) != 1 or order.expressions[0].this.sql().lower() not in names:
            return None
        values = sorted(values, reverse=bool(order.expressions[0].args.get("desc")))
    if limit is None:
        return values
    count = limit.expression
    is_number = isinstance(count, exp.Literal) and not count.is_string and str(count.this).isdecimal()
    return values[: int(str(count.this)[:9])] if is_number else None


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


# answers as tables


def fields_of(shape: Shape, *, with_errors: bool) -> tuple[Field, ...]:
    """The columns of an answer; where errors are wanted, each noisy number is followed by the ends of its interval."""
    if not with_errors:
        pairs = zip(shape.columns, [shape.kinds.get(name) for name in shape.columns], strict=True)
        lists = {name for name in shape.noisy if name not in shape.kinds}
        return tuple(types.field(name, types.JSON if name in lists else _type(kind)) for name, kind in pairs)
    kinds = {**shape.kinds, "": Kind.TEXT}  # where any are named, what is noisy and has none is a list
    known = columns_of(shape.columns, [], [], kinds, shape.noisy)
    ends = _ends(known, shape)
    return tuple(types.field(each.name, _described(each, is_end)) for each, is_end in zip(known, ends, strict=True))


def _type(kind: Kind | None) -> int:
    return types.TEXT if kind is None else types.OF_KINDS[kind]


def _described(column: Column, is_end: bool) -> int:
    if column.fields:
        return types.JSON
    return types.FLOAT8 if is_end else _type(column.kind)


def _ends(columns: Sequence[Column], shape: Shape) -> list[bool]:
    """Which columns are ends of intervals: the two after each noisy number."""
    marks: list[bool] = []
    names = iter(shape.columns)
    while len(marks) < len(columns):
        name, is_list = next(names), bool(columns[len(marks)].fields)
        marks += [False, True, True] if name in shape.noisy and not is_list else [False]
    return marks


def rows_of(answer: Answer, *, with_errors: bool) -> list[tuple[Any, ...]]:
    if not with_errors:
        return list(answer.rows)
    columns = columns_of(answer.columns, answer.rows, answer.intervals, answer.kinds, answer.noisy)
    values = [
        column.regrouped([field.values for field in column.fields]) if column.fields else column.values
        for column in columns
    ]
    return list(zip(*values, strict=True))


def notice_of(answer: Answer) -> Notice:
    """What it cost and what remains, as everywhere else; in detail the rest of what is shown below a table."""
    if answer.dummy:
        return Notice("dummy data: this says nothing about the real rows, and cost nothing")
    parts = answer_parts(answer, most=0)
    return Notice("".join(span.text for span in parts.lines[-1]), "\n".join(parts.notes))
