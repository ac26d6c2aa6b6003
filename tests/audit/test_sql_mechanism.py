"""Questions in SQL and inputs from the library of patterns, for the black box."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting.losses import Sensitivity
from discreet.audit import batch, estimate, question
from discreet.audit.patterns import ALL_CELLS, NUMBERS, ONE_CELL, ROWS
from discreet.audit.zoo import laplace, noisy_max, scaled
from discreet.errors import Refused
from discreet.mechanisms import BoundedSum, Exponential, Histogram, Laplace
from discreet.sql.measures import Contribution
from tests.sql.worlds import policy_of

SURE = 1 - 1e-8
TABLE = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 3
max_groups = 2
[tables.t.columns]
g = { values = ["a", "b", "c"] }
x = { type = "integer", min = 0, max = 10 }
z = { type = "text" }
[tables.p]
source = "p.csv"
public = true
[tables.p.columns]
a = { type = "integer" }
"""
HEAD = 'name = "w"\n[budget]\nepsilon = 9\ndelta = 0.01\n[unit]\nname = "person"\n'
CROWD = [{"who": who, "g": "abc"[who % 3], "x": who % 11, "z": f"k{who % 2}"} for who in range(10)]
GUEST = [{"who": "guest", "g": group, "x": 10, "z": "mine"} for group in "aab"]
DATA, NEIGHBOUR = {"t": [*CROWD, *GUEST]}, {"t": CROWD}


@pytest.mark.parametrize(
    ("sql", "claim"),
    [
        ("SELECT COUNT(*) FROM t", 1),
        ("SELECT g, COUNT(*), SUM(x) FROM t GROUP BY g", 1),
        ("SELECT AVG(x) FROM t", 1),
        ("SELECT MEDIAN(x) FROM t", 1),
        ("SELECT z, COUNT(*) FROM t GROUP BY z", (1, 0.001)),
    ],
)
def test_questions_keep_their_cost(sql: str, claim: Any) -> None:
    """Laplace noise for the question alone: the claim is what was paid."""
    asked = question(policy_of(TABLE, head=HEAD), sql, epsilon=1, delta=0.001)
    for sides in ((DATA, NEIGHBOUR), (NEIGHBOUR, DATA)):
        found = estimate(asked, *sides, claim=claim, samples=2000, confidence=SURE)
        assert not found.violated, str(found)


def test_a_question_whose_sensitivity_is_understated_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row counts less than there are: the black box sees it without knowing why."""
    monkeypatch.setattr(Contribution, "sensitivity", property(lambda _: Sensitivity(Fraction(1), Fraction(1))))
    asked = question(policy_of(TABLE, head=HEAD), "SELECT COUNT(*) FROM t", epsilon=1, delta=0.001)
    found = estimate(asked, DATA, NEIGHBOUR, claim=1, samples=20_000)
    assert found.violated, str(found)


def test_what_is_refused_or_public_is_no_mechanism() -> None:
    policy = policy_of(TABLE, head=HEAD)
    with pytest.raises(Refused):
        estimate(question(policy, "SELECT x FROM t", epsilon=1), DATA, NEIGHBOUR, claim=1, samples=100)
    with pytest.raises(ValueError, match="nothing private"):
        estimate(question(policy, "SELECT COUNT(*) FROM p", epsilon=1), DATA, NEIGHBOUR, claim=1, samples=100)


# patterns


def test_patterns_are_neighbours_of_sensitivity_one() -> None:
    assert all(0 < abs(a - b) <= 1 + 1e-9 for a, b in NUMBERS)
    assert all(sum(abs(x - y) for x, y in zip(a, b, strict=True)) == 1 for a, b in ONE_CELL)
    assert all(max(abs(x - y) for x, y in zip(a, b, strict=True)) == 1 for a, b in ALL_CELLS)
    assert all(len(b) == len(a) + 1 and a == b[: len(a)] for a, b in ROWS)


@pytest.mark.long
def test_correct_mechanisms_survive_the_search() -> None:
    whole = [pair for pair in NUMBERS if isinstance(pair[0], int) and abs(pair[0]) < 2**53]
    cases: list[tuple[Any, Any]] = [
        (Laplace(1, sensitivity=1), whole),
        (Exponential(1, sensitivity=1), ALL_CELLS),
        (BoundedSum(bounds=(0, 1), epsilon=1), ROWS[:5]),
        (Histogram(keys=[0.0, 1.0], epsilon=1), ROWS[:2]),
    ]
    for mechanism, patterns in cases:
        found = estimate(mechanism, patterns=patterns, samples=3000, confidence=SURE)
        assert not found.violated, (mechanism, str(found))


def test_the_search_finds_what_is_wrong() -> None:
    def nan_sum(rows: list[float], n: int) -> Any:
        return sum(rows) + laplace(1, n)

    @batch
    def wrapped(exact: int, n: int) -> Any:
        return np.asarray([(int(exact) + 2**31) % 2**32 - 2**31]) + scaled(1)(0, n)

    assert estimate(batch(nan_sum), claim=1, patterns=ROWS, samples=20_000).violated
    assert estimate(wrapped, claim=1, patterns=NUMBERS[:5], samples=20_000).violated
    assert estimate(batch(noisy_max(0.5)), claim=1, patterns=ALL_CELLS, samples=20_000).violated


def test_no_number_is_a_witness_in_words() -> None:
    found = estimate(batch(lambda rows, n: sum(rows) + laplace(1, n)), [0.5], [0.5, math.nan], claim=1, samples=4000)
    assert any(word in found.witness for word in ("number", "nan", "the output is 0.5"))  # or all that are numbers
