"""Every broken mechanism of the zoo is caught; every mechanism of discreet stays within its claim.

False alarms: fewer than 100 audits of correct mechanisms at α = 10⁻⁸ each, less than 10⁻⁶ in all. Misses: the bound of
each specimen lies six or more of its standard deviations above the claim at its number of samples.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from statistics import median
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet import mechanisms
from discreet.accounting import Concentrated, Loss, Pure, compose, epsilon_of
from discreet.audit import Claim, batch, estimate
from discreet.audit.blackbox import Estimate
from discreet.audit.guesses import Guess, at_least, at_most, best_guess, proven
from discreet.audit.outputs import Floats, beside, rows
from discreet.audit.scores import Total
from discreet.audit.zoo import PURE, ZOO, Specimen, scaled
from discreet.mechanisms import (
    AboveThreshold,
    BestOfSome,
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

ALPHA = 1e-8
"""How often a correct mechanism is accused here: 100 audits raise a false alarm at a rate of 10⁻⁶ at most."""
Sampler = Callable[[Any, int], Any]


def audit(mechanism: Sampler, d: Any, d1: Any, claim: Claim, n: int, alpha: float = ALPHA) -> Estimate:
    return estimate(batch(mechanism), d, d1, claim=claim, samples=n, confidence=1 - alpha)


# the zoo


@pytest.mark.parametrize("specimen", ZOO, ids=lambda specimen: specimen.name)
def test_every_broken_mechanism_is_caught_and_its_twin_is_not(specimen: Specimen) -> None:
    sides = specimen.data, specimen.neighbour
    found = estimate(batch(specimen.broken), *sides, claim=specimen.claim, samples=specimen.samples)
    assert found.violated, str(found)
    assert found.witness
    twin = audit(specimen.twin, *sides, specimen.claim, 5_000)
    assert not twin.violated, str(twin)


@pytest.mark.slow
@pytest.mark.parametrize("specimen", ZOO, ids=lambda specimen: specimen.name)
def test_it_is_caught_beyond_doubt_from_either_side(specimen: Specimen) -> None:
    """At α = 10⁻⁸ and twice the samples: the bound, six deviations above the claim at confidence 0.999 (3.1 of them),
    lies √2·9.1 − 5.6 = 7.3 of the smaller deviations above it."""
    for sides in ((specimen.data, specimen.neighbour), (specimen.neighbour, specimen.data)):
        found = audit(specimen.broken, *sides, specimen.claim, 2 * specimen.samples)
        assert found.violated, str(found)
        assert not audit(specimen.twin, *sides, specimen.claim, 2 * specimen.samples).violated


def test_the_zoo_is_large_and_says_what_is_wrong() -> None:
    assert len({specimen.name for specimen in ZOO}) == len(ZOO) >= 16
    assert all(specimen.wrong and specimen.broken is not specimen.twin for specimen in ZOO)


@pytest.mark.slow
def test_no_false_alarm_in_300_runs_on_correct_mechanisms() -> None:
    """At confidence 0.999 a correct mechanism may be accused once in 1,000 runs at most: six or more in 300 runs of
    mechanisms whose loss is exactly their claim come less than once in 10⁶. An auditor that chooses its event on the
    samples that it counts would accuse the more often, the fewer samples there are: so these are few."""
    accused = 0
    for run in range(300):
        specimen = ZOO[run % len(ZOO)]
        found = estimate(batch(specimen.twin), specimen.data, specimen.neighbour, claim=specimen.claim, samples=2_000)
        accused += found.violated
    assert accused <= 5


# the auditor


@pytest.mark.parametrize(("epsilon", "least"), [(0.1, 0.05), (1, 0.94), (3, 2.88)])
def test_the_auditor_comes_close_to_the_truth(epsilon: float, least: float) -> None:
    """200,000 draws of exact Laplace noise: the bound lies below the claim, but not far."""
    mechanism = Laplace(epsilon, sensitivity=1)
    verdict = audit(lambda exact, n: mechanism.release(np.full(n, exact)), 0, 1, Claim(epsilon), 200_000)
    assert least < verdict.epsilon <= epsilon, str(verdict)


def test_what_twenty_thousand_samples_prove_of_little_noise_and_of_much() -> None:
    """Medians at confidence 0.999. Runs on the exact tenth have the median 0.057 and spread by 0.013, those on cells
    2.3 and 0.15: five of nine below 0.03, and three of five below 1.9, come once in 10⁶ each."""
    tenth = [estimate(batch(scaled(10)), 0, 1, claim=0.1, samples=20_000).epsilon for _ in range(9)]
    assert median(tenth) >= 0.03
    cells = next(specimen for specimen in ZOO if specimen.name == "Gaussian without the root")
    sides = cells.data, cells.neighbour
    found = [estimate(batch(cells.broken), *sides, claim=cells.claim, samples=20_000).epsilon for _ in range(5)]
    assert median(found) >= 1.9


@pytest.mark.parametrize(("epsilon", "least"), [(0.1, 0.051), (1, 0.874), (2, 1.82), (3, 2.86)])
def test_the_certificate_is_as_sharp_as_designed(epsilon: float, least: float) -> None:
    """At 20,000 samples, if all outputs are guessed and right ones come as often as ε allows."""
    right = round(26_300 / (1 + math.exp(-epsilon)))
    assert least <= proven(right, 26_300 - right, 26_300, delta=0.0, alpha=1e-3) < epsilon


# the certificate


def exceeding(outputs: int, right: float, wrong: float, *, epsilon: float, delta: float, alpha: float) -> float:
    """With which probability the bound exceeds ε, summed over all numbers of right and wrong guesses."""
    chances = [math.comb(outputs, x) * right**x for x in range(outputs + 1)]
    return math.fsum(
        chances[x] * math.comb(outputs - x, y) * wrong**y * (1 - right - wrong) ** (outputs - x - y)
        for x in range(outputs + 1)
        for y in range(outputs - x + 1)
        if bound_of(x, y, outputs, delta, alpha) > epsilon
    )


@cache
def bound_of(right: int, wrong: int, outputs: int, delta: float, alpha: float) -> float:
    return proven(right, wrong, outputs, delta=delta, alpha=alpha)


@pytest.mark.parametrize(
    ("outputs", "epsilon", "delta", "alpha"),
    [
        (30, 0.0, 0.0, 1e-3),
        (30, 0.1, 0.0, 0.1),
        (30, 1.0, 0.0, 1e-3),
        (60, 3.0, 0.0, 0.1),
        (30, 1.0, 0.05, 0.1),
        (30, 1.0, 0.05, 1e-3),
        (40, 0.2, 0.3, 1e-3),
    ],
)
def test_the_bound_exceeds_a_true_epsilon_as_seldom_as_promised(
    outputs: int, epsilon: float, delta: float, alpha: float
) -> None:
    """Exactly, on the edge of what (ε, δ)-DP allows: rightly = e^ε·wrongly + δ, for all shares that are guessed."""
    most = 0.0
    for share in (1.0, 0.97, 0.8, 0.5, 0.31, 0.1):
        wrong = max(share - delta, 0.0) / (1 + math.exp(epsilon))
        right = share - wrong
        most = max(most, exceeding(outputs, right, wrong, epsilon=epsilon, delta=delta, alpha=alpha))
    assert 0 < most <= alpha * (1 + 1e-9)


def test_wrong_guesses_prove_less_and_missing_outputs_no_more_than_any_that_they_could_have_been() -> None:
    for right in range(1, 30, 3):
        told = [proven(right, wrong, 60, delta=0.0, alpha=0.01) for wrong in range(30)]
        assert told == sorted(told, reverse=True)
        assert proven(right + 1, 5, 60, delta=0.0, alpha=0.01) > told[5]
        for delta in (0.0, 0.01, 0.2):
            least = proven(right, 2, 60, delta=delta, alpha=0.01, missing=3)
            for more, worse in ((0, 0), (0, 3), (3, 0), (1, 1), (2, 1)):
                assert least <= proven(right + more, 2 + worse, 60, delta=delta, alpha=0.01)
    assert proven(0, 5, 60, delta=0.0, alpha=0.01) == -math.inf
    assert proven(9, 0, 60, delta=0.5, alpha=0.01) == -math.inf


def test_the_bounds_of_a_rate_are_those_of_clopper_and_pearson() -> None:
    for count, trials, alpha in ((0, 5, 0.1), (5, 5, 0.1), (3, 10, 1e-3), (40_000, 100_000, 1e-8), (1, 10**6, 1e-9)):
        low, high = at_least(count, trials, alpha), at_most(count, trials, alpha)
        assert stats.binom.sf(count - 1, trials, low) == pytest.approx(alpha if count else 1, rel=1e-6)
        assert stats.binom.cdf(count, trials, high) == pytest.approx(alpha if count < trials else 1, rel=1e-6)


def test_it_proves_no_less_than_a_bound_of_each_rate() -> None:
    """ln(p_low/q_high) with Clopper and Pearson's bounds at α/2 each, of hits and misses in so many trials."""
    for trials, alpha in ((200, 1e-3), (10_000, 1e-3), (10_000, 1e-8)):
        for hits in np.unique(np.geomspace(1, trials, 25).astype(int)).tolist():
            for misses in {0, 1, 5, hits // 10, hits // 2}:
                low = stats.beta.ppf(alpha / 2, hits, trials - hits + 1)
                high = stats.beta.isf(alpha / 2, misses + 1, trials - misses)
                ours = proven(hits, misses, 2 * trials, delta=0.0, alpha=alpha)
                # an event that nearly always comes says less than that it fails to come
                if hits + misses <= trials and math.log(low / high) > 0:
                    assert ours >= math.log(low / high) - 1e-9, (hits, misses, trials)


def test_a_guess_calls_each_output_at_most_once_and_knows_its_events() -> None:
    found = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    plain = Total("the output", grows=True)
    assert Guess(plain, 1.0, -2.0).calls(found) == (2, 1)
    assert Guess(plain, 1.0, -math.inf).calls(found) == (2, 0)
    assert [Guess(plain, *cuts).events for cuts in ((1.0, 0.0), (math.inf, 0.0), (1.0, -math.inf))] == [2, 1, 1]
    assert Guess(plain, 1.0, -math.inf).words() == ("the output is at least 1", None)
    assert Guess(Total("the output", grows=False), -1.0, -2.0).words() == (
        "the output is at most 1",
        "the output is at least 2",
    )


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.9, 1.0])
def test_the_chosen_cuts_never_overlap_and_always_say_something(delta: float) -> None:
    for here, there in ((np.zeros(50), np.zeros(50)), (np.arange(50.0), np.arange(50.0) + 3)):
        sides = here[:, None], there[:, None]
        guess = best_guess(sides, sides, delta=delta, alpha=1e-3, outputs=100)
        assert guess.low < guess.high
        assert guess.events >= 1


