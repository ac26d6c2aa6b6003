"""What was spent about each unit: counted apart, repeated in totals, read from ledgers that did not count it."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting import Concentrated, Pure
from discreet.accounting.balance import MEANING, Balance, unit_lines
from discreet.errors import Refused
from discreet.ledger import Grant, Ledger, LedgerDamaged, verify
from discreet.ledger import ledger as module
from discreet.ledger.codec import encode, link
from discreet.ledger.state import State
from discreet.ledger.units import UNRECORDED

PURE = Grant.of(Fraction(100), None)
BOTH = Grant.of(Fraction(100), Fraction(1, 10**6))


def opened(path: Path, grant: Grant = PURE, protected: str = "a", unit: str | None = None) -> Ledger:
    return Ledger.open(path, grant, shares={"ann": Fraction(1)}, protected=protected, unit=unit)


def spend(ledger: Ledger, amount: float, unit: str | None = None, analyst: str | None = None) -> None:
    loss = Pure(amount, unit=unit)
    with ledger.charge(loss, why="q", analyst=analyst):
        pass


def about(balance: Balance) -> dict[str, float]:
    return {unit: amount.epsilon for unit, amount in balance.units.items()}


def test_all_that_is_about_one_unit_is_one_guarantee(path: Path) -> None:
    with opened(path, unit="patient") as ledger:
        spend(ledger, 1, "patient")
        spend(ledger, 0.5, "patient", "ann")
        assert about(ledger.balance()) == {}
        assert unit_lines(ledger.balance()) == []


def test_a_ledger_without_a_unit_counts_units_apart(path: Path) -> None:
    with opened(path) as ledger:
        for amount, unit in ((1, "patient"), (2, "visit"), (4, None), (8, "patient")):
            spend(ledger, amount, unit)
        assert about(ledger.balance()) == {"patient": 9, "visit": 2, UNRECORDED: 4}
        assert about(ledger.balance("ann")) == {}
        assert unit_lines(ledger.balance()) == [
            "about patient: ε 9", "about visit: ε 2", f"about {UNRECORDED}: ε 4", MEANING,
        ]  # fmt: skip
        assert [entry.loss.unit for entry in ledger.entries()] == ["patient", "visit", None, "patient"]
    assert verify(path).sound


def test_the_same_name_under_another_policy_is_another_unit(path: Path) -> None:
    for protected, amount in (("a", 1), ("b", 2), ("c", 4), ("a", 8)):
        with opened(path, protected=protected, unit="patient") as ledger:
            spend(ledger, amount, "patient")
            found = about(ledger.balance())
    assert found == {"patient": 9, "patient, as declared earlier": 2, "patient, as declared earlier (2)": 4}
    assert verify(path).sound


def test_units_are_repeated_in_totals(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOTALS_EVERY", 4)
    with opened(path) as ledger:
        for place in range(11):
            spend(ledger, 1, ("patient", "visit", None)[place % 3])
    with opened(path) as ledger:
        assert about(ledger.balance()) == {"patient": 4, "visit": 4, UNRECORDED: 3}
    assert verify(path).sound


def test_a_budget_that_changes_its_currency_takes_units_along(path: Path) -> None:
    with opened(path) as ledger:
        spend(ledger, 1, "patient")
        spend(ledger, 2, "visit")
        ledger.raise_budget(BOTH, "with a delta")
        with ledger.charge(Concentrated(Fraction(1, 10), unit="visit"), why="q"):
            pass
        balance = ledger.balance()
    spent = {unit: amount.rho for unit, amount in balance.units.items() if amount.rho is not None}
    assert list(spent) == ["patient", "visit", UNRECORDED]  # ρ of a sum is more than the sum of both
    assert spent["patient"] == pytest.approx(0.4621, abs=1e-4)
    assert balance.spent.rho is not None
    assert sum(spent.values()) == pytest.approx(balance.spent.rho)
    assert verify(path).sound


def grown(state: State, kind: str, fields: dict[str, object]) -> State:
    line = encode(kind, fields)
    return state.after((state.head + 1, line, link(state.digest, line)))


def state_of(path: Path) -> State:
    with opened(path) as ledger:
        spend(ledger, 1, "patient")
        return ledger._state


def test_totals_that_do_not_count_units_leave_none(path: Path) -> None:
    """As a discreet of before would have written them: whoever begins there must know what all others know."""
    state = state_of(path)
    told = {name: value for name, value in state.totals().items() if name != "units"}
    after = grown(state, "totals", told)
    assert after.units == {}
    assert after.spent == state.spent
    assert grown(state, "totals", state.totals()).units == state.units


@pytest.mark.parametrize(
    "units", [{"a": {"patient": ["1"]}}, {"b": {"patient": [str(10**24)]}}, {"a": 5}, 5, {"a": {}}]
)
def test_totals_that_count_units_otherwise_are_damage(path: Path, units: object) -> None:
    state = state_of(path)
    with pytest.raises(LedgerDamaged, match="does not add up"):
        grown(state, "totals", {**state.totals(), "units": units})


@pytest.mark.parametrize("unit", ["", 5, None, ["patient"]])
def test_a_charge_about_nobody_is_damage(path: Path, unit: object) -> None:
    with opened(path) as ledger:
        spend(ledger, 1, "patient")
        state = replace(ledger._state)
        [line] = [line for _, line, _ in ledger._store.rows() if '"charge"' in line]
    record = {**json.loads(line), "spent": [str(2 * 10**24)], "unit": unit}
    fields = {name: value for name, value in record.items() if name not in ("v", "kind")}
    with pytest.raises(LedgerDamaged, match="does not add up"):
        grown(state, "charge", fields)
    assert grown(state, "charge", {**fields, "unit": "visit"}).units["a"]["visit"] == (10**24,)


def test_a_ledger_with_a_unit_refuses_what_is_about_another_and_takes_what_loses_nothing(path: Path) -> None:
    with opened(path, unit="patient") as ledger:
        for unit in (None, "visit"):
            with pytest.raises(Refused, match=r"losses-differ.*the ledger is about one 'patient'"):
                spend(ledger, 1, unit)
            assert ledger.affordable_count(Pure(1, unit=unit)) == 0
            spend(ledger, 0, unit)
        assert ledger.affordable_count(Pure(1, unit="patient")) == 100


@pytest.mark.parametrize("unit", ["", 5, b"patient"])
def test_a_unit_has_a_name(path: Path, unit: str) -> None:
    with pytest.raises(TypeError, match="unit must be the name"):
        opened(path, unit=unit)
