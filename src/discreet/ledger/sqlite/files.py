"""The ledger as a file: where it may live, and whether its bytes are still the ones last written."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from discreet.files import NETWORKS, file_system, is_mounted, locked
from discreet.ledger.problems import LedgerError

LARGEST_SEALED: Final = 2**28


def beside(ledger: Path, ending: str) -> Path:
    """A file that belongs to this ledger and to no other in the same folder, be it a backup of it."""
    return ledger.with_name(ledger.name + ending)


Identity = tuple[int, int]


def real(path: Path) -> Path:
    """The file itself: a name that leads to it would have a WAL and a lock of its own beside it."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        raise LedgerError(f"{path} leads nowhere: its links go in a circle", "name the file itself") from None


def identity(path: Path | str) -> Identity | None:
    """Which file it is; None if there is none. A ledger's files have one name each."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink > 1):
        raise LedgerError(
            f"{path} has more than one name (a link): whoever comes by the other one would spend beside the record",
            "remove the other name; copy a ledger with `discreet ledger backup`",
        )
    return status.st_dev, status.st_ino


class OwnLock:
    """An exclusive lock beside the ledger that every transaction holds, whatever SQLite's own locks are worth.

    SQLite's lock on writing lies in the -shm file: if that is removed under an open ledger, those who open it later
    write at the same time. This one is of the operating system (flock), on a file of its own that is watched too.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._name = path, str(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._close = weakref.finalize(self, os.close, self._descriptor)
        self._close.atexit = False

    @contextmanager
    def held(self, patience: float) -> Iterator[None]:
        """Wait for the lock, no longer than so many seconds."""
        until, pause = time.monotonic() + patience, 0.0005
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise LedgerError(f"{self.path} stays locked", "try again: other processes are spending") from None
            time.sleep(pause)
            pause = min(2 * pause, 0.005)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    @property
    def is_in_place(self) -> bool:
        """Whether the file that is locked is the one that others lock."""
        status = os.fstat(self._descriptor)
        return identity(self._name) == (status.st_dev, status.st_ino)

    def close(self) -> None:
        self._close()


def refuse_mounted(path: Path, mounts: str = "/proc/self/mounts") -> None:
    """Raise if the file itself is a mount point: its WAL is not beside it for everybody who sees it."""
    if is_mounted(path, mounts):
        raise LedgerError(f"{path} is mounted as a single file", "mount the whole state folder instead")


def refuse_network(path: Path, mounts: str = "/proc/self/mounts") -> None:
    """Raise if the path lies on a network file system (where the system tells)."""
    kind = file_system(path, mounts)
    if kind in NETWORKS:
        raise LedgerError(
            f"{path} lies on a network file system ({kind}), where locks and fsync cannot be relied on",
            'move it to a local disk with state = "…" in the policy',
        )


@dataclass(frozen=True, slots=True)
class Seal:
    """The digest of the ledger's file at a moment when all records up to `head` were in it and nobody wrote."""

    head: int
    digest: str

    @classmethod
    def of(cls, ledger: Path, head: int) -> Seal | None:
        """None while anybody has the ledger open, or if it is too large to be read at every closing.

        Closing any descriptor of a file ends all locks that this process has on it (POSIX): another process would then
        take away the WAL under a ledger that is open here. So nobody may open it meanwhile, and one in use is left
        alone.
        """
        with locked(beside(ledger, ".lock")):
            if beside(ledger, "-wal").exists() or ledger.stat().st_size > LARGEST_SEALED:
                return None
            with ledger.open("rb") as file:
                return cls(head, hashlib.file_digest(file, "sha256").hexdigest())

    @classmethod
    def read(cls, ledger: Path) -> Seal | None:
        try:
            fields = json.loads(beside(ledger, ".seal").read_text(encoding="utf-8"))
            return cls(int(fields["head"]), str(fields["digest"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, ledger: Path) -> None:
        """Replace the seal at once, or leave the old one: a seal that is behind is ignored."""
        temporary = beside(ledger, ".sealing")
        try:
            temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")
            temporary.replace(beside(ledger, ".seal"))
        except OSError:
            temporary.unlink(missing_ok=True)