def test_outputs_that_run_out_count_as_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coin that shows heads only: the first side cannot give so many."""
    monkeypatch.setattr("discreet.audit.blackbox.noise.below", lambda _, size: np.ones(size, dtype=np.int64))
    found = audit(lambda exact, n: np.full(n, exact), 0, 1, Claim(1), 1000)
    outputs = 2 * found.trials - round(4 * math.sqrt(2 * found.trials))
    assert (found.right, found.wrong) == (found.trials, outputs - found.trials)
    assert not found.violated


def test_delta_is_taken_off() -> None:
    """Half the noise is (1, 0.9)-DP all the same."""
    assert not audit(scaled(0.5), 0, 1, Claim(1, 0.9), 20_000).violated


def test_equal_data_prove_nothing() -> None:
    assert audit(scaled(1), 0, 0, Claim(1e-6), 20_000).epsilon == 0


def test_constant_outputs_prove_nothing() -> None:
    assert audit(lambda _, n: np.zeros(n), 0, 1, Claim(1e-6), 1000).epsilon == 0


def test_outputs_that_never_coincide_prove_as_much_as_their_number_allows() -> None:
    """All guesses are right: of G outputs, the share that could have been wrong is 1 − α^(1/G) at most."""
    verdict = audit(lambda exact, n: np.full(n, exact), 0, 1, Claim(1), 20_000, alpha=1e-3)
    assert verdict.right >= 26_300
    chance = 0.001 ** (1 / verdict.right)
    assert verdict.epsilon == pytest.approx(math.log(chance / (1 - chance)), rel=1e-6)
    assert "ε ≥ 8.24" in str(verdict)


def test_every_output_counts() -> None:
    with pytest.raises(ValueError, match="gave 50 outputs, not 100"):
        audit(lambda _, n: np.zeros(n // 2), 0, 1, Claim(1), 100)


@pytest.mark.long
def test_a_correct_mechanism_is_accused_as_seldom_as_promised() -> None:
    """At α = 0.2, so that it shows: 150 audits of exact noise, and P(more than 60 accusations) < 10⁻⁸."""
    accused = sum(audit(scaled(1), 0, 1, Claim(1), 2000, alpha=0.2).violated for _ in range(150))
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


def of_private_candidates(mechanism: BestOfSome) -> Sampler:
    """Each candidate is its score with noise for what it may cost, and the best of some of them is chosen."""
    noise = Laplace(mechanism.each, sensitivity=1)

    def chosen(scores: Sequence[int], n: int) -> NDArray[np.int64]:
        drawn = np.asarray(noise.release(np.tile(scores, (n, 1)).ravel())).reshape(n, -1)
        return np.array([mechanism.choose(row) for row in drawn])

    return chosen


LAPLACE, COINS = Laplace(1, sensitivity=1), RandomizedResponse(1)
DICE, VECTOR = RandomizedResponse(1, answers=6), Gaussian(rho=0.1, sensitivity=1)
KEYS, GAUSSIAN_KEYS = KeySelection(delta=0.01, epsilon=1), KeySelection(delta=0.01, rho=0.1)
NUMBER = Gaussian(epsilon=1, delta=1e-5, sensitivity=1)
STREAM = AboveThreshold(1, sensitivity=1, threshold=0)
SOME = BestOfSome(1, candidates=5)
SCORES, MOVED = [0, 0, 0, 0, 0], [1, -1, -1, -1, -1]

AT_ONCE = {
    "Laplace": case(LAPLACE, 0, 1, 100_000, sampler=at_once(LAPLACE)),
    "Gaussian with ρ": case(VECTOR, 0, 1, 100_000, delta=1e-5, sampler=at_once(VECTOR)),
    "two coins": case(COINS, 0, 1, 100_000, sampler=at_once(COINS)),
    "randomised response of six": case(DICE, 2, 5, 100_000, sampler=at_once(DICE)),
    # the two halves of the theorem: what one unit alone holds costs δ and −ln(1 − δ), what others hold too costs ε
    "a unique key": Case(KEYS, keys_at_once(KEYS), 1, 0, Claim(0.0101, 0.01), 100_000),
    "a unique key with Gaussian noise": Case(
        GAUSSIAN_KEYS, keys_at_once(GAUSSIAN_KEYS), 1, 0, Claim(0.0101, 0.01), 100_000
    ),
    "a shared key": Case(KEYS, keys_at_once(KEYS), 5, 6, PURE, 100_000),
}

ONE_BY_ONE = {
    "Laplace of real numbers": case(Laplace(1, sensitivity=0.5), 0.1, 0.6, 10_000),
    "Gaussian of one number": Case(NUMBER, one_by_one(NUMBER.release), 0, 1, Claim(1, 1e-5), 10_000),
    "Histogram": case(Histogram(keys=["a", "b"], epsilon=1), ["a"], ["a", "b"], 10_000),
    "BoundedSum": case(BoundedSum(bounds=(0, 1), epsilon=1), [0.5], [0.5, 7.0], 10_000),
    "Exponential": case(Exponential(1, sensitivity=1), SCORES, MOVED, 20_000),
    "TopK": case(TopK(2, epsilon=1, sensitivity=1), SCORES, MOVED, 10_000),
    "PermuteAndFlip": case(PermuteAndFlip(1, sensitivity=1), SCORES, MOVED, 20_000),
    "BestOfSome": case(SOME, SCORES, MOVED, 10_000, sampler=of_private_candidates(SOME)),
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
    assert not verdict.violated, str(verdict)


LATER: Final = ("Quantile by a tree", "AboveThreshold")
"""They take seconds."""
SOON: Final = {label: each for label, each in ONE_BY_ONE.items() if label not in LATER}


@pytest.mark.long
@pytest.mark.parametrize("correct", SOON.values(), ids=SOON)
def test_mechanisms_that_draw_one_by_one_stay_within_their_claim(correct: Case) -> None:
    verdict = audit(correct.sampler, correct.d, correct.d1, correct.claim, max(400, correct.samples // 10))
    assert not verdict.violated, str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("correct", ONE_BY_ONE.values(), ids=ONE_BY_ONE)
def test_mechanisms_stay_within_their_claim_at_twenty_times_the_samples(correct: Case) -> None:
    """Twenty times those above: the least excess of ε that shows is a fifth of theirs."""
    verdict = audit(correct.sampler, correct.d, correct.d1, correct.claim, 2 * correct.samples)
    assert not verdict.violated, str(verdict)


def test_no_mechanism_escapes_the_audit() -> None:
    exported = {getattr(mechanisms, name) for name in mechanisms.__all__}
    with_loss = {found for found in exported if inspect.isclass(found) and hasattr(found, "loss")}
    assert {type(found.mechanism) for found in (*AT_ONCE.values(), *ONE_BY_ONE.values())} == with_loss


def test_all_audits_together_raise_a_false_alarm_less_than_once_in_a_million() -> None:
    audits = len(AT_ONCE) + 2 * len(ONE_BY_ONE) + len(ZOO) + 3
    assert audits * ALPHA < 1e-6


def test_a_claim_in_rho_is_read_at_its_delta() -> None:
    assert claimed(Concentrated(0.1), 1e-5) == Claim(epsilon_of(Concentrated(0.1), 1e-5), 1e-5)


# what it takes


def test_any_callable_a_mechanism_or_a_batch() -> None:
    assert estimate(lambda exact: exact, 0, 1, claim=1, samples=1000).violated
    assert not estimate(Laplace(1, sensitivity=1), 0, 1, samples=20_000, confidence=1 - ALPHA).violated
    own = estimate(Exponential(1, sensitivity=1), [0, 0], [1, -1], samples=2000, confidence=1 - ALPHA)
    assert own.claim == Claim(1.0)
    assert not own.violated


def test_the_neighbours_are_searched_for() -> None:
    """A mechanism that goes wrong for one input only: the search finds it, and fresh samples prove it."""

    @batch
    def brittle(exact: int, n: int) -> Any:
        return exact + (np.zeros(n, dtype=np.int64) if exact == 7 else scaled(1)(0, n))

    pairs = [(place, place + 1) for place in range(10)]
    found = estimate(brittle, claim=1, patterns=pairs, samples=20_000)
    assert found.violated
    assert 7 in (found.data, found.neighbour)
    assert found.trials <= 18_000 - 18_000 // 5 - 18_000 // 8
    correct = estimate(batch(scaled(1)), claim=1, patterns=pairs, samples=20_000, confidence=1 - ALPHA)
    assert not correct.violated


def test_outputs_of_any_shape_can_be_told_apart() -> None:
    shapes: list[tuple[Any, Any]] = [
        ("a", "b"),
        (None, 0.0),
        ({"x": 1}, {"x": 2}),
        ([1, 2], [1, 2, 3]),
        ({1, 2}, {1, 3}),
        (("a", 1), ("a", 2)),
        (10**400, 10**401),
        (np.arange(3), np.arange(4)),
    ]
    for here, there in shapes:
        found = estimate(lambda side: side, here, there, claim=1, samples=1000)
        assert found.violated, (here, there, str(found))


def test_progress_is_told() -> None:
    told: list[tuple[str, float]] = []
    estimate(batch(scaled(1)), 0, 1, claim=1, samples=1000, progress=lambda *step: told.append(step))
    assert [name for name, _ in told] == ["drawing", "drawing", "looking for a witness", "looking for a witness"]
    assert told[-1][1] == 1.0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"claim": None}, TypeError),
        ({"claim": "one"}, TypeError),
        ({"claim": (1, 2, 3)}, TypeError),
        ({"claim": (1, 2)}, ValueError),
        ({"claim": 1, "samples": 5}, ValueError),
        ({"claim": 1, "samples": 1.5}, TypeError),
        ({"claim": 1, "confidence": 1}, ValueError),
        ({"claim": 1, "confidence": "high"}, TypeError),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        estimate(lambda exact: exact, 0, 1, **arguments)
    with pytest.raises(TypeError):
        estimate(5, 0, 1, claim=1)


def test_claims_may_be_losses() -> None:
    assert Claim.of(Pure(0.5)) == Claim(0.5)
    found = Claim.of(Concentrated(0.1))
    assert found == Claim(epsilon_of(Concentrated(0.1), 1e-5), 1e-5)
    assert Claim.of(compose(Pure(0.5), Pure(0.5))) == Claim(1.0)
    assert Claim.of((1, 1e-6)) == Claim(1.0, 1e-6)


def test_rows_of_outputs_keep_what_differs() -> None:
    assert rows([1, 2], 2).tolist() == [[1.0], [2.0]]
    ragged = rows([[1], [1, 2]], 2)
    assert ragged[0, 0] == 1
    assert ragged[1, 0] == 2
    assert rows([[5, 1], [5, 2]], 2).tolist() == [[1.0], [2.0]]


def test_a_verdict_reads_well() -> None:
    told = str(estimate(batch(scaled(0.25)), 0, 1, claim=1, samples=20_000))
    assert told.startswith("ε 1 is violated: ε ≥ ")
    assert "because the output" in told


NOW = np.datetime64(2**60, "ns")
APART: list[tuple[Any, Any]] = [
    ("1", "1.0"),
    ("1", " 1"),
    (b"1", b"01"),
    (1, True),
    (1, 1.0),
    (0.0, -0.0),
    ([0.0, 1.0], [-0.0, 1.0]),
    (None, math.nan),
    ([], None),
    (2**60, 2**60 + 1),
    ((2**60, 1), (2**60 + 1, 1)),
    (2**200, 2**200 + 1),
    (np.full(2, 2**60), np.full(2, 2**60 + 1)),
    ([[1], [2, 3]], [[1, 2], [3]]),
    ([[1, 2], [3, 4]], [1, 2, 3, 4]),
    ((1, 2), [1, 2]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (Decimal("1.0"), Decimal("1.00")),
    (Decimal(1), Decimal("1.00000000000000000001")),
    (Decimal("NaN"), Decimal("sNaN")),
    (Fraction(1), Fraction(2**60 + 1, 2**60)),
    (complex(1, 0), complex(1, 1)),
    (np.longdouble(1), np.longdouble(1) + np.longdouble(2) ** -60),
    (NOW, NOW + 1),
]


@pytest.mark.parametrize(("here", "there"), APART, ids=repr)
def test_whatever_differs_at_all_is_told_apart(here: Any, there: Any) -> None:
    """An array of floats makes one number of each of these pairs, by which a mechanism can tell everything."""
    sides = [*beside([[here] * 2, [there] * 2], 2), *beside([[here, there], [there, here]], 2)]
    assert sides[0].tobytes() == sides[0][[1, 0]].tobytes() != sides[1].tobytes()
    assert sides[2].tobytes() == sides[3][[1, 0]].tobytes() != sides[3].tobytes()


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_the_last_bits_of_large_integers_are_seen(kind: type) -> None:
    """A noisy integer that keeps the parity of what it hides, where floats have no room for it."""

    def leaky(parity: int, n: int) -> Any:
        return (2**61 + 2 * scaled(1)(0, n).astype(np.int64) + parity).astype(kind)

    assert estimate(batch(leaky), 0, 1, claim=1, samples=2000).violated
    assert estimate(batch(lambda parity, n: leaky(parity, n).tolist()), 0, 1, claim=1, samples=2000).violated


def test_an_output_that_is_seldom_of_another_shape_makes_no_difference_of_the_others() -> None:
    """One list that is longer, on one side by chance, is no evidence about all others of that side."""
    usual, seldom = [[1.0, 2.0]] * 100, [*[[1.0, 2.0]] * 99, [1.0, 2.0, 3.0]]
    for other in (seldom, [*usual[:99], None], [*usual[:99], (1.0, 2.0)], [*usual[:99], [1, 2.0]]):
        here, there = beside([usual, other], 100)
        assert here[:99].tobytes() == there[:99].tobytes()
        assert here[99].tobytes() != there[99].tobytes()
