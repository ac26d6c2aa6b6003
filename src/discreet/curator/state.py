"""A policy's state: its ledger, and what may be spent. Whoever looks at it waits for no engine to be imported."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from discreet.accounting.balance import Balance
from discreet.accounting.record import Entry, Event
from discreet.accounting.stream import StreamStanding
from discreet.curator.formats import demand_known
from discreet.errors import Refused
from discreet.ledger import Acceptance, Grant, Ledger, LedgerError, Marks, Report, Store
from discreet.ledger.acts import Document
from discreet.ledger.codec import Record
from discreet.ledger.homes import Home, InDatabase, InFile
from discreet.ledger.windows import FIRST
from discreet.policy import Policy, protected
from discreet.policy.databases import is_address
from discreet.policy.sources import source_files, unusable

LEDGER: Final = "ledger.sqlite"
SPILL: Final = "spill"
"""What engines wrote that had too little memory (`engines.connection`, which takes long to import)."""
AnyLedger = TypeVar("AnyLedger", bound=Ledger)


class AcceptedLedger(Ledger):
    """A ledger of which what is on record counts, whatever the policy says.

    Both are compared inside the transaction that reads the record, so that no raise by somebody else is undone here.
    """

    def _agree(self, grant: Grant, protected: str, name: str, document: Document | None) -> None:
        state = self._state
        if state.head:
            grant, protected, document = state.grant, str(state.protected), None
        super()._agree(grant, protected, name, document)


class RecordedLedger(AcceptedLedger):
    """A ledger opened for looking: nothing is recorded."""

    def _accept(self, known: Record) -> None:
        """This host is not made to know it."""


def ledger_path(policy: Policy) -> Path:
    return policy.state / LEDGER


def home_of(policy: Policy) -> Home:
    """Where the policy's ledger is, or will begin."""
    if policy.ledger is None:
        return InFile(ledger_path(policy))
    from discreet.ledger.postgres import Address

    return InDatabase(Address(policy.ledger.login, policy.ledger.schema, policy.folder))


def home_at(policy: Policy, target: str, schema: str) -> Home:
    """Where somebody says that the policy's ledger shall be: the address of a database, or a state folder."""
    if is_address(target):
        from discreet.ledger.postgres.session import address_of

        return InDatabase(address_of(target, schema, policy.folder))
    return InFile(Path(target).absolute() / LEDGER)


def grant_of(policy: Policy) -> Grant:
    """What the policy file says may be spent; what counts is what the ledger has on record."""
    return Grant.of(policy.budget.epsilon, policy.budget.delta)


def ledger_over(store: Store, policy: Policy, kind: type[AnyLedger], *, document: Document | None = None) -> AnyLedger:
    """A ledger that grants what the policy says."""
    return kind(
        store,
        grant_of(policy),
        shares=policy.analysts,
        protected=protected(policy),
        name=policy.name,
        unit=policy.unit,
        document=document,
    )


def open_ledger(policy: Policy) -> Ledger:
    """The policy's ledger, begun now if there is none. Policy and ledger must say the same. Old spill is removed."""
    return _opened(policy, Marks.default())


def passing_ledger(policy: Policy) -> Ledger:
    """One that goes with its folder, over invented people: nobody misses it, so it has no high-water mark."""
    return _opened(policy, None)


def _opened(
    policy: Policy, marks: Marks | None, kind: type[Ledger] = Ledger, accept: Acceptance | None = None
) -> Ledger:
    _make_folder(policy)
    demand_known(policy.state)
    if kind is Ledger and (policy.state / SPILL).is_dir():  # whoever looks removes nothing
        from discreet.engines.connection import sweep

        sweep(policy.state)
    ledger = ledger_over(home_of(policy).store(marks, accept), policy, kind, document=policy.document or None)
    if kind is Ledger and policy.streams:
        from discreet.curator.streams import declare

        try:
            declare(policy, ledger)
        except BaseException:
            ledger.close()
            raise
    return ledger


