"""Functions of PostgreSQL that questions about the catalogue call: what each of them is here.

Most are constants: there is no view to show the text of, no size to tell, nothing that one may not see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import sqlglot
from sqlglot import exp

from discreet.server.wire.problems import Failed
from discreet.server.wire.settings import OURS, VERSION_WORDS

if TYPE_CHECKING:
    from discreet.server.wire.translation import Asker

Made = Callable[[Sequence[Any], "Asker"], exp.Expr]


def _nothing(kind: str) -> exp.Expr:
    return exp.cast(exp.null(), kind)


def _constants(names: str, value: exp.Expr) -> dict[str, exp.Expr]:
    return dict.fromkeys(names.split(), value)


CONSTANTS: Final[dict[str, exp.Expr]] = {
    **_constants(
        "pg_table_is_visible pg_type_is_visible pg_function_is_visible pg_collation_is_visible pg_opclass_is_visible "
        "pg_opfamily_is_visible pg_operator_is_visible pg_ts_config_is_visible pg_conversion_is_visible",
        exp.true(),
    ),
    **_constants(
        "pg_is_in_recovery pg_relation_is_publishable pg_is_other_temp_schema row_security_active", exp.false()
    ),
    **_constants(
        "pg_get_expr pg_get_viewdef pg_get_constraintdef pg_get_indexdef pg_get_ruledef pg_get_triggerdef "
        "pg_get_functiondef pg_get_function_result pg_get_function_arguments pg_get_function_identity_arguments "
        "pg_get_function_sqlbody pg_get_serial_sequence pg_get_statisticsobjdef_columns pg_get_partkeydef "
        "pg_get_partition_constraintdef shobj_description pg_size_pretty pg_tablespace_location inet_server_addr "
        "inet_client_addr pg_advisory_unlock_all pg_describe_object",
        _nothing("VARCHAR"),
    ),
    **_constants(
        "pg_table_size pg_relation_size pg_total_relation_size pg_indexes_size pg_database_size pg_tablespace_size "
        "txid_current txid_current_if_assigned inet_server_port inet_client_port pg_stat_get_numscans "
        "pg_stat_get_live_tuples pg_postmaster_start_time pg_conf_load_time age",
        _nothing("BIGINT"),
    ),
    "pg_get_userbyid": exp.Literal.string("discreet"),
    "pg_encoding_to_char": exp.Literal.string("UTF8"),
    "pg_my_temp_schema": exp.Literal.number(0),
    "array_lower": exp.Literal.number(1),
    "version": exp.Literal.string(VERSION_WORDS),
    "current_role": exp.Literal.string("discreet"),
}
"""Whatever their arguments are."""
SAME: Final = {
    "all": "ALL",
    "array_to_string": "array_to_string",
    "bool_and": "bool_and",
    "bool_or": "bool_or",
    "btrim": "trim",
    "cardinality": "len",
    "json_build_object": "json_object",
    "jsonb_build_object": "json_object",
    "md5": "md5",
    "quote_ident": "quote_ident",
    "split_part": "split_part",
    "starts_with": "starts_with",
    "to_regclass": "to_class",
    "to_regnamespace": "to_namespace",
    "to_regtype": "to_type",
}
"""By the names that they have in the catalogue's database."""
VISIBLE: Final = ("public", "pg_catalog")
MAY: Final = frozenset({"SELECT", "USAGE", "CONNECT"})


def _called(name: str, count: int) -> Made:
    """With so many of its arguments: the others change nothing here."""
    return lambda given, _: exp.Anonymous(this=name, expressions=list(given[:count]))


def _schemas(given: Sequence[Any], _: Asker) -> exp.Expr:
    """The schemas that are searched: with those that always are, or without."""
    wanted = given[0] if given else None
    implicit = isinstance(wanted, exp.Boolean) and bool(wanted.this)
    return exp.Array(expressions=[exp.Literal.string(each) for each in (VISIBLE[::-1] if implicit else VISIBLE[:1])])


def _text(given: Sequence[Any], index: int) -> str:
    value = given[index] if index < len(given) else None
    while isinstance(value, (exp.Cast, exp.Paren)):
        value = value.this
    if not isinstance(value, (exp.Literal, exp.Null)):
        raise Failed("0A000", "settings are named and given as texts here")
    return "" if isinstance(value, exp.Null) else str(value.this)


def _current_setting(given: Sequence[Any], asker: Asker) -> exp.Expr:
    name = _text(given, 0)
    try:
        return exp.Literal.string(asker.settings.value(name))
    except Failed:
        if len(given) > 1 or not name:  # what is missing is NULL then
            return _nothing("VARCHAR")
        raise


def _set_config(given: Sequence[Any], asker: Asker) -> exp.Expr:
    """Of settings that mean nothing here; those that do are set in one way only."""
    name, value = _text(given, 0), _text(given, 1)
    if name.lower().startswith(OURS):
        raise Failed("0A000", "set_config does not set what a query costs", f"write SET {name[:60]} = …")
    asker.settings.with_(name, value)
    return exp.Literal.string(value)


