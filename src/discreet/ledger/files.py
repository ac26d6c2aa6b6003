"""The ledger as a file: where it may live, and whether its bytes are still the ones last written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from discreet.files import NETWORKS, file_system
from discreet.ledger.problems import LedgerError


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
