"""Charge before data; keep the answer beside its charge; never exceed the budget."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn, Self

from discreet.accounting import Loss
from discreet.accounting.record import OWNER as OWNER
from discreet.accounting.record import BlockNames, Key, PartName
from discreet.accounting.relations import label
from discreet.errors import Refused
from discreet.ledger.acts import Acts, Document, shown
from discreet.ledger.blocks import Blocks
from discreet.ledger.charge import Charge, cost_of, demand_spendable
from discreet.ledger.codec import GENESIS, Amounts, Record, encode, link, plus, written
from discreet.ledger.declaring import now
from discreet.ledger.entries import Reads, loss_of
from discreet.ledger.grant import Grant
from discreet.ledger.keys import charge_of
from discreet.ledger.marks import Marks
from discreet.ledger.problems import LedgerError, demand_here
from discreet.ledger.sqlite import Sqlite
from discreet.ledger.standing import Standing
from discreet.ledger.stands import Stands
from discreet.ledger.state import State
from discreet.ledger.store import Reader, Row, Store
from discreet.ledger.watch import Acceptance
from discreet.noise import SYSTEM
from discreet.policy import Share

TOTALS_EVERY: Final = 1000
FIRST: Final[tuple[str, ...]] = ("id", "host", "home")
"""What the first record may say beside the budget."""
MAX_QUERY_LENGTH: Final = 200_000
"""Characters of a query that are recorded at most."""


class Ledger(Reads, Stands, Acts):
    """An opened ledger. Many threads may share it; other processes open it for themselves.

    Theorem  The losses of all releases made inside `charge` blocks, by any number of threads and processes, crashes
             included, together fit the budget, and those of each analyst fit that analyst's share. Of releases about
             blocks of a stream this is what the stream holds of the budget (the theorem of `streams`).
    Proof    A block begins after one transaction has read what all others spent, checked both filters and flushed the
             charge. A store lets one such transaction run at a time (`store`). Nothing lowers what is spent.
    """

    def __init__(
        self,
        store: Store,
        grant: Grant,
        *,
        shares: Mapping[str, Share],
        protected: str = "",
        name: str = "",
        unit: str | None = None,
        document: Document | None = None,
    ) -> None:
        """`document` is the policy as its owner wrote it: what changed in it is put on record."""
        self._process = os.getpid()
        self.unit = label(unit)
        self._shares = dict(shares)
        self._lock = threading.RLock()
        self._waiting: deque[Charge] = deque()
        self._store = store
        self._state, self._opening = State(), 0
        try:
            self._write(lambda: self._agree(grant, protected, name, document))
        except BaseException:
            self._store.close()
            raise

    @classmethod
    def open(
        cls,
        path: Path,
        grant: Grant,
        *,
        shares: Mapping[str, Share],
        protected: str = "",
        name: str = "",
        unit: str | None = None,
        document: Document | None = None,
        marks: Marks | None = None,
        accept: Acceptance | None = None,
    ) -> Self:
        """The ledger in a SQLite file, begun now if there is none.

        With `marks`, a ledger that was rolled back is not opened unless the owner accepts it.
        """
        store = Sqlite(path, marks=marks, accept=accept)
        return cls(store, grant, shares=shares, protected=protected, name=name, unit=unit, document=document)

    def _agree(self, grant: Grant, protected: str, name: str, document: Document | None) -> None:
        """Begin the journal, or see that policy and journal say the same."""
        recorded = self._state.grant
        known = self._store.recognised(self._state)
        if not self._state.head:
            named = {key: known.pop(key) for key in FIRST if key in known} if known and not known["known"] else {}
            self._append_budget(grant, "the ledger begins", named)
        elif (grant.epsilon, grant.delta) != (recorded.epsilon, recorded.delta):
            if not grant.within(recorded):
                raise LedgerError(
                    f"the policy grants {shown(grant)}, the ledger {shown(recorded)}",
                    "raise it on the record with `discreet budget raise`, or restore the number in the policy",
                )
            self._append_budget(grant, "the policy lowered it")
        self._agree_on_policy(protected, name, document)
        if any(partition.max_parts is None for partition in self._state.partitions.values()):
            self._state = State.replayed(self._store.rows())  # totals of version 1 leave out what their charges said
            self._append("totals", self._state.totals())
        if known and "id" in known:
            self._accept(known)

    def _accept(self, known: Record) -> None:
        self._append("accepted", known)

    # spending

    def charge(
        self,
        loss: Loss,
        *,
        why: str,
        analyst: str | None = None,
        plan: str | None = None,
        data: int | None = None,
        part: PartName | None = None,
        blocks: BlockNames | None = None,
        call: Record | None = None,
        key: Key | None = None,
    ) -> Charge:
        """`with ledger.charge(loss, why=…) as bits:` — the loss is on disk when the block begins, and stays spent.

        Of a query about one part of a partition, only what makes the maximum over its parts grow is spent (parallel
        composition). The loss of a query about blocks of a stream, which is that of a unit over all of them, is put on
        the line of each block, or on none; the budget was charged for the stream. `call` is how it was asked, for the
        record. With a `key` that a charge has already, the block does not begin: `Repeated`.
        """
        if analyst is not None:
            self._share(analyst)
        if len(why) > MAX_QUERY_LENGTH:
            raise Refused("too-complex", f"the query has more than {MAX_QUERY_LENGTH} characters", "ask a shorter one")
        if not isinstance(blocks, BlockNames | None):
            raise TypeError("blocks are named by BlockNames")
        if blocks is not None and part is not None:
            raise Refused(
                "blocks-invalid", "a query is about a part or about blocks, not both", "leave one of them out"
            )
        demand_spendable(loss, self.unit if blocks is None else None)  # a stream says whom its charges are about
        return Charge(self, loss, OWNER if analyst is None else analyst, why, plan, data, part, blocks, call, key)

    def _share(self, analyst: str) -> Share:
        if analyst not in self._shares:
            known = ", ".join(sorted(self._shares)) or "there are none"
            raise Refused("unknown-analyst", f"{analyst!r} has no share in the policy", f"analysts: {known}")
        return self._shares[analyst]

    def _spend(self, charge: Charge) -> None:
        """Join those who wait. Whoever gets the lock puts all of them on disk in one transaction."""
        self._usable()
        self._waiting.append(charge)
        with self._lock:
            if not charge.settled:
                self._settle([self._waiting.popleft() for _ in range(len(self._waiting))])
        if charge.refusal is not None:
            raise charge.refusal
        if not charge.charged:  # whoever took it off the queue was interrupted before anything was written
            raise _failure(KeyboardInterrupt())

    def _settle(self, batch: list[Charge]) -> None:
        """Charge all of them. If the transaction fails, each learns it, and none gets bits."""
        try:
            self._write(lambda: self._admit_all(batch))
            for charge in batch:
                charge.charged = charge.refusal is None
        except BaseException as error:
            for charge in batch:
                charge.charged, charge.refusal = False, charge.refusal or _failure(error)
            if not isinstance(error, LedgerError):
                raise
        finally:
            for charge in batch:
                charge.settled = True

    def _admit_all(self, batch: list[Charge]) -> None:
        for charge in batch:
            self._admit(charge)

    def _admit(self, charge: Charge) -> None:
        """Append the charge if nothing stands in its way, else say what does."""
        if charge.key is not None:
            charge.refusal = charge_of(charge.key, self._store)
            if charge.refusal is not None:
                return
        try:
            cost, loss = self._costs(self._state, charge)
        except Refused as refusal:
            charge.refusal = refusal
            return
        state = self._state
        fields: Record = {
            "at": now(),
            "analyst": charge.analyst,
            "question": charge.why,
            "plan": charge.plan,
            "data": state.data if charge.data is None else charge.data,
            "loss": written(loss),
            "spent": written(plus(state.spent, loss)),
            "salt": SYSTEM.bytes(8).hex(),
            **({} if charge.part is None else {"portion": charge.part.fields(), "price": written(cost)}),
            **({} if charge.blocks is None else {"blocks": charge.blocks.fields(), "price": written(cost)}),
            **({"call": charge.call} if charge.call else {}),
            **({} if charge.key is None else charge.key.fields()),
            **({} if charge.loss.unit is None else {"unit": charge.loss.unit}),
        }
        charge.increase = loss_of(loss, charge.loss.unit)
        charge.number, _, charge.digest = self._append("charge", fields)

    def _costs(self, state: State, charge: Charge) -> tuple[Amounts, Amounts]:
        """What it costs, and by how much that makes grow what is spent; refused if it does not fit.

        It follows from the state, which nobody changes: where it was looked at for the same one, that counts.
        """
        if charge.costs is None or charge.costs[0] is not state:
            charge.costs = state, *self._fitting(state, charge)
        return charge.costs[1:]

    def _fitting(self, state: State, charge: Charge) -> tuple[Amounts, Amounts]:
        share = self._shares.get(charge.analyst)
        if charge.blocks is not None:
            blocks = Blocks.of(state, charge.blocks, charge.analyst, share)
            return blocks.admitted(charge.loss), state.grant.nothing
        standing = Standing(state, charge.analyst, share)
        cost = cost_of(charge.loss, standing.grant)
        loss = standing.increase(charge.part, cost)
        if not standing.admits(loss):
            for filter_ in standing.filters:  # one of them says why
                filter_.admit(loss_of(loss))
            raise LedgerError("the charge does not fit the budget", "ask for less")
        return cost, loss

    def demand_room(self, charge: Charge) -> None:
        """Raise what would refuse a charge now. Nothing is written."""
        if charge.key is None or self.charged(charge.key) is None:
            self._costs(self._newest, charge)

    def _keep(self, charge: Charge, answer: bytes) -> None:
        fields = {"charge": charge.number, "digest": hashlib.sha256(answer).hexdigest(), "salt": SYSTEM.bytes(8).hex()}

        def append() -> None:
            if charge.number in self._state.withdrawn:
                raise LedgerError(f"the answer to charge {charge.number} was withdrawn", "ask again")
            self._append("answer", fields, charge.plan, answer)

        with self._held(), self._store.relaxed():
            self._write(append)

    # how it stands

    @property
    def grant(self) -> Grant:
        """What may be spent, as it stands on record."""
        return self._newest.grant

    @property
    def data_version(self) -> int:
        return self._newest.data

    def spenders(self) -> list[str]:
        """Who charged anything, by name."""
        return sorted(self._newest.shares)

    @property
    def _newest(self) -> State:
        self._usable()
        with self._lock:  # as `_held`, of which there would be several for each answer
            self._usable()
            self._catch_up()
            return self._state

    @property
    def _reader(self) -> Reader:
        """Not behind the lock: whoever looks holds up nobody who spends."""
        self._usable()
        return self._store.reader

    def charged(self, key: Key) -> int | None:
        """The number of the charge that has this key; None if there is none. Refused if it was another request."""
        with self._held():
            self._catch_up()
            earlier = charge_of(key, self._store)
        if isinstance(earlier, Refused):
            raise earlier
        return None if earlier is None else earlier.number

    # the journal

    def _write(self, act: Callable[[], object]) -> None:
        """One transaction on the newest state. If it fails, what we know is what we knew."""
        self._usable()
        with self._lock:  # as `_held`
            self._usable()
            before = self._state, self._opening
            try:
                with self._store.transaction(lambda: self._state):
                    self._catch_up()
                    demand_here(self._state)
                    act()
            except BaseException:
                self._state, self._opening = before
                raise

    def _catch_up(self) -> None:
        """Read what others appended. A journal that does not hold what we know was rolled back.

        What was read before the store was opened anew need not have been flushed: it is read again. The store has seen
        to it that what was flushed is there.
        """
        head, digest = self._store.last() or (0, GENESIS)
        if self._opening != self._store.openings:
            self._state, self._opening = State(), self._store.openings
        if (head, digest) != (self._state.head, self._state.digest):
            self._state = self._state.caught_up(self._store.rows, head, TOTALS_EVERY)

    def _append(self, kind: str, fields: Record, plan: str | None = None, answer: bytes | None = None) -> Row:
        line = encode(kind, fields)
        row = self._state.head + 1, line, link(self._state.digest, line)
        self._state = self._state.after(row)
        self._store.append(*row, plan, answer)
        if row[0] % TOTALS_EVERY == 0 and kind != "moved":
            self._append("totals", self._state.totals())
        return row

    @contextmanager
    def _held(self) -> Iterator[None]:
        """One thread at a time. The process is looked at first: a fork may have copied the lock while it was taken."""
        self._usable()
        with self._lock:
            self._usable()
            yield

    def _usable(self) -> None:
        if self._process != os.getpid():
            raise LedgerError("this ledger was opened before a fork", "fork before opening, or start a new process")
        if self._store.closed:
            raise LedgerError("this ledger is closed", "open it again")

    # the end

    def close(self) -> None:
        """Close the store too. Whatever is wrong with it is found by whoever opens it next."""
        if self._process != os.getpid():
            return
        with self._lock, suppress(LedgerError, OSError):
            if self._store.closed:
                return
            head = None
            try:
                self._catch_up()
                head = self._state.head
            finally:
                self._store.close(head)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an open ledger cannot be copied or pickled: open it again")


def _failure(error: BaseException) -> LedgerError:
    """An error of its own for each that waited."""
    if isinstance(error, LedgerError):
        return type(error)(error.reason, error.fix)
    return LedgerError("the ledger was interrupted; nothing was released", "ask again")