def _privilege(given: Sequence[Any], _: Asker) -> exp.Expr:
    wanted = given[-1] if given else None
    text = str(wanted.this).upper() if isinstance(wanted, exp.Literal) else ""
    return exp.true() if {each.strip() for each in text.split(",")} & MAY else exp.false()


def _process(_: Sequence[Any], asker: Asker) -> exp.Expr:
    return exp.Literal.number(asker.process)


def _length(given: Sequence[Any], _: Asker) -> exp.Expr:
    return exp.Anonymous(this="nullif", expressions=[exp.Anonymous(this="len", expressions=list(given[:1])), _zero()])


def _zero() -> exp.Expr:
    return exp.Literal.number(0)


def _numbered(given: Sequence[Any], _: Asker) -> exp.Expr:
    """The places of an array, one after the other."""
    last = exp.Anonymous(this="len", expressions=list(given[:1]))
    series = exp.Anonymous(this="series", expressions=[exp.Literal.number(1), last])
    return exp.Anonymous(this="unnest", expressions=[series])


_EXPANDED: Final[exp.Expr] = sqlglot.parse_one(
    "unnest(list_transform(series(1, len(a)), lambda place: {'x': a[place], 'n': place}))", read="duckdb"
)


def _expanded(given: Sequence[Any], _: Asker) -> exp.Expr:
    """The values of an array with their places: only arrays of relations that are empty here are asked for."""
    if given[0].find(exp.Lambda):
        raise Failed("0A000", "arrays are not expanded in each other here")
    tree = _EXPANDED.copy()
    for column in list(tree.find_all(exp.Column)):
        if column.name == "a":
            column.replace(given[0].copy())
    return tree


def formatted(given: Sequence[Any]) -> exp.Expr:
    """`format` with %s and %I alone: names are compared without their quotes here."""
    parts: list[exp.Expr] = []
    pattern, values = re.split(r"(%.)", _text(given, 0)), list(given[1:])
    for piece in pattern:
        if piece in ("%s", "%I") and values:
            parts.append(exp.cast(values.pop(0), "VARCHAR"))
        elif piece.startswith("%") and piece != "%%":
            raise Failed("0A000", "questions about the catalogue may format texts with %s and %I alone")
        elif piece:
            parts.append(exp.Literal.string(piece.replace("%%", "%")))
    joined: exp.Expr = parts[0] if parts else exp.Literal.string("")
    for part in parts[1:]:
        joined = exp.DPipe(this=joined, expression=part)
    return exp.Paren(this=joined)


FROM_ARGUMENTS: Final[dict[str, Made]] = {
    "_pg_expandarray": _expanded,
    "array_length": _length,
    "array_upper": _length,
    "col_description": _called("col_description", 2),
    "current_database": lambda _, asker: exp.Literal.string(asker.database),
    "current_schema": lambda *_: exp.Literal.string(VISIBLE[0]),
    "current_schemas": _schemas,
    "current_setting": _current_setting,
    "format_type": _called("format_type", 1),
    "generate_subscripts": _numbered,
    **dict.fromkeys(
        (
            "has_any_column_privilege", "has_column_privilege", "has_database_privilege", "has_function_privilege",
            "has_schema_privilege", "has_table_privilege", "has_sequence_privilege",
        ),
        _privilege,
    ),
    "obj_description": _called("obj_description", 1),
    "pg_backend_pid": _process,
    "set_config": _set_config,
}  # fmt: skip


# names of things: regclass and its like

NAMES_OF: Final = {"regclass": "class_name", "regtype": "format_type", "regnamespace": "namespace_name"}
NUMBERS_OF: Final = {"regclass": "to_class", "regtype": "to_type", "regnamespace": "to_namespace"}


def class_cast(node: exp.Cast, kind: str) -> exp.Expr:
    """A text becomes the number of what it names; a number is shown as a name, and compared as a number."""
    inner: exp.Expr = node.this
    if kind in ("regproc", "regprocedure"):
        text = str(inner.this) if isinstance(inner, exp.Literal) else ""
        return exp.Literal.string(text.removeprefix("pg_catalog."))
    if kind not in NAMES_OF:
        raise Failed("0A000", "questions about the catalogue may not use this type of names here")
    is_text = isinstance(inner, (exp.Paren, exp.DPipe, exp.Concat, exp.Cast)) or (
        isinstance(inner, exp.Literal) and inner.is_string and not str(inner.this).isdigit()
    )
    if is_text:
        return exp.Anonymous(this=NUMBERS_OF[kind], expressions=[inner])
    if isinstance(node.parent, (exp.Select, exp.Alias, exp.Cast, exp.Ordered)):
        return exp.Anonymous(this=NAMES_OF[kind], expressions=[inner])
    return inner
