"""Reads of the journal: charges page by page, and cached answers, without holding up those who spend."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.accounting import Loss
from discreet.accounting.record import Entry
from discreet.errors import Refused
from discreet.ledger.charge import cost_of
from discreet.ledger.entries import CachedAnswer, cached_answer, entries, most_accurate
from discreet.ledger.grant import Grant
from discreet.ledger.store import ALL, Reader, Search


class Reads:
    """Everything here is read through the store's reader, in a snapshot, and not behind the ledger's lock."""

    @property
    def _reader(self) -> Reader:
        raise NotImplementedError

    @property
    def grant(self) -> Grant:
        raise NotImplementedError

    def entries(self, search: Search = ALL, *, limit: int | None = None) -> list[Entry]:
        """One entry for each charge, oldest first; no more than `limit` of them."""
        return entries(self._reader.charges(search, limit=-1 if limit is None else limit))

    def latest(self, search: Search = ALL, *, limit: int, offset: int = 0) -> list[Entry]:
        """The newest charges, newest first."""
        return entries(self._reader.charges(search, limit=limit, offset=offset, order="DESC"))

    def count(self, search: Search = ALL) -> int:
        """How many charges there are."""
        return self._reader.count(search)

    def entry(self, number: int) -> Entry | None:
        """The charge of this number; None if there is none."""
        row = self._reader.charge(number)
        return None if row is None else entries([row])[0]

    def answer(self, number: int) -> CachedAnswer | None:
        """The cached answer to the charge of this number; None if there is none."""
        return cached_answer(self._reader, number)

    def cached(self, plan: str, data: int, least: Loss | None = None) -> Iterator[CachedAnswer]:
        """Cached answers for a plan and a data version, highest cost first; those that cost at least so much."""
        try:
            amounts = () if least is None else cost_of(least, self.grant)
        except Refused:
            return iter(())  # of another currency
        return most_accurate(self._reader, plan, data, amounts)
