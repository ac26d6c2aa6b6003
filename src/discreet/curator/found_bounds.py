"""What searches for bounds found: kept beside the charge with the noisy measures, and found again by later queries."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import zlib
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final, Self

from discreet.ledger import Ledger, LedgerDamaged
from discreet.ledger.entries import CHANGED
from discreet.sql.cache import UNREADABLE, NoisyMeasures
from discreet.sql.unknown import Found, Range

VERSION: Final = 1
FOLDER: Final = "bounds"
"""In the state folder."""


@dataclass(frozen=True, slots=True)
class CachedSearch:
    """Bounds, and what was drawn with them for a share of the cost."""

    bounds: Found
    rest: Fraction
    """Of the cost: all of it where no search was needed."""
    drawn: NoisyMeasures

    def encode(self) -> bytes:
        bounds = {key: [str(each.low), str(each.high), each.passed] for key, each in self.bounds.items()}
        drawn = self.drawn.encode().hex()
        document = {"found": VERSION, "bounds": bounds, "rest": str(self.rest), "drawn": drawn}
        return zlib.compress(json.dumps(document, separators=(",", ":")).encode("ascii"))

    @classmethod
    def decode(cls, stored: bytes) -> Self | None:
        """None if another version of discreet wrote it; `LedgerDamaged` if it is not what any of them wrote."""
        try:
            document = json.loads(zlib.decompress(stored))
            if document.get("found") != VERSION:
                return None
            drawn = NoisyMeasures.decode(bytes.fromhex(document["drawn"]))
            bounds = {
                str(key): Range(Fraction(low), Fraction(high), bool(passed))
                for key, (low, high, passed) in document["bounds"].items()
            }
            return None if drawn is None else cls(bounds, Fraction(document["rest"]), drawn)
        except UNREADABLE:
            raise LedgerDamaged("a cached answer cannot be read", CHANGED) from None


class Index:
    """Which charge found the bounds of a search. It says where to look: bounds are read from the ledger alone.

    So what is lost here, or written by somebody else, is at most a search that is made again.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        """None where nothing is written: over rows in memory."""
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def find(self, ledger: Ledger, key: str, digest: str, data: int) -> Range | None:
        """What was found for the same search of the same data under the same policy; None if nothing was."""
        number = self._number(_name(key, digest, data))
        cached = None if number is None else ledger.answer(number)
        if cached is None or cached.data_version != data:
            return None
        with suppress(LedgerDamaged):
            decoded = CachedSearch.decode(cached.answer)
            bounds = None if decoded is None else decoded.bounds.get(key)
            return bounds if bounds is not None and bounds.passed else None
        return None

    def note(self, number: int, bounds: Found, digest: str, data: int) -> None:
        """Remember the charge of what was found; what was not found is not to be taken again."""
        for key in (key for key, each in bounds.items() if each.passed):
            name = _name(key, digest, data)
            with self._lock:
                self._numbers[name] = number
            self._write(name, number)

    def _number(self, name: str) -> int | None:
        if name not in self._numbers and self._folder is not None:
            with suppress(OSError, ValueError), self._lock:
                self._numbers[name] = int((self._folder / name).read_text(encoding="ascii")[:18])  # below 2⁶³
        return self._numbers.get(name)

    def _write(self, name: str, number: int) -> None:
        if self._folder is None:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            fresh = self._folder / f"{name}.{os.getpid()}.{threading.get_ident()}"
            fresh.touch(mode=0o600)
            fresh.write_text(str(number), encoding="ascii")
            fresh.replace(self._folder / name)


def _name(key: str, digest: str, data: int) -> str:
    return hashlib.sha256(json.dumps([key, digest, data]).encode()).hexdigest()
