"""The names that PEP 249 asks of a driver: its errors, its types, its constructors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Final

from discreet.client.problems import Unreachable
from discreet.errors import BudgetExhausted as Spent
from discreet.errors import QueryFailed, Refused

# what went wrong


class Warning(Exception):  # noqa: A001, N818  (PEP 249 names it)
    """PEP 249 asks for it; nothing here raises it."""


class Error(Exception):
    """What went wrong. Its `__cause__` is what discreet raised, with code, reason and fix."""


class InterfaceError(Error):
    """The driver is used wrongly."""


class DatabaseError(Error):
    """The question was not answered."""


class DataError(DatabaseError):
    """A number is out of the range that makes sense."""


class OperationalError(DatabaseError):
    """Not the question's fault: the server, the token, the limits."""


class IntegrityError(DatabaseError):
    """PEP 249 asks for it; nothing here raises it."""


class InternalError(DatabaseError):
    """PEP 249 asks for it; nothing here raises it."""


class ProgrammingError(DatabaseError):
    """The question is refused as it stands."""


class NotSupportedError(DatabaseError):
    """Something that discreet never does."""


class BudgetExhausted(OperationalError):  # noqa: N818  (called as everywhere else)
    """The cost is more than what is left."""


REFUSALS: Final[dict[str, type[Error]]] = {
    "address": InterfaceError,
    "statement-not-allowed": NotSupportedError,
    **dict.fromkeys(("accuracy-unreachable", "cost-invalid", "cost-too-high"), DataError),
    **dict.fromkeys(("unauthorized", "forbidden", "unknown-dataset", "unknown-analyst"), OperationalError),
    **dict.fromkeys(("busy", "cancelled", "internal", "ledger", "rate-limited", "too-slow"), OperationalError),
}
"""By the code of a refusal; all others are a matter of the text: ProgrammingError."""


@contextmanager
def as_pep249() -> Iterator[None]:
    """What discreet raises inside, as the error that PEP 249 has for it."""
    try:
        yield
    except Spent as wrong:
        raise BudgetExhausted(str(wrong)) from wrong
    except Refused as wrong:
        raise REFUSALS.get(wrong.code, ProgrammingError)(str(wrong)) from wrong
    except (QueryFailed, Unreachable) as wrong:
        raise OperationalError(str(wrong)) from wrong


# types


@dataclass(frozen=True, slots=True, eq=False)
class TypeObject:
    """Equal to each type code that it stands for."""

    codes: frozenset[str]

    def __eq__(self, other: object) -> bool:
        return self.codes == other.codes if isinstance(other, TypeObject) else other in self.codes

    def __hash__(self) -> int:
        return hash(self.codes)


STRING: Final = TypeObject(frozenset({"text"}))
NUMBER: Final = TypeObject(frozenset({"integer", "number"}))
BOOLEAN: Final = TypeObject(frozenset({"boolean"}))
DATETIME: Final = TypeObject(frozenset({"date", "timestamp"}))
LIST: Final = TypeObject(frozenset({"list"}))
"""Of {"value": …, "count": …}, as APPROX_TOP_COUNT has them."""
BINARY: Final = TypeObject(frozenset({"binary"}))
ROWID: Final = TypeObject(frozenset({"rowid"}))

Date = date
Time = time
Timestamp = datetime
Binary = bytes
DateFromTicks = date.fromtimestamp
TimestampFromTicks = datetime.fromtimestamp


def TimeFromTicks(ticks: float) -> time:  # noqa: N802  (PEP 249 names it)
    return datetime.fromtimestamp(ticks).time()
