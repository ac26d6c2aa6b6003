"""Several processes that run the tests, forked from the one that has collected them: `pytest --workers 3`.

To import and to collect all tests takes twelve seconds of the processor, and to compile them as much again. It is done
once: a worker begins with everything. Each has a range of the tests, in their order, and takes the next one from it.
Whose range is empty takes half of the longest, cut where a file begins if it can be, so that what the tests of a file
share is built once. A test whose process dies fails, and another process goes on with what is left.
"""

from __future__ import annotations

import atexit
import fcntl
import mmap
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, NoReturn

import pytest
from _pytest.runner import runtestprotocol

from tests.budget import NAME, Budget

NONE: Final = -1
TASKS: Final = Path("/proc/self/task")
"""The threads of this process, those of libraries too, where the system tells."""
BETWEEN: Final = 0.2
"""Seconds between two messages of a worker whose tests pass."""
PATIENCE: Final = 1.0
"""Seconds until a silent worker is looked after: what its tests have started may hold its pipe open."""


def threads() -> list[str]:
    """The other threads of this process, where the system tells; without those that are started again by themselves."""
    names = [
        (task / "comm").read_text(encoding="utf-8").strip() for task in TASKS.glob("*") if int(task.name) != os.getpid()
    ]
    return [name for name in names if name != "jemalloc_bg_thd"]  # pyarrow's


class Row(NamedTuple):
    """What a worker has to do: from where to where, which test it runs and which comes next."""

    begin: int
    end: int
    current: int = NONE
    following: int = NONE

    @property
    def is_busy(self) -> bool:
        """A worker that had nothing left may have taken what another left when it died."""
        return self.current != NONE or self.following != NONE


