"""What an owner does, on the record: budgets, windows, data versions, policies, tokens, withdrawals."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from discreet.accounting.balance import Amount
from discreet.errors import Refused
from discreet.ledger.codec import Record, decode, digest_of_line, less, written
from discreet.ledger.declaring import Streams, now
from discreet.ledger.grant import Grant
from discreet.ledger.problems import LedgerError
from discreet.ledger.retention import NOTHING, Erasing, Limits, Retained
from discreet.ledger.state import granted_fields
from discreet.ledger.store import Row, Store
from discreet.policy.recorded import changes, digest_of

Document = Mapping[str, Any]
"""A policy as its owner wrote it, in values of JSON."""
MAX_REASON: Final = 2000
"""Characters of a reason that are recorded."""


class Acts(Streams):
    """The part of a ledger that is about what its owner does."""

    _store: Store

    @abstractmethod
    def _append(self, kind: str, fields: Record, plan: str | None = None, answer: bytes | None = None) -> Row: ...

    # budgets

    def raise_budget(self, grant: Grant, reason: str) -> None:
        """Change what may be spent, on the record. Refused below what is spent already."""
        self._write(lambda: self._append_budget(grant, reason))

    def _append_budget(self, grant: Grant, reason: str, named: Record | None = None) -> None:
        state = self._state
        spent, _ = state.converted(grant)
        shares = {analyst: grant.converted(amounts) for analyst, amounts in state.shares.items()}
        if spent is None:
            raise LedgerError(
                "what was spent in a budget with delta cannot be counted in one without", "keep the delta"
            )
        used = state.window.converted(grant).since(spent)
        if any(less(used, grant.limits)):
            balance = grant.balance(grant.limits, used, grant.epsilon)
            raise LedgerError(
                f"{shown(grant)} is less than what is spent already (epsilon {balance.spent.epsilon:g})",
                "spending cannot be undone: grant at least that much",
            )
        written_shares = {analyst: written(amounts or ()) for analyst, amounts in shares.items()}
        fields = {**granted_fields(grant), "spent": written(spent), "shares": written_shares, "reason": reason}
        before = {"before": granted_fields(state.grant)} if state.head else {}
        self._append("budget", {**fields, **before, "at": now(), **(named or {})})

    def open_window(self, number: int, most: int | None, reason: str) -> None:
        """Let the budget be spent again, in the window of this number. Only the next one can be opened, and only once.

        `most` is how many the policy allows; what earlier windows spent stays spent.
        """
        _demand_reason(reason)
        self._write(lambda: self._open_window(number, most, reason))

    def _open_window(self, number: int, most: int | None, reason: str) -> None:
        state, window = self._state, self._state.window
        if most is None:
            raise Refused(
                "no-more-windows",
                "the policy allows no windows: its budget is all that may ever be spent",
                "write max_windows = 2 below [budget], if everybody may be told twice as much",
            )
        if window.number >= most:
            raise Refused(
                "no-more-windows",
                f"window {window.number} is open, and the policy allows {most}",
                "raise max_windows in the policy, which is put on record",
            )
        if number != window.number + 1:
            raise Refused(
                "not-the-next-window",
                f"window {window.number} is open, so that the next is {window.number + 1}, not {number}",
                f"if another one is wanted, open {window.number + 1}: each window lets the whole budget be spent again",
            )
        fields = window.next(most, state.grant.limits, state.spent, state.shares).fields()
        self._append("window", {**fields, "used": written(state.used()), "at": now(), "reason": reason})

    def ever(self, most: int | None) -> Amount:
        """What may ever be spent, in as many windows as the policy allows."""
        return self._newest.grant.ever(self._newest.window, most)

    # data and policies

    def advance_data(self, reason: str) -> int:
        """Begin a new data version; all versions share what was spent."""
        with self._held():
            fields = {"reason": reason, "at": now()}
            self._write(lambda: self._append("data", {"version": self._state.data + 1, **fields}))
            return self._state.data

    def _agree_on_policy(self, protected: str, name: str, document: Document | None) -> None:
        """Put the policy on record, if it is another than the one before, with what changed."""
        known = self._state.policy
        said: Record = {}
        if document is not None:
            digest = digest_of(document)
            if known is None or known[1] != digest:
                before = {} if known is None else _document(self._store, known[0])
                changed = {} if known is None else changes(before, document)
                said = {"policy": document, "digest": digest, "changes": changed}
        if said or self._state.protected != protected:
            self._append("epoch", {"protected": protected, "name": name, "at": now(), **said})

    # tokens and answers

    def note_token(self, act: str, name: str, role: str, analyst: str | None) -> None:
        """That a token was made or revoked, by its public name."""
        fields = {"act": act, "id": name, "role": role, "analyst": analyst, "at": now()}
        self._write(lambda: self._append("token", fields))

    def withdraw(self, charge: int, reason: str) -> None:
        """Let nobody read the answer to a charge any more. What it cost stays spent."""
        _demand_reason(reason)
        self._write(lambda: self._withdraw(charge, reason))

    def _withdraw(self, charge: int, reason: str) -> None:
        if charge in self._state.withdrawn:
            raise Refused("answer-gone", f"the answer to charge {charge} was withdrawn before", "nothing is left to do")
        pair = self._store.reader.pair(charge)
        if pair is None:
            raise Refused("unknown-answer", f"charge {charge} has no answer", "see `discreet ledger show`")
        record = decode(charge, pair[0][1])
        said = {"withdrawn": reason, "analyst": record["analyst"], "at": now()}
        digest = hashlib.sha256(b"").hexdigest()
        self._append("answer", {"charge": charge, "digest": digest, **said}, record["plan"], b"")

    def retain(self, limits: Limits, reason: str) -> Retained:
        """Erase texts and answers that are too old, on the record. What was spent, and every hash, stays."""
        with self._held():
            done = NOTHING

            def erase() -> None:
                nonlocal done
                act = Erasing.of(self._store.rows(), limits, self._state.partitions)
                lines, texts, answers = act.lines()
                if not lines:
                    return
                for number, line in lines.items():
                    self._store.erase(number, line)
                for number, line in act.unfiled.items():
                    self._store.erase(number, line, b"")
                moments = {"questions": limits.questions, "answers": limits.answers}
                said = {key: None if moment is None else moment.isoformat() for key, moment in moments.items()}
                records = {str(number): digest_of_line(line) for number, line in lines.items()}
                counts = {"texts": texts, "gone": answers}
                self._append("erased", {**said, **counts, "records": records, "reason": reason, "at": now()})
                done = Retained(texts, answers, records=len(lines))

            self._write(erase)
            return done if done == NOTHING else replace(done, gone=self._store.compact())

    def withdrawn(self, charge: int) -> bool:
        """Whether the owner withdrew the answer to a charge."""
        return charge in self._newest.withdrawn


def _document(store: Store, number: int) -> Document:
    """The policy in a record that the state knows of."""
    ((_, line, _),) = store.rows(number, number)
    document: Document = decode(number, line)["policy"]
    return document


def _demand_reason(reason: str) -> None:
    if not reason.strip() or len(reason) > MAX_REASON:
        raise Refused(
            "reason-missing", f"this is put on record with a reason of 1 to {MAX_REASON} characters", 'write --why "…"'
        )


def shown(grant: Grant) -> str:
    delta = "" if grant.delta is None else f", delta {float(grant.delta):g}"
    return f"epsilon {float(grant.epsilon):g}{delta}"
