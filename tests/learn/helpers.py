"""Bits that repeat, a ledger that only writes down, and a recorder of everything that leaves a fit."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pytest

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit, Sampler
from discreet.learn import core, scoring
from discreet.noise import Bits
from tests.rigged import Rigged

Integers = Any


def repeating(seed: int) -> Rigged:
    """The same bits for the same seed."""
    return Rigged(random.Random(seed).randbytes)


@dataclass
class Till:
    """Charges nobody; hands out its bits and writes down what happened."""

    bits: Bits
    events: list[object] = field(default_factory=list)

    @contextmanager
    def charge(self, loss: object, *, why: str) -> Iterator[Bits]:
        self.events.append((loss, why))
        yield self.bits


class Same:
    """Gives every fit the same bits, for checks that want the same result twice."""

    @contextmanager
    def charge(self, loss: object, *, why: str) -> Iterator[Bits]:  # noqa: ARG002
        yield repeating(7)

    def __repr__(self) -> str:
        return "Same()"


@dataclass(frozen=True)
class Release:
    """One vector on its way out."""

    mechanism: Any
    sensitivity: Sensitivity
    exact: Integers
    values: Integers


class Recorder:
    """Stands where noise is added. On a second run it gives the values of the first, and keeps what would have left."""

    def __init__(self) -> None:
        self.releases: list[Release] = []
        self.earlier: list[Release] = []

    def again(self) -> None:
        self.earlier, self.releases = self.releases, []

    def add_noise(self, mechanism: Any, sensitivity: Sensitivity, exact: Integers, bits: Bits) -> Integers:
        values = np.asarray(mechanism.release(exact, bits), dtype=np.int64)
        if self.earlier:
            values = self.earlier[len(self.releases)].values
        self.releases.append(Release(mechanism, sensitivity, exact.copy(), values))
        return values

    @property
    def sampler(self) -> Sampler:
        return Sampler(add_noise=self.add_noise)

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> Self:
        """Be the sampler of fits on arrays from now on."""
        for module in (core, scoring):
            monkeypatch.setattr(module, "SAMPLER", self.sampler)
        return self


def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    return Recorder().watch(monkeypatch)


def learn(model: Any, rows: Any, labels: Any, names: list[str], bits: Bits) -> Any:
    """Fitted on rows as a curator gives them, through an exit that draws from these bits."""
    return model.learn_from(rows, labels, names, Exit(model._cost(len(names)), bits, sampler=core.SAMPLER))


def without(rows: Any, place: int) -> Any:
    return np.delete(rows, place, axis=0)


def noises(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, *data: Any) -> list[Any]:
    """The mechanisms that a fit uses, in order."""
    found = recorder(monkeypatch)
    make().fit(*data)
    return [release.mechanism for release in found.releases]
