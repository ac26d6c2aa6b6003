"""How much of the processor each directory of tests takes, and whether that is more than it may.

A pytest plugin (`conftest.py` registers it). Counted is the time of the processor, not of the clock: that of the
process, its threads and its children, user and system, summed over pytest's workers. A busy machine
moves these figures a little, so that a directory over its budget (`budget.toml`) is said and fails nothing.

`python -m tests.budget` after `make test` on an idle machine makes what that run took, and a fifth more, the budget.
What took longer than a test of `make test` may is added to `long.txt`, whose tests run in `make test-long`.
"""

from __future__ import annotations

import json
import math
import os
import resource
import time
import tomllib
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[1]
BUDGETS: Final = ROOT / "tests" / "budget.toml"
SELDOM: Final = ROOT / "tests" / "seldom.toml"
LISTED: Final = ROOT / "tests" / "long.txt"
"""Tests that were measured and found long."""
LONGEST: Final = 0.2
"""Seconds of the processor that a form of a test in `make test` may take."""
OUTSIDE: Final = "collection"
"""What no test takes: starting, importing and collecting, in every worker."""
TOP: Final = 10
TICKS: Final = os.sysconf("SC_CLK_TCK")
BETWEEN: Final = 0.2
"""Seconds between two looks at the children that live: what they take within it counts for the test that ends it."""
KEPT: Final = "discreet/cpu"
"""Where the figures of every test of the last run are, in pytest's cache."""

NAME: Final = "discreet-budget"
"""What the plugin is called."""
SLOW: Final = pytest.mark.slow
LONG: Final = pytest.mark.long


def later(values: Iterable[Any], first: int = 1) -> list[Any]:
    """Parameters of which the first run always, and the others in `make test-slow` only."""
    return [value if place < first else pytest.param(value, marks=SLOW) for place, value in enumerate(values)]


def crossed(many: Iterable[Any], few: Sequence[Any]) -> list[Any]:
    """All pairs of parameters: in `make test` every one of the many with one of the few, each of these in turn."""
    return [
        pytest.param(
            *(one if isinstance(one, tuple) else (one,)), other, marks=() if place % len(few) == number else SLOW
        )
        for place, one in enumerate(many)
        for number, other in enumerate(few)
    ]


