"""The ledger as a file: where it may live, and whether its bytes are still the ones last written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from discreet.files import NETWORKS, file_system, locked
from discreet.ledger.problems import LedgerError

LARGEST_SEALED: Final = 2**28


def beside(ledger: Path, ending: str) -> Path:
    """A file that belongs to this ledger and to no other in the same folder, be it a backup of it."""
    return ledger.with_name(ledger.name + ending)


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
