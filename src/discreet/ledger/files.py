"""The ledger as a file: where it may live, and whether its bytes are still the ones last written."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from discreet.ledger.problems import LedgerError

NETWORKS: Final = frozenset(
    (
        *("9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"),
        *("fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    )
)
"""File systems on which locks or fsync cannot be relied on."""


def refuse_network(path: Path, mounts: str = "/proc/self/mounts") -> None:
    """Raise if the path lies on a network file system (where the system tells)."""
    kind = file_system(path, mounts)
    if kind in NETWORKS:
        raise LedgerError(
            f"{path} lies on a network file system ({kind}), where locks and fsync cannot be relied on",
            'move it to a local disk with state = "…" in the policy',
        )


def file_system(path: Path, mounts: str = "/proc/self/mounts") -> str | None:
    """The type of the file system that holds the path, if the system tells."""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    here = path.resolve()
    held = [
        (len(Path(fields[1]).parts), place, fields[2])
        for place, fields in enumerate(line.split() for line in lines)
        if len(fields) > 2 and here.is_relative_to(fields[1].replace("\\040", " "))
    ]
    return max(held)[2] if held else None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock of the operating system on a file beside the ledger; it ends with the process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Seal:
    """The digest of the ledger's file at a moment when all records up to `head` were in it and nobody wrote."""

    head: int
    digest: str

    @classmethod
    def of(cls, ledger: Path, head: int) -> Seal:
        with ledger.open("rb") as file:
            return cls(head, hashlib.file_digest(file, "sha256").hexdigest())

    @classmethod
    def read(cls, ledger: Path) -> Seal | None:
        try:
            fields = json.loads(_place(ledger).read_text(encoding="utf-8"))
            return cls(int(fields["head"]), str(fields["digest"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, ledger: Path) -> None:
        """Replace the seal at once, or leave the old one: a seal that is behind is ignored."""
        temporary = _place(ledger).with_suffix(".tmp")
        try:
            temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")
            temporary.replace(_place(ledger))
        except OSError:
            temporary.unlink(missing_ok=True)


def _place(ledger: Path) -> Path:
    return ledger.with_suffix(".seal")
