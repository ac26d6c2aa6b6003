"""Ledgers to test with, and hands that change their files behind discreet's back."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from discreet.accounting import Loss, Pure
from discreet.ledger import CachedAnswer, Grant, Ledger
from discreet.ledger.codec import GENESIS, Record, link
from discreet.ledger.sqlite.files import beside
from discreet.ledger.sqlite.store import Sqlite

ROOT: Final = Path(__file__).parents[2]
PURE: Final = Grant.of(Fraction(1000), None)
BOTH: Final = Grant.of(Fraction(3), Fraction(1, 10**6))
CENT: Final = Pure(Fraction(1, 100))
SHARES: Final = {"ann": Fraction(1), "bob": Fraction(2)}


def opened(
    path: Path, grant: Grant = PURE, *, shares: Mapping[str, Fraction] = SHARES, protected: str = "people"
) -> Ledger:
    return Ledger.open(path, grant, shares=shares, protected=protected, name="hospital")


def store_of(ledger: Ledger) -> Sqlite:
    assert isinstance(ledger._store, Sqlite)
    return ledger._store


def hurried(path: Path, grant: Grant = PURE, *, shares: Mapping[str, Fraction] = SHARES) -> Ledger:
    """A ledger that does not wait for the disk: for tests that need many entries and no durability."""
    ledger = opened(path, grant, shares=shares)
    store_of(ledger)._connection.execute("PRAGMA synchronous = OFF")
    return ledger


def every_act(ledger: Ledger, waiting: Any) -> list[Callable[[], object]]:
    """What somebody may ask of a ledger, with a charge that has not begun."""
    return [
        lambda: spend(ledger),
        waiting.__enter__,
        ledger.balance,
        ledger.entries,
        lambda: ledger.answer(3),
        lambda: ledger.data_version,
        lambda: ledger.advance_data("x"),
        lambda: ledger.raise_budget(PURE, "x"),
    ]


def spend(ledger: Ledger, loss: Loss = CENT, *, answer: bytes | None = None, **facts: Any) -> str:
    """One charge, and its answer if there is one; the receipt."""
    charge = ledger.charge(loss, **{"why": "SELECT COUNT(*) FROM patients", **facts})
    with charge:
        if answer is not None:
            charge.keep(answer)
    return charge.receipt


def answers(ledger: Ledger, plan: str) -> list[CachedAnswer]:
    """The cached answers for a plan, newest first."""
    numbers = [entry.number for entry in ledger.entries() if entry.plan == plan and entry.answered]
    return [kept for number in reversed(numbers) if (kept := ledger.answer(number)) is not None]


def filled(path: Path, charges: int) -> list[str]:
    """A closed ledger with charges of several people, half of them answered, and some acts of the owner; receipts."""
    with hurried(path, shares={"ann": Fraction(1000), "bob": Fraction(1000)}) as ledger:
        receipts = []
        for index in range(charges):
            answer = f"answer {index}".encode() if index % 2 else None
            who = (None, "ann", "bob")[index % 3]
            receipts.append(spend(ledger, why=f"SELECT {index}", analyst=who, plan=f"plan {index % 7}", answer=answer))
            if index % 50 == 10:
                ledger.advance_data("a new week")
    return receipts


def moved(source: Path, folder: Path, *, only: Iterable[str] = ("", "-wal", ".seal")) -> Path:
    """A copy of a ledger, with the files beside it, in another folder."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for ending in only:
        if beside(source, ending).exists():
            shutil.copyfile(beside(source, ending), folder / beside(source, ending).name)
    return folder / source.name


def change(path: Path, statement: str, values: Iterable[object] = ()) -> None:
    """Run a statement on a closed ledger, as somebody with the file can."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement, tuple(values))


def rows(path: Path) -> list[tuple[int, str, str, str | None, bytes | None]]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.execute("SELECT number, line, hash, plan, kept FROM journal ORDER BY number"))


def forge(path: Path, edit: Callable[[int, Record], None], *, seal: bool = False) -> None:
    """Edit the records and recompute the chain after them, as somebody who knows the format can."""
    digest = GENESIS
    with closing(sqlite3.connect(path)) as connection, connection:
        for number, line, *_ in rows(path):
            record = json.loads(line)
            edit(number, record)
            changed = json.dumps(record, sort_keys=True, separators=(",", ":"))
            digest = link(digest, changed)
            connection.execute("UPDATE journal SET line = ?, hash = ? WHERE number = ?", (changed, digest, number))
    if not seal:
        beside(path, ".seal").unlink(missing_ok=True)


def child(
    scenario: str, *arguments: object, timeout: float = 600, wrapped: Iterable[str] = (), module: str = "children"
) -> Any:
    """Run a scenario of `tests.ledger.children` in a process of its own; what it found."""
    command = [*wrapped, sys.executable, "-m", f"tests.ledger.{module}", scenario, *map(str, arguments)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])
