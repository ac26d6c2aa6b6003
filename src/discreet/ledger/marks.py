"""How far a ledger has come, written down outside of its folder: so that one that was rolled back is noticed.

A file cannot notice that all of it was replaced by an older copy of itself, or that it is gone. So the head of the
journal is also kept in the user's state directory, under the ledger's id, and the id under the path of the ledger.

Theorem  On a host that has a mark, no ledger is opened that lacks a record which the mark names, unless the owner says
         so on the record (`discreet ledger accept`, `discreet ledger restore --forget`).
Proof    The mark is (number, hash) of a record that was on disk before the mark was written: it may lag behind, it
         never leads. The hash covers all records before it. Opening compares it with the record of that number.

A mark is written over in place, in one piece of 102 bytes, without waiting for the disk: a charge costs one flush as
before. A power cut may bring an older mark back: then a rollback to a point after it goes unnoticed, and nothing else
happens. Marks are written only after commits that waited for the disk, while the ledger's lock is held.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from discreet.ledger.problems import LedgerError
from discreet.noise import SYSTEM

Location = Path | str
"""Where a ledger is: a file, or the address of a database."""
FOLDER: Final = "DISCREET_MARKS"
"""The environment variable that names the folder of the marks; "off" goes without."""
ELSEWHERE: Final = (
    f"set {FOLDER} to a folder that outlives the ledger, outside of its state folder; or to off to go without"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A record that the ledger had."""

    head: int
    digest: str

    def line(self) -> str:
        body = f"{self.head:020d} {self.digest}"
        return f"{body} {hashlib.sha256(body.encode()).hexdigest()[:16]}\n"

    @classmethod
    def read(cls, line: str) -> Mark:
        head, _, rest = line.partition(" ")
        mark = cls(int(head), rest[:64])
        if mark.line() != line:
            raise ValueError("a mark is written in one way only")
        return mark


UNREADABLE: Final = Mark(0, "")
"""No ledger has this record."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of one user on one host."""

    folder: Path

    @classmethod
    def default(cls) -> Marks | None:
        """Where the environment says; None if it says that there are none."""
        named = os.environ.get(FOLDER, "")
        if named == "off":
            return None
        try:
            home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        except RuntimeError:
            home = Path()
        folder = Path(named) if named else home / "discreet" / "ledgers"
        if not folder.is_absolute():
            raise LedgerError("there is no home folder to keep the ledger's high-water mark in", ELSEWHERE)
        return cls(folder)

    @property
    def host(self) -> str:
        """The random name of this folder: what ledgers that were accepted here have on record."""
        with self._reported():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = self.folder / "host"
            if not file.exists():
                fresh = self.folder / f"host.{SYSTEM.bytes(8).hex()}"
                _write(fresh, SYSTEM.bytes(16).hex())
                with suppress(FileExistsError):
                    os.link(fresh, file)
                fresh.unlink()
            return file.read_text(encoding="ascii").strip()

    def of(self, name: str) -> Mark | None:
        """The mark of the ledger with this id."""
        with self._reported():
            return self._read(self._mark(name))

    def _read(self, file: Path) -> Mark | None:
        try:
            return Mark.read(file.read_bytes().splitlines(keepends=True)[0].decode("ascii"))
        except (FileNotFoundError, IndexError):
            return None  # or one that was begun and not written
        except ValueError:
            return UNREADABLE

    def at(self, path: Location) -> str | None:
        """The id of the ledger that is known to be at a place."""
        with self._reported(), suppress(FileNotFoundError):
            return self._place(path).read_text(encoding="utf-8").split("\n")[0]
        return None

    def begin(self, name: str, path: Location, mark: Mark) -> Writing:
        """Know this ledger from now on, at this place."""
        self.refuse_inside(path)
        with self._reported():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._forget_moved(name, path)
            file = self._mark(name)
            if not file.exists():
                _write(file, "")
            if self.at(path) != name:
                _write(self._place(path), f"{name}\n{path}\n")
            writing = Writing(file)
            writing.demand(os.fsencode(f"{mark.line()}{path}\n"))
            return writing

    def forget(self, path: Location) -> None:
        """Miss no ledger at a path: there was only dummy data."""
        with self._reported():
            self._place(path).unlink(missing_ok=True)

    def _forget_moved(self, name: str, path: Location) -> None:
        """A ledger that was moved is not missed where it was."""
        with suppress(FileNotFoundError, IndexError):
            before = os.fsdecode(self._mark(name).read_bytes().split(b"\n")[1])
            if before != str(path) and not Path(before).exists() and self.at(before) == name:
                self._place(before).unlink()

    def refuse_inside(self, path: Location) -> None:
        if isinstance(path, Path) and self.folder.resolve().is_relative_to(path.parent.resolve()):
            raise LedgerError(f"the high-water marks in {self.folder} would go with the ledger", ELSEWHERE)

    def _mark(self, name: str) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.mark"

    def _place(self, path: Location) -> Path:
        return self.folder / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.place"

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LedgerError(
                f"could not use the high-water marks in {self.folder}: {error.strerror}", ELSEWHERE
            ) from None


class Writing:
    """A mark that is moved up with every charge, in place: others write to the same file. It is closed with the ledger,
    or with the last who knows it: most who open a policy in a notebook never close it.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._descriptor = file, os.open(file, os.O_RDWR | os.O_CLOEXEC)
        self._close = weakref.finalize(self, os.close, self._descriptor)
        self._close.atexit = False

    def demand(self, text: bytes) -> None:
        """Have this text on disk, and nothing else."""
        if os.pread(self._descriptor, len(text) + 1, 0) != text:
            os.pwrite(self._descriptor, text, 0)
            os.ftruncate(self._descriptor, len(text))
            os.fsync(self._descriptor)

    def move(self, mark: Mark) -> None:
        try:
            os.pwrite(self._descriptor, mark.line().encode("ascii"), 0)
        except OSError as error:
            reason = f"could not write the high-water mark {self._file}: {error.strerror}"
            raise LedgerError(reason, ELSEWHERE) from None

    def close(self) -> None:
        self._close()


def _write(file: Path, text: str) -> None:
    """All of it, on disk, or what was there before."""
    fresh = file.with_name(f"{file.name}.{SYSTEM.bytes(4).hex()}.new")
    descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    fresh.replace(file)
