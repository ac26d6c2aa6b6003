"""What a ledger asks of whatever holds its journal. `Ledger` adds up and decides; a store appends, reads and flushes.

A store is one class (`sqlite`, `postgres`, `memory`). To add another: write the class, and name it in
`tests.contracts.stores`.
What all of them keep:

- A transaction is the only writer. When it ends, all its records are flushed, or none of them is there.
- Numbers are given by the ledger: 1, 2, 3, … A store does not read what lines say, except to find them.
- Who reads through `reader` sees whole transactions only, and waits for no writer.
- Everything that goes wrong is a `LedgerError`; after it the store holds what it held before. One on another machine
  may not know: `LedgerUnreachable` says so, and by its key a charge tells later whether it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

if TYPE_CHECKING:
    from discreet.ledger.codec import Amounts, Record
    from discreet.ledger.state import State

Row = tuple[int, str, str]
"""Number, line and hash of a record."""
Charged = tuple[int, str, bool]
"""Number and line of a charge, and whether it has an answer that was not withdrawn."""
Noted = tuple[int, str]
"""Number and line of a record that is neither a charge nor an answer nor totals; or of the withdrawal of an answer."""
Order = Literal["ASC", "DESC"]
ENDLESS: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Search:
    """Which charges are looked for: those of an analyst, with this in their text (ASCII letters in either case),
    answered or not, above a number."""

    analyst: str | None = None
    text: str = ""
    answered: bool | None = None
    after: int = 0


ALL: Final = Search()


class Reader(Protocol):
    """Reads of whole transactions, which hold up nobody who writes. Many threads may share it."""

    def charges(self, search: Search, *, limit: int = -1, offset: int = 0, order: Order = "ASC") -> list[Charged]:
        """Charges in the order of their numbers."""
        ...

    def count(self, search: Search) -> int:
        """How many charges there are."""
        ...

    def charge(self, number: int) -> Charged | None: ...

    def events(self, *, after: int = 0, before: int = ENDLESS, limit: int = -1, order: Order = "ASC") -> list[Noted]:
        """What happened beside charges and answers, with after < number < before, in the order of the numbers."""
        ...

    def pair(self, number: int) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """A charge (number, line, hash, hash before) and its newest answer (number, line, hash, bytes, hash before)."""
        ...

    def largest(self, plan: str, data: int, below: int | None, least: Amounts) -> tuple[int, int] | None:
        """Number and first amount of the answered charge for a plan that cost most, the newest of several.

        Its first amount is less than `below`, if that is given; all its amounts are at least those in `least`.
        """
        ...


class Store(Protocol):
    """A journal that is open. One thread at a time, but for `reader`."""

    @property
    def closed(self) -> bool: ...

    @property
    def openings(self) -> int:
        """How often it was opened: more than once where a connection was lost. Records that were read before the last
        time need not be there any more, unless they were flushed here; the store has looked for those."""
        ...

    @property
    def reader(self) -> Reader: ...

    def recognised(self, state: State) -> Record | None:
        """Raise unless this is the journal that was here before; the fields of a record to append, if it is new here.

        Called once, inside the first transaction, with what all records add up to.
        """
        ...

    def transaction(self, state: Callable[[], State]) -> AbstractContextManager[None]:
        """All that is appended inside is flushed when the block ends, or nothing is; `state` is what it adds up to."""
        ...

    def relaxed(self) -> AbstractContextManager[None]:
        """Transactions inside need not be flushed: a power cut may lose them, never what was written before."""
        ...

    def append(self, number: int, line: str, digest: str, plan: str | None = None, answer: bytes | None = None) -> None:
        """Write one record, inside a transaction; an answer with the plan that it is filed under."""
        ...

    def erase(self, number: int, line: str, answer: bytes | None = None) -> None:
        """Write a record anew without what is too old (`retention`), under its hash, inside a transaction.

        No plan stays beside it, and of an answer what is given.
        """
        ...

    def compact(self) -> bool:
        """Leave nothing of what was erased where records are stored; whether nothing is left."""
        ...

    def last(self) -> tuple[int, str] | None:
        """Number and hash of the last record; None in a new journal. Inside a transaction its own records count."""
        ...

    def rows(self, first: int = 1, last: int = ENDLESS) -> Iterator[Row]:
        """Records with first ≤ number ≤ last, in order."""
        ...

    def keyed(self, name: str) -> list[tuple[int, str]]:
        """The charges with a key, oldest first: number and line. Inside a transaction its own records count."""
        ...

    def close(self, head: int | None = None) -> None:
        """Let everything go. Whoever knows that all records up to `head` are sound says so."""
        ...


class Inspected(Store, Protocol):
    """A journal that outlives its process: it can be verified, copied and moved."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read inside is of one moment, whatever others write."""
        ...

    def sound(self) -> list[str]:
        """What is wrong with how records are stored, beside what they say."""
        ...

    def answers(self) -> Iterator[tuple[int, bytes]]:
        """The cached answers, by the number of their record."""
        ...

    def plans(self) -> Iterator[tuple[int, str]]:
        """The plans that answers are filed under, by the number of their record."""
        ...

    def records(self, first: int = 1) -> Iterator[tuple[int, str, str, str | None, bytes | None]]:
        """All that was appended, as it was, from a number on."""
        ...
