"""Every broken mechanism of the zoo is caught; every mechanism of discreet stays within its claim.

False alarms: fewer than 50 audits of correct mechanisms at α = 10⁻⁸ each, less than 10⁻⁶ in all. Misses: the bound of
each specimen lies six or more of its standard deviations above the claim at its number of samples.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import mechanisms
from discreet.accounting import Concentrated, Loss, Pure, epsilon_of
from discreet.mechanisms import (
    AboveThreshold,
    BoundedMean,
    BoundedSum,
    Exponential,
    Gaussian,
    Histogram,
    KeySelection,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    Quantile,
    RandomizedResponse,
    TopK,
    Variance,
)
from tests.attacks.auditor import ALPHA, Claim, Floats, Sampler, audit
from tests.attacks.zoo import PURE, ZOO, Specimen, scaled

# The zoo


@pytest.mark.parametrize(
    "specimen",
    [
        pytest.param(specimen, id=specimen.name, marks=[pytest.mark.long] * (specimen.samples > 20_000))
        for specimen in ZOO
    ],
)
def test_every_broken_mechanism_is_caught(specimen: Specimen) -> None:
    verdict = audit(specimen.mechanism, specimen.d, specimen.d1, specimen.claim, specimen.samples)
    assert verdict.caught, str(verdict)


@pytest.mark.parametrize("specimen", [found for found in ZOO if "leak" in found.name], ids=lambda found: found.name)
def test_the_order_of_the_neighbours_does_not_matter(specimen: Specimen) -> None:
    assert audit(specimen.mechanism, specimen.d1, specimen.d, specimen.claim, specimen.samples).caught


# The auditor


@pytest.mark.parametrize(("epsilon", "least"), [(0.1, 0.03), (1, 0.85), (3, 2.8)])
def test_the_auditor_comes_close_to_the_truth(epsilon: float, least: float) -> None:
    """200,000 draws of exact Laplace noise: the bound lies below the claim, but not far."""
    mechanism = Laplace(epsilon, sensitivity=1)
    verdict = audit(lambda exact, n: mechanism.release(np.full(n, exact)), 0, 1, Claim(epsilon), 200_000)
    assert least < verdict.epsilon <= epsilon, str(verdict)


def test_delta_is_taken_off() -> None:
    """Half the noise is (1, 0.9)-DP all the same."""
    assert not audit(scaled(0.5), 0, 1, Claim(1, 0.9), 20_000).caught


def test_equal_data_prove_nothing() -> None:
    assert audit(scaled(1), 0, 0, Claim(1e-6), 20_000).epsilon == 0


def test_constant_outputs_prove_nothing() -> None:
    assert audit(lambda _, n: np.zeros(n), 0, 1, Claim(1e-6), 1000).epsilon == 0


def test_outputs_that_never_coincide_prove_as_much_as_their_number_allows() -> None:
    verdict = audit(lambda exact, n: np.full(n, exact), 0, 1, Claim(1), 20_000, alpha=1e-3)
    assert verdict.epsilon == pytest.approx(math.log(0.0005 ** (1 / 10_000) / (1 - 0.0005 ** (1 / 10_000))), rel=1e-6)
    assert "ε ≥ 7.18" in str(verdict)


def test_every_output_counts() -> None:
    with pytest.raises(ValueError, match="gave 5 outputs, not 10"):
        audit(lambda _, n: np.zeros(n // 2), 0, 1, Claim(1), 10)


@pytest.mark.long
def test_a_correct_mechanism_is_accused_as_seldom_as_promised() -> None:
    """At α = 0.2, so that it shows: 150 audits of exact noise, and P(more than 60 accusations) < 10⁻⁸."""
    accused = sum(audit(scaled(1), 0, 1, Claim(1), 2000, alpha=0.2).caught for _ in range(150))
    assert accused <= 60


# The mechanisms of discreet


class Case(NamedTuple):
    mechanism: Any
    sampler: Sampler
    d: Any
    d1: Any
    claim: Claim
    samples: int


def one_by_one(release: Callable[[Any], Any]) -> Sampler:
    return lambda exact, n: np.array([release(exact) for _ in range(n)], dtype=np.float64)


def claimed(loss: Loss, delta: float) -> Claim:
    return Claim(epsilon_of(loss, delta), delta) if delta else Claim(float(_pure(loss)))


def _pure(loss: Loss) -> Any:
    assert isinstance(loss, Pure)
    return loss.epsilon


def case(mechanism: Any, d: Any, d1: Any, samples: int, *, delta: float = 0.0, sampler: Sampler | None = None) -> Case:
    """A mechanism of discreet with its own claim, and one call of `release` for each sample unless said otherwise."""
    return Case(mechanism, sampler or one_by_one(mechanism.release), d, d1, claimed(mechanism.loss, delta), samples)


def at_once(mechanism: Any) -> Sampler:
    """Many draws in one call, where every number of an array gets noise of its own."""
    return lambda exact, n: np.asarray(mechanism.release(np.full(n, exact)))


def padded(mechanism: AboveThreshold) -> Sampler:
    """Answers to a stream as rows of equal length."""

    def answers(stream: Sequence[int], n: int) -> Floats:
        rows = np.full((n, len(stream)), -1.0)
        for row in rows:
            given = mechanism.release(list(stream))
            row[: len(given)] = given
        return rows

    return answers


def keys_at_once(mechanism: KeySelection) -> Sampler:
    """What shows of a key that so many units hold; −1 if nothing does. A key that nobody holds is not there."""

    def shown(units: int, n: int) -> NDArray[np.int64]:
        out = np.full(n, -1, dtype=np.int64)
        for key, value in mechanism.select(dict.fromkeys(range(n), units) if units else {}).items():
            out[key] = value
        return out

    return shown


LAPLACE, COINS = Laplace(1, sensitivity=1), RandomizedResponse(1)
DICE, VECTOR = RandomizedResponse(1, answers=6), Gaussian(rho=0.1, sensitivity=1)
KEYS, GAUSSIAN_KEYS = KeySelection(delta=0.01, epsilon=1), KeySelection(delta=0.01, rho=0.1)
NUMBER = Gaussian(epsilon=1, delta=1e-5, sensitivity=1)
STREAM = AboveThreshold(1, sensitivity=1, threshold=0)
SCORES, MOVED = [0, 0, 0, 0, 0], [1, -1, -1, -1, -1]

AT_ONCE = {
    "Laplace": case(LAPLACE, 0, 1, 200_000, sampler=at_once(LAPLACE)),
    "Gaussian with ρ": case(VECTOR, 0, 1, 200_000, delta=1e-5, sampler=at_once(VECTOR)),
    "two coins": case(COINS, 0, 1, 200_000, sampler=at_once(COINS)),
    "randomised response of six": case(DICE, 2, 5, 200_000, sampler=at_once(DICE)),
    # the two halves of the theorem: what one unit alone holds costs δ and −ln(1 − δ), what others hold too costs ε
    "a unique key": Case(KEYS, keys_at_once(KEYS), 1, 0, Claim(0.0101, 0.01), 200_000),
    "a unique key with Gaussian noise": Case(
        GAUSSIAN_KEYS, keys_at_once(GAUSSIAN_KEYS), 1, 0, Claim(0.0101, 0.01), 200_000
    ),
    "a shared key": Case(KEYS, keys_at_once(KEYS), 5, 6, PURE, 200_000),
}

ONE_BY_ONE = {
    "Laplace of real numbers": case(Laplace(1, sensitivity=0.5), 0.1, 0.6, 10_000),
    "Gaussian of one number": Case(NUMBER, one_by_one(NUMBER.release), 0, 1, Claim(1, 1e-5), 10_000),
    "Histogram": case(Histogram(keys=["a", "b"], epsilon=1), ["a"], ["a", "b"], 10_000),
    "BoundedSum": case(BoundedSum(bounds=(0, 1), epsilon=1), [0.5], [0.5, 7.0], 10_000),
    "Exponential": case(Exponential(1, sensitivity=1), SCORES, MOVED, 20_000),
    "TopK": case(TopK(2, epsilon=1, sensitivity=1), SCORES, MOVED, 10_000),
    "PermuteAndFlip": case(PermuteAndFlip(1, sensitivity=1), SCORES, MOVED, 20_000),
    "NoisyMax": case(NoisyMax(1, sensitivity=1), SCORES, MOVED, 20_000),
    "AboveThreshold": case(STREAM, [-2] * 4 + [1], [-1] * 4 + [0], 20_000, sampler=padded(STREAM)),
    "Quantile by the exponential mechanism": case(
        Quantile(0.5, bounds=(0, 1), epsilon=1, method="exponential"), [0.2, 0.4], [0.2, 0.4, 0.9], 5000
    ),
    "Quantile by a tree": case(Quantile(0.5, bounds=(0, 1), epsilon=1), [], [0.9], 400),
    "BoundedMean": case(BoundedMean(bounds=(0, 1), epsilon=1), [], [1.0], 5000),
    "Variance": case(Variance(bounds=(0, 1), epsilon=1), [], [1.0], 5000),
}


@pytest.mark.parametrize("correct", AT_ONCE.values(), ids=AT_ONCE)
def test_mechanisms_that_draw_at_once_stay_within_their_claim(correct: Case) -> None:
    verdict = audit(correct.sampler, correct.d, correct.d1, correct.claim, correct.samples)
    assert not verdict.caught, str(verdict)


@pytest.mark.long
@pytest.mark.parametrize("correct", ONE_BY_ONE.values(), ids=ONE_BY_ONE)
def test_mechanisms_that_draw_one_by_one_stay_within_their_claim(correct: Case) -> None:
    verdict = audit(correct.sampler, correct.d, correct.d1, correct.claim, correct.samples)
    assert not verdict.caught, str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("correct", ONE_BY_ONE.values(), ids=ONE_BY_ONE)
def test_mechanisms_stay_within_their_claim_at_ten_times_the_samples(correct: Case) -> None:
    verdict = audit(correct.sampler, correct.d, correct.d1, correct.claim, 10 * correct.samples)
    assert not verdict.caught, str(verdict)


def test_no_mechanism_escapes_the_audit() -> None:
    exported = {getattr(mechanisms, name) for name in mechanisms.__all__}
    with_loss = {found for found in exported if inspect.isclass(found) and hasattr(found, "loss")}
    assert {type(found.mechanism) for found in (*AT_ONCE.values(), *ONE_BY_ONE.values())} == with_loss


def test_all_audits_together_raise_a_false_alarm_less_than_once_in_a_million() -> None:
    audits = len(AT_ONCE) + 2 * len(ONE_BY_ONE) + 3
    assert audits * ALPHA < 1e-6


def test_a_claim_in_rho_is_read_at_its_delta() -> None:
    assert claimed(Concentrated(0.1), 1e-5) == Claim(epsilon_of(Concentrated(0.1), 1e-5), 1e-5)
