"""Queries of tables: what their answers will look like, from the plan alone, and the answers, from the same queue as
those of HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from pydantic import ValidationError

from discreet.answers import Answer
from discreet.answers.call import Call
from discreet.answers.frames import Column, columns_of
from discreet.answers.layout import answer_parts
from discreet.curator.shape import Shape
from discreet.policy import Kind
from discreet.server import requests
from discreet.server.datasets import Caller, Dataset
from discreet.server.dispatch import Submission
from discreet.server.wire import types
from discreet.server.wire.lexer import Sort, Token, tokens
from discreet.server.wire.problems import Failed, Notice
from discreet.server.wire.protocol import Field
from discreet.server.wire.settings import COSTS, Settings

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
