"""One unit in or out of a whole session of adaptive questions: nothing tells more than the budget allows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from discreet.audit import estimate
from discreet.audit.sessions import Question, claimed, session
from discreet.policy import Policy
from tests.budget import later
from tests.sql.worlds import policy_of

HEADS = {
    "pure": 'name = "w"\n[budget]\nepsilon = 2\n[unit]\nname = "person"\n',
    "both": 'name = "w"\n[budget]\nepsilon = 2\ndelta = 1e-4\n[unit]\nname = "person"\n',
}
TABLE = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 2
[tables.t.columns]
g = { values = ["a", "b", "c"] }
x = { type = "integer", min = 0, max = 100 }
"""
CROWD = [{"who": who, "g": "abc"[who % 3], "x": 7 * who % 100} for who in range(12)]
TARGET = [{"who": "target", "g": "b", "x": 64}, {"who": "target", "g": "b", "x": 64}]


COSTS: dict[bool, tuple[dict[str, float], dict[str, float]]] = {
    True: ({"epsilon": 0.02}, {"epsilon": 0.06}),
    False: ({"rho": 0.0002}, {"rho": 0.0018}),
}
"""Of dull and of promising questions, in budgets without δ and with it: fifty of them are most of the budget."""


def hunter(answers: Sequence[Sequence[float]], costs: tuple[dict[str, float], dict[str, float]]) -> Question | None:
    """Looks for a person of 64 in b: halves the range towards it, pays more where the last answer looked promising, and
    comes back to the most telling question with what is left."""
    step = len(answers)
    low, high = 0, 100
    for place in range(step % 7):
        middle = (low + high) // 2
        low, high = (middle, high) if (middle <= 64) == (place % 5 != 4) else (low, middle)
    cost = costs[0] if not answers or answers[-1][0] < 2 else costs[1]
    measure = ("COUNT(*)", "SUM(x)", "COUNT(DISTINCT who)")[step % 3]
    return f"SELECT {measure} AS v FROM t WHERE g = 'b' AND x BETWEEN {low} AND {high} AND {step} = {step}", {
        **cost,
        "fresh": True,
    }


def compared(policy: Policy, runs: int, questions: int, confidence: float) -> Any:
    data, neighbour = {"t": [*CROWD, *TARGET]}, {"t": CROWD}
    return estimate(
        session(policy, partial(hunter, costs=COSTS[policy.budget.delta is None]), questions=questions),
        data,
        neighbour,
        claim=claimed(policy),
        samples=runs,
        confidence=confidence,
    )


@pytest.mark.long
@pytest.mark.parametrize("budget", later(reversed(HEADS)))
def test_a_session_tells_no_more_than_its_budget_allows(budget: str) -> None:
    """So many sessions with exact answers prove an ε of 1.4, where 0.1 is claimed."""
    policy = policy_of(TABLE, head=HEADS[budget].replace("epsilon = 2", "epsilon = 0.1"))
    found = compared(policy, 90, 2, 1 - 1e-7)
    assert not found.violated, str(found)
    _, low, _ = found.advantage
    assert low <= found.claim.advantage


@pytest.mark.slow
@pytest.mark.parametrize("budget", HEADS)
def test_many_adaptive_questions_many_times(budget: str) -> None:
    """25 questions are most of this budget. Who always tells the neighbours apart proves an ε of 2.1 by so many
    sessions, and 1 is claimed."""
    policy = policy_of(TABLE, head=HEADS[budget].replace("epsilon = 2", "epsilon = 1"))
    found = compared(policy, 150, 25, 1 - 1e-7)
    assert not found.violated, str(found)
    middle, low, high = found.advantage
    assert low <= found.claim.advantage
    assert low <= middle <= high


@pytest.mark.slow
def test_a_ledger_that_does_not_count_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same session where nothing is ever spent: the attacker averages until it knows. The means of 40 answers lie
    four and a half deviations apart."""
    policy = policy_of(TABLE, head=HEADS["pure"].replace("epsilon = 2", "epsilon = 1"))
    from discreet.curator.dummy import FreeLedger

    monkeypatch.setattr("discreet.audit.sessions.Ledger", FreeLedger)

    def averaging(answers: Sequence[Sequence[float]]) -> Question | None:
        return f"SELECT COUNT(*) AS v FROM t WHERE g = 'b' AND {len(answers)} >= 0", {"epsilon": 1, "fresh": True}

    data, neighbour = {"t": [*CROWD, *TARGET]}, {"t": CROWD}
    found = estimate(
        session(policy, averaging, questions=40), data, neighbour, claim=claimed(policy), samples=120, confidence=0.999
    )
    assert found.violated, str(found)
    assert found.advantage[1] > found.claim.advantage
