from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def in_memory() -> Iterator[Path]:
    """A folder in memory where there is one: for tests that write much and need no disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def quick() -> Iterator[Path]:
    with in_memory() as folder:
        yield folder


@pytest.fixture
def path(quick: Path) -> Path:
    """Where a ledger may be; `tmp_path` is for those that shall meet a disk."""
    return quick / "ledger.sqlite"


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    """The same for what all tests of a module look at."""
    with in_memory() as folder:
        yield folder
