"""The SQLAlchemy dialect: `create_engine("discreet://:token@host:8000/hospital?epsilon=0.5")`.

The token stands where passwords do: SQLAlchemy leaves it out where it shows an address. As a name it would be shown.
Nothing is asked on its own account: no version, no transaction, no ping. What is reflected is what the policy tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import date, datetime
from types import ModuleType
from typing import Any, Final

from sqlalchemy import exc, types
from sqlalchemy.dialects import registry
from sqlalchemy.engine import default, reflection
from sqlalchemy.engine.base import Connection
from sqlalchemy.engine.cursor import CursorResult
from sqlalchemy.engine.url import URL
from sqlalchemy.sql import compiler

from discreet.answers import Answer
from discreet.answers.facts import Facts, column_words, limits_words
from discreet.client import dbapi
from discreet.client.http import is_loopback
from discreet.client.options import option
from discreet.quoting import literal

ALWAYS_HTTP: Final = "discreet+http"
AUTOCOMMIT: Final = "AUTOCOMMIT"
"""A question is charged, for good, when it is asked."""
ADDRESS: Final = "write discreet://:token@host:port/dataset?epsilon=0.5"
TYPES: Final[dict[str, Callable[[], types.TypeEngine[Any]]]] = {
    "integer": types.BIGINT,
    "number": types.DOUBLE,
    "text": types.VARCHAR,
    "boolean": types.BOOLEAN,
    "date": types.DATE,
    "timestamp": types.TIMESTAMP,
}
PARAMETER: Final = "$%(name)s"


# text


class Names(compiler.IdentifierPreparer):
    def _requires_quotes(self, value: str) -> bool:  # noqa: ARG002
        """All names are quoted: no list of words says which the parser of questions takes for something else."""
        return True


class Compiler(compiler.SQLCompiler):
    # $name, since :name is taken for something else after SELECT and CASE; SQLAlchemy would set its own
    bindtemplate = property(lambda _: PARAMETER, lambda *_: None)
    compilation_bindtemplate = bindtemplate

    def limit_clause(self, select: Any, **kw: Any) -> str:
        """Numbers, not parameters: LIMIT is part of what a question is. OFFSET needs no LIMIT."""
        clauses = (("LIMIT", select._limit_clause), ("OFFSET", select._offset_clause))
        plain = [
            (word, clause.render_literal_execute() if select._simple_int_clause(clause) else clause)
            for word, clause in clauses
            if clause is not None
        ]
        return "".join(f"\n {word} {self.process(clause, **kw)}" for word, clause in plain)

    def _like(self, word: str, binary: Any, kw: dict[str, Any]) -> str:
        """What SQLAlchemy writes for all databases is not answered: lower(x) LIKE lower(y), and x NOT LIKE y."""
        if binary.modifiers.get("escape"):
            raise exc.CompileError("discreet knows no ESCAPE → write the pattern without one")
        return f"{self.process(binary.left, **kw)} {word} {self.process(binary.right, **kw)}"

    def visit_ilike_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return self._like("ILIKE", binary, kw)

    def visit_not_ilike_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return f"NOT ({self._like('ILIKE', binary, kw)})"

    def visit_not_like_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return f"NOT ({self._like('LIKE', binary, kw)})"

    def bindparam_string(self, name: str, *given: Any, **kw: Any) -> str:
        """Parameters are called after columns, and those may be called anything.

        `age_1`, as SQLAlchemy calls them, is no word of SQL, and what is compiled later is not seen by its name.
        """
        numbered = r"\w*" if kw.get("post_compile") else r"\w*_\d+"
        if not re.fullmatch(rf"[^\W\d]{numbered}", name):
            kw["escaped_from"] = name
            name = "p_" + re.sub(r"\W", lambda sign: f"_{ord(sign[0]):x}_", name)
        return super().bindparam_string(name, *given, **kw)


class Day(types.Date):
    def literal_processor(self, dialect: Any) -> Callable[[date], str]:  # noqa: ARG002
        return literal


class Moment(types.DateTime):
    def literal_processor(self, dialect: Any) -> Callable[[datetime], str]:  # noqa: ARG002
        return literal


class Asking(default.DefaultExecutionContext):
    def pre_exec(self) -> None:
        """`execution_options(epsilon=0.5)`, of a statement before those of its connection, are the cursor's terms."""
        outer = self.root_connection.get_execution_options()
        own = {name: said for name, said in self.execution_options.items() if said != outer.get(name)}
        for name, value in asdict(_terms(own).over(_terms(outer))).items():
            setattr(self.cursor, name, value)
        self.cursor.errors = own.get("errors", outer.get("errors"))  # type: ignore[attr-defined]


