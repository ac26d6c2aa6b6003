"""What one query may cost without a yes: a tenth of what is left; and an analyst's at all: a tenth of the budget."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting.balance import part_used
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.errors import BudgetExhausted, Refused
from discreet.exit.cost import usual_cost
from discreet.ledger.standing import part_of
from tests.sql.test_accuracy import HEADS, ROWS, TABLE, asking, world
from tests.sql.worlds import ledger_of, policy_of

COUNT = "SELECT COUNT(*) AS n FROM t"
OTHER = "SELECT COUNT(*) AS n FROM t WHERE g = 'a'"


@pytest.fixture(params=["pure", "both"])
def curator(request: pytest.FixtureRequest) -> Iterator[Curator]:
    with asking(request.param) as opened:
        yield opened


def refused(curator: Curator, *args: Any, **settings: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        curator.query(*args, **settings)
    assert curator.budget().spent.epsilon == 0 or curator.entries()
    return caught.value


def wanted(curator: Curator, part: float) -> int:
    """The largest whole error whose cost is above a part of what is left."""
    error = 1000
    while curator.preview(OTHER, error=error).remaining.part(curator.preview(OTHER, error=error).loss) <= part:
        error = error * 9 // 10
    return error


def test_a_cost_that_nobody_named_needs_a_yes_above_a_tenth_of_what_is_left(curator: Curator) -> None:
    error = wanted(curator, 0.1)
    problem = refused(curator, OTHER, error=error)
    assert problem.code == "confirm-cost"
    assert problem.spent == 0
    assert problem.edit is not None
    assert dict(problem.edit.arguments) == {"confirm": True}
    assert curator.entries() == [], "it costs nothing"
    ahead = curator.preview(OTHER, error=error)
    assert "to run it, say confirm=True" in ahead.notes[-1]
    assert problem.reason.split(" of what")[0].removeprefix("it would use ") in ahead.notes[-1]
    answer = curator.query(OTHER, error=error, confirm=True)
    assert answer.loss == ahead.loss
    assert curator.query(OTHER, error=error).cached, "what is cached is free, and needs nobody's yes"


def test_a_tenth_itself_needs_none_and_neither_does_a_cost_that_was_named(curator: Curator) -> None:
    small = curator.preview(COUNT, error=300)
    assert small.remaining.part(small.loss) <= 0.1
    assert curator.query(COUNT, error=300).loss == small.loss
    whole = curator.budget().next
    named: dict[str, Any] = {"epsilon": whole.epsilon} if whole.rho is None else {"rho": whole.rho}
    assert curator.query(OTHER, **named).more == 0


def test_the_text_may_agree_too(curator: Curator) -> None:
    error = wanted(curator, 0.1)
    clause = f"WITH DIFFERENTIAL_PRIVACY OPTIONS(error = {error}, confirm = {{}})"
    text = OTHER.replace("SELECT", f"SELECT {clause}")
    assert refused(curator, text.format("false")).code == "confirm-cost"
    assert not curator.query(text.format("true")).cached


def test_what_does_not_fit_is_refused_by_the_charge_which_says_what_does(curator: Curator) -> None:
    error = wanted(curator, 0.4)
    curator.query(COUNT, epsilon=curator.budget().next.epsilon * 0.8)
    with pytest.raises(BudgetExhausted):
        curator.query(OTHER, error=error)


def test_the_check_follows_from_text_and_ledger_alone() -> None:
    """On neighbouring databases, and on one without anybody, the same words; and nothing is read for them."""
    policy, whole = world("both", 3, "")
    said = set()
    for engine in (whole, Memory(policy, {"t": ROWS[1:]}), Memory(policy, {"t": []}), Unread()):
        with ledger_of(policy, generous=False) as ledger, Curator(policy, ledger, engine=engine) as curator:  # type: ignore[arg-type]
            said.add(str(refused(curator, COUNT, error=5)))
            said.add(str(refused(curator, COUNT, epsilon=2, analyst="ann")))
    assert len(said) == 2


class Unread:
    """An engine that cannot be asked anything."""

    def close(self) -> None: ...


@pytest.mark.parametrize("confirm", ["yes", 1, None])
def test_a_yes_is_true_and_nothing_else(curator: Curator, confirm: object) -> None:
    assert refused(curator, OTHER, error=5, confirm=confirm).code == "cost-invalid"


# max_cost


def test_an_analysts_query_costs_a_tenth_of_the_budget_at_most_and_the_owners_what_they_say(curator: Curator) -> None:
    most = curator._ledger.grant.tenth.epsilon
    problem = refused(curator, COUNT, epsilon=most * 1.01, analyst="ann")
    assert problem.code == "cost-too-high"
    assert problem.edit is not None
    with pytest.raises(Refused, match="a tenth of it"):
        curator.preview(COUNT, epsilon=most * 1.01, analyst="ann")
    assert curator.entries() == []
    fix: dict[str, Any] = {name: value for name, value in problem.edit.arguments.items() if value is not None}
    assert not curator.preview(COUNT, **fix, analyst="ann").cached, "the fix works"
    assert curator.query(COUNT, epsilon=most * 1.01).loss.amount > 0, "an owner"
    assert curator.query(COUNT, epsilon=most * 1.01, analyst="ann").cached, "what is cached costs nothing"
    assert curator.recall(curator.entries()[-1].number, analyst="ann").rows


def test_all_of_delta_in_one_query_is_no_tenth_of_the_budget() -> None:
    head = HEADS["both"].format(epsilon=3, top="")
    policy = policy_of(TABLE.replace("g = {", 'z = { type = "text" }\ng = {'), head=head)
    keys = "SELECT z, COUNT(*) AS n FROM t GROUP BY z"
    with ledger_of(policy, generous=False) as ledger, Curator(policy, ledger, engine=Unread()) as curator:  # type: ignore[arg-type]
        problem = refused(curator, keys, epsilon=0.1, delta=1e-6, analyst="ann")
        assert (problem.code, "100 % of the budget" in problem.reason) == ("cost-too-high", True)
        assert curator.preview(keys, epsilon=0.1, analyst="ann").more


def test_a_max_cost_that_is_written_replaces_the_tenth_for_everybody() -> None:
    with asking("pure", top="max_cost = 0.4\n") as curator:
        assert curator.query(COUNT, epsilon=0.4, analyst="ann").loss.amount > 0
        assert refused(curator, COUNT, epsilon=0.5).code == "cost-too-high"


def test_the_usual_cost_is_a_tenth_of_what_is_left(curator: Curator) -> None:
    whole = usual_cost(curator.policy, curator.budget().next)
    assert whole == usual_cost(curator.policy)
    curator.query(COUNT, epsilon=2.5)
    less = usual_cost(curator.policy, curator.budget().next)
    assert 0 < less < whole
    assert curator.preview(OTHER, epsilon=less).remaining.part(curator.preview(OTHER, epsilon=less).loss) <= 0.1
    left = curator.budget().next
    rest: dict[str, Any] = {"epsilon": left.epsilon} if left.rho is None else {"rho": left.rho}
    curator.query(OTHER, **rest)
    assert usual_cost(curator.policy, curator.budget().next) == whole, "where nothing is left it only shows a form"


# arithmetic


def test_the_scarcer_currency_counts() -> None:
    assert part_of((1, 0), (10, 0)) == Fraction(1, 10)
    assert part_of((1, 2), (10, 4)) == Fraction(1, 2)
    assert part_of((0, 0), (0, 0)) == 0
    assert part_of((11, 0), (10, 5)) is None
    assert part_of((1, 1), (10, 0)) is None
    assert part_used(Fraction(0), Fraction(0)) == 1
