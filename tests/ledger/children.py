"""Scenarios that need processes of their own: they fork, kill, forbid and fill, and print what they found as JSON.

`python -m tests.ledger.children SCENARIO ARGUMENT…`. When a scenario forks, nothing is open and no thread lives, unless
that is what it is about.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

from discreet import ledger as package
from discreet.accounting import Pure
from discreet.accounting.record import BlockNames, PartName
from discreet.errors import BudgetExhausted, Refused
from discreet.ledger import Charge, LedgerError, verify
from discreet.ledger.sqlite.files import beside
from discreet.ledger.sqlite.store import Sqlite
from tests.ledger.helpers import CENT, answers, every_act, opened, spend, store_of
from tests.ledger.helpers import child as elsewhere

Scenario = Callable[..., object]
SCENARIOS: Final[dict[str, Scenario]] = {}


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__] = function
    return function


def forked(body: Callable[[Callable[[str], None]], object]) -> tuple[int, int]:
    """Run the body in a child; its number, and the end of a pipe with what it says."""
    reader, writer = os.pipe()
    number = os.fork()
    if number:
        os.close(writer)
        return number, reader
    os.close(reader)
    try:
        body(lambda text: _say(writer, text))
        os._exit(0)
    except BaseException as error:
        _say(writer, f"! {type(error).__name__}: {error}")
        os._exit(1)


def _say(writer: int, text: str) -> None:
    os.write(writer, text.replace("\n", " ").encode() + b"\n")


def heard(number: int, reader: int) -> tuple[list[str], int]:
    """What the child said until it ended, and how it ended (minus the signal)."""
    with os.fdopen(reader) as pipe:
        said = pipe.read().splitlines()
    _, status = os.waitpid(number, 0)
    return said, os.waitstatus_to_exitcode(status)


# many processes


@scenario
def spend_together(path: Path, processes: str, times: str, limit: str) -> object:
    """Processes that open the ledger for themselves and spend one hundredth each time, until refused."""
    grant = package.Grant.of(Fraction(limit), None)

    def body(say: Callable[[str], None]) -> None:
        with opened(path, grant) as ledger:
            for _ in range(int(times)):
                try:
                    say(spend(ledger))
                except BudgetExhausted:
                    say("refused")

    return _ends([forked(body) for _ in range(int(processes))])


def _ends(children: list[tuple[int, int]]) -> object:
    """What processes that spent have said."""
    ends = [heard(*child) for child in children]
    lines = [line for said, _ in ends for line in said]
    return {
        "receipts": [line for line in lines if ":" in line and line[0].isdecimal()],
        "refused": lines.count("refused"),
        "failed": [line for line in lines if line.startswith("!")],
        "codes": sorted({code for _, code in ends}),
    }


@scenario
def spend_on_parts(path: Path, processes: str, times: str, limit: str) -> object:
    """The same with quarters for the parts of a partition, by turns; each of them begins with another."""
    grant = package.Grant.of(Fraction(limit), None)

    def body(say: Callable[[str], None], first: int) -> None:
        with opened(path, grant) as ledger:
            for turn in range(int(times)):
                part = ("A", "B", "C", "all")[(first + turn) % 4]
                name = None if part == "all" else PartName("q", part, 2)
                try:
                    say(spend(ledger, Pure(Fraction(1, 4)), why=part, part=name))
                except BudgetExhausted:
                    say("refused")

    return _ends([forked(partial(body, first=first)) for first in range(int(processes))])


@scenario
def blocks_together(path: Path, processes: str, kills: str) -> object:
    """Processes that declare one stream, open its days, ask about them and retire them; killed at random times."""
    grant = package.Grant.of(Fraction(100), None)

    def work(say: Callable[[str], None], ledger: package.Ledger, first: int) -> None:
        ledger.declare_stream("rides", Pure(1), 2)
        for turn in range(10**6):
            try:
                number = ledger.open_block("rides", f"{os.getpid()} {first} {turn}", f"day {turn}")
            except LedgerError:  # another process was first
                number = turn
            names = BlockNames.of("rides", range(max(0, number - (first + turn) % 5), number + 1))
            charge = ledger.charge(Pure(Fraction(1, 1 + (first + turn) % 3)), why="q", blocks=names)
            with suppress(Refused), charge:
                say(charge.receipt)
            if turn % 7 == 6:
                ledger.retire("rides", turn - 5, "old")

    def body(say: Callable[[str], None]) -> None:
        ledger = opened(path, grant)
        threads = [threading.Thread(target=work, args=(say, ledger, first), daemon=True) for first in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        raise AssertionError("nobody ends by itself")

    lines: list[str] = []
    running = [forked(body) for _ in range(int(processes))]
    for index in range(int(kills)):
        number, reader = running.pop(0)
        begun = os.read(reader, 1).decode()  # it has charged something
        time.sleep(int.from_bytes(os.urandom(2)) / 2**16 * 0.1)
        os.kill(number, signal.SIGKILL)
        lines += (begun + "\n".join(heard(number, reader)[0])).splitlines()
        if index < int(kills) - int(processes):
            running.append(forked(body))
    said = {failed: [line for line in lines if line.startswith("!") is failed] for failed in (False, True)}
    return {"receipts": said[False], "failed": said[True]}


# kill −9


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def at_size(point: int) -> None:
    """Die inside the write that would make a file longer than so many bytes; what fits is written."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (point, point))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def at_statement(point: int) -> None:
    """Die before the k-th statement that SQLite runs, or when the k-th transaction has begun or is committed."""
    left = [point]

    def count(*_: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            die()

    connect, unmoved = Sqlite._connect, Sqlite._unmoved

    def watched(self: Sqlite) -> Any:
        connection = connect(self)
        connection.set_trace_callback(count)
        return connection

    def watched_unmoved(self: Sqlite) -> None:
        count()
        unmoved(self)

    Sqlite._connect, Sqlite._unmoved = watched, watched_unmoved  # type: ignore[method-assign]


def at_line(point: int) -> None:
    """Die before the k-th line that runs in the package: between any two things that it does."""
    left, folder = [point], str(Path(package.__file__).parent)

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(folder):
            return None
        if event == "line":
            left[0] -= 1
            if left[0] < 0:
                die()
        return trace

    sys.settrace(trace)


def at_time(point: int) -> None:
    """Die after so many microseconds, wherever that is."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, point / 1_000_000)


POINTS: Final = {"creation": at_size, "growth": at_size, "statement": at_statement, "line": at_line, "time": at_time}


def victim(path: Path, times: int, threads: int, say: Callable[[str], None], once_open: Callable[[], None]) -> None:
    """Spend, say the receipt where the answer would be drawn, keep the answer; checkpoint every few pages."""
    ledger = opened(path)
    store_of(ledger)._connection.execute("PRAGMA wal_autocheckpoint = 8")
    once_open()

    def work() -> None:
        for _ in range(times):
            charge = ledger.charge(CENT, why="SELECT COUNT(*) FROM patients", plan="p")
            with charge:
                say(charge.receipt)
                charge.keep(b"answer" * 300)

    workers = [threading.Thread(target=work) for _ in range(threads - 1)]
    for worker in workers:
        worker.start()
    work()
    for worker in workers:
        worker.join()
    ledger.close()


@scenario
def kill(path: Path, way: str, times: str, threads: str, *points: str) -> object:
    """Kill a process at each of the points; each time in a ledger of its own, which must then hold what was seen."""
    killed = charges = 0
    for point in map(int, points):
        place = path.with_name(f"{way}-{point}.sqlite")

        def body(say: Callable[[str], None], place: Path = place, point: int = point) -> None:
            begin = partial(POINTS[way], point)
            if way == "growth":
                victim(place, int(times), int(threads), say, begin)
            else:
                begin()
                victim(place, int(times), int(threads), say, lambda: None)

        said, code = heard(*forked(body))
        killed += code < 0
        assert code <= 0, said
        assert code == 0 or -code in (signal.SIGKILL, signal.SIGXFSZ, signal.SIGALRM), code
        charges += survived(place, said, most=len(said) + int(threads))
    return {"points": len(points), "killed": killed, "charges": charges}


@scenario
def kill_streams(path: Path, way: str, *points: str) -> object:
    """Kill a process that declares a stream, opens blocks, asks and retires, at each of the points; then go on."""
    killed = 0
    for point in map(int, points):
        ledger_path = path.with_name(f"{way}-{point}.sqlite")

        def body(say: Callable[[str], None], ledger_path: Path = ledger_path, point: int = point) -> None:
            POINTS[way](point)
            stream_of_days(ledger_path, say)

        said, code = heard(*forked(body))
        killed += code < 0
        assert code <= 0, said
        if ledger_path.exists():
            assert verify(ledger_path, said).problems == (), (point, verify(ledger_path, said).problems)
        stream_of_days(ledger_path, said.append)
        assert verify(ledger_path, said).problems == ()
        with opened(ledger_path) as ledger:
            stands = ledger.stream("rides")
            numbers = {entry.number for entry in ledger.entries()}
            assert {int(receipt.partition(":")[0]) for receipt in said} <= numbers
            assert (stands.labels, stands.first, ledger.balance().spent.epsilon) == (("day 0", "day 1", "day 2"), 1, 3)
            assert all(line[0] <= 10**24 for line in stands.lines)
    return {"points": len(points), "killed": killed}


def stream_of_days(path: Path, say: Callable[[str], None]) -> None:
    """Three days that are opened and asked about, also where somebody died doing the same."""
    with opened(path) as ledger:
        ledger.declare_stream("rides", Pure(1), 3)
        for number in range(3):
            assert ledger.open_block("rides", f"file {number}", f"day {number}") == number
            charge = ledger.charge(Pure(Fraction(1, 8)), why="q", blocks=BlockNames.of("rides", [number]))
            with suppress(Refused), charge:
                say(charge.receipt)
        ledger.retire("rides", 1, "old")


@scenario
def end_well(path: Path, times: str) -> object:
    """The same, to be killed from outside; each receipt is a line."""
    victim(path, int(times), 1, lambda text: print(text, flush=True), lambda: None)
    return "done"


def survived(path: Path, receipts: list[str], most: int) -> int:
    """Every charge that was seen is there, what is there adds up, and one can go on spending."""
    if path.exists():
        report = verify(path, receipts)
        assert report.sound, (path, report.problems)
    assert path.exists() or not receipts
    with opened(path) as ledger:
        entries = ledger.entries()
        assert {int(receipt.partition(":")[0]) for receipt in receipts} <= {entry.number for entry in entries}
        assert len(receipts) <= len(entries) <= most, (path, len(receipts), len(entries))
        assert Fraction(str(ledger.balance().spent.epsilon)) == len(entries) * CENT.epsilon
        answered = sum(entry.answered for entry in entries)
        assert len(answers(ledger, "p")) == answered <= len(receipts)
        last = spend(ledger)
    assert verify(path, [*receipts, last]).problems == ()
    assert not beside(path, "-wal").exists()
    return len(entries)


@scenario
def kill_together(path: Path, processes: str, kills: str) -> object:
    """Processes on one ledger, killed at random times and replaced by others: nothing that was seen is lost.

    Every other one has charged something by then, however slow the machine is.
    """
    seen: list[str] = []
    running: list[tuple[int, int]] = []

    def body(say: Callable[[str], None]) -> None:
        victim(path, 10**6, 1, say, lambda: None)

    for index in range(int(kills)):
        while len(running) < int(processes):
            running.append(forked(body))
        time.sleep(0.02 + int.from_bytes(os.urandom(2)) / 2**16 * 0.05)
        number, reader = running.pop(index % len(running))
        if index % 2 == 0:
            select.select([reader], [], [])
        os.kill(number, signal.SIGKILL)
        said, code = heard(number, reader)
        assert code == -signal.SIGKILL, said
        seen += said
    for number, reader in running:
        os.kill(number, signal.SIGKILL)
        seen += heard(number, reader)[0]
    charges = survived(path, seen, most=len(seen) + int(kills) + len(running))
    return {"seen": len(seen), "charges": charges}


@scenario
def unfinished(path: Path, charges: str, keep: str) -> object:
    """Spend and end without closing: the last changes are in the WAL only."""
    ledger = opened(path)
    answer = b"answer" * 100 if keep == "keep" else None
    print(json.dumps([spend(ledger, plan="p", answer=answer) for _ in range(int(charges))]), flush=True)
    os._exit(0)


# a disk that does not take it


@scenario
def file_limit(path: Path, size: str) -> object:
    """Files may not grow beyond the size: writes fail instead of killing."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.RLIM_INFINITY))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    return until_it_fails(path, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2))


@scenario
def small_disk(folder: Path) -> object:
    """The ledger and something else fill the disk; later the other thing goes away."""
    other = folder / "other"
    other.write_bytes(bytes(300_000))
    return until_it_fails(folder / "ledger.sqlite", other.unlink)


def until_it_fails(path: Path, relieve: Callable[[], object]) -> object:
    seen: list[str] = []
    bodies = 0
    message = ""
    ledger = opened(path)
    while not message:
        charge = ledger.charge(CENT, why="x" * 1000)
        try:
            with charge:
                bodies += 1
                seen.append(charge.receipt)
        except LedgerError as error:
            message = str(error)
    failures = 0
    for _ in range(5):
        try:
            with ledger.charge(CENT, why="x" * 100_000):
                bodies += 1
        except LedgerError:
            failures += 1
    relieve()
    seen += [spend(ledger), spend(ledger)]
    spent = ledger.balance().spent.epsilon
    ledger.close()
    report = verify(path, seen)
    return {
        "message": message,
        "failures": failures,
        "bodies": bodies,
        "seen": len(seen),
        "charges": report.charges,
        "spent": spent,
        "problems": report.problems,
    }


@scenario
def full_from_the_start(path: Path, size: str) -> object:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    return attempts(path)


@scenario
def refused_by_the_system(path: Path, user: str) -> object:
    """Try to open and to verify where nothing can be written: another user, or a disk that is mounted to be read."""
    if int(user):
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    return attempts(path)


def attempts(path: Path) -> object:
    found = []
    acts: list[Callable[[], object]] = [
        lambda: spend(opened(path)),
        lambda: verify(path),
        lambda: package.back_up(path, beside(path, ".backup")),
    ]
    for act in acts:
        try:
            found.append(f"done: {act()}")
        except LedgerError as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


# forks


def say_refusals(acts: Sequence[Callable[[], object]], ledger: package.Ledger, say: Callable[[str], None]) -> None:
    """What a child is told, act by act, and that it could close what it was refused."""
    for act in acts:
        try:
            act()
        except LedgerError as error:
            say(str(error))
    ledger.close()
    say("closed")


@scenario
def fork_and_use(path: Path) -> object:
    """A child uses what its parent opened: every way is refused, and the parent goes on."""
    ledger = opened(path)
    seen = [spend(ledger)]
    waiting = ledger.charge(CENT, why="made before the fork")

    def body(say: Callable[[str], None]) -> None:
        acts = every_act(ledger, waiting)
        acts += [lambda: opened(path), lambda: verify(path), lambda: package.back_up(path, beside(path, ".backup"))]
        say_refusals(acts, ledger, say)

    said, code = heard(*forked(body))
    seen.append(spend(ledger))
    seen += [elsewhere("keep_one", path, "p", "42"), spend(ledger)]
    with waiting:
        seen.append(waiting.receipt)
    ledger.close()
    report = verify(path, seen)
    return {"said": said, "code": code, "charges": report.charges, "problems": report.problems}


@scenario
def fork_after_closing(path: Path) -> object:
    ledger = opened(path)
    seen = [spend(ledger)]
    ledger.close()
    said, code = heard(*forked(lambda say: say(spend(opened(path)))))
    with opened(path) as ledger:
        seen += [*said, spend(ledger)]
    report = verify(path, seen)
    return {"code": code, "charges": report.charges, "problems": report.problems}


@scenario
def fork_while_locked(path: Path) -> object:
    """The lock of the ledger is taken by another thread when the process forks: the child must not wait for ever."""
    ledger = opened(path)
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with ledger._lock:
            taken.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()

    def body(say: Callable[[str], None]) -> None:
        signal.alarm(20)
        say_refusals([lambda: spend(ledger), ledger.balance, ledger.entries], ledger, say)

    said, code = heard(*forked(body))
    done.set()
    thread.join()
    ledger.close()
    return {"said": said, "code": code}


@scenario
def fork_and_end(path: Path) -> object:
    """A child that ends in the ordinary way, long after its parent closed, touches nothing that others wrote since."""
    ledger = opened(path)
    seen = [spend(ledger)]
    reader, writer = os.pipe()
    number = os.fork()
    if not number:
        os.close(writer)
        os.read(reader, 1)
        del ledger
        sys.exit(0)
    ledger.close()

    def body(say: Callable[[str], None]) -> None:
        say(spend(opened(path)))
        die()

    said, code = heard(*forked(body))
    seen += said
    os.close(writer)
    _, status = os.waitpid(number, 0)
    report = verify(path, seen)
    return {"codes": [code, os.waitstatus_to_exitcode(status)], "charges": report.charges, "problems": report.problems}


@scenario
def other_closes(path: Path) -> object:
    """While a ledger is open here, verify it here; another process then opens, spends and closes; go on spending."""
    opened(path).close()
    ledger = opened(path)
    seen = [spend(ledger)]
    during = verify(path, seen)
    seen += [elsewhere("keep_one", path, "p", "42"), spend(ledger)]
    return {"during": during.problems, "later": elsewhere("check", path, *seen)}


@scenario
def check(path: Path, *receipts: str) -> object:
    return verify(path, receipts).problems


# spending and keeping


@scenario
def keep_one(path: Path, plan: str, answer: str) -> object:
    with opened(path) as ledger:
        return spend(ledger, plan=plan, answer=answer.encode())


@scenario
def charge_and_die(path: Path, plan: str) -> object:
    def body(say: Callable[[str], None]) -> None:
        charge: Charge = opened(path).charge(Pure(1), why="never answered", plan=plan)
        with charge:
            say(charge.receipt)
            die()

    said, code = heard(*forked(body))
    return {"said": said, "code": code}


def main(name: str, path: str, *arguments: str) -> None:
    found = SCENARIOS[name](Path(path), *arguments)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
