"""Attack: get a smaller total than is true by adding losses that are about different things.

`BoundedMean(size=…)` and `RandomizedResponse` promise something where one person's value is replaced, everything else
where a person is added or removed; and a loss about a visit is none about a patient. Their sums are about nobody.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

import discreet
from discreet.accounting import (
    Approximate,
    Concentrated,
    ConcentratedFilter,
    Loss,
    Pure,
    PureFilter,
    Relation,
    compose,
    group,
    parallel,
    replace_one,
)
from discreet.accounting.balance import Amount, Balance
from discreet.accounting.record import Entry
from discreet.answers import documents, wire
from discreet.cli.program import discreet as program
from discreet.curator.state import open_ledger
from discreet.errors import Refused
from discreet.learn import StandardScaler
from discreet.ledger import Grant, Ledger, verify
from discreet.mechanisms import BoundedMean, BoundedSum, Laplace, RandomizedResponse
from tests.curator.worlds import hospital

REPLACED = [
    BoundedMean(bounds=(0, 1), epsilon=0.5, size=10).loss,
    BoundedMean(bounds=(0, 1), rho=0.5, size=10).loss,
    RandomizedResponse(epsilon=0.5).loss,
]
ADDED: list[Loss] = [
    Laplace(0.5, sensitivity=1).loss,
    BoundedMean(bounds=(0, 1), epsilon=0.5).loss,
    BoundedSum(bounds=(0, 1), rho=0.5).loss,
    Approximate(0.5, 1e-9),
]
PURE, BOTH = Grant.of(Fraction(10), None), Grant.of(Fraction(10), Fraction(1, 10**6))


@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("replaced", REPLACED)
@pytest.mark.parametrize("act", [compose, parallel])
def test_losses_of_two_relations_are_not_added_up(act: Callable[..., Any], added: Loss, replaced: Loss) -> None:
    for losses in ((added, replaced), (replaced, added), (Pure(0), added, added, replaced)):
        with pytest.raises(Refused, match=r"losses-differ.* about .*replace_one\(loss\).*no way back"):
            act(*losses)


def test_the_one_conversion_is_explicit_and_paid_for() -> None:
    """Adding and removing: two steps, so twice ε and four times ρ; with δ as for a group of two."""
    assert replace_one(Pure(0.5, unit="pupil")) == Pure(1, relation=Relation.REPLACE_ONE)
    assert replace_one(Pure(0.5, unit="pupil")).unit == "pupil"
    assert replace_one(Concentrated(0.1)) == Concentrated(0.4, relation=Relation.REPLACE_ONE)
    twice = group(Approximate(0.5, 1e-9), 2)
    assert isinstance(twice, Approximate)
    assert replace_one(Approximate(0.5, 1e-9)) == replace(twice, relation=Relation.REPLACE_ONE)
    with pytest.raises(ValueError, match="no group form of its own"):
        replace_one(Concentrated(0.1, 1e-9))
    total = compose(replace_one(Laplace(0.5, sensitivity=1).loss), *REPLACED[:1], *REPLACED[2:])
    assert total == Pure(2, relation=Relation.REPLACE_ONE)


@pytest.mark.parametrize("loss", REPLACED)
def test_nothing_leads_from_replacing_back_to_adding_and_removing(loss: Loss) -> None:
    assert replace_one(loss) == loss
    for found in (group(loss, 2), loss.concentrated(), compose(loss, loss), pickle.loads(pickle.dumps(loss))):
        assert found.relation is Relation.REPLACE_ONE
        assert "REPLACE_ONE" in repr(found)
    with pytest.raises(Refused, match="does not hold for parts"):
        parallel(loss, loss)
    with pytest.raises(Refused, match="their number is public"):
        group(loss, 3, unit="family")


def test_two_relations_have_no_common_epsilon() -> None:
    """Why: with a public size, a data set and the same one without a person have no outcome in common."""
    mechanism = BoundedMean(bounds=(0, 1), epsilon=0.5, size=3)
    mechanism.release([0, 1, 1])
    with pytest.raises(ValueError, match="size = 3"):
        mechanism.release([0, 1])


@pytest.mark.parametrize("loss", REPLACED)
@pytest.mark.parametrize("grant", [PURE, BOTH])
def test_a_ledger_takes_no_loss_of_the_other_relation(loss: Loss, grant: Grant, tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ledger.sqlite", grant, shares={}) as ledger:
        with pytest.raises(Refused, match=r"about replacing one unit.*BoundedMean without size.*cannot be converted"):
            ledger.charge(loss, why="q")
        assert ledger.affordable_count(loss) == 0
        assert ledger.entries() == []


@pytest.mark.parametrize("budget", [PureFilter.of(10), ConcentratedFilter.of(10, 1e-6)])
def test_a_filter_takes_losses_of_its_own_relation_and_unit_only(budget: Any) -> None:
    for loss in (REPLACED[0], Pure(0.1, unit="visit")):
        with pytest.raises(Refused, match="losses-differ"):
            budget.admit(loss)
    assert budget.admit(Pure(0.1)).units[0] > 0
    for own in (PureFilter.of(1, relation=Relation.REPLACE_ONE), ConcentratedFilter.of(1, 1e-6, unit="pupil")):
        with pytest.raises(Refused, match="losses-differ"):
            own.admit(Pure(0.1))
        assert (own.remaining.relation, own.remaining.unit) == (own.relation, own.unit)


# units


def test_losses_about_different_units_are_not_added_up() -> None:
    visit, patient = Pure(0.1, unit="visit"), Pure(0.1, unit="patient")
    for losses in ((visit, patient), (patient, Pure(0.1)), (Pure(0.1), patient), (patient, patient, visit)):
        for act in (compose, parallel):
            with pytest.raises(Refused, match=r"losses-differ.*about .*group\(loss, k, unit"):
                act(*losses)
    with pytest.raises(Refused, match="is about one 'visit', and the others are about a unit without a name"):
        compose(Pure(1), Pure(1).per("visit"))
    with pytest.raises(Refused, match="about one 'visit' already"):
        visit.per("patient")
    total = compose(group(visit, 20, unit="patient"), patient, Pure(0.1).per("patient"), Pure(0), Concentrated(0))
    assert (total.unit, total.concentrated().rho) == ("patient", total.concentrated().rho)
    assert compose(group(visit, 20, unit="patient"), patient) == Pure(2.1)


def test_what_only_looks_like_a_loss_is_none(tmp_path: Path) -> None:
    class Cheap(Pure):  # type: ignore[misc]
        def concentrated(self) -> Concentrated:
            return Concentrated(0)

    class Nothing:
        relation, unit, epsilon, rho, delta, is_zero = Relation.ADD_REMOVE, None, 0, 0, 0, True

    for fake in (Cheap(5), Nothing(), 0.1, None, "Pure(0)"):
        acts: list[Callable[[Any], object]] = [
            compose, parallel, replace_one, lambda loss: group(loss, 2), PureFilter.of(1).admit,
            ConcentratedFilter.of(1, 1e-6).admit,
        ]  # fmt: skip
        for act in acts:
            with pytest.raises(TypeError, match="a loss must be"):
                act(fake)
        ledger = Ledger.open(tmp_path / "ledger.sqlite", PURE, shares={})
        with ledger, pytest.raises(TypeError, match="a loss must be"):
            ledger.charge(fake, why="q")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"relation": "REPLACE_ONE"}, {"relation": None}, {"unit": ""}, {"unit": 5}])
def test_a_loss_says_its_relation_and_unit_in_no_other_words(wrong: dict[str, Any]) -> None:
    for make in (lambda: Pure(1, **wrong), lambda: Concentrated(1, **wrong), lambda: Approximate(1, 0.1, **wrong)):
        with pytest.raises(TypeError, match=next(iter(wrong))):
            make()


def test_losses_pickled_before_they_said_whom_they_are_about_still_open() -> None:
    for loss, state in ((Pure(1), [Fraction(1)]), (Concentrated(1, 0.1), [Fraction(1), Fraction(1, 10)])):
        again = object.__new__(type(loss))
        again.__setstate__(state)
        assert again == loss
        assert (again.relation, again.unit) == (Relation.ADD_REMOVE, None)


def test_the_ledger_of_a_policy_is_about_its_unit(tmp_path: Path) -> None:
    """Rows that somebody collected into an array are not patients, and a fit on them is not paid as if they were."""
    policy = hospital(tmp_path)
    with open_ledger(policy) as ledger:
        for unit, words in ((None, "says nothing about whom"), ("visit", "is about one 'visit'")):
            with pytest.raises(Refused, match=f"losses-differ.*{words}.*the ledger is about one 'patient'"):
                ledger.charge(Pure(0.1, unit=unit), why="q")
        scaler = StandardScaler(bounds=(0, 1), rho=0.001, ledger=ledger)
        with pytest.raises(Refused, match="the ledger is about one 'patient'"):
            scaler.fit([[0.5], [0.25]])
        with ledger.charge(group(Concentrated(0.0001), 5, unit=policy.unit), why="q"):
            pass
        assert [entry.loss.unit for entry in ledger.entries()] == [policy.unit]
    with discreet.open(policy.path, state=policy.state) as curator:
        answer = curator.query("SELECT COUNT(*) FROM patients", epsilon=0.1)
        assert answer.loss.unit == answer.cost.unit == policy.unit
        assert compose(answer.loss, curator.query("SELECT COUNT(*) FROM patients", epsilon=0.1).loss) == answer.loss


def test_what_was_spent_about_two_units_is_shown_apart_and_never_as_one_guarantee(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    with discreet.open(policy.path) as curator:
        curator.query("SELECT COUNT(*) FROM patients", epsilon=0.1)
        assert curator.budget().units == {}
    text = policy.path.read_text()
    assert 'name = "patient"' in text
    policy.path.write_text(text.replace('name = "patient"', 'name = "stay"'))
    with discreet.open(policy.path) as curator:
        curator.query("SELECT COUNT(*) FROM patients", epsilon=0.2, fresh=True)
        balance = curator.budget()
        html = balance._repr_html_()
    assert list(balance.units) == ["patient, as declared earlier", "stay"]
    apart = [amount.epsilon for amount in balance.units.values()]
    assert max(apart) <= balance.spent.epsilon <= sum(apart) * 1.01
    for shown in (html, CliRunner().invoke(program, ["budget", str(policy.path)]).output):
        assert "about patient, as declared earlier" in shown
        assert "a guarantee about its own unit" in shown
        assert "total and spent are guarantees" not in shown
    told = json.loads(CliRunner().invoke(program, ["budget", str(policy.path), "--json"]).output)
    assert set(told["units"]) == set(balance.units)
    listed = json.loads(CliRunner().invoke(program, ["ledger", "show", str(policy.path), "--json"]).output)
    assert [entry["unit"] for entry in listed["entries"] if entry["unit"]] == ["patient", "stay"]
    drawn = CliRunner().invoke(program, ["ledger", "show", str(policy.path)]).output
    assert "about" in drawn.splitlines()[0]
    assert verify(policy.state / "ledger.sqlite").sound


def test_what_comes_from_a_server_still_says_whom_it_is_about() -> None:
    loss = Pure(1, unit="patient")
    entry = Entry(3, "2026-01-02T03:04:05Z", "ann", "SELECT 1", loss, 1, True, loss)
    found = wire.entry_read(received(wire.entry_written(entry), documents.Entry))
    assert (found.loss.unit, found.cost.unit) == ("patient", "patient")
    one = Amount(1.0)
    balance = Balance(one, one, one, units={"patient": one, "visit": Amount(0.5, 0.1, 1e-9)})
    assert documents.decoded(msgspec.json.encode(balance), documents.Balance) == balance
    with pytest.raises(Refused, match="losses-differ"):
        compose(found.loss, Pure(1, unit="pupil"))


def received(told: dict[str, Any], form: Any) -> Any:
    """What a client reads of it."""
    return msgspec.json.decode(json.dumps(told), type=form)
