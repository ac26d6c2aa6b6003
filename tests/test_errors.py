from __future__ import annotations

import copy
import pickle

import pytest

from discreet.errors import BudgetExhausted, Refused


def test_a_refusal_says_code_reason_and_fix() -> None:
    refusal = Refused("undeclared-bounds", "cost has no bounds", "add min and max to the policy")
    assert (refusal.code, refusal.reason) == ("undeclared-bounds", "cost has no bounds")
    assert refusal.fix == "add min and max to the policy"
    assert str(refusal) == "undeclared-bounds: cost has no bounds → add min and max to the policy"


def test_a_refusal_without_a_fix_says_so_much() -> None:
    assert str(Refused("not-supported", "no")) == "not-supported: no"


def test_an_exhausted_budget_is_a_refusal_with_a_code_of_its_own() -> None:
    refusal = BudgetExhausted("nothing is left", "wait")
    assert isinstance(refusal, Refused)
    assert refusal.code == "budget-exhausted"
    assert str(refusal) == "budget-exhausted: nothing is left → wait"


@pytest.mark.parametrize(
    "refusal",
    [Refused("a-code", "a reason", "a fix"), Refused("a-code", "a reason"), BudgetExhausted("a reason", "a fix")],
)
def test_refusals_travel_between_processes(refusal: Refused) -> None:
    for again in (pickle.loads(pickle.dumps(refusal)), copy.copy(refusal), copy.deepcopy(refusal)):
        assert type(again) is type(refusal)
        assert (again.code, again.reason, again.fix) == (refusal.code, refusal.reason, refusal.fix)
        assert str(again) == str(refusal)
