"""Curators in processes of their own over one ledger in PostgreSQL, killed with their server; and moves that die.

`python -m tests.ledger.crowds SCENARIO ARGUMENT…`: when it forks, nothing is open and no thread lives.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from discreet.accounting import Pure
from discreet.accounting.record import Key
from discreet.errors import BudgetExhausted
from discreet.ledger import Acceptance, Grant, Ledger, LedgerDamaged, LedgerError, Marks, Repeated
from discreet.ledger.homes import Home, InDatabase, InFile
from discreet.ledger.moving import move
from discreet.ledger.postgres import Address
from tests.ledger.helpers import CENT, spend
from tests.postgres import ledgers
from tests.postgres.cluster import Cluster, until

TEN: Final = Grant.of(Fraction(10), None)


def opened(home: Home, marks: Marks | None, grant: Grant = TEN, accept: Acceptance | None = None) -> Ledger:
    return Ledger(home.store(marks, accept), grant, shares={}, protected="p")


# many at once


class Crowd:
    """Processes that charge the same keys, each as often as it can, and say what they got bits for."""

    def __init__(self, cluster: Cluster, where: Address, charges: int) -> None:
        self._cluster, self._where, self._charges = cluster, where, charges
        self.grant = Grant.of(charges * CENT.epsilon, None)
        self._reader, self._writer = os.pipe()
        self._rest = b""
        self.running: set[int] = set()
        self.lines: list[str] = []

    def start(self) -> None:
        process = os.fork()
        if process:
            self.running.add(process)
            return
        try:
            self._spend()
            os._exit(0)
        except BaseException as error:
            self._say(f"! {type(error).__name__}: {error}")
            os._exit(1)

    def _say(self, text: str) -> None:
        os.write(self._writer, text.replace("\n", " ").encode() + b"\n")

    def _spend(self) -> None:
        """One key after the other, until the budget is spent; whatever is lost on the way is asked again."""
        turn, ledger = 0, self._open()
        while True:
            charge = ledger.charge(CENT, why="q", key=Key(f"key {turn}", "same"))
            try:
                with charge:
                    self._say(charge.receipt)
            except Repeated:
                pass
            except BudgetExhausted:
                return
            except LedgerDamaged:
                raise
            except LedgerError:
                continue
            turn += 1

    def _open(self) -> Ledger:
        for _ in range(1000):
            try:
                return opened(InDatabase(self._where), None, self.grant)
            except LedgerDamaged:
                raise
            except LedgerError:
                select.select([], [], [], 0.02)  # the server starts again
        raise AssertionError("there is no server")

    def hear(self, wait: float) -> list[str]:
        while select.select([self._reader], [], [], wait)[0]:
            *lines, self._rest = (self._rest + os.read(self._reader, 1 << 16)).split(b"\n")
            self.lines += [line.decode() for line in lines]
            wait = 0
        return self.lines

    def hear_more(self, count: int, besides: int = 0) -> None:
        """Wait until so many more charges were made, or all that the others will make."""
        wanted = len(self.lines) + count
        while len(self.hear(0.02)) < wanted and self.living() - {besides}:
            pass

    def living(self) -> set[int]:
        for process in list(self.running):
            if os.waitpid(process, os.WNOHANG)[0]:
                self.running.remove(process)
        return self.running

    def kill(self) -> None:
        """One of them; another comes in its place."""
        if self.living():
            process = random.choice(sorted(self.running))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            self.running.remove(process)
        self.start()

    def terminate(self) -> None:
        for process in self._backends()[:1]:
            self._cluster.run(f"SELECT pg_terminate_backend({process})")

    def kill_backend(self) -> None:
        """As the kernel does when memory is short: the server ends all others, and recovers."""
        for process in self._backends()[:1]:
            os.kill(process, signal.SIGKILL)
        until(self._answers)

    def crash(self) -> None:
        self._cluster.crash()

    def _answers(self) -> bool:
        try:
            return bool(self._cluster.value("SELECT 1"))
        except Exception:
            return False

    def _backends(self) -> list[int]:
        query = f"SELECT pid FROM pg_stat_activity WHERE usename = '{ledgers.ROLE}' ORDER BY random()"
        with self._cluster.connect() as connection:
            return [row[0] for row in connection.execute(query)]

    def live(self, many: int, rounds: int, acts: Sequence[Callable[[], None]]) -> list[str]:
        """So many of them, whom one thing after the other befalls until half is spent; what all of them said."""
        for _ in range(many):
            self.start()
        for number in range(rounds):
            self.hear_more(1 + self._charges // (2 * rounds))
            acts[number % len(acts)]()
        while self.living():
            self.hear(0.02)
        return self.hear(0)


def crowd(folder: str, port: str, schema: str, processes: str, charges: str, rounds: str) -> object:
    cluster = Cluster(Path(folder), int(port))
    where = ledgers.address(cluster, schema)
    them = Crowd(cluster, where, int(charges))
    said = them.live(int(processes), int(rounds), [them.kill, them.terminate, them.kill_backend, them.crash])
    return counted(said, InDatabase(where), them.grant)


def demand_whole(ends: dict[str, Any], charges: int) -> None:
    """Each key is charged once, and the budget spent to the last hundredth and not beyond."""
    print(ends)
    assert ends["failed"] == []
    assert ends["problems"] == []
    assert ends["charges"] == ends["keys"] == charges
    assert charges // 2 <= ends["receipts"] == ends["distinct"] <= charges
    assert (ends["spent"], ends["left"]) == (True, 0)


def counted(lines: list[str], home: InDatabase, grant: Grant) -> object:
    """What they said, beside what is in the journal."""
    receipts = [line for line in lines if line[0].isdecimal()]
    report = home.verify(receipts, None)
    with opened(home, None, grant) as ledger:
        keys = [json.loads(line).get("key") for _, line, _ in ledger._store.rows()]
        spent, left = ledger._newest.spent, ledger.balance().remaining.epsilon
    charged = [key for key in keys if key is not None]
    return {
        "receipts": len(receipts),
        "distinct": len(set(receipts)),
        "failed": [line for line in lines if line.startswith("!")],
        "problems": report.problems,
        "charges": report.charges,
        "keys": len(set(charged)) if len(charged) == report.charges else -1,
        "spent": spent == grant.limits,
        "left": left,
    }


# moves that die


def is_open(home: Home, marks: Marks | None) -> bool:
    """Whether charges are accepted there. Where nothing is yet, none are: what is begun there is another ledger."""
    journal = home.store(as_it_is=True)
    begun = journal.last() is not None
    journal.close()
    if not begun:
        return False
    try:
        with opened(home, marks) as ledger:
            spend(ledger, Pure(Fraction(1, 100)))
    except LedgerError as error:
        if "was moved to" not in str(error):
            raise
        return False
    return True


def moved(source: Home, target: Home, marks: Marks | None) -> int:
    return move(source, target, lambda: opened(source, marks), marks).head


def dies(body: Callable[[], object], after: int) -> int:
    """Run the body in a process that is gone after so many calls of the ledger's functions; how many there were."""
    reader, writer = os.pipe()
    process = os.fork()
    if process:
        os.close(writer)
        with os.fdopen(reader) as pipe:
            count = int(pipe.read() or after)
        os.waitpid(process, 0)
        return count
    calls = 0

    def profiled(frame: Any, *_: Any) -> None:
        nonlocal calls
        if "/discreet/ledger/" in frame.f_code.co_filename:
            calls += 1
            if calls == after:
                os._exit(9)

    try:
        sys.setprofile(profiled)
        body()
        sys.setprofile(None)
        os.write(writer, str(calls).encode())
    finally:
        os._exit(0)


