"""Questions by themselves: what the text and the call say together, and when a kept answer is good enough."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting import Concentrated, Pure
from discreet.accounting.distributions import DiscreteLaplace
from discreet.accounting.part import Part
from discreet.answers.call import Call
from discreet.curator.prepared import PreparedQuery, prepared
from discreet.curator.task import Context
from discreet.errors import Refused
from discreet.policy import Policy, fingerprint
from discreet.sql.cache import NoisyMeasures
from tests.sql.test_cost import BOTH, PURE, planned

COUNT = "SELECT COUNT(*) AS n FROM t"


def context(policy: Policy) -> Context:
    """Of a policy, over nothing: planning and billing need no more."""
    unused: Any = None
    return Context(policy, fingerprint(policy), 7, unused, unused, unused, unused, unused, unused)


def asked(policy: Policy, text: str, **call: Any) -> PreparedQuery:
    return prepared(context(policy), Call(sql=text, **call), planned(policy, text))


def refused(policy: Policy, text: str, **call: Any) -> str:
    with pytest.raises(Refused) as told:
        asked(policy, text, **call)
    return told.value.code


def test_the_text_and_the_call_may_say_the_same() -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) AS n FROM t"
    for call in ({}, {"epsilon": 0.5}, {"epsilon": Fraction(1, 2)}):
        assert asked(PURE, text, **call).loss == Pure(0.5)
    for other in (0.4, "half", True, [0.5]):
        assert refused(PURE, text, epsilon=other) == "cost-twice"


def test_a_question_keeps_what_it_was_asked_with() -> None:
    found = asked(PURE, COUNT, epsilon=0.5, confidence=0.9)
    assert (found.text, found.bill.data, found.confidence, found.wanted, found.bill.part) == (
        COUNT,
        7,
        Fraction(9, 10),
        None,
        None,
    )
    assert found.bill.why == COUNT
    assert asked(PURE, COUNT, epsilon=0.5).confidence == Fraction(19, 20)


@pytest.mark.parametrize("confidence", [0, 1, 2, -1, "much", None, True])
def test_a_confidence_lies_between_0_and_1(confidence: Any) -> None:
    assert refused(PURE, COUNT, epsilon=0.5, confidence=confidence) == "cost-invalid"


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 1}])
def test_a_cost_and_an_error_are_two_costs(cost: dict[str, Any]) -> None:
    assert refused(BOTH, COUNT, error=10, **cost) == "cost-invalid"


def test_a_wanted_error_buys_what_it_needs() -> None:
    found = asked(PURE, COUNT, error=10)
    assert found.wanted is not None
    assert found.is_met(NoisyMeasures(((DiscreteLaplace(Fraction(3)),),), (((5,),),), (None,)), Pure(0.001))
    assert not found.is_met(NoisyMeasures(((DiscreteLaplace(Fraction(9)),),), (((5,),),), (None,)), Pure(100))
    # the same cost is the same noise, whatever is known of it
    assert found.is_met(NoisyMeasures(((DiscreteLaplace(Fraction(9)),),), (((5,),),), (None,)), found.loss)


def test_what_was_paid_covers_what_costs_no_more() -> None:
    found = asked(PURE, COUNT, epsilon=0.5)
    nothing = NoisyMeasures()
    assert found.is_met(nothing, Pure(0.5))
    assert found.is_met(nothing, Pure(0.6))
    assert not found.is_met(nothing, Pure(0.4999))


@pytest.mark.parametrize(
    ("paid", "wanted", "enough"),
    [
        (Pure(1), Pure(1), True),
        (Pure(1), Pure(1.000000001), False),
        (Concentrated(1, 0.1), Concentrated(1, 0.1), True),
        (Concentrated(1, 0.1), Concentrated(1, 0.2), False),
        (Concentrated(1, 0.2), Concentrated(1, 0.1), True),
        (Concentrated(1, 0.2), Concentrated(2, 0.1), False),
        (Concentrated(2, 0.1), Concentrated(1, 0.2), False),
        (Concentrated(2, 0.1), Concentrated(1, 0.1), True),
        (Pure(1), Concentrated(0.46), True),
        (Pure(1), Concentrated(0.47), False),
        (Concentrated(0.46), Pure(1), False),
        (Concentrated(0.47), Pure(1), True),
        # both tiny: ε·tanh(ε/2) rounds to the same ρ, and ε itself decides
        (Pure(Fraction(1, 10**24)), Pure(Fraction(2, 10**24)), False),
    ],
)
def test_covering_is_a_matter_of_every_amount(
    paid: Pure | Concentrated, wanted: Pure | Concentrated, enough: bool
) -> None:
    assert paid.covers(wanted) is enough


def test_the_record_says_which_part_was_asked() -> None:
    part = Part("t", "g", "a")
    assert asked(PURE, COUNT, epsilon=0.5, part=part).bill.why == f"{COUNT} -- of t, {part.label}"
