"""PEP 249 over HTTP: for programs that know databases and nothing of privacy.

A noisy value is just its value here; `cursor.answer` has its interval, its cost and its receipt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, Final, Self

import numpy as np

from discreet.answers import Answer
from discreet.answers.facts import Facts
from discreet.answers.frames import columns_of
from discreet.client.http import EXAMPLE
from discreet.client.options import COLUMNS, ERRORS, without_options
from discreet.client.pep249 import (
    BINARY,
    BOOLEAN,
    DATETIME,
    LIST,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    BudgetExhausted,
    DatabaseError,
    DataError,
    Date,
    DateFromTicks,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    Warning,  # noqa: A004  (PEP 249 names it)
    as_pep249,
)
from discreet.client.remote import Remote
from discreet.client.remote import connect as connected
from discreet.errors import Refused

__all__ = [
    "BINARY", "BOOLEAN", "DATETIME", "LIST", "NUMBER", "ROWID", "STRING", "Binary", "BudgetExhausted", "Connection",
    "Cursor", "DataError", "DatabaseError", "Date", "DateFromTicks", "Error", "IntegrityError", "InterfaceError",
    "InternalError", "NotSupportedError", "OperationalError", "ProgrammingError", "Terms", "Time", "TimeFromTicks",
    "Timestamp", "TimestampFromTicks", "Warning", "apilevel", "connect", "paramstyle", "threadsafety",
]  # fmt: skip

apilevel: Final = "2.0"
threadsafety: Final = 2
"""Threads may share the module and connections, not cursors."""
paramstyle: Final = "named"


# the cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On what terms questions are asked; None leaves it to others."""

    epsilon: Any = None
    rho: Any = None
    error: Any = None
    group_size: Any = None
    confirm: Any = None
    confidence: Any = None
    analyst: str | None = None

    @property
    def has_cost(self) -> bool:
        return (self.epsilon, self.rho, self.error) != (None, None, None)

    def over(self, other: Terms) -> Terms:
        """These, and the other's where these say nothing. A cost replaces a cost whole: two would be refused."""
        cost = self if self.has_cost else other
        return replace(
            cost,
            group_size=other.group_size if self.group_size is None else self.group_size,
            confirm=other.confirm if self.confirm is None else self.confirm,
            confidence=other.confidence if self.confidence is None else self.confidence,
            analyst=other.analyst if self.analyst is None else self.analyst,
        )

    def without_cost(self) -> Terms:
        return replace(self, epsilon=None, rho=None, error=None, group_size=None)

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def connect(url: str, **options: Any) -> Connection:
    """A connection to a dataset: `connect("https://host:8000/hospital", token="discreet_…", epsilon=0.5)`.

    Options stand after the address, too: `https://host:8000/hospital?epsilon=0.5&errors=columns`; what is passed
    counts before what stands there. Each question costs `epsilon`, `rho`, or what it takes to get `error`, unless its
    cursor or its text says otherwise; `confidence` and `analyst` are those of `query`. `errors="columns"` adds
    `<column>_low` and `<column>_high` after each noisy column; `cursor.errors` says it for one cursor. With `dummy` the
    rows are dummy data, and free. `token`, `dataset`, `insecure` and `ca` are those of `discreet.connect`.
    """
    address, said = _read(url)
    return _connect(address, **{**said, **options})


def _connect(
    url: str,
    *,
    token: str | None = None,
    dataset: str | None = None,
    insecure: bool = False,
    ca: str | None = None,
    dummy: bool = False,
    errors: str | None = None,
    **terms: Any,
) -> Connection:
    _demand_errors(errors)
    agreed = Terms(**terms)
    with as_pep249():
        remote = connected(url, token=token, dataset=dataset, insecure=insecure, ca=ca)
    return Connection(remote.dummy() if dummy else remote, agreed, errors=errors)


def _read(url: Any) -> tuple[Any, dict[str, Any]]:
    try:
        return without_options(url) if isinstance(url, str) else (url, {})
    except ValueError as wrong:
        raise ProgrammingError(str(wrong) if "→" in str(wrong) else f"{url!r} is no address → {EXAMPLE}") from None


