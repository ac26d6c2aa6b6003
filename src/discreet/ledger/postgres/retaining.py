"""The journal in PostgreSQL as its owner opens it, to erase what is too old. Curators cannot: they append and read."""

from __future__ import annotations

from discreet.ledger.marks import Marks
from discreet.ledger.postgres.reading import columns_of
from discreet.ledger.postgres.schema import COLUMNS
from discreet.ledger.postgres.session import Address
from discreet.ledger.postgres.store import Postgres
from discreet.ledger.watch import Watch


class OwnedPostgres(Postgres):
    """Opened as the role that owns the tables. The guard against changes is let down inside of one transaction only:
    who else looks finds it in place before and after, and nobody else writes meanwhile, for the head is locked."""

    def __init__(self, where: Address, owner: Address, marks: Marks | None) -> None:
        super().__init__(owner, as_it_is=True)
        self._watch = Watch(marks, str(where), None, self._server.home)
        self._unguarded = False

    def erase(self, number: int, line: str, answer: bytes | None = None) -> None:
        journal = self.where.table("journal")
        with self._asking() as connection:
            if not self._unguarded:
                connection.execute(f"ALTER TABLE {journal} DISABLE TRIGGER fixed".encode())
                self._unguarded = True
            ((digest,),) = connection.execute(
                f"SELECT hash FROM {journal} WHERE number = %s".encode(), (number,)
            ).fetchall()
            values = dict(zip(COLUMNS, columns_of((number, line, digest), None, answer), strict=True))
            changed = [column for column in COLUMNS if column not in ("number", "hash")]
            anew = f"UPDATE {journal} SET {', '.join(f'{column} = %s' for column in changed)} WHERE number = %s"
            connection.execute(anew.encode(), [*(values[column] for column in changed), number])

    def _commit(self) -> None:
        if self._unguarded:
            with self._asking() as connection:
                connection.execute(f"ALTER TABLE {self.where.table('journal')} ENABLE TRIGGER fixed".encode())
            self._unguarded = False
        super()._commit()

    def _roll_back(self) -> None:
        self._unguarded = False
        super()._roll_back()

    def compact(self) -> bool:
        """Rows of before are in the table's file until it is written anew."""
        with self._asking() as connection:
            connection.execute(f"VACUUM FULL {self.where.table('journal')}".encode())
        return True
