"""The ledger against a model in exact fractions: random histories of spending, budgets, policies and reopening."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from discreet.accounting import Approximate, Concentrated, Loss, Pure
from discreet.accounting.balance import Amount
from discreet.accounting.conversion import epsilon_of_rho, rho_of_epsilon, rho_of_pure
from discreet.accounting.labels import rho_of_label
from discreet.accounting.record import Entry
from discreet.errors import BudgetExhausted, Refused
from discreet.ledger import OWNER, Grant, Ledger, LedgerError, verify
from tests.ledger.helpers import answers

UNIT = Fraction(1, 10**24)
DIGITS = Fraction(1, 10**13)
OFFERED = Fraction(2, 10**11)
"""The largest ε that is offered has fewer digits than what adds up."""
Spent = tuple[Fraction, ...]


@dataclass(frozen=True)
class Budget:
    """ε, or (ε, δ), and what may be spent of it."""

    epsilon: Fraction
    delta: Fraction | None

    @property
    def limits(self) -> Spent:
        if self.delta is None:
            return (down(self.epsilon),)
        return down(rho_of_epsilon(self.epsilon, self.delta / 2)), down(self.delta / 2)

    def share(self, epsilon: Fraction) -> Spent:
        if self.delta is None:
            return (down(epsilon),)
        return down(rho_of_epsilon(epsilon, self.delta / 2)), down(self.delta / 2 * epsilon / self.epsilon)

    def cost(self, loss: Loss) -> Spent | None:
        """What a loss costs here; None if it cannot be paid from this budget at all."""
        if self.delta is None:
            return (up(loss.epsilon),) if isinstance(loss, Pure) else None
        if isinstance(loss, Pure):
            return up(rho_of_pure(loss.epsilon)), Fraction(0)
        if isinstance(loss, Approximate):
            return up(rho_of_pure(loss.epsilon)), up(loss.delta)
        return up(loss.rho), up(loss.delta)

    def release(self, epsilon: Fraction) -> Loss:
        """The loss of a release for this ε, which is nothing for nothing."""
        if self.delta is None:
            return Pure(epsilon)
        return Concentrated(rho_of_label(epsilon, self.delta / 2) if epsilon else 0)

    def carried(self, spent: Spent) -> Spent | None:
        """What was spent in another budget, in the currency of this one."""
        if len(spent) == len(self.limits):
            return spent
        return None if self.delta is None else (up(rho_of_pure(spent[0])), Fraction(0))

    @property
    def grant(self) -> Grant:
        return Grant.of(self.epsilon, self.delta)


def up(amount: Fraction) -> Fraction:
    return -(-amount // UNIT) * UNIT


def down(amount: Fraction) -> Fraction:
    return amount // UNIT * UNIT


def plus(a: Spent, b: Spent) -> Spent:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def fits(spent: Spent, limits: Spent) -> bool:
    return all(used <= limit for used, limit in zip(spent, limits, strict=True))


def payable(cost: Spent, spent: Spent, limits: Spent) -> bool:
    """Nothing costs nothing, also where a share was made smaller than what is spent of it."""
    return all(
        increase == 0 or used + increase <= limit for increase, used, limit in zip(cost, spent, limits, strict=True)
    )


@dataclass
class Model:
    """All that a ledger should remember."""

    budget: Budget
    spent: Spent
    shares: dict[str, Fraction]
    of: dict[str, Spent] = field(default_factory=dict)
    entries: list[tuple[str, str, Spent, int, bool]] = field(default_factory=list)
    data: int = 1

    def of_analyst(self, analyst: str) -> Spent:
        return self.of.get(analyst, (Fraction(0),) * len(self.spent))

    def admits(self, loss: Loss, analyst: str | None) -> bool:
        cost = self.budget.cost(loss)
        if cost is None or not payable(cost, self.spent, self.budget.limits):
            return False
        return analyst is None or payable(cost, self.of_analyst(analyst), self.budget.share(self.shares[analyst]))

    def charge(self, loss: Loss, analyst: str | None, question: str, *, answered: bool) -> None:
        cost = self.budget.cost(loss)
        assert cost is not None
        who = analyst or OWNER
        self.spent, self.of[who] = plus(self.spent, cost), plus(self.of_analyst(who), cost)
        self.entries.append((who, question, cost, self.data, answered))

    def accepts(self, budget: Budget) -> bool:
        carried = budget.carried(self.spent)
        return carried is not None and fits(carried, budget.limits)

    def change(self, budget: Budget) -> None:
        of = {analyst: budget.carried(spent) for analyst, spent in self.of.items()}
        self.spent = budget.carried(self.spent) or ()
        self.of = {analyst: spent for analyst, spent in of.items() if spent is not None}
        self.budget = budget


costs = st.one_of(
    st.sampled_from([Fraction(0), UNIT, UNIT / 3, Fraction(1, 3), Fraction(1, 10)]),
    st.fractions(0, 1, max_denominator=10**6),
    st.fractions(0, Fraction(1, 10), max_denominator=10**30),
)
chances = st.one_of(st.just(Fraction(0)), st.fractions(UNIT, Fraction(1, 10**6), max_denominator=10**27))
losses: st.SearchStrategy[Loss] = st.one_of(
    st.builds(Pure, costs),
    st.builds(Pure, costs),
    st.builds(Concentrated, costs, chances),
    st.builds(Approximate, costs, chances.filter(bool)),
)
totals = st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(10, 3), Fraction(4)])
deltas = st.sampled_from([None, Fraction(1, 10**6), Fraction(1, 10**5)])
budgets = st.builds(Budget, totals, deltas)
parts = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(5)])
analysts = st.sampled_from([None, "ann", "bob"])
texts = st.text(st.characters(), max_size=20)
"""All characters, lone surrogates too."""


class History(RuleBasedStateMachine):
    """Two openings of one ledger, used in turns, and the model."""

    @initialize(budget=budgets, ann=parts, bob=parts)
    def begin(self, budget: Budget, ann: Fraction, bob: Fraction) -> None:
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        self.path = self.folder / "ledger.sqlite"
        self.model = Model(budget, (Fraction(0),) * len(budget.limits), {"ann": ann, "bob": bob})
        self.receipts: list[str] = []
        self.protected = "people"
        self.kept: list[bytes] = []
        self.open = [self.opened(budget) for _ in range(2)]

    def opened(self, budget: Budget, shares: Mapping[str, Fraction] | None = None) -> Ledger:
        return Ledger.open(self.path, budget.grant, shares=shares or self.model.shares, protected=self.protected)

    @rule(which=st.integers(0, 1), loss=losses, analyst=analysts, why=texts, answered=st.booleans())
    def charge(self, which: int, loss: Loss, analyst: str | None, why: str, answered: bool) -> None:
        charge = self.open[which].charge(loss, analyst=analyst, why=why, plan="plan")
        if self.model.admits(loss, analyst):
            with charge:
                self.receipts.append(charge.receipt)
                if answered:
                    self.kept.insert(0, why.encode("utf-8", "surrogatepass"))
                    charge.keep(self.kept[0])
            self.model.charge(loss, analyst, why, answered=answered)
            return
        known = self.model.budget.cost(loss) is not None
        with pytest.raises(BudgetExhausted if known else Refused) as refusal, charge:
            pytest.fail("the body must not run")
        assert known or refusal.value.code == "cost-invalid"

    @rule(which=st.integers(0, 1), analyst=analysts)
    def spend_all_that_remains(self, which: int, analyst: str | None) -> None:
        """What `remaining` offers is there, to the whole budget and, within it, to an analyst."""
        ledger = self.open[which]
        amounts = [ledger.balance().remaining] + ([ledger.balance(analyst).remaining] if analyst else [])
        offers = [Fraction(str(amount.epsilon)) for amount in amounts]
        loss = self.model.budget.release(min(offers))
        assert self.model.admits(loss, analyst)
        self.charge(which, loss, analyst, "all", False)

    @rule(which=st.integers(0, 1))
    def ask_as_a_stranger(self, which: int) -> None:
        with pytest.raises(Refused, match="unknown-analyst"):
            self.open[which].charge(Pure(0), analyst="eve", why="")
        with pytest.raises(Refused, match="unknown-analyst"):
            self.open[which].balance("eve")

    @rule(which=st.integers(0, 1), budget=budgets)
    def change_budget(self, which: int, budget: Budget) -> None:
        if self.model.accepts(budget):
            self.open[which].raise_budget(budget.grant, "decided")
            self.model.change(budget)
        else:
            with pytest.raises(LedgerError, match=r"is less than what is spent|cannot be counted"):
                self.open[which].raise_budget(budget.grant, "decided")

    @rule(which=st.integers(0, 1))
    def advance(self, which: int) -> None:
        self.model.data += 1
        assert self.open[which].advance_data("a new week") == self.model.data

    @rule(which=st.integers(0, 1), budget=budgets, ann=parts, bob=parts, protected=st.sampled_from(["people", "homes"]))
    def reopen(self, which: int, budget: Budget, ann: Fraction, bob: Fraction, protected: str) -> None:
        """With another policy: it may lower the budget, never raise it; shares are as the policy says."""
        self.open[which].close()
        now, shares = self.model.budget, {"ann": ann, "bob": bob}
        self.protected = protected
        same_currency = (budget.delta is None) == (now.delta is None)
        lower = same_currency and budget.epsilon <= now.epsilon and (budget.delta or 0) <= (now.delta or 0)
        if lower and (budget == now or self.model.accepts(budget)):
            self.model.change(budget)
        else:
            with pytest.raises(LedgerError):
                self.opened(budget, shares)
        self.model.shares = shares
        self.open[which] = self.opened(self.model.budget)
        self.open[1 - which].close()
        self.open[1 - which] = self.opened(self.model.budget)

    @rule()
    def close_both_and_verify(self) -> None:
        """Closed by the last one, the file is sealed."""
        for ledger in self.open:
            ledger.close()
        report = verify(self.path, self.receipts)
        assert report.sound
        assert report.sealed
        self.open = [self.opened(self.model.budget) for _ in range(2)]

    @precondition(lambda self: hasattr(self, "open"))
    @invariant()
    def agree(self) -> None:
        model = self.model
        assert fits(model.spent, model.budget.limits)
        for ledger in self.open:
            assert ledger.data_version == model.data
            balance = ledger.balance()
            self.compare(balance.total, balance.spent, balance.remaining, model.budget.limits, model.spent)
            for analyst, share in model.shares.items():
                balance = ledger.balance(analyst)
                limits, spent = model.budget.share(share), model.of_analyst(analyst)
                self.compare(balance.total, balance.spent, balance.remaining, limits, spent)

    def compare(self, total: Amount, spent: Amount, remaining: Amount, limits: Spent, used: Spent) -> None:
        """Spent rounds up, remaining rounds down, and neither by more than the last digits of a float."""
        left = [max(limit - amount, Fraction(0)) for limit, amount in zip(limits, used, strict=True)]
        delta = self.model.budget.delta
        if delta is None:
            assert above(spent.epsilon, used[0])
            assert below(remaining.epsilon, left[0])
            assert above(total.epsilon, limits[0])
            assert {spent.rho, spent.delta, remaining.rho, remaining.delta} == {None}
            return
        assert above(spent.rho, used[0])
        assert above(spent.delta, used[1])
        assert above(spent.epsilon, epsilon_of_rho(used[0], delta / 2))
        assert below(remaining.rho, left[0])
        assert below(remaining.delta, left[1])
        offered, most = Fraction(str(remaining.epsilon)), epsilon_of_rho(left[0], delta / 2)
        assert most * (1 - OFFERED) <= offered <= most * (1 + OFFERED)
        assert self.model.budget.release(offered).concentrated().rho <= left[0]
        assert total.delta == float(delta)

    def teardown(self) -> None:
        if not hasattr(self, "open"):
            return
        try:
            listed = [self.listed(entry) for entry in self.open[0].entries()]
            assert listed == self.model.entries
            numbers = [int(receipt.partition(":")[0]) for receipt in self.receipts]
            assert [entry.number for entry in self.open[1].entries()] == numbers == sorted(numbers)
            assert [kept.answer for kept in answers(self.open[1], "plan")] == self.kept
            for ledger in self.open:
                ledger.close()
            report = verify(self.path, self.receipts)
            assert report.problems == ()
            assert report.charges == len(self.model.entries)
        finally:
            shutil.rmtree(self.folder)

    def listed(self, entry: Entry) -> tuple[str, str, Spent, int, bool]:
        loss = entry.loss
        amounts = (loss.epsilon,) if isinstance(loss, Pure) else (loss.rho, loss.delta)
        return entry.analyst, entry.question, amounts, entry.data_version, entry.answered


def above(shown: float | None, exact: Fraction) -> bool:
    return shown is not None and exact <= Fraction(str(shown)) <= exact * (1 + DIGITS)


def below(shown: float | None, exact: Fraction) -> bool:
    return shown is not None and exact * (1 - DIGITS) <= Fraction(str(shown)) <= exact


@pytest.mark.parametrize(
    ("histories", "steps"),
    [(10, 25), *(pytest.param(histories, 40, marks=pytest.mark.slow) for histories in (30, 60))],
)
def test_the_ledger_does_as_the_model(histories: int, steps: int) -> None:
    chosen = settings(max_examples=histories, stateful_step_count=steps, deadline=None)
    run_state_machine_as_test(History, settings=chosen)


def test_the_model_is_no_copy_of_the_filters() -> None:
    """Some values by hand, so that model and ledger cannot be wrong together."""
    pure = Model(Budget(Fraction(1), None), (Fraction(0),), {"ann": Fraction(1, 2)})
    assert pure.admits(Pure(1), None)
    assert not pure.admits(Pure(1 + UNIT), None)
    assert pure.admits(Pure(0.5), "ann")
    assert not pure.admits(Pure(0.5 + 1e-15), "ann")
    assert not pure.admits(Concentrated(0), None)
    assert replace(pure, spent=(Fraction(1),)).admits(Pure(0), None)
    both = Budget(Fraction(1), Fraction(1, 10**6))
    tanh = Fraction("1.523188311911529776238917")  # 2·tanh(1) = 1.523188311911529776238916565…
    assert both.cost(Pure(2)) == (tanh, Fraction(0))
    assert both.cost(Approximate(2, UNIT / 2)) == (tanh, UNIT)
    assert Fraction("0.0165") < both.limits[0] < Fraction("0.03")  # ρ + 2√(ρ·ln(2·10⁶)) = 1, the simpler bound: 0.0165
    assert both.limits[1] == Fraction(1, 2 * 10**6)