class Ranges:
    """Which tests are left for whom, in memory that all workers see."""

    def __init__(self, files: Sequence[object], workers: int) -> None:
        self.files = files
        self.workers = workers
        self.cells = memoryview(mmap.mmap(-1, 8 * len(Row._fields) * workers)).cast("q")
        self.guard: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # as long as there are workers
        for worker in range(workers):
            self[worker] = Row(len(files) * worker // workers, len(files) * (worker + 1) // workers)

    def __getitem__(self, worker: int) -> Row:
        width = len(Row._fields)
        return Row(*self.cells[width * worker : width * (worker + 1)])

    def __setitem__(self, worker: int, row: Row) -> None:
        for place, number in enumerate(row, len(Row._fields) * worker):
            self.cells[place] = number

    @contextmanager
    def locked(self) -> Iterator[None]:
        """By one process at a time; who dies holds nothing."""
        fcntl.lockf(self.guard, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self.guard, fcntl.LOCK_UN)

    def advance(self, worker: int) -> Row:
        """The test that came next is now run, and another is taken: its own next one, or another worker's."""
        with self.locked():
            begin, end, _, current = self[worker]
            if begin == end:
                begin, end = self._taken()
            taken, begin = (begin, begin + 1) if begin < end else (NONE, begin)
            self[worker] = Row(begin, end, current, taken)
            return self[worker]

    def _taken(self) -> tuple[int, int]:
        richest = max(range(self.workers), key=lambda worker: self[worker].end - self[worker].begin)
        begin, end, *others = self[richest]
        middle = self.cut(begin, end)
        self[richest] = Row(begin, middle, *others)
        return middle, end

    def cut(self, begin: int, end: int) -> int:
        """Where a range is divided: where a file begins, if it does in its middle half."""
        middle, far = (begin + end) // 2, (end - begin) // 4
        near = (middle + side * step for step in range(far) for side in (-1, 1))
        return next((place for place in near if self.files[place - 1] != self.files[place]), middle)

    def stop(self) -> None:
        """Nobody takes another test."""
        with self.locked():
            for worker in range(self.workers):
                self[worker] = Row(0, 0, self[worker].current)

    def died(self, worker: int) -> int:
        """Which test it ran; what it would have run next is in its range again."""
        with self.locked():
            begin, end, current, following = self[worker]
            self[worker] = Row(begin if following == NONE else following, end)
            return current


@dataclass(frozen=True, slots=True)
class Last:
    """The last that a worker says: what its tests took of the processor, or why it could not go on."""

    spent: dict[str, float]
    error: str = ""


class Told:
    """Sends what became of tests: at once what failed, now and then what passed."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe
        self.waiting: list[dict[str, Any]] = []
        self.sent = time.monotonic()

    def add(self, reports: list[dict[str, Any]], *, urgent: bool) -> None:
        self.waiting += reports
        if urgent or time.monotonic() > self.sent + BETWEEN:
            self.flush()

    def flush(self, last: Last | None = None) -> None:
        self.pipe.send((self.waiting, last))
        self.waiting, self.sent = [], time.monotonic()


class Worker:
    """Runs tests in a process of its own; a plugin there."""

    def __init__(self, session: pytest.Session, ranges: Ranges, number: int, pipe: Connection) -> None:
        self.session = session
        self.ranges = ranges
        self.number = number
        self.told = Told(pipe)
        self.every_phase = session.config.option.durations is not None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Setting up and tearing down are told where they do not pass, or where somebody lists what took longest."""
        config = item.config
        reports = [
            report
            for report in runtestprotocol(item, log=False, nextitem=nextitem)
            if report.when == "call" or not report.passed or self.every_phase
        ]
        told = [config.hook.pytest_report_to_serializable(config=config, report=report) for report in reports]
        self.told.add(told, urgent=not all(report.passed for report in reports))
        return True

    def run(self) -> NoReturn:
        """All tests that it can have; then the process ends."""
        self._begin()
        try:
            self._all()
            self.told.flush(Last(self._spent()))
        except BrokenPipeError:  # nobody listens any more
            pass
        except BaseException:
            self.told.flush(Last(self._spent(), traceback.format_exc()))
        finally:
            atexit._run_exitfuncs()
            os._exit(0)

    def _begin(self) -> None:
        """What must not be shared with the others: exits, temporary folders, what is captured, dice."""
        config = self.session.config
        atexit._clear()
        random.seed()
        factory = config._tmp_path_factory  # type: ignore[attr-defined]
        factory._basetemp = factory.getbasetemp() / f"worker-{self.number}-{os.getpid()}"
        factory._basetemp.mkdir(mode=0o700)
        if capture := config.pluginmanager.get_plugin("capturemanager"):
            capture.stop_global_capturing()
            capture.start_global_capturing()
            capture.suspend_global_capture()
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(self)

    def _all(self) -> None:
        items, hook = self.session.items, self.session.config.hook
        self.ranges.advance(self.number)
        while (row := self.ranges.advance(self.number)).is_busy:
            following = None if row.following == NONE else items[row.following]
            if row.current != NONE:
                hook.pytest_runtest_protocol(item=items[row.current], nextitem=following)
        self.session._setupstate.teardown_exact(None)  # where the next one was taken back

    def _spent(self) -> dict[str, float]:
        budget = self.session.config.pluginmanager.get_plugin(NAME)
        return budget.finished() if isinstance(budget, Budget) else {}


@dataclass(frozen=True, slots=True)
class Forked:
    """A worker, from outside."""

    process: int
    pipe: Connection

    def ended(self) -> int | None:
        """How it ended, below 0 by which signal; None if it goes on."""
        process, status = os.waitpid(self.process, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if process else None

    def messages(self) -> Iterator[tuple[list[dict[str, Any]], Last | None]]:
        """What it has said since."""
        try:
            while self.pipe.poll():
                yield self.pipe.recv()
        except EOFError:
            return

    def end(self) -> None:
        self.pipe.close()
        os.kill(self.process, signal.SIGTERM)
        os.waitpid(self.process, 0)


class Workers:
    """A plugin of the process that has collected: it starts workers, and says what they tell."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.ends: list[float] = []
        """When each of them had nothing left."""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """How long one worker ran alone at the end: then the other processors had nothing to do."""
        *_, before, last = [0.0, 0.0, *sorted(self.ends)]
        if len(self.ends) > 1:
            terminalreporter.write_line(f"the last of {len(self.ends)} workers ran alone for {last - before:.0f} s")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            return None  # as without workers
        if others := threads():
            pytest.exit(f"threads of imported tests would be missing in workers: {others}; start none on import", 1)
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        ranges = Ranges([item.path for item in session.items], self.workers)
        running = {number: self._forked(session, ranges, number) for number in range(self.workers)}
        try:
            while running:
                wait([worker.pipe for worker in running.values()], PATIENCE)
                for number in list(running):
                    self._listen(session, ranges, running, number)
        finally:
            for worker in running.values():
                worker.end()
            ranges.guard.close()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        return True

    def _forked(self, session: pytest.Session, ranges: Ranges, number: int) -> Forked:
        reading, writing = Pipe(duplex=False)
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if not process:
            reading.close()
            Worker(session, ranges, number, writing).run()
        writing.close()
        return Forked(process, reading)

    def _listen(self, session: pytest.Session, ranges: Ranges, running: dict[int, Forked], number: int) -> None:
        """To one of them: it goes on, has ended, or has died, and then another takes its place."""
        worker = running[number]
        status = worker.ended()
        last = None
        for reports, last in worker.messages():  # noqa: B007  # the last of them
            self._tell(session, reports)
        if session.shouldfail or session.shouldstop:
            ranges.stop()
        if last is None and status is None:
            return
        del running[number]
        worker.pipe.close()
        if last is not None:
            if status is None:
                os.waitpid(worker.process, 0)
            self._ended(session, last)
        else:
            self._died(session, ranges.died(number), status)
            running[number] = self._forked(session, ranges, number)

    def _tell(self, session: pytest.Session, reports: list[dict[str, Any]]) -> None:
        config = session.config
        for told in reports:
            report = config.hook.pytest_report_from_serializable(config=config, data=told)
            config.hook.pytest_runtest_logreport(report=report)

    def _ended(self, session: pytest.Session, last: Last) -> None:
        self.ends.append(time.monotonic())
        if last.error:
            raise RuntimeError(f"a worker could not go on:\n{last.error}")
        budget = session.config.pluginmanager.get_plugin(NAME)
        if isinstance(budget, Budget):
            budget.add(last.spent)

    def _died(self, session: pytest.Session, test: int, status: int | None) -> None:
        if test == NONE:
            raise RuntimeError("a worker died while it ran no test")
        item = session.items[test]
        said = f"its process died with {status}; what tests before it within a fifth of a second came to may be missing"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call")
        session.config.hook.pytest_runtest_logreport(report=report)
