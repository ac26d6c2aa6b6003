"""Trainings that run elsewhere: one entry of the ledger, before anybody learns with which noise they may run."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import discreet
from discreet import Curator, Refused
from discreet.accounting import Approximate, Batch, GaussianNoise, Sampled, epsilon_for_training, epsilon_of, rho_for
from discreet.accounting.conversion import rho_of_pure
from discreet.curator.training import Training, _epsilon_within, recalled
from discreet.lab.hospital import build
from discreet.server.api import recalled as asked
from discreet.server.api import recalled_work
from discreet.server.tokens import Role


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("training"))


@pytest.fixture
def hospital(policy: Path, tmp_path: Path) -> Any:
    with discreet.open(policy, state=tmp_path / "state") as opened:
        yield opened


def training(**changes: Any) -> Training:
    return Training(**{"why": "a classifier of wards", "rate": 0.01, "steps": 300, "epsilon": 1, **changes})


def test_a_training_is_one_entry_within_its_label(hospital: Curator) -> None:
    """By itself it is (e, δ)-DP: its ρ is at most that of a query for e, and its δ′ at most half of the budget's."""
    permit = hospital.perform(training())
    (entry,) = hospital.entries()
    assert entry.question == "training elsewhere: a classifier of wards"
    assert permit.receipt.startswith(f"{entry.number}:")
    spent = entry.loss.concentrated()
    assert 0.99 < spent.rho / rho_for(1, 5e-7) <= 1
    assert 0 < spent.delta <= Fraction(1, 2 * 10**6)
    assert epsilon_of(entry.loss, 1e-6) <= 1


def test_the_noise_is_enough_and_hardly_more(hospital: Curator) -> None:
    """The permit's promise is the accountant's, and is charged as decision 032 says."""
    permit = hospital.perform(training())
    assert epsilon_for_training(permit.sigma, 0.01, 300, permit.delta) <= permit.epsilon
    batch = Batch([(Sampled(GaussianNoise(permit.sigma), 0.01), 300)])
    (entry,) = hospital.entries()
    charged = Approximate(Fraction(permit.epsilon), Fraction(permit.delta)).concentrated()
    assert float(entry.loss.concentrated().rho) == pytest.approx(float(charged.rho), rel=1e-9)
    assert batch.epsilon(permit.delta) == pytest.approx(0.19, abs=0.03)  # a fifth of the label: see 032


def test_a_preview_says_what_it_runs_at_and_charges_nothing(hospital: Curator) -> None:
    preview = hospital.preview_of(training())
    shown = str(preview)
    assert "the training runs at (ε 0." in shown
    assert "clipping norms in each of 300 steps" in shown
    assert not hospital.entries()
    assert preview.loss.concentrated().rho <= rho_for(1, 5e-7)


def test_a_second_run_is_a_second_charge(hospital: Curator) -> None:
    """An attack: whoever could get the permit again for nothing would train twice for one charge."""
    first, second = (hospital.perform(training(epsilon=0.3)) for _ in range(2))
    assert first.receipt != second.receipt
    assert len(hospital.entries()) == 2
    assert hospital.free(training(epsilon=0.3)) is None
    assert not hospital.preview_of(training(epsilon=0.3)).cached


def test_a_permit_can_be_looked_at_again(hospital: Curator) -> None:
    permit = hospital.perform(training())
    again = hospital.recall(hospital.entries()[0].number)
    assert (again.sigma, again.epsilon, again.delta) == (permit.sigma, permit.epsilon, permit.delta)
    assert "train once" in str(again)


@pytest.mark.parametrize("stored", [b"", b"[]", b"null", b'{"sigma": 1}', b'{"other": 1}', b"\xff"])
def test_a_damaged_permit_is_none(hospital: Curator, stored: bytes) -> None:
    hospital.perform(training())
    with pytest.raises(Refused) as found:
        recalled(stored, hospital.entries()[0])
    assert found.value.code == "answer-gone"


@pytest.mark.parametrize("rho", ["1e-12", "0.02", "0.7", "50"])
def test_the_largest_epsilon_that_a_rho_is_enough_for(rho: str) -> None:
    epsilon = _epsilon_within(Fraction(rho))
    assert rho_of_pure(epsilon) <= Fraction(rho) < rho_of_pure(epsilon * (1 + Fraction(1, 10**6)))


def test_delta_and_rho_are_said_as_for_queries(hospital: Curator) -> None:
    own = hospital.preview_of(training(delta=1e-7))
    assert 0 < float(own.loss.concentrated().delta) <= 5e-8
    by_rho = hospital.preview_of(training(epsilon=None, rho=0.01))
    assert 0.0099 < float(by_rho.loss.concentrated().rho) <= 0.01


def test_without_delta_there_is_no_training(policy: Path, tmp_path: Path) -> None:
    pure = policy.parent / "pure.toml"
    text = policy.read_text("utf-8")
    pure.write_text("\n".join(line for line in text.splitlines() if not line.startswith("delta")), "utf-8")
    with discreet.open(pure, state=tmp_path / "pure") as opened:
        for act in (opened.perform, opened.preview_of):
            with pytest.raises(Refused, match="budget has delta"):
                act(training())
        assert not opened.entries()


def test_more_than_the_budget_is_refused_and_tells_no_noise(hospital: Curator) -> None:
    hospital.perform(training(epsilon=2.9))
    with pytest.raises(discreet.BudgetExhausted):
        hospital.perform(training(epsilon=2.9))


@pytest.mark.parametrize(
    "changes",
    [
        {"rate": 0}, {"rate": 1.5}, {"rate": None}, {"rate": "0.1"}, {"steps": 0}, {"steps": 1.5}, {"steps": None},
        {"epsilon": None}, {"epsilon": -1}, {"epsilon": 1, "rho": 1}, {"delta": 0.5},
    ],
)  # fmt: skip
def test_what_is_no_training_is_refused(hospital: Curator, changes: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        hospital.perform(training(**changes))
    assert refused.value.code.startswith("cost-")
    assert not hospital.entries()


@pytest.mark.parametrize("look", [asked, lambda access, number: recalled_work(access, number, "fit")])
def test_a_server_shows_it_neither_as_an_answer_nor_as_a_model(hospital: Curator, look: Any) -> None:
    hospital.perform(training())
    caller = SimpleNamespace(analyst=None, role=Role.OWNER)
    access: Any = SimpleNamespace(dataset=SimpleNamespace(curator=hospital), caller=caller)
    with pytest.raises(Refused, match="of a training") as refused:
        look(access, hospital.entries()[0].number)
    assert refused.value.code == "unknown-answer"
