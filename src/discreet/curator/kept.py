"""Noisy measures as they are kept beside their charge: what can be shown again for nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace, Noise

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Drawn:
    """For each release, for each measure: the noise, and the noisy integer of each group."""

    noises: tuple[tuple[Noise, ...], ...]
    values: tuple[tuple[Sequence[int], ...], ...]

    def encode(self) -> bytes:
        noises = [[_written(noise) for noise in release] for release in self.noises]
        document = {"version": VERSION, "noises": noises, "values": self.values}
        return json.dumps(document, separators=(",", ":")).encode("ascii")

    @classmethod
    def decode(cls, kept: bytes) -> Drawn | None:
        """None if another version of discreet kept it."""
        document = json.loads(kept)
        if document.get("version") != VERSION:
            return None
        noises = tuple(tuple(_read(noise) for noise in release) for release in document["noises"])
        return cls(noises, tuple(tuple(release) for release in document["values"]))


def _written(noise: Noise) -> list[str]:
    if isinstance(noise, DiscreteLaplace):
        return ["laplace", str(noise.scale)]
    return ["gaussian", str(noise.spread)]


def _read(written: Sequence[Any]) -> Noise:
    kind, size = written
    return DiscreteLaplace(Fraction(size)) if kind == "laplace" else DiscreteGaussian(Fraction(size))