def dying_moves(folder: str, port: str, place: str, outward: str, points: str) -> object:
    """Moves that die at points all over: never are two open, and each is finished by whoever runs it again."""
    cluster, marks = Cluster(Path(folder), int(port)), Marks(Path(place) / "marks")
    after, total, ends = 0, 0, list[list[bool]]()
    for point in range(int(points) + 1):
        files = Path(place) / str(point)
        files.mkdir()
        homes: list[Home] = [InFile(files / "ledger.sqlite"), InDatabase(ledgers.prepared(cluster))]
        old, new = homes if outward == "True" else reversed(homes)
        with opened(old, marks) as ledger:
            receipt = spend(ledger, Pure(1), answer=b"42", plan="p")
        calls = dies(lambda old=old, new=new: moved(old, new, marks), after)  # type: ignore[misc]
        total = total or calls
        ends.append([is_open(home, marks) for home in (old, new)])
        if not ends[-1][1]:
            moved(old, new, marks)
        assert [is_open(home, marks) for home in (old, new)] == [False, True]
        assert new.verify([receipt], marks).problems == ()
        after = 1 + total * (point + 1) // (int(points) + 1)
    return {"calls": total, "old": ends.count([True, False]), "new": ends.count([False, True]),
            "none": ends.count([False, False]), "two": ends.count([True, True])}  # fmt: skip


SCENARIOS: Final[dict[str, Callable[..., object]]] = {"crowd": crowd, "dying_moves": dying_moves}

if __name__ == "__main__":
    print(json.dumps(SCENARIOS[sys.argv[1]](*sys.argv[2:])))
