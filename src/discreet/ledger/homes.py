"""Where a ledger is: a file, or a schema of a database. What can be done to either, under the same names."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.ledger import sqlite
from discreet.ledger.inspection import Report, inspected
from discreet.ledger.marks import Location, Marks
from discreet.ledger.problems import LedgerDamaged, LedgerError
from discreet.ledger.sqlite import Sqlite
from discreet.ledger.sqlite.files import Seal
from discreet.ledger.store import Inspected
from discreet.ledger.watch import Acceptance, known_at

if TYPE_CHECKING:
    from discreet.ledger.postgres import Address, Postgres


class Home(Protocol):
    """Where a ledger is, or may begin."""

    def store(
        self, marks: Marks | None = None, accept: Acceptance | None = None, *, as_it_is: bool = False
    ) -> Inspected:
        """Its journal, opened; `as_it_is` for whoever only reads."""
        ...

    def is_begun(self, marks: Marks | None) -> bool:
        """Whether there is one, or was: a mark or a seal alone means that it is gone, and opening it tells."""
        ...

    @property
    def key(self) -> Location:
        """By what high-water marks know it."""
        ...

    def verify(self, receipts: Iterable[str], marks: Marks | None) -> Report: ...
    def back_up(self, target: Path) -> Report: ...
    def restore(self, backup: Path, *, forget: str, marks: Marks | None) -> Report: ...


@dataclass(frozen=True, slots=True)
class InFile:
    """A file of SQLite, for processes of one host."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def key(self) -> Path:
        return self.path.absolute()

    def store(self, marks: Marks | None = None, accept: Acceptance | None = None, *, as_it_is: bool = False) -> Sqlite:
        return Sqlite(self.path, marks=marks, accept=accept, as_it_is=as_it_is)

    def is_begun(self, marks: Marks | None) -> bool:
        try:
            begun = self.path.exists() or Seal.read(self.path) is not None
            return begun or (marks is not None and marks.at(self.key) is not None)
        except OSError as wrong:
            raise LedgerError(
                f"could not read {self.path}: {wrong.strerror}", "run this as the owner of the files"
            ) from None

    def verify(self, receipts: Iterable[str], marks: Marks | None) -> Report:
        return sqlite.verify(self.path, receipts, marks)

    def back_up(self, target: Path) -> Report:
        return sqlite.back_up(self.path, target)

    def restore(self, backup: Path, *, forget: str, marks: Marks | None) -> Report:
        return sqlite.restore(backup, self.path, forget=forget, marks=marks)


@dataclass(frozen=True, slots=True)
class InDatabase:
    """A schema of PostgreSQL, for curators on several hosts."""

    where: Address

    def __str__(self) -> str:
        return str(self.where)

    @property
    def key(self) -> str:
        return str(self.where)

    def store(
        self, marks: Marks | None = None, accept: Acceptance | None = None, *, as_it_is: bool = False
    ) -> Postgres:
        from discreet.ledger.postgres import Postgres

        return Postgres(self.where, marks=marks, accept=accept, as_it_is=as_it_is)

    def is_begun(self, marks: Marks | None) -> bool:
        if marks is not None and marks.at(self.key) is not None:
            return True
        with closing(self.store(as_it_is=True)) as store:
            return store.last() is not None

    def verify(self, receipts: Iterable[str], marks: Marks | None) -> Report:
        mark = None if marks is None else known_at(marks, self.key)
        try:
            store = self.store(as_it_is=True)
        except LedgerDamaged as damage:
            return Report(0, 0, "", False, (str(damage),))
        with closing(store), store.snapshot():
            return inspected(store, receipts, mark)

    def back_up(self, target: Path) -> Report:
        """A file of SQLite with the same journal."""
        with sqlite.unfinished(target) as copy:
            with closing(self.store(as_it_is=True)) as store, store.snapshot():
                if store.last() is None:
                    raise LedgerError(f"there is no ledger at {self}", "the first question begins one")
                _written(store, copy)
            return sqlite.verify(copy)

    def restore(self, backup: Path, *, forget: str, marks: Marks | None) -> Report:  # noqa: ARG002
        raise LedgerError(
            "a ledger in PostgreSQL is restored with PostgreSQL's own tools, and then accepted",
            "or restore the backup into a file (a policy without [ledger]), accept it, and move it to a new database",
        )


def _written(store: Inspected, target: Path) -> None:
    with closing(Sqlite(target)) as copy, copy.transaction():
        for record in store.records():
            copy.append(*record)
