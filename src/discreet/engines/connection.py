"""Every DuckDB connection of the project is opened and configured here, and nowhere else.

What an engine writes to disk when memory is short (its spill) are private rows in clear. So it goes into the state
folder, which its owner alone may enter, into a folder of this process. That folder is locked for as long as the
process lives, however it ends: whoever opens the state next removes the folders that nobody holds any more. A program
that writes there for this one, as Spark's Java machine does, inherits the lock: it may live for longer.
Connections that see no private rows have no spill: what does not fit into memory fails.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import itertools
import os
import re
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from discreet.engines.library import duckdb
from discreet.files import locked
from discreet.noise import SYSTEM
from discreet.quoting import literal

CAREFUL: Final = "statistics_propagation"
"""DuckDB 2.0 folds conditions by statistics that are wrong where a LEFT JOIN finds its right side empty: whether one
unit's row exists then decides about other units' rows. It costs next to nothing to do without."""
MEMORY: Final = "DISCREET_MEMORY"
"""The environment variable that says how much memory the engines of this process may use together, such as 8GB."""
SPILL: Final = "spill"
LEAST_MEMORY: Final = 16 << 20
MOST_IDLE: Final = 16
_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_LIMITS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_OURS: Final = re.compile(r"[0-9]+-[0-9a-f]{16}")
"""The names of spill folders: nothing else in the state folder is ever removed here."""

Setting = str | bool | int | float | list[str]


@dataclass(frozen=True, slots=True)
class Resources:
    """What one engine may use: bytes of memory, bytes of spill, threads."""

    memory: int
    disk: int
    threads: int

    @classmethod
    def share(cls, among: int, folder: Path | None) -> Resources:
        """Of what this machine gives to the engines of this process, the share of one of so many datasets.

        All together have half of the memory, and half of what is free on the disk that holds the folder. Engines that
        see no private rows have no folder, and an eighth of that memory more. Threads are not divided: those of an
        engine that has nothing to do cost nothing.
        """
        memory = total_memory() // among
        if folder is None:
            return cls(max(memory // 8, LEAST_MEMORY), 0, _cores())
        return cls(max(memory, LEAST_MEMORY), shutil.disk_usage(folder).free // 2 // among, _cores())


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def total_memory() -> int:
    """Bytes for all engines of this process: what the environment says, else half of what there is."""
    said = os.environ.get(MEMORY, "").strip()
    if said:
        return size(said)
    known = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _LIMITS:
        with suppress(OSError, ValueError):
            known.append(int(path.read_text(encoding="ascii")))
    return min(known) // 2


def size(text: str) -> int:
    """A number of bytes as people write it.

    >>> size("8GB"), size("512 MiB"), size("1.5g")
    (8000000000, 536870912, 1500000000)
    """
    parts = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([kmgt]?i?)b?", text.strip().lower())
    if parts is None or parts[2] not in _UNITS:
        raise ValueError(f"{MEMORY} is not a number of bytes: write it like 8GB")
    return int(float(parts[1]) * _UNITS[parts[2]])


def connect(
    database: Path | None = None, *, spill: Path | None = None, among: int = 1, **more: Setting
) -> duckdb.DuckDBPyConnection:
    """A connection to a database file, or to one in memory.

    spill   the state folder, where it may write what does not fit into memory; without one it writes nothing.
    among   how many engines share the machine.
    """
    folder = None if spill is None else _spill_folder(spill)
    own = Resources.share(among, None if folder is None else folder.parent)
    config: dict[str, Setting] = {
        "memory_limit": f"{own.memory}B",
        "threads": own.threads,
        "temp_directory": "" if folder is None else str(folder),
        "disabled_optimizers": CAREFUL,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        **more,
    }
    if folder is not None:
        config["max_temp_directory_size"] = f"{own.disk}B"
    connection = duckdb.connect(":memory:" if database is None else str(database), config=config)
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # what a time with a zone means must not depend on the machine
    count_progress(connection, wanted=False)
    return connection


def count_progress(connection: duckdb.DuckDBPyConnection, *, wanted: bool) -> None:
    """Let statements be counted, or not, and never draw a bar; in notebooks without widgets DuckDB has no counter."""
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar_print = false")
        connection.execute(f"SET enable_progress_bar = {str(wanted).lower()}")


@contextmanager
def scratch(state: Path) -> Iterator[Path]:
    """A folder for private rows that nobody needs for longer than this, in the folder of this process."""
    folder = _spill_folder(state)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lock_up(connection: duckdb.DuckDBPyConnection, files: Sequence[str] = ()) -> None:
    """From here on nothing outside of the database can be read but these files, and nothing can be set."""
    if files:
        connection.execute(f"SET allowed_paths = [{', '.join(map(literal, files))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def isolated(*, among: int = 1, threads: int | None = 1) -> duckdb.DuckDBPyConnection:
    """A connection that holds nothing and reaches nothing: one that was given back, or a new one."""
    with suppress(KeyError, IndexError):
        return _idle[like(among, threads)].pop()
    connection = connect(among=among) if threads is None else connect(among=among, threads=threads)
    lock_up(connection)
    return connection


def give_back(connection: duckdb.DuckDBPyConnection, *, among: int = 1, threads: int | None = 1) -> None:
    """An isolated connection that holds nothing any more waits for the next who needs one, or is closed.

    To start DuckDB takes longer than what most of those ask who need it for a moment: audits, lessons, tests.
    """
    waiting = _idle.setdefault(like(among, threads), [])
    with suppress(duckdb.Error):  # it died, or somebody closed it
        connection.execute("SELECT 1")
        if len(waiting) < MOST_IDLE:
            waiting.append(connection)
        else:
            connection.close()


def like(among: int, threads: int | None) -> Resources:
    """What two connections must have in common for one to stand in for the other."""
    own = Resources.share(among, None)
    return own if threads is None else replace(own, threads=threads)


def _close_idle() -> None:
    """Before a fork: DuckDB's threads do not live in the child, which would crash when it ends and closes them."""
    for waiting in _idle.values():
        while waiting:
            waiting.pop().close()


