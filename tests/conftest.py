"""What whoever runs the tests has set for their own terminal or their own server changes no test."""

from __future__ import annotations

import atexit
import gc
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import settings

from tests.budget import LISTED, NAME, SELDOM, Budget, listed, names_of, once, seldom
from tests.workers import Workers

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.postgres.cluster import Cluster
    from tests.server.running import Running

settings.register_profile("busy", deadline=None)
settings.load_profile("busy")
"""On a busy machine every example may take long."""

THEIRS: Final = (
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "DISCREET_CA",
    "PGHOST",
    "PGPASSFILE",
    "PGPASSWORD",
    "PGSERVICE",
    "PGSSLMODE",
    "PGUSER",
    "DISCREET_TOKEN",
    "DISCREET_TRACEBACK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
)

for _name in THEIRS:
    os.environ.pop(_name, None)

os.environ["OMP_NUM_THREADS"] = "1"
"""Arrays of tests are small: several threads would wait for each other, on a busy machine fifty times as long."""

MARKS: Final = tempfile.mkdtemp(prefix="discreet-marks-")
"""The high-water marks of ledgers that tests make, also in processes that they start."""
os.environ["DISCREET_MARKS"] = MARKS
atexit.register(shutil.rmtree, MARKS, ignore_errors=True)


GARBAGE: Final = (20_000, 20, 20)
"""How often garbage is looked for. As often as Python does by itself, it took a twentieth of the time of tests/sql."""

BROWSER: Final = "browser"
SERVERS: Final = frozenset({"server", "lasting", "running", "written", BROWSER, "postgres"})
"""Fixtures that take seconds to start, once in every process that needs them."""


FOLDERS: Final = count()
"""One number for each folder of a test, in each process."""


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pytest's own looks through all earlier folders for a number that is free, and keeps a link to the last."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}-{next(FOLDERS)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One for all tests that leave it as it was. It is here: in every file that imports a fixture, it is another."""
    from tests.server.running import build, serving

    with serving(build(tmp_path_factory.mktemp("server")), "--pg-port", "0") as running:
        yield running


@pytest.fixture(scope="session")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A rigged one, whose questions last."""
    from tests.server.running import RIGGED, build, serving

    policy = build(tmp_path_factory.mktemp("rigged"))
    with serving(policy, "--workers", "4", "--pg-port", "0", program=RIGGED) as running:  # two for each caller
        yield running


@pytest.fixture
def rigged(lasting: Running) -> Running:
    """Questions of earlier tests are let go, however those ended, and new ones are held again."""
    from tests.server.running import until

    lasting.release()
    with lasting.client() as client:
        until(lambda: client.get("health").json()["running"] == 0)
    for mark in (*lasting.policy.parent.glob("begun-*"), lasting.policy.parent / "go"):
        mark.unlink(missing_ok=True)
    return lasting


class _Shared:
    """A browser from the first test that uses it until one comes that does not: nothing else of asyncio runs beside."""

    def __init__(self) -> None:
        self.until = ExitStack()
        self.browser: Browser | None = None

    def get(self) -> Browser:
        from tests.server.browser import chromium

        if self.browser is None:
            self.browser = self.until.enter_context(chromium())
        return self.browser

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, nextitem: pytest.Item | None) -> Iterator[None]:
        try:
            return (yield)
        finally:
            if self.browser is not None and BROWSER not in _fixtures(nextitem):
                self.browser = None
                self.until.close()


SHARED: Final = _Shared()


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> Browser:
    """A real one, which the tests before and after this one use too."""
    from tests.server.browser import CHROMIUM, MISSING

    if CHROMIUM is None:
        many = sum(item.path == request.path for item in request.session.items)
        pytest.skip(f"{many} tests {MISSING}")
    return SHARED.get()


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A real one, for all tests of a process: each makes a schema or a database of its own in it."""
    from tests.postgres.cluster import MISSING, is_here, running

    if not is_here():
        many = sum("postgres" in getattr(item, "fixturenames", ()) for item in request.session.items)
        pytest.skip(f"{many} tests {MISSING}")
    with running() as cluster:
        yield cluster


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported and collected stays until the end: it is not looked through for garbage again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*GARBAGE)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share servers come first: one worker begins with them, and the other starts none of the same.

    Of these, files with tests in a browser come first, so that it is started once.
    """
    if "coverage" not in sys.modules:  # which looks at all that is not slow by itself
        listed(items, frozenset(names_of(LISTED.read_text(encoding="utf-8"))))
        seldom(items, tomllib.loads(SELDOM.read_text(encoding="utf-8")))
    if config.option.once:
        items[:] = once(items)
    browsing = {item.path for item in items if BROWSER in _fixtures(item)}
    items.sort(key=lambda item: (SERVERS.isdisjoint(_fixtures(item)), item.path not in browsing))


def _fixtures(item: pytest.Item | None) -> frozenset[str]:
    return frozenset(getattr(item, "fixturenames", ()))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, help="processes that run tests, forked once they are collected")
    parser.addoption("--once", action="store_true", help="one form of each test")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Budget(config), NAME)
    config.pluginmanager.register(SHARED)
    if (workers := config.option.workers) > 1:
        config.pluginmanager.register(Workers(workers))


atexit.register(gc.unfreeze)
"""Libraries that look for leaks at the end would find all of it; pytest's own last search need not go through it."""
