"""What whoever names no cost is offered: a tenth of the budget, and never more than the policy allows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.labels import usual
from discreet.errors import Refused
from discreet.exit import Cost
from discreet.exit.cost import cost_missing, usual_cost
from discreet.policy import Budget, parse
from tests.policy.examples import HOSPITAL

POLICY = parse(HOSPITAL.encode(), Path("p.toml"))


@pytest.mark.parametrize("delta", [None, Fraction(1, 10**6)])
@pytest.mark.parametrize(("most", "offered"), [(None, None), (Fraction(1, 100), 0.01), (Fraction(5), None)])
def test_what_is_offered_is_usual_and_within_the_limit(
    delta: Fraction | None, most: Fraction | None, offered: float | None
) -> None:
    policy = replace(POLICY, budget=Budget(Fraction(3), delta), max_cost=most)
    assert usual_cost(policy) == (usual(Fraction(3), delta) if offered is None else offered)
    assert Cost.read(policy, epsilon=usual_cost(policy)).amount > 0


def test_the_refusal_offers_it_as_an_edit() -> None:
    policy = replace(POLICY, budget=Budget(Fraction(3), None), max_cost=Fraction(1, 100))
    for refusal, what in ((cost_missing(policy, "fit"), "fit"), (_refused(policy), "question")):
        assert (refusal.code, refusal.reason) == ("cost-missing", f"the {what} has no cost")
        assert refusal.fix.startswith("add epsilon, such as epsilon=0.01")
        assert refusal.edit is not None
        assert refusal.edit.arguments == {"epsilon": 0.01}
    assert _refused(policy).fix.endswith(", or the error that you want, such as error=10")


def _refused(policy: object) -> Refused:
    with pytest.raises(Refused) as refused:
        Cost.read(policy)  # type: ignore[arg-type]
    return refused.value