def seldom(items: Iterable[pytest.Item], table: Mapping[str, int]) -> None:
    """Marks forms of tests as long, of which one in so many runs in `make test`: across, as pairs are listed."""
    forms: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in filter(is_quick, items):
        forms[function(item)].append(item)
    for test, many in table.items():
        for place, item in enumerate(forms[test]):
            if (place + place // many) % many:
                item.add_marker(LONG)


def listed(items: Iterable[pytest.Item], names: Container[str]) -> None:
    """Marks tests as long that were measured and found so."""
    for item in items:
        if is_quick(item) and function(item) in names:
            item.add_marker(LONG)


def names_of(text: str) -> list[str]:
    """The tests of a list; lines that begin with # say what it is."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def found_long(tests: Mapping[str, float], spared: Container[str]) -> set[str]:
    """Tests whose forms take longer than they may, but for the spared ones, and those of spared files.

    The form that took longest is left out where there are others: it may have made what all of them share.
    """
    forms: defaultdict[str, list[float]] = defaultdict(list)
    for test, seconds in tests.items():
        if test != OUTSIDE and test.partition("::")[0] not in spared and _function(test) not in spared:
            forms[_function(test)].append(seconds)
    usual = {test: sorted(many)[: max(1, len(many) - 1)] for test, many in forms.items()}
    return {test for test, many in usual.items() if sum(many) >= LONGEST * len(many)}


def once(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The first form of each test that is neither long nor slow."""
    forms: dict[str, pytest.Item] = {}
    for item in filter(is_quick, items):
        forms.setdefault(function(item), item)
    return list(forms.values())


def is_quick(item: pytest.Item) -> bool:
    return not any(item.get_closest_marker(mark.name) for mark in (LONG, SLOW))


def function(item: pytest.Item) -> str:
    """The test that an item is a form of, as tables name it: `sql/test_a.py::test_b`."""
    return _function(item.nodeid)


def _function(test: str) -> str:
    return test.partition("[")[0].removeprefix("tests/")


def processor() -> float:
    """Seconds of the processor so far, of this process and of all that it started."""
    return _ended() + living()


def _ended() -> float:
    """Of this process, and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def living(process: str = "/proc/self") -> float:
    """Of the children that live (servers, browsers), where the system tells. It takes a millisecond."""
    try:
        threads = os.listdir(f"{process}/task")
    except OSError:  # it has ended meanwhile
        return 0.0
    found = 0.0
    for thread in threads:
        for number in _text(f"{process}/task/{thread}/children").split():
            ticks = _text(f"/proc/{number}/stat").rpartition(")")[2].split()[11:15]
            found += sum(map(int, ticks)) / TICKS + living(f"/proc/{number}")
    return found


def _has_children() -> bool:
    """Whether the main thread has started a process that lives: quickly, and without those of other threads."""
    return bool(_text(f"/proc/self/task/{os.getpid()}/children"))


def _text(file: str) -> str:
    """Of a short file of the system, at half of what it takes to open it as text: there are many of them."""
    try:
        opened = os.open(file, os.O_RDONLY)
    except OSError:  # it has ended
        return ""
    try:
        return os.read(opened, 65536).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(opened)


def directory(test: str) -> str:
    """Whose budget a test counts against: `sql` for tests/sql/…, `tests` for those beside it."""
    path = test.partition("::")[0].split("/")
    return path[1] if len(path) > 2 else path[0]


def per_directory(tests: Mapping[str, float]) -> dict[str, float]:
    total: defaultdict[str, float] = defaultdict(float)
    for test, seconds in tests.items():
        total[directory(test) if test != OUTSIDE else OUTSIDE] += seconds
    return total


def table(spent: Mapping[str, float], budgets: Mapping[str, float]) -> Iterator[str]:
    """A line for each directory, the largest first, and their sum."""
    for name, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        yield f"{name:<12}{seconds:>7.0f} s of {budgets.get(name, 0):.0f}"
    yield f"{'together':<12}{sum(spent.values()):>7.0f} s of {sum(budgets.values()):.0f}"


def renewed(text: str, spent: Mapping[str, float]) -> str:
    """The file of budgets with what a run took, and a fifth more; what stands above them stays, and so do the budgets
    of directories that other targets run.
    """
    head = [line for line in text.splitlines() if line.startswith("#")]
    others = {name: most for name, most in tomllib.loads(text).items() if (ROOT / "tests" / name).is_dir()}
    budgets = others | {name: math.ceil(1.2 * seconds) + 1 for name, seconds in spent.items()}
    return "\n".join([*head, *(f"{name} = {budgets[name]}" for name in sorted(budgets)), ""])


def over(spent: Mapping[str, float], budgets: Mapping[str, float]) -> list[str]:
    """One sentence for each directory that has taken more than it may, or that has no budget."""
    return [
        f"tests/budget.toml: {name} took {seconds:.0f} s of the processor; its budget is {budgets.get(name, 0):.0f} s"
        for name, seconds in sorted(spent.items())
        if seconds > budgets.get(name, 0)
    ]


class Budget:
    """Counts in each process that runs tests; the one that the others report to prints."""

    def __init__(self, config: pytest.Config) -> None:
        self.tests: defaultdict[str, float] = defaultdict(float)
        self.seen = 0.0
        self.living = self.looked = 0.0
        self.config = config

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        if not self.seen:
            self.seen = self.tests[OUTSIDE] = processor()
        result = yield
        last = nextitem is None or directory(nextitem.nodeid) != directory(item.nodeid)
        if last or (time.monotonic() > self.looked + BETWEEN and (self.living or _has_children())):
            self.living, self.looked = living(), time.monotonic()
        now = _ended() + self.living
        self.tests[item.nodeid] += max(0.0, now - self.seen)  # what nobody waited for is lost when it ends: browsers
        self.seen = now
        return result

    def finished(self) -> dict[str, float]:
        """What a process that has run its tests has taken for each, and besides."""
        self.tests[OUTSIDE] += max(0.0, processor() - self.seen)
        return dict(self.tests)

    def add(self, spent: Mapping[str, float]) -> None:
        """What a worker has taken."""
        for test, seconds in spent.items():
            self.tests[test] += seconds

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if self.seen:  # it has run tests itself
            self.finished()
        else:
            self.tests[OUTSIDE] += time.process_time()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        spent = per_directory(self.tests)
        budgets = tomllib.loads(BUDGETS.read_text(encoding="utf-8"))
        if self.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            self.whole(terminalreporter, spent, budgets)
        if self.config.option.markexpr.startswith("not "):  # as the budgets were made
            for line in over(spent, budgets):
                terminalreporter.write_line(f"over budget: {line}", yellow=True)

    def whole(
        self, terminal: pytest.TerminalReporter, spent: Mapping[str, float], budgets: Mapping[str, float]
    ) -> None:
        if cache := getattr(self.config, "cache", None):
            cache.set(KEPT, dict(self.tests))
        terminal.section("seconds of the processor, with children")
        for line in table(spent, budgets):
            terminal.write_line(line)
        for test in sorted(self.tests.keys() - {OUTSIDE}, key=lambda test: -self.tests[test])[:TOP]:
            terminal.write_line(f"{self.tests[test]:7.1f} s {test}")


def _renew() -> None:
    from tests.mutants import PINS, noticing, trusted

    last = json.loads((ROOT / ".pytest_cache" / "v" / KEPT).read_text(encoding="utf-8"))
    noticed = {PINS, *(test for path in trusted() for test in noticing(path) or ())}  # mutants are tried on these
    some = tomllib.loads(SELDOM.read_text(encoding="utf-8"))
    text = LISTED.read_text(encoding="utf-8")
    head = [line for line in text.splitlines() if line.startswith("#")]
    found = {*names_of(text), *found_long(last, {*noticed, *some})}
    LISTED.write_text("\n".join([*head, *sorted(found), ""]), encoding="utf-8")
    last = {test: seconds for test, seconds in last.items() if _function(test) not in found}
    BUDGETS.write_text(renewed(BUDGETS.read_text(encoding="utf-8"), per_directory(last)), encoding="utf-8")


if __name__ == "__main__":
    _renew()
