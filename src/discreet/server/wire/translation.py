"""Questions about PostgreSQL's catalogue, read by allow-list and written anew for the catalogue's own database.

A question becomes a tree; every node of it must be on a list here, every relation one of the catalogue, every function
one that is known. What is not is refused: no text of a client is passed on as it came. The database that runs what is
written holds public facts alone (`catalogue`), so that a mistake here could show nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from discreet.server.wire.catalogue import REPEATING, SCHEMAS
from discreet.server.wire.functions import CONSTANTS, FROM_ARGUMENTS, SAME, class_cast, formatted
from discreet.server.wire.inference import is_numbered
from discreet.server.wire.problems import Failed
from discreet.server.wire.settings import VERSION_WORDS, Settings
from discreet.sql.parser import parsed_text

MAX_DEPTH: Final = 60
HINT: Final = "see information_schema.tables and information_schema.columns"
LABEL: Final = re.compile(r"(\bas\s+)(select|insert|update|delete|references|table|create|from|where)\b", re.IGNORECASE)
"""Words that sqlglot takes for something else after AS."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: what functions without a table tell."""

    user: str
    database: str
    process: int
    settings: Settings


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the catalogue: its tree, not yet looked at, and how many parameters it has."""

    tree: exp.Query
    parameters: int


SHARED: Final[tuple[type[Any], ...]] = (
    exp.Add, exp.Alias, exp.All, exp.And, exp.Any, exp.Array, exp.ArrayAgg, exp.Between, exp.BitwiseAnd, exp.BitwiseOr,
    exp.Boolean, exp.Bracket, exp.CTE, exp.Case, exp.Coalesce, exp.Concat, exp.ConcatWs, exp.Count,
    exp.DPipe, exp.DataType, exp.Distinct, exp.Div, exp.EQ, exp.Escape, exp.Except, exp.Exists,
    exp.Explode, exp.Filter, exp.From, exp.GT, exp.GTE, exp.Greatest, exp.Group, exp.GroupConcat, exp.Having,
    exp.Identifier, exp.If, exp.ILike, exp.In, exp.Intersect, exp.Is, exp.Join, exp.LT, exp.LTE, exp.Lateral,
    exp.Least, exp.Left, exp.Length, exp.Limit, exp.Literal, exp.LogicalAnd, exp.LogicalOr, exp.Lower, exp.Max, exp.Min,
    exp.Mod, exp.Mul, exp.NEQ, exp.Neg, exp.Not, exp.Null, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif, exp.Offset,
    exp.Or, exp.Order, exp.Ordered, exp.Paren, exp.Rank, exp.RegexpILike, exp.RegexpLike, exp.Right,
    exp.RowNumber, exp.Select, exp.Star, exp.StrPosition, exp.Sub, exp.Subquery, exp.Substring, exp.Sum, exp.TableAlias,
    exp.Trim, exp.Tuple, exp.Union, exp.Unnest, exp.Upper, exp.Values, exp.Var, exp.Where, exp.Window, exp.With,
)  # fmt: skip
"""Nodes that mean the same in both databases."""


def read(text: str) -> Question | None:
    """A question about the catalogue, or about nothing; None if it is about something else, for the planner to read."""
    if text.count("(") > 2000:
        return None
    parsed = _parsed(text)
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Query) or isinstance(parsed[0], exp.Table):
        return None
    tree = parsed[0]
    try:
        if not _is_about_catalogue(tree):
            return None
        _demand_shallow(tree)
        numbers = [int(str(node.this)) for node in tree.find_all(exp.Parameter) if is_numbered(node)]
    except RecursionError:
        raise _not_understood("so many nested parts") from None
    return Question(tree, max(numbers, default=0))


def _parsed(text: str) -> list[Any]:
    """The statements of a text; none if it cannot be read. PostgreSQL takes any word as the name of a column."""
    for each in (text, LABEL.sub(r'\1"\2"', text)):
        try:
            return [tree for tree in parsed_text(each, "postgres") if tree is not None]
        except (ParseError, TokenError, RecursionError):
            continue
    return []


def _is_about_catalogue(tree: exp.Query) -> bool:
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    return all(_relation(table) is not None or _is_own(table, own) for table in tables)


def _is_own(table: exp.Table, own: set[str]) -> bool:
    """Whether a table is one of the question's own WITH. Inside of it the same name is something else."""
    name, node = table.name.lower(), table.parent
    while node is not None:
        if isinstance(node, exp.CTE) and node.alias.lower() == name and not getattr(node.parent, "recursive", False):
            return False
        node = node.parent
    return not table.db and name in own


