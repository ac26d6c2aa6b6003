"""Whole sessions as one mechanism: everything that an adaptive analyst gets to see until the budget is spent.

Theorem  A session is as private as its budget, however each question and its cost follow from earlier answers (see
         `accounting.filters`). So what tells two neighbours apart over a whole session stays below what the budget
         allows; `estimate` looks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from discreet.accounting import Pure
from discreet.audit.blackbox import Claim
from discreet.audit.neighbours import Data
from discreet.audit.outputs import Batch, Floats
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory as MemoryEngine
from discreet.errors import BudgetExhausted
from discreet.ledger import Grant, Ledger, Memory
from discreet.policy import Policy

MAX_QUESTIONS: Final = 50
Question = tuple[str, dict[str, Any]]
Strategy = Callable[[Sequence[Sequence[float]]], Question | None]
"""The next question with its cost, from all numbers seen so far; None to stop."""


def session(policy: Policy, strategy: Strategy, *, questions: int = MAX_QUESTIONS) -> Batch:
    """An analyst's whole session as a mechanism for `estimate`: data in, all answers out."""

    def draw(data: Data, n: int) -> Floats:
        engine = MemoryEngine(policy, data)
        try:
            seen = [_one(policy, engine, strategy, questions) for _ in range(n)]
        finally:
            engine.close()
        width = max((len(numbers) for numbers in seen), default=0)
        out = np.full((n, width), np.nan)
        for row, numbers in zip(out, seen, strict=True):
            row[: len(numbers)] = numbers
        return out

    return Batch(draw, "session")


def _one(policy: Policy, engine: MemoryEngine, strategy: Strategy, questions: int) -> list[float]:
    """One session, with a ledger of its own."""
    answers: list[list[float]] = []
    grant = Grant.of(policy.budget.epsilon, policy.budget.delta)
    with Ledger(Memory(), grant, shares=policy.analysts, unit=policy.unit) as ledger:
        curator = Curator(policy, ledger, engine=engine)
        for _ in range(questions):
            question = strategy(answers)
            if question is None:
                break
            text, cost = question
            try:
                answer = curator.query(text, **cost)
            except BudgetExhausted:
                break
            answers.append([float(cell) for row in answer.rows for cell in row if isinstance(cell, (int, float))])
    return [number for numbers in answers for number in numbers]


def claimed(policy: Policy) -> Claim:
    """What the whole budget of a policy promises."""
    budget = policy.budget
    return Claim.of(Pure(budget.epsilon)) if budget.delta is None else Claim(float(budget.epsilon), float(budget.delta))
