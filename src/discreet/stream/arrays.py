"""The same tests on rows of one's own, without a curator: to see what they do, and for rows that lie elsewhere."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from discreet.exact import Number, whole
from discreet.learn.scoring import cost_of, facts_about, measured_privately, metrics_for
from discreet.stream.goals import Goal, Verdict
from discreet.stream.validation import miss_of


def validate(
    model: Any,
    X: Any,  # noqa: N803
    y: Any,
    *,
    goal: Number,
    metric: str | None = None,
    eta: Number = 0.05,
    attempt: int = 1,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    y_bounds: Any = None,
    ledger: Any = None,
) -> Verdict:
    """Whether a fitted model is better than the goal, from rows that it was not fitted on: ACCEPT or RETRY.

    Theorem  The test costs what is said, as `private_score` does. A model whose expected metric is the goal or worse is
             accepted with probability at most η/2ᵏ, k the number of the attempt: over all attempts η at most. See
             `validation`; each row is a unit of its own here, and an independent draw.
    """
    check_is_fitted(model)
    metrics = metrics_for(model, metric)
    facts = facts_about(model, metrics, y_bounds, None)
    wanted, miss = Goal.read(metrics[0], goal, facts), miss_of(eta, whole(attempt, "attempt"))
    cost = cost_of(metrics, epsilon=epsilon, delta=delta, rho=rho, ledger=ledger)
    return wanted.verdict(wanted.pair(measured_privately(model, X, y, metrics, facts, cost, ledger)), miss)