def _relation(table: exp.Table) -> str | None:
    """Where a relation of the catalogue is here; None if it is none. Without a schema only pg_catalog is searched."""
    schema, relation = table.db.lower(), table.name.lower()
    if not schema and (relation.startswith("pg_") or relation in SCHEMAS["pg_catalog"][0]):
        schema = "pg_catalog"
    if schema not in SCHEMAS or (table.catalog and not schema):
        return None
    return schema


def _demand_shallow(tree: exp.Expr) -> None:
    deepest = max((_depth(node) for node in tree.find_all(exp.Select)), default=0)
    if deepest > MAX_DEPTH:
        raise _not_understood("so many nested parts")


def _depth(node: exp.Expr | None) -> int:
    count = 0
    while node is not None:
        node, count = node.parent, count + isinstance(node, (exp.Select, exp.Subquery))
    return count


def written(question: Question, asker: Asker, values: Mapping[str, Any]) -> str:
    """What the catalogue's database is asked: the question with the values of its parameters, in its own words."""
    tree = question.tree.copy()
    try:
        _name_columns(tree)
        for node in reversed(list(tree.walk())):  # the inner ones first: outer ones hold them
            put = _translated(node, asker, values)
            if put is not node:
                if node is tree:
                    raise _not_understood("it")
                node.replace(put)
        _demand_few(tree)
        return tree.sql("duckdb", unsupported_level=sqlglot.ErrorLevel.IGNORE, comments=False)
    except RecursionError:
        raise _not_understood("so many nested parts") from None


def _demand_few(tree: exp.Expr) -> None:
    """Refuse what the database would make too much of: macros that name their argument often, one in another."""
    for node in tree.find_all(exp.Anonymous):
        above = node.parent if str(node.this) in REPEATING else None
        while above is not None:
            if isinstance(above, exp.Anonymous) and str(above.this) in REPEATING:
                raise _not_understood("so many nested parts")
            above = above.parent


def _translated(node: Any, asker: Asker, values: Mapping[str, Any]) -> Any:
    """What stands for a node in the other database."""
    kind = type(node)
    if kind in RULES:
        return RULES[kind](node)
    if kind in TOLD:
        return exp.Literal.string(TOLD[kind](asker))
    if kind in ASKED:
        return ASKED[kind](node, asker, values)
    if kind in SHARED:
        return node
    raise _not_understood(kind.__name__)


def _not_understood(what: str) -> Failed:
    return Failed("0A000", f"questions about the catalogue may not use {what} here", HINT)


# relations, columns, types


def _table(node: exp.Table) -> Any:
    if isinstance(node.this, exp.Identifier):
        relation, schema = node.name.lower(), _relation(node)
        if schema is None:
            return node  # one of the question's own WITH
        relations, here = SCHEMAS[schema]
        if relation not in relations:
            raise Failed("42P01", f'relation "{schema}.{relation[:80]}" is not known here', HINT, code="unknown-table")
        alias = node.args.get("alias")
        return exp.Table(this=exp.to_identifier(relation), db=exp.to_identifier(here), alias=alias)
    if isinstance(node.this, exp.Anonymous) and str(node.this.this).lower() in SCHEMAS["pg_catalog"][0]:
        return exp.Table(
            this=exp.to_identifier(str(node.this.this)), db=exp.to_identifier("pg"), alias=node.args.get("alias")
        )
    alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier("unnest"))
    if not alias.columns:
        alias.set("columns", [alias.this.copy()])
    if not isinstance(node.this, (exp.Explode, exp.Unnest, exp.Anonymous)):
        raise _not_understood("functions as tables")
    values = node.this.expressions if isinstance(node.this, exp.Unnest) else [node.this.this]
    if isinstance(node.this, exp.Anonymous):  # what became of generate_series
        values = [node.this]
    return exp.Unnest(expressions=values, alias=alias)


def _identifier(node: exp.Identifier) -> Any:
    """Names that are not quoted have small letters."""
    return node if node.args.get("quoted") else exp.Identifier(this=str(node.this).lower(), quoted=True)