def recorded_ledger(policy: Policy, accept: Acceptance | None = None) -> Ledger | None:
    """The ledger as it stands; None if there is none.

    A seal or a high-water mark alone means that one is gone: opening it tells.
    """
    marks = Marks.default()
    if not home_of(policy).is_begun(marks):
        return None
    return _opened(policy, marks, RecordedLedger if accept is None else AcceptedLedger, accept)


def recorded_grant(policy: Policy) -> Grant:
    """What may be spent as the ledger says; as the policy says, if there is no ledger yet."""
    ledger = recorded_ledger(policy)
    if ledger is None:
        return grant_of(policy)
    with ledger:
        return ledger.grant


def balances(policy: Policy, analyst: str | None = None) -> dict[str | None, Balance]:
    """What was granted, is spent and remains: of everybody (None) and of each analyst, or of one analyst alone."""
    if analyst is not None and analyst not in policy.analysts:
        known = ", ".join(sorted(policy.analysts)) or "there are none"
        raise Refused("unknown-analyst", f"{analyst!r} has no share in the policy", f"analysts: {known}")
    wanted = [None, *policy.analysts] if analyst is None else [analyst]
    ledger = recorded_ledger(policy)
    if ledger is None:
        return {who: _unspent(policy, who) for who in wanted}
    with ledger:
        return {who: ledger.balance(who) for who in wanted}


def lifetime(policy: Policy) -> Balance:
    """The balance of everybody over all windows: what may ever be spent in those the policy allows, and what is."""
    balance, most = balances(policy)[None], policy.budget.max_windows
    if balance.lifetime is None and (most or 1) == 1:
        return balance
    ledger = recorded_ledger(policy)
    if ledger is None:
        return replace(balance, total=grant_of(policy).ever(FIRST, most))
    with ledger:
        spent = balance.spent if balance.lifetime is None else balance.lifetime.spent
        return replace(balance, total=ledger.ever(most), spent=spent)


def _unspent(policy: Policy, analyst: str | None) -> Balance:
    grant = grant_of(policy)
    if analyst is None:
        return grant.balance(grant.limits, grant.nothing, policy.budget.epsilon)
    share = policy.analysts[analyst]
    return grant.balance(grant.share_limits(share), grant.nothing, grant.share_epsilon(share), of="share")


def entries(policy: Policy) -> list[Entry]:
    """The charges on record, oldest first; none if nothing was asked yet."""
    ledger = recorded_ledger(policy)
    if ledger is None:
        return []
    with ledger:
        return ledger.entries()


def events(policy: Policy) -> list[Event]:
    """What happened beside charges, oldest first; nothing if there is no ledger yet."""
    ledger = recorded_ledger(policy)
    if ledger is None:
        return []
    with ledger:
        return ledger.events()


def withdraw(policy: Policy, charge: int, reason: str) -> None:
    """Let nobody read the answer to a charge any more, on the record."""
    with _on_record(policy) as ledger:
        ledger.withdraw(charge, reason)


def note_token(policy: Policy, act: str, name: str, role: str, analyst: str | None) -> None:
    """Put on record that a token was made or revoked. A ledger begins with it, if there is none."""
    with _on_record(policy) as ledger:
        ledger.note_token(act, name, role, analyst)


def _on_record(policy: Policy) -> Ledger:
    """The ledger as it stands, whatever the policy says by now; begun if there is none."""
    return recorded_ledger(policy) or open_ledger(policy)


def streams(policy: Policy) -> dict[str, StreamStanding]:
    """How the streams on record stand; none if nothing is."""
    ledger = recorded_ledger(policy)
    if ledger is None:
        return {}
    with ledger:
        return {name: ledger.stream(name) for name in ledger.streams()}


def raise_budget(policy: Policy, reason: str) -> Grant:
    """Grant, on the record, what the policy file says now. Only more than before."""
    wanted, ledger = grant_of(policy), recorded_ledger(policy)
    if ledger is None:
        raise _no_raise(wanted, "no ledger yet")
    with ledger:
        if wanted.within(ledger.grant):
            raise _no_raise(wanted, f"{shown(ledger.grant)} on record")
        ledger.raise_budget(wanted, reason)
    return wanted