os.register_at_fork(before=_close_idle)


def sweep(state: Path) -> None:
    """Remove what killed processes left of their spill."""
    if (state / SPILL).is_dir():
        with locked(state / SPILL / "lock"):
            _sweep(state / SPILL)


def _sweep(root: Path) -> None:
    """Under the lock: then every folder is locked by the process that made it, if that is alive."""
    for left in root.iterdir():
        if _OURS.fullmatch(left.name) and left.is_dir() and not left.is_symlink() and not _is_held(left):
            shutil.rmtree(left, ignore_errors=True)


def other_spill(state: Path) -> list[Path]:
    """The folders in which other processes that are alive have rows on disk right now."""
    root = state / SPILL
    if not root.is_dir():
        return []
    own = {held.folder for (process, _), held in list(_held.items()) if process == os.getpid()}
    with locked(root / "lock"):
        _sweep(root)
        folders = [left for left in root.iterdir() if _OURS.fullmatch(left.name) and left not in own]
        return [left for left in folders if has_files(left)]


HUSHED: Final = "silent.properties"
"""A file of settings that machines of a cluster read, where Spark puts rows (`spark.cluster.LOGGED`)."""


def has_files(folder: Path) -> bool:
    """Whether there are rows below a folder of a process: any file but the lock, and what hushes other machines. Spark
    puts them some folders deep, and what it wrote for others is behind a link."""
    files = (Path(root) / name for root, _, names in os.walk(folder, followlinks=True) for name in names)
    return any(path != folder / "lock" and path.name != HUSHED for path in files)


def before_state(state: Path) -> Path:
    """Where to spill for an owner who looks at sources: the state folder, or, while there is none, one of this user."""
    if state.is_dir():
        return state
    own = _temporary()
    own.mkdir(mode=0o700, exist_ok=True)
    status = own.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise PermissionError(errno.EACCES, "others can read it, or it is not yours", str(own))
    return own


def _temporary() -> Path:
    return Path(tempfile.gettempdir()) / f"discreet-{os.getuid()}"


def sweep_temporary() -> None:
    """Remove what killed processes of this user left of their spill while there was no state folder."""
    own = _temporary()
    if not own.is_symlink() and own.is_dir() and own.lstat().st_uid == os.getuid():
        sweep(own)


def _is_held(folder: Path) -> bool:
    """Whether the process that made the folder is alive."""
    try:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


_idle: Final[dict[Resources, list[duckdb.DuckDBPyConnection]]] = {}
"""Connections that hold nothing and wait for somebody."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The folder that is locked for a process, the descriptor that locks it, and numbers for its connections."""

    folder: Path
    lock: int
    numbers: Iterator[int]


_held: Final[dict[tuple[int, Path], _Held]] = {}
"""For each process and state folder."""
_guard: Final = threading.Lock()


def _spill_folder(state: Path) -> Path:
    """A folder for the spill of one connection. DuckDB makes it when it spills, and removes it when it is closed."""
    key = os.getpid(), state.resolve()  # a fork has a folder of its own
    with _guard:
        if key not in _held or not _held[key].folder.is_dir():
            _let_go_of_gone()
            _held[key] = _locked_folder(state)
        return _held[key].folder / str(next(_held[key].numbers))


def _let_go_of_gone() -> None:
    """Whoever removed a state folder removed what was locked in it; a descriptor is left, of which there are few."""
    for key, gone in [(key, held) for key, held in _held.items() if not held.folder.is_dir()]:
        del _held[key]
        os.close(gone.lock)


def lock_of(state: Path) -> int:
    """The descriptor that locks the folder of this process: whoever inherits it holds the folder as well."""
    with _guard:
        return _held[os.getpid(), state.resolve()].lock


def _locked_folder(state: Path) -> _Held:
    """A new folder that is locked until this process ends."""
    for made in (state, state / SPILL):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(state / SPILL / "lock"):
        _sweep(state / SPILL)
        folder = state / SPILL / f"{os.getpid()}-{SYSTEM.bytes(8).hex()}"
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return _Held(folder, descriptor, itertools.count())


@atexit.register
def _leave() -> None:
    """Remove the folders of this process; a fork that ends leaves those of its parent alone."""
    for (process, _), held in _held.items():
        if process == os.getpid():
            shutil.rmtree(held.folder, ignore_errors=True)