def _column(node: exp.Column, asker: Asker, _: Mapping[str, Any]) -> Any:
    if not node.table and node.name.lower() in ("user", "current_role", "current_user", "session_user"):
        return exp.Literal.string(asker.user)
    if not node.table and node.name.lower() == "current_catalog":
        return exp.Literal.string(asker.database)
    if node.args.get("db"):
        return exp.Column(this=node.this, table=node.args["table"])
    return node


def _parameter(node: exp.Parameter, _: Asker, values: Mapping[str, Any]) -> Any:
    number = str(node.this)
    if number not in values:
        raise Failed("08P01", "a parameter has no value")
    value = values[number]
    return exp.convert(value) if value is None or isinstance(value, bool | int | float) else exp.Literal.string(value)


NUMBERS: Final = {
    **dict.fromkeys(
        ("text", "varchar", "name", "char", "bpchar", "character varying", "unknown", "cstring"), "VARCHAR"
    ),
    **dict.fromkeys(("int2", "smallint"), "SMALLINT"),
    **dict.fromkeys(("int", "int4", "integer"), "INTEGER"),
    **dict.fromkeys(("int8", "bigint", "oid", "xid"), "BIGINT"),
    **dict.fromkeys(("bool", "boolean"), "BOOLEAN"),
    **dict.fromkeys(("float8", "double precision", "double", "real", "float4", "numeric", "decimal"), "DOUBLE"),
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}
"""PostgreSQL's types, and DuckDB's."""


def _cast(node: exp.Cast) -> Any:
    """Types have other names, and arrays are written otherwise, `{a,b}`."""
    kind = node.args["to"].sql("postgres").lower().replace('"', "").removeprefix("pg_catalog.")
    kind = re.sub(r"\(\d+(,\s*\d+)?\)", "", kind)
    if kind.startswith("reg"):
        return class_cast(node, kind)
    base = kind.removesuffix("[]")
    if base not in NUMBERS:
        raise _not_understood(f"the type {kind[:40]}")
    to, inner = exp.DataType.build(NUMBERS[base] + ("[]" if base != kind else ""), dialect="duckdb"), node.this
    if base != kind and isinstance(inner, exp.Literal):
        words = [word.strip(' "') for word in str(inner.this).strip("{}").split(",") if word.strip()]
        inner = exp.Array(expressions=[exp.Literal.string(word) for word in words])
    return exp.Cast(this=inner, to=to)


def _dot(node: exp.Dot) -> Any:
    """A schema before a function, or a field of a record."""
    schema = node.this
    if isinstance(schema, exp.Identifier) and str(schema.this).lower() in SCHEMAS:
        return node.expression
    if isinstance(schema, exp.Paren) and isinstance(node.expression, exp.Identifier):
        return node
    raise _not_understood("names with so many parts")


OPERATORS: Final[dict[str, Callable[[Any, Any], exp.Expr]]] = {
    "~": lambda left, right: exp.RegexpLike(this=left, expression=right),
    "!~": lambda left, right: exp.Not(this=exp.RegexpLike(this=left, expression=right)),
    "~*": lambda left, right: exp.RegexpILike(this=left, expression=right),
    "=": lambda left, right: exp.EQ(this=left, expression=right),
    "<>": lambda left, right: exp.NEQ(this=left, expression=right),
}


def _operator(node: exp.Operator) -> Any:
    sign = str(node.args["operator"]).removeprefix("pg_catalog.")
    if sign not in OPERATORS:
        raise _not_understood("this OPERATOR")
    return OPERATORS[sign](node.this, node.expression)


def _like(node: Any) -> Any:
    """A backslash makes the sign after it plain, unless ESCAPE says otherwise."""
    if isinstance(node.parent, exp.Escape):
        return node
    return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))


def _array(node: exp.Array) -> Any:
    if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Query):
        return exp.Anonymous(this="ARRAY", expressions=node.expressions)
    return node


def _literal(node: exp.Literal) -> Any:
    """An array that is written as a text, `{0}`."""
    if node.is_string and re.fullmatch(r"\{\d+(,\d+)*\}", str(node.this)):
        numbers = [exp.Literal.number(each) for each in str(node.this)[1:-1].split(",")]
        return exp.Array(expressions=numbers)
    return node