class Connection:
    """A dataset on a server. `remote` is the client below: previews, budget, ledger."""

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, remote: Remote, terms: Terms, *, errors: str | None = None) -> None:
        self.remote = remote
        self.terms = terms
        self.errors = errors
        self._is_closed = False

    def cursor(self) -> Cursor:
        self.demand_open()
        return Cursor(self)

    def commit(self) -> None:
        """Nothing to do: a question is charged, for good, when it is asked."""
        self.demand_open()

    def rollback(self) -> None:
        """Nothing can be undone. It raises nothing, since pools call it whenever a connection comes back."""
        self.demand_open()

    def tables(self) -> dict[str, Facts]:
        """What an analyst may know about each table."""
        self.demand_open()
        with as_pep249():
            return self.remote.tables()

    def close(self) -> None:
        self._is_closed = True
        self.remote.close()

    def demand_open(self) -> None:
        if self._is_closed:
            raise InterfaceError("the connection is closed → open another with connect(…)")

    def __enter__(self) -> Self:
        self.demand_open()
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class Cursor:
    """Asks questions, one after the other. Its terms, where they are not None, count instead of the connection's."""

    __slots__ = (
        "_is_closed",
        "_place",
        "_rows",
        "analyst",
        "answer",
        "arraysize",
        "confidence",
        "confirm",
        "connection",
        "description",
        "epsilon",
        "error",
        "errors",
        "group_size",
        "rho",
        "rowcount",
    )  # fmt: skip

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.epsilon: Any = None
        self.rho: Any = None
        self.error: Any = None
        self.group_size: Any = None
        self.confirm: Any = None
        self.confidence: Any = None
        self.analyst: str | None = None
        self.errors: str | None = None
        self._is_closed = False
        self._forget()

    def _forget(self) -> None:
        self.answer: Answer | None = None
        """What the last question was answered, with intervals, cost and receipt."""
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount = -1
        self._rows: list[tuple[Any, ...]] | None = None
        self._place = 0

    # asking

    def execute(self, operation: str, parameters: Mapping[str, object] | None = None) -> Self:
        """Ask one SELECT; `parameters` are the values of :name in its text."""
        self._demand_open()
        self._forget()
        values = _checked(parameters)
        errors = self.connection.errors if self.errors is None else self.errors
        _demand_errors(errors)
        try:
            with as_pep249():
                answer = self._asked(operation, values)
        except ValueError as wrong:  # what JSON cannot say: NaN, halves of surrogate pairs, numbers without end
            raise DataError(f"the question cannot be sent: {wrong} → use finite numbers and valid Unicode") from wrong
        self.answer = answer
        self.description, self._rows = _table(answer, with_intervals=errors == COLUMNS)
        self.rowcount = len(self._rows)
        return self

    def _asked(self, operation: str, values: Mapping[str, object] | None) -> Answer:
        """The answer on our terms; where the text says its own cost, that one counts."""
        terms = Terms(**{name: getattr(self, name) for name in Terms.__slots__}).over(self.connection.terms)
        ask = partial(self.connection.remote.query, operation, params=values)
        try:
            return ask(**terms.given())
        except Refused as refused:
            if refused.code != "cost-twice" or not terms.has_cost:
                raise
        return ask(**terms.without_cost().given())

    def executemany(self, operation: str, seq_of_parameters: Sequence[Mapping[str, object]]) -> None:  # noqa: ARG002
        self._demand_open()
        raise NotSupportedError("executemany is for what changes data → ask each question with execute")

    # fetching

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: Any = None) -> list[tuple[Any, ...]]:
        size = self.arraysize if size is None else size
        if not isinstance(size, int) or size < 0:
            raise ProgrammingError(f"{size!r} is no number of rows → pass a whole number, 0 or more")
        rows = self._fetchable()[self._place : self._place + size]
        self._place += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.fetchmany(len(self._fetchable()))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchone, None)

    def _fetchable(self) -> list[tuple[Any, ...]]:
        self._demand_open()
        if self._rows is None:
            raise ProgrammingError("there is no answer to fetch from → call execute first")
        return self._rows

    # the rest

    def setinputsizes(self, sizes: object) -> None:
        """PEP 249 lets it do nothing."""

    def setoutputsize(self, size: object, column: object = None) -> None:
        """PEP 249 lets it do nothing."""

    def close(self) -> None:
        """The last answer stays readable."""
        self._is_closed = True

    def _demand_open(self) -> None:
        self.connection.demand_open()
        if self._is_closed:
            raise InterfaceError("the cursor is closed → make another with connection.cursor()")

    def __enter__(self) -> Self:
        self._demand_open()
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def _demand_errors(errors: object) -> None:
    """Raise unless it is known where errors are wanted, before anything is charged."""
    if errors is not None and errors not in ERRORS:
        raise ProgrammingError(f"{errors!r} is no place for errors → errors: {', '.join(ERRORS)}")


def _checked(parameters: object) -> dict[str, object] | None:
    """Values by name, of types that a question can hold."""
    if not parameters and isinstance(parameters, Sequence | Mapping | None):
        return None
    if not isinstance(parameters, Mapping) or not all(isinstance(name, str) for name in parameters):
        raise ProgrammingError('values go by name → write :name in the text and pass {"name": value}')
    return {name: _value(name, value) for name, value in parameters.items()}


def _value(name: str, value: object) -> object:
    if isinstance(value, np.bool_):
        return bool(value)
    if value is None or isinstance(value, bool | str | date | Real | Decimal):
        return value
    known = "numbers, texts, dates, datetimes, True, False, None"
    raise ProgrammingError(f"the value of {name} is of type {type(value).__name__} → pass one of: {known}")


def _table(answer: Answer, *, with_intervals: bool) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The description of the columns, and the rows."""
    noisy = answer.noisy if with_intervals else []
    columns = columns_of(answer.columns, answer.rows, answer.intervals, answer.kinds, noisy)
    codes = ["list" if column.fields else column.kind and str(column.kind) for column in columns]
    described = [(column.name, code, *[None] * 5) for column, code in zip(columns, codes, strict=True)]
    if not with_intervals:
        return described, list(answer.rows)
    values = [
        column.regrouped([field.values for field in column.fields]) if column.fields else column.values
        for column in columns
    ]
    return described, list(zip(*values, strict=True))
