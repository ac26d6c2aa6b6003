"""Both ways out of a fit, recorded and replayed: vectors with noise, and choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from discreet.accounting import Pure, compose
from discreet.accounting.losses import Sensitivity
from discreet.exit.cost import Choices
from discreet.exit.sampler import Sampler, choose
from discreet.learn.sent import UNBOUNDED
from discreet.noise import Bits
from tests.learn.helpers import Recorder, learn, repeating, without

NAMES = ["a", "b", "c"]


@dataclass(frozen=True)
class Choice:
    """One choice by scores."""

    mechanism: Any
    exact: Any
    place: int


class Outlets(Recorder):
    """A second run is given what the first one released, and chooses as it did."""

    def __init__(self) -> None:
        super().__init__()
        self.choices: list[Choice] = []
        self.chosen: list[Choice] = []

    def again(self) -> None:
        super().again()
        self.chosen, self.choices = self.choices, []

    def choose(self, mechanism: Choices, scores: Sequence[Any], bits: Bits) -> list[int]:
        (exact,) = scores
        (place,) = choose(mechanism, scores, bits)
        if self.chosen:
            place = self.chosen[len(self.choices)].place
        self.choices.append(Choice(mechanism.mechanism, exact.copy(), place))
        return [place]

    @property
    def sampler(self) -> Sampler:
        return Sampler(add_noise=self.add_noise, choose=self.choose)

    @property
    def losses(self) -> list[Any]:
        vectors = [release.mechanism.loss_for(release.sensitivity) for release in self.releases]
        return vectors + [choice.mechanism.loss for choice in self.choices]


def outlets(monkeypatch: pytest.MonkeyPatch) -> Outlets:
    return Outlets().watch(monkeypatch)


def check_neighbours(make: Callable[[], Any], rows: Any, labels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any one row, given what was released before, nothing moves farther than it says."""
    for place in range(len(rows)):
        found = outlets(monkeypatch)
        learn(make(), rows, labels, NAMES, repeating(place))
        found.again()
        learn(make(), without(rows, place), without(labels, place), NAMES, repeating(place))
        assert found.releases
        check_moves(found)


def check_moves(found: Outlets) -> None:
    """What left in two runs on neighbours, the first of them with the row."""
    for here, there in zip(found.releases, found.earlier, strict=True):
        moved = here.exact.astype(object).ravel() - there.exact.astype(object).ravel()
        _check(moved, there.sensitivity)
        assert here.mechanism == there.mechanism
    for fewer, more in zip(found.choices, found.chosen, strict=True):
        assert fewer.mechanism == more.mechanism
        assert ((more.exact - fewer.exact >= 0) & (more.exact - fewer.exact <= more.mechanism.sensitivity)).all()


def _check(moved: Any, sensitivity: Sensitivity) -> None:
    assert sum(abs(int(step)) for step in moved) <= sensitivity.l1
    assert sum(int(step) ** 2 for step in moved) <= sensitivity.l2_squared


def check_nobody(make: Callable[[], Any], rows: Any, labels: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """No rows at all: as many numbers leave, with the same noise, and what comes of them is finite. The model."""
    found = outlets(monkeypatch)
    learn(make(), rows, labels, NAMES, repeating(1))
    found.again()
    model = learn(make(), rows[:0], labels[:0], NAMES, repeating(1))
    for here, there in zip(found.releases, found.earlier, strict=True):
        assert here.exact.shape == there.exact.shape
        assert here.mechanism == there.mechanism
        assert not here.exact.any()
    for value in (value for name, value in vars(model).items() if name != UNBOUNDED):
        assert not isinstance(value, np.ndarray) or value.dtype.kind != "f" or np.isfinite(value).all()
    return model


def check_loss(found: Outlets, declared: Any, least: float = 0.99) -> None:
    """All that left costs what was declared: no more, and not much less."""
    assert least <= ratio(compose(*found.losses), declared) <= 1 + 1e-12


def ratio(loss: Any, declared: Any) -> Any:
    """How much of what was declared a loss is, in the currency of that."""
    if isinstance(declared, Pure):
        return loss.epsilon / declared.epsilon
    return loss.concentrated().rho / declared.rho


def told(events: list[object], word: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which now writes down a word each time before it does its work."""

    def wrapped(*given: Any) -> Any:
        events.append(word)
        return function(*given)

    return wrapped