def _terms(options: Mapping[str, Any]) -> dbapi.Terms:
    return dbapi.Terms(**{name: options.get(name) for name in dbapi.Terms.__slots__})


def answer_of(result: CursorResult[Any]) -> Answer:
    """What a statement was answered, with intervals, cost and receipt."""
    answer: Answer = result.context.cursor.answer
    return answer


# addresses


def _option(name: str, given: str | tuple[str, ...]) -> Any:
    try:
        return option(name, given)
    except ValueError as wrong:
        raise exc.ArgumentError(str(wrong)) from None


def arguments_of(url: URL) -> dict[str, Any]:
    """What an address says to `dbapi.connect`."""
    if not url.host:
        raise exc.ArgumentError(f"the address names no server → {ADDRESS}")
    options = {name: _option(name, given) for name, given in url.query.items()}
    is_open = options.get("insecure", is_loopback(url.host)) or url.drivername == ALWAYS_HTTP
    host = f"[{url.host}]" if ":" in url.host else url.host
    port = "" if url.port is None else f":{url.port}"
    return {
        **options,
        "url": f"{'http' if is_open else 'https'}://{host}{port}",
        "token": str(url.password or url.username or "") or None,
        "dataset": url.database or None,
        "insecure": is_open,
    }


# the dialect


class Dialect(default.DefaultDialect):
    name = "discreet"
    driver = "http"
    supports_statement_cache = True
    supports_native_boolean = True
    supports_alter = False
    div_is_floordiv = False
    default_paramstyle = dbapi.paramstyle
    statement_compiler = Compiler
    preparer = Names
    execution_ctx_cls = Asking
    colspecs = {types.Date: Day, types.DateTime: Moment}  # noqa: RUF012  (SQLAlchemy's name and form)

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        return dbapi

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        return [], arguments_of(url)

    def do_ping(self, dbapi_connection: Any) -> bool:  # noqa: ARG002
        """A connection is a token and an address: each request finds its own way."""
        return True

    def get_isolation_level_values(self, dbapi_conn: Any) -> list[Any]:  # noqa: ARG002
        return [AUTOCOMMIT]

    def get_isolation_level(self, dbapi_connection: Any) -> Any:  # noqa: ARG002
        return AUTOCOMMIT

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """There is but one."""

    # reflection

    @reflection.cache
    def facts(self, connection: Connection, **kw: Any) -> dict[str, Facts]:  # noqa: ARG002
        """What the policy tells about each table; asked once for each inspector."""
        reached: Any = connection.connection.driver_connection
        try:
            tables: dict[str, Facts] = reached.tables()
        except dbapi.Error as wrong:
            raise exc.DBAPIError.instance(None, None, wrong, dbapi.Error, dialect=self) from wrong
        return tables

    def _facts_of(self, connection: Connection, table_name: str, schema: str | None, kw: dict[str, Any]) -> Facts:
        known = {} if schema else self.facts(connection, info_cache=kw.get("info_cache"))
        table = next((facts for name, facts in known.items() if name.lower() == table_name.lower()), None)
        if table is None:
            raise exc.NoSuchTableError(f"{table_name} → tables: {', '.join(known)}")
        return table

    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:  # noqa: ARG002
        return []

    def get_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return [] if schema else list(self.facts(connection, info_cache=kw.get("info_cache")))

    def get_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:  # noqa: ARG002
        return []

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        try:
            self._facts_of(connection, table_name, schema, kw)
        except exc.NoSuchTableError:
            return False
        return True

    def get_columns(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        facts = self._facts_of(connection, table_name, schema, kw)
        return [
            {
                "name": column.name,
                "type": TYPES[column.kind](),
                "nullable": True,
                "default": None,
                "comment": column_words(column, facts) or None,
            }
            for column in facts.columns.values()
        ]

    def get_table_comment(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return {"text": limits_words(self._facts_of(connection, table_name, schema, kw))}

    def get_pk_constraint(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """None is told: who is protected has no name here."""
        self._facts_of(connection, table_name, schema, kw)
        return {"constrained_columns": [], "name": None}

    def _none(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        self._facts_of(connection, table_name, schema, kw)
        return []

    get_foreign_keys = get_indexes = get_unique_constraints = get_check_constraints = _none


for _name in ("discreet", "discreet.http"):  # also where an older installation has no entry point for it
    registry.register(_name, __name__, Dialect.__name__)