def _function(node: exp.Anonymous, asker: Asker, _: Mapping[str, Any]) -> Any:
    called = str(node.this).lower()
    if isinstance(node.parent, exp.Table) and called in SCHEMAS["pg_catalog"][0]:
        return node  # a relation in the form of a function
    if called in CONSTANTS:
        return CONSTANTS[called].copy()
    if called in FROM_ARGUMENTS:
        return FROM_ARGUMENTS[called](node.expressions, asker)
    if called in SAME:
        return exp.Anonymous(this=SAME[called], expressions=node.expressions)
    raise Failed(
        "42883",
        f"the function {called[:60]} is not known in questions about the catalogue",
        code="function-not-allowed",
    )


def _series(node: Any) -> Any:
    """Numbers one after the other, so many and no more: the database would make all of them before it counts."""
    start, end = node.args.get("start"), node.args.get("end")
    if start is None or end is None or node.args.get("step") is not None:
        raise _not_understood("series with steps")
    return exp.Anonymous(this="series", expressions=[start, end])


RULES: Final[dict[type[Any], Callable[[Any], Any]]] = {
    exp.Table: _table,
    exp.Identifier: _identifier,
    exp.Cast: _cast,
    exp.Dot: _dot,
    exp.Operator: _operator,
    exp.Collate: lambda node: node.this,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Array: _array,
    exp.Literal: _literal,
    exp.ByteString: lambda node: exp.Literal.string(str(node.this)),
    exp.ExplodingGenerateSeries: _series,
    exp.Format: lambda node: formatted([node.this, *node.expressions]),
    exp.GenerateSeries: _series,
    exp.ObjectIdentifier: lambda node: node,
    exp.RegexpLike: lambda node: node,
    exp.Replace: lambda node: exp.Anonymous(
        this="swapped", expressions=[node.this, node.expression, node.args.get("replacement") or exp.Literal.string("")]
    ),
}
TOLD: Final[dict[type[Any], Callable[[Asker], str]]] = {
    exp.CurrentCatalog: lambda asker: asker.database,
    exp.CurrentDatabase: lambda asker: asker.database,
    exp.CurrentSchema: lambda _: "public",
    exp.CurrentUser: lambda asker: asker.user,
    exp.CurrentVersion: lambda _: VERSION_WORDS,
    exp.SessionUser: lambda asker: asker.user,
}
ASKED: Final[dict[type[Any], Callable[[Any, Asker, Mapping[str, Any]], Any]]] = {
    exp.Anonymous: _function,
    exp.Column: _column,
    exp.Parameter: _parameter,
    exp.CurrentDate: lambda *_: exp.cast(exp.Literal.string(f"{datetime.now(UTC):%Y-%m-%d}"), "DATE"),
    exp.CurrentTimestamp: lambda *_: exp.cast(
        exp.Literal.string(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"), "TIMESTAMP"
    ),
    exp.CurrentSchemas: lambda node, asker, _: FROM_ARGUMENTS["current_schemas"]([node.this], asker),
}


# the names of columns


def _name_columns(tree: Any) -> None:
    """Columns without a name have the one that PostgreSQL gives them."""
    select = tree
    while isinstance(select, (exp.SetOperation, exp.Subquery)):
        select = select.this
    if isinstance(select, exp.Select):
        named = [_named(each) for each in select.expressions]
        select.set("expressions", named)


def _named(node: Any) -> Any:
    if isinstance(node, (exp.Alias, exp.Column, exp.Star)):
        return node if not isinstance(node, exp.Column) or node.table else _keyword(node)
    return exp.alias_(node, next(_labels(node)), quoted=True)


def _keyword(node: exp.Column) -> Any:
    """`SELECT user`: a column that becomes a text keeps its name."""
    return exp.alias_(node, node.name if node.this.args.get("quoted") else node.name.lower(), quoted=True)


LABELS: Final[dict[type[Any], str]] = {exp.CurrentTimestamp: "now", exp.CurrentVersion: "version"}


def _labels(node: Any) -> Iterator[str]:
    while isinstance(node, (exp.Cast, exp.Dot, exp.Paren, exp.Bracket)):
        node = node.expression if isinstance(node, exp.Dot) else node.this
    if isinstance(node, (exp.Column, exp.Identifier)):
        yield node.name.lower()
    elif isinstance(node, exp.Anonymous):
        yield str(node.this).lower()
    elif type(node) in LABELS:
        yield LABELS[type(node)]
    elif isinstance(node, exp.Case):
        yield "case"
    elif isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        yield node.sql_name().lower()
    yield "?column?"