def lower_budget(policy: Policy, reason: str) -> Grant:
    """Grant, on the record, what the policy file says now: no more than before. Opening the ledger does it, too."""
    wanted, ledger = grant_of(policy), recorded_ledger(policy)
    if ledger is None:
        raise _no_raise(wanted, "no ledger yet")
    with ledger:
        if not wanted.within(ledger.grant):
            raise _no_raise(wanted, f"{shown(ledger.grant)} on record")
        ledger.raise_budget(wanted, reason)
    return wanted


def open_window(policy: Policy, number: int | None, reason: str) -> Balance:
    """Let the budget be spent again, on the record: for whoever has the policy and its state folder, and nobody else.

    Only the next window can be opened, so that a command that is repeated opens no second one.
    """
    with open_ledger(policy) as ledger:
        life = ledger.balance().lifetime
        now = 1 if life is None else life.window
        if number is None:
            raise Refused(
                "not-the-next-window",
                f"window {now} is open, and the command does not say which comes next",
                f"write --number {now + 1}: said twice, it opens no second one",
            )
        ledger.open_window(number, policy.budget.max_windows, reason)
        return ledger.balance()


def _no_raise(wanted: Grant, known: str) -> Refused:
    return Refused(
        "not-a-raise",
        f"the policy grants {shown(wanted)}, and there is {known}",
        "write the new budget into the policy first, then raise it",
    )


def back_up_ledger(policy: Policy, target: Path) -> Report:
    """Write a verified copy of the policy's ledger."""
    return home_of(policy).back_up(target)


def restore_ledger(policy: Policy, backup: Path, forget: str = "") -> Report:
    """Put a backup in the place of the policy's lost or damaged ledger; `forget` says why spending may be forgotten."""
    _make_folder(policy)
    return home_of(policy).restore(backup, forget=forget, marks=Marks.default())


def verify_ledger(policy: Policy, receipts: Iterable[str] = ()) -> Report:
    """Recompute the policy's ledger, and compare it with receipts and with this host's high-water mark."""
    return home_of(policy).verify(receipts, Marks.default())


def move_ledger(policy: Policy, target: Home) -> int:
    """Move the policy's ledger for good; how many records it has where it goes on. Run again, it is finished."""
    from discreet.ledger.moving import move

    if isinstance(target, InFile):
        _make_folder(replace(policy, state=target.path.parent))
    marks = Marks.default()
    return move(home_of(policy), target, lambda: _opened(policy, marks, AcceptedLedger), marks).head


def accept_ledger(policy: Policy, reason: str, *, forget: bool) -> Balance:
    """Open, on the record, a ledger that this host does not know or knew otherwise; what it says is spent counts."""
    ledger = recorded_ledger(policy, Acceptance(reason, forget))
    if ledger is None:
        raise LedgerError(f"there is no ledger at {home_of(policy)}", "the first question begins one")
    with ledger:
        return ledger.balance()


def shown(grant: Grant) -> str:
    """A budget in words."""
    delta = "" if grant.delta is None else f" with delta {float(grant.delta):g}"
    return f"epsilon {float(grant.epsilon):g}{delta}"


def _make_folder(policy: Policy) -> None:
    """The state folder, readable by its owner alone, and with nothing in it that is not state: it is deleted from."""
    folder = policy.state
    if unfit := unusable(folder) or unusable(folder.resolve()):
        raise LedgerError(f"the state folder {folder} {unfit}", 'name another with state = "…" in the policy')
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        here, mode = folder.resolve(), stat.S_IMODE(folder.stat().st_mode)
    except OSError as wrong:
        raise LedgerError(
            f"could not make the state folder {folder}: {wrong.strerror}",
            'make its parent writable, or name another with state = "…" in the policy',
        ) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise LedgerError(f"others may enter the state folder {folder}, where private rows lie", f"chmod 700 {folder}")
    for path in [policy.path, *source_files(policy)]:
        if path.resolve().is_relative_to(here):
            raise LedgerError(
                f"{path} lies in the state folder {folder}", 'name a folder for nothing else with state = "…"'
            )
