"""Charge before data; keep the answer beside its charge; never exceed the budget."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Final, NoReturn, Self

from discreet.accounting import Concentrated, Loss, Pure
from discreet.accounting.balance import Amount, Balance
from discreet.accounting.filters import Filter
from discreet.accounting.record import Key, Portion
from discreet.accounting.relations import label
from discreet.errors import Refused
from discreet.ledger.acceptance import Acceptance, Watch
from discreet.ledger.charge import Charge, cost_of, demand_spendable
from discreet.ledger.codec import GENESIS, Amounts, Record, decode, encode, link, written
from discreet.ledger.entries import loss_of
from discreet.ledger.files import Seal
from discreet.ledger.grant import Grant, largest
from discreet.ledger.keys import charge_of
from discreet.ledger.looking import Looking
from discreet.ledger.marks import Marks
from discreet.ledger.problems import LedgerDamaged, LedgerError
from discreet.ledger.reading import Reader
from discreet.ledger.state import State, granted_fields, plus
from discreet.ledger.store import Row, Store
from discreet.ledger.units import by_unit
from discreet.noise import SYSTEM

OWNER: Final = "owner"
"""Who is written down where no analyst is named."""
TOTALS_EVERY: Final = 1000
LONGEST: Final = 200_000
"""Characters of a question that are recorded at most."""


class Ledger(Looking):
    """An opened ledger. Many threads may share it; other processes open it for themselves.

    Theorem  The losses of all releases made inside `charge` blocks, by any number of threads and processes, crashes
             included, together fit the budget, and those of each analyst fit that analyst's share.
    Proof    A block begins after one transaction has read what all others spent, checked both filters and put the
             charge on disk. SQLite lets one such transaction run at a time. Nothing lowers what is spent.
    """

    def __init__(
        self,
        path: Path,
        grant: Grant,
        *,
        shares: Mapping[str, Fraction],
        protected: str = "",
        name: str = "",
        unit: str | None = None,
        marks: Marks | None = None,
        accept: Acceptance | None = None,
    ) -> None:
        """With `marks`, a ledger that was rolled back is not opened unless the owner accepts it."""
        self._process = os.getpid()
        self.unit = label(unit)
        self._shares = dict(shares)
        self._lock = threading.RLock()
        self._waiting: deque[Charge] = deque()
        self._watch = Watch(marks, path.absolute(), accept)
        self._watch.demand_begun()
        self._store = Store(path)
        self._state = State()
        try:
            self._write(lambda: self._agree(grant, protected, name))
        except BaseException:
            self._watch.close()
            self._store.close()
            raise

    def _agree(self, grant: Grant, protected: str, name: str) -> None:
        """Begin the journal, or see that policy and journal say the same."""
        recorded = self._state.grant
        known = self._watch.demand(self._state, self._store)
        if not self._state.head:
            named = {key: known.pop(key) for key in ("id", "host")} if known and not known["known"] else {}
            self._append_budget(grant, "the ledger begins", named)
        elif (grant.epsilon, grant.delta) != (recorded.epsilon, recorded.delta):
            if not grant.within(recorded):
                raise LedgerError(
                    f"the policy grants {_shown(grant)}, the ledger {_shown(recorded)}",
                    "raise it on the record with `discreet budget raise`, or restore the number in the policy",
                )
            self._append_budget(grant, "the policy lowered it")
        if self._state.protected != protected:
            self._append("epoch", {"protected": protected, "name": name})
        if any(lines.most is None for lines in self._state.portions.values()):
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
        portion: Portion | None = None,
        call: Record | None = None,
        key: Key | None = None,
    ) -> Charge:
        """`with ledger.charge(loss, why=…) as bits:` — the loss is on disk when the block begins, and stays spent.

        Of a question about one part of a partition, only what makes the dearest part dearer is spent. `call` is how it
        was asked, for the record. With a `key` that a charge has already, the block does not begin: `Repeated`.
        """
        if analyst is not None and analyst not in self._shares:
            known = ", ".join(sorted(self._shares)) or "there are none"
            raise Refused("unknown-analyst", f"{analyst!r} has no share in the policy", f"analysts: {known}")
        if len(why) > LONGEST:
            raise Refused("too-complex", f"the question has more than {LONGEST} characters", "ask a shorter one")
        demand_spendable(loss, self.unit)
        return Charge(self, loss, OWNER if analyst is None else analyst, why, plan, data, portion, call, key)

    def _spend(self, charge: Charge) -> None:
        """Join those who wait. Whoever gets the lock puts all of them on disk in one transaction."""
        self._usable()
        self._waiting.append(charge)
        with self._lock:
            if not charge.settled:
                self._settle([self._waiting.popleft() for _ in range(len(self._waiting))])
        if charge.refusal is not None:
            raise charge.refusal
        if not charge.paid:  # whoever took it off the queue was interrupted before anything was written
            raise _failure(KeyboardInterrupt())

    def _settle(self, batch: list[Charge]) -> None:
        """Charge all of them. If the transaction fails, each learns it, and none gets bits."""
        try:
            self._write(lambda: self._admit_all(batch))
            for charge in batch:
                charge.paid = charge.refusal is None
        except BaseException as error:
            for charge in batch:
                charge.paid, charge.refusal = False, charge.refusal or _failure(error)
            if not isinstance(error, LedgerError):
                raise
        finally:
            for charge in batch:
                charge.settled = True

    def _admit_all(self, batch: list[Charge]) -> None:
        for charge in batch:
            self._admit(charge)

    def _admit(self, charge: Charge) -> None:
        state = self._state
        if charge.key is not None:
            charge.refusal = charge_of(charge.key, self._store)
            if charge.refusal is not None:
                return
        try:
            cost = cost_of(charge.loss, state.grant)
            loss = _increase(state, charge.portion, cost)
            increase = loss_of(loss)
            for filter_ in self._filters(charge.analyst):
                filter_.admit(increase)
        except Refused as refusal:
            charge.refusal = refusal
            return
        charge.increase = loss_of(loss, charge.loss.unit)
        fields: Record = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "analyst": charge.analyst,
            "question": charge.why,
            "plan": charge.plan,
            "data": state.data if charge.data is None else charge.data,
            "loss": written(loss),
            "spent": written(plus(state.spent, loss)),
            "salt": SYSTEM.bytes(8).hex(),
        }
        if charge.portion is not None:
            fields |= {"portion": charge.portion.fields(), "price": written(cost)}
        if charge.call:
            fields["call"] = charge.call
        if charge.key is not None:
            fields |= charge.key.fields()
        if charge.loss.unit is not None:
            fields["unit"] = charge.loss.unit
        charge.number, _, charge.digest = self._append("charge", fields)

    def _filters(self, analyst: str) -> list[Filter]:
        """What a charge must pass: the budget, and an analyst's share. The tighter one speaks first."""
        state = self._state
        filters = [state.grant.filter(state.spent)]
        if analyst in self._shares:
            filters.append(state.grant.share(self._shares[analyst], state.share(analyst)))
        return sorted(filters, key=lambda each: each.left)

    def _keep(self, charge: Charge, answer: bytes) -> None:
        fields = {"charge": charge.number, "digest": hashlib.sha256(answer).hexdigest()}
        with self._held(), self._store.relaxed():
            self._write(lambda: self._append("answer", fields, charge.plan, answer))

    # the owner's acts

    def raise_budget(self, grant: Grant, reason: str) -> None:
        """Change what may be spent, on the record. Refused below what is spent already."""
        self._write(lambda: self._append_budget(grant, reason))

    def _append_budget(self, grant: Grant, reason: str, named: Record | None = None) -> None:
        spent = grant.converted(self._state.spent)
        shares = {analyst: grant.converted(amounts) for analyst, amounts in self._state.shares.items()}
        if spent is None:
            raise LedgerError(
                "what was spent in a budget with delta cannot be counted in one without", "keep the delta"
            )
        if any(used > limit for used, limit in zip(spent, grant.limits, strict=True)):
            balance = grant.balance(grant.limits, spent, grant.epsilon)
            raise LedgerError(
                f"{_shown(grant)} is less than what is spent already (epsilon {balance.spent.epsilon:g})",
                "spending cannot be undone: grant at least that much",
            )
        written_shares = {analyst: written(amounts or ()) for analyst, amounts in shares.items()}
        fields = {**granted_fields(grant), "spent": written(spent), "shares": written_shares, "reason": reason}
        self._append("budget", {**fields, **(named or {})})

    def advance_data(self, reason: str) -> int:
        """Begin a new data version; all versions share what was spent."""
        with self._held():
            self._write(lambda: self._append("data", {"version": self._state.data + 1, "reason": reason}))
            return self._state.data

    # looking

    def balance(self, analyst: str | None = None) -> Balance:
        """What was granted, is spent and remains: of everybody, or of one analyst."""
        grant, limits, spent, epsilon = self._standing(analyst)
        return grant.balance(limits, spent, epsilon, by_unit(self._state) if analyst is None else None)

    def remaining(self, analyst: str | None = None) -> Amount:
        """What remains, for everybody or for one analyst: the quick part of `balance`."""
        grant, limits, spent, _ = self._standing(analyst)
        left = grant.remaining(limits, spent)
        if analyst is None:
            return left
        return min(left, self.remaining(), key=lambda amount: amount.epsilon)

    def affordable_count(self, loss: Loss, analyst: str | None = None, portion: Portion | None = None) -> int | None:
        """How many more charges of this loss fit, for everybody or for one analyst; None if all of them do."""
        grant, limits, spent, _ = self._standing(analyst)
        try:
            demand_spendable(loss, self.unit)
            cost = cost_of(loss, grant)
        except Refused:
            return 0  # of another currency, or about somebody else
        left = [max(limit - used, 0) for limit, used in zip(limits, spent, strict=True)]
        state = self._state

        def fits(count: int) -> bool:
            increase = _increase(state, portion, tuple(count * each for each in cost))
            return all(each <= most for each, most in zip(increase, left, strict=True))

        found = largest(fits)
        others = None if analyst is None else self.affordable_count(loss, portion=portion)
        return min((count for count in (found, others) if count is not None), default=None)

    def increase(self, loss: Loss, portion: Portion) -> Pure | Concentrated:
        """What a question about a part would cost now."""
        demand_spendable(loss, self.unit)
        grant, *_ = self._standing(None)
        return loss_of(_increase(self._state, portion, cost_of(loss, grant)), loss.unit)

    def free(self, portion: Portion) -> Amount:
        """What may be asked of a part, by anybody, before the dearest part gets dearer."""
        grant, *_ = self._standing(None)
        return grant.remaining(self._free(portion), grant.nothing)

    def affordable(self, portion: Portion, analyst: str | None = None) -> Amount:
        """The largest cost that a question about a part may have: what is free, and what remains of the budget."""
        grant, limits, spent, _ = self._standing(analyst)
        _, whole, all_spent, _ = self._standing(None)
        own = (limit - used for limit, used in zip(limits, spent, strict=True))
        left = (limit - used for limit, used in zip(whole, all_spent, strict=True))
        amounts = zip(own, left, self._free(portion), strict=True)
        return grant.remaining(tuple(max(min(a, b), 0) + free for a, b, free in amounts), grant.nothing)

    def _free(self, portion: Portion) -> Amounts:
        state = self._state
        return state.lines(portion).free(portion.part, len(state.grant.limits))

    def _standing(self, analyst: str | None) -> tuple[Grant, Amounts, Amounts, Fraction]:
        with self._held():
            self._catch_up()
            state = self._state
        if analyst is None:
            return state.grant, state.grant.limits, state.spent, state.grant.epsilon
        if analyst not in self._shares:
            raise Refused("unknown-analyst", f"{analyst!r} has no share in the policy", "see the policy's analysts")
        share = self._shares[analyst]
        return state.grant, state.grant.share_limits(share), state.share(analyst), share

    @property
    def grant(self) -> Grant:
        """What may be spent, as it stands on record."""
        with self._held():
            self._catch_up()
            return self._state.grant

    @property
    def data_version(self) -> int:
        with self._held():
            self._catch_up()
            return self._state.data

    def spenders(self) -> list[str]:
        """Who charged anything, by name."""
        with self._held():
            self._catch_up()
            return sorted(self._state.shares)

    @property
    def _reader(self) -> Reader:
        """Not behind the lock: whoever looks holds up nobody who spends."""
        self._usable()
        return self._store.reader

    def charged(self, key: Key) -> int | None:
        """The number of the charge that has this key; None if there is none. Refused if it was another request."""
        with self._held():
            self._catch_up()
            found = charge_of(key, self._store)
        if isinstance(found, Refused):
            raise found
        return None if found is None else found.number

    # the journal

    def _write(self, act: Callable[[], object]) -> None:
        """One transaction on the newest state. If it fails, what we know is what we knew."""
        with self._held():
            before = self._state
            try:
                with self._store.transaction(lambda: self._watch.follow(self._state, grown=self._state.head > head)):
                    self._catch_up()
                    head = self._state.head
                    act()
            except BaseException:
                self._state = before
                raise

    def _catch_up(self) -> None:
        """Read what others appended. A journal that does not hold what we know was rolled back."""
        head, digest = self._store.last() or (0, GENESIS)
        if (head, digest) == (self._state.head, self._state.digest):
            return
        if head <= self._state.head:
            raise LedgerDamaged(f"record {self._state.head} of the ledger is gone or another", "restore a backup")
        if not self._state.head:
            self._state = _resume(self._store, head)
        for row in self._store.rows(self._state.head + 1):
            self._state = self._state.after(row)

    def _append(self, kind: str, fields: Record, plan: str | None = None, answer: bytes | None = None) -> Row:
        line = encode(kind, fields)
        row = self._state.head + 1, line, link(self._state.digest, line)
        self._state = self._state.after(row)
        self._store.append(*row, plan, answer)
        if row[0] % TOTALS_EVERY == 0:
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
        """Close, and seal the file if it is sound and nobody else is using it."""
        if self._process != os.getpid():
            return
        with self._lock, suppress(LedgerError, OSError):
            if self._store.closed:
                return
            try:
                self._catch_up()
            finally:
                self._watch.close()
                self._store.close()
            seal = Seal.of(self._store.path, self._state.head)
            if seal:
                seal.write(self._store.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an open ledger cannot be copied or pickled: open it again")


def _increase(state: State, portion: Portion | None, cost: Amounts) -> Amounts:
    try:
        return state.increase(portion, cost)
    except ValueError as wrong:
        raise Refused("unknown-part", str(wrong), "ask about its parts as it was made") from None


def _resume(store: Store, head: int) -> State:
    """The state at the last record that repeats all of it, or an empty one."""
    start = head - head % TOTALS_EVERY
    rows = list(store.rows(start, start + 1)) if start else []
    if len(rows) == 2 and decode(*rows[1][:2])["kind"] == "totals":
        return State.resumed(*rows)
    return State()


def _failure(error: BaseException) -> LedgerError:
    """An error of its own for each that waited."""
    if isinstance(error, LedgerError):
        return type(error)(error.reason, error.fix)
    return LedgerError("the ledger was interrupted; nothing was released", "ask again")


def _shown(grant: Grant) -> str:
    delta = "" if grant.delta is None else f", delta {float(grant.delta):g}"
    return f"epsilon {float(grant.epsilon):g}{delta}"
