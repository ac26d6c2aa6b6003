"""What `epsilon=e` says, looked at from outside: the black box on a curator, at the claim of the label itself.

The fast form asks once and draws the release again; the slow form asks again and again and sees answers alone.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting import labels
from discreet.accounting.labels import Meaning
from discreet.audit import estimate, question
from discreet.audit.compare import Call, Selection
from discreet.audit.outputs import Batch
from discreet.audit.replay import Replay, every_key
from discreet.learn import StandardScaler
from discreet.noise import SYSTEM
from tests.sql.worlds import policy_of

SURE = 1 - 1e-8
SAMPLES = 6000
TABLE = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 3
[tables.t.columns]
x = { type = "integer", min = 0, max = 10 }
z = { type = "text" }
"""
PURE = 'name = "w"\n[budget]\nepsilon = 9\n[unit]\nname = "person"\n'
BOTH = PURE.replace("epsilon = 9", "epsilon = 9\ndelta = 0.01")
CROWD = [{"who": who, "x": who % 11, "z": "k"} for who in range(400)]
GUEST = [{"who": "guest", "x": 10, "z": "k"}] * 3
DATA, NEIGHBOUR = {"t": [*CROWD, *GUEST]}, {"t": CROWD}
COUNT, KEYS = "SELECT COUNT(*) FROM t", "SELECT z, COUNT(*) FROM t GROUP BY z"
ROWS = "SELECT x FROM t"
WHOLE, OWN = {"epsilon": 1}, {"epsilon": 1, "delta": 1e-3}


def counted(head: str, sql: str, **cost: Any) -> Batch:
    return question(policy_of(TABLE, head=head), sql, **cost)


def keyed(head: str, sql: str, **cost: Any) -> Batch:
    """Which keys show, and the count of each that does: what is released where keys are private, both together."""

    def draw(data: Any, n: int) -> Any:
        with Replay(policy_of(TABLE, head=head), selects=every_key) as replay:
            selection, counts = replay.run(sql, data, **cost).calls
        assert isinstance(selection, Selection)
        assert isinstance(counts, Call)
        size = len(selection.keys)
        assert len(counts.exact) == size
        units = [selection.exact[key] for key in selection.keys]
        shown = np.asarray(selection.mechanism.mechanism.release(units * n, SYSTEM)) >= selection.mechanism.threshold
        noisy = np.asarray(counts.mechanism.release(list(counts.exact) * n, SYSTEM), dtype=np.float64)
        return np.where(shown, noisy, np.nan).reshape(n, size)

    return Batch(draw, sql)


def fitted(head: str, sql: str, **cost: Any) -> Batch:
    return question(policy_of(TABLE, head=head), StandardScaler().task(sql, max_rows=3, fresh=True, **cost))


RELEASES: dict[str, Any] = {
    "pure": (counted, PURE, COUNT, WHOLE, (1, 0)),
    "with delta": (counted, BOTH, COUNT, WHOLE, (1, 0.01)),
    "with a delta of its own": (counted, BOTH, COUNT, OWN, (1, 1e-3)),
    "private keys": (keyed, BOTH, KEYS, WHOLE, (1, 0.01)),
    "private keys, a delta of its own": (keyed, BOTH, KEYS, OWN, (1, 1e-3)),
    "fit": (fitted, BOTH, ROWS, WHOLE, (1, 0.01)),
    "fit, pure": (fitted, PURE, ROWS, WHOLE, (1, 0)),
}
CONCENTRATED = [name for name, release in RELEASES.items() if release[1] is BOTH]


def claimed(pair: tuple[float, float]) -> Any:
    return pair if pair[1] else pair[0]


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_keeps_to_its_label(name: str) -> None:
    make, head, sql, cost, claim = RELEASES[name]
    release = make(head, sql, **cost)
    for sides in itertools.permutations((DATA, NEIGHBOUR)):
        found = estimate(release, *sides, claim=claimed(claim), samples=SAMPLES, confidence=SURE)
        assert not found.violated, str(found)


@pytest.mark.parametrize("name", CONCENTRATED)
def test_half_the_square_of_epsilon_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The meaning that a label once had: ρ = ε²/2, which is (1, 0.13)-DP and no better."""
    _as_before(monkeypatch)
    make, head, sql, cost, claim = RELEASES[name]
    found = estimate(make(head, sql, **cost), DATA, NEIGHBOUR, claim=claimed(claim), samples=60_000)
    assert found.violated, str(found)


def _as_before(monkeypatch: pytest.MonkeyPatch, times: Fraction = Fraction(1, 2)) -> None:
    meaning = labels.read

    def square(
        epsilon: Fraction, budget: Fraction, own: Fraction | None = None, *, private_keys: bool = False
    ) -> Meaning:
        return meaning(epsilon, budget, own, private_keys=private_keys)._replace(rho=times * epsilon**2)

    monkeypatch.setattr(labels, "read", square)


# the curator itself, asked again and again


def seen(head: str, sql: str, **cost: Any) -> Batch:
    """Every answer as an analyst sees it."""

    def draw(data: Any, n: int) -> Any:
        with Replay(policy_of(TABLE, head=head)) as replay:
            answers: list[Any] = [replay.run(sql, data, **cost).outcome[1] for _ in range(n)]
        return np.array([[float(rows[0][-1]) if rows else np.nan] for rows in answers])

    return Batch(draw, sql)


ANSWERS = 600
"""Each takes milliseconds. What they could show beyond the releases above is what comes after the noise."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RELEASES if not name.startswith("fit")])
def test_answers_keep_to_their_label(name: str) -> None:
    _, head, sql, cost, claim = RELEASES[name]
    for sides in itertools.permutations((DATA, NEIGHBOUR)):
        found = estimate(seen(head, sql, **cost), *sides, claim=claimed(claim), samples=ANSWERS, confidence=SURE)
        assert not found.violated, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["with delta", "with a delta of its own"])
def test_answers_for_more_than_their_label_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At ρ = 2·ε², whose δ at ε = 1 is 0.5: seen in so few answers but once in more than 10⁹."""
    _as_before(monkeypatch, Fraction(2))
    _, head, sql, cost, claim = RELEASES[name]
    found = estimate(seen(head, sql, **cost), DATA, NEIGHBOUR, claim=claimed(claim), samples=ANSWERS)
    assert found.violated, str(found)
