"""Noisy measures as they are kept beside their charge: what can be shown again for nothing."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.ledger import LedgerDamaged
from discreet.ledger.entries import CHANGED
from discreet.policy import Key

VERSION: Final = 1
SHORT: Final = 512
"""Bytes of an answer that fit the least window of zlib."""
UNREADABLE: Final = (zlib.error, ArithmeticError, LookupError, TypeError, ValueError)
DATES: Final = {"timestamp": datetime.fromisoformat, "date": date.fromisoformat}
NOISES: Final[dict[str, Callable[[Fraction], Noise]]] = {"laplace": DiscreteLaplace, "gaussian": DiscreteGaussian}
Cell = tuple[Key | None, ...]
Selected = tuple[Cell, ...] | None


@dataclass(frozen=True, slots=True)
class NoisyMeasures:
    """For each release: of each measure the noise and the noisy integers, and the private keys that were selected."""

    noises: tuple[tuple[Noise | None, ...], ...] = ()
    values: tuple[tuple[Sequence[int], ...], ...] = ()
    selected: tuple[tuple[Cell, ...] | None, ...] = ()

    def then(
        self, noises: tuple[Noise | None, ...], values: tuple[Sequence[int], ...], selected: Selected
    ) -> NoisyMeasures:
        """With one more release."""
        return NoisyMeasures((*self.noises, noises), (*self.values, values), (*self.selected, selected))

    def encode(self) -> bytes:
        noises = [[_written(noise) for noise in release] for release in self.noises]
        selected = [None if keys is None else [list(map(_key, cell)) for cell in keys] for keys in self.selected]
        document = {"version": VERSION, "noises": noises, "values": self.values, "selected": selected}
        return _compressed(json.dumps(document, separators=(",", ":")).encode("ascii"))

    @classmethod
    def decode(cls, stored: bytes) -> NoisyMeasures | None:
        """None if another version of discreet wrote it; `LedgerDamaged` if it is not what any of them wrote."""
        try:
            document = json.loads(zlib.decompress(stored))
            if document["version"] != VERSION:
                return None
            noises = tuple(tuple(_read(*noise) for noise in release) for release in document["noises"])
            selected = tuple(
                None if keys is None else tuple(tuple(map(_value, cell)) for cell in keys)
                for keys in document["selected"]
            )
            return cls(noises, tuple(tuple(release) for release in document["values"]), selected)
        except UNREADABLE:
            raise LedgerDamaged("a cached answer cannot be read", CHANGED) from None


def _compressed(text: bytes) -> bytes:
    """zlib makes itself a quarter of a megabyte ready by default, which takes longer than drawing the noise does."""
    if len(text) > SHORT:
        return zlib.compress(text)
    little = zlib.compressobj(wbits=9, memLevel=1)  # a window of 512 bytes: all of it
    return little.compress(text) + little.flush()


def _key(value: Key | None) -> Any:
    """Keys as JSON has them; dates and times say what they are."""
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    return {"date": value.isoformat()} if isinstance(value, date) else value


def _value(written: Any) -> Key | None:
    if isinstance(written, dict):
        ((kind, text),) = written.items()
        return DATES[kind](text)
    return written  # type: ignore[no-any-return]


def _written(noise: Noise | None) -> list[str]:
    if noise is None:
        return ["chosen", ""]
    if isinstance(noise, DiscreteLaplace):
        return ["laplace", str(noise.scale)]
    return ["gaussian", str(noise.spread)]


@lru_cache(maxsize=1024)
def _read(kind: str, size: str) -> Noise | None:
    """The same noise as before, where it was read before: then it need not be compared."""
    if kind == "chosen":
        return None
    return NOISES[kind](Fraction(size))
