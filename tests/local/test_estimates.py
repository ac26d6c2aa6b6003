"""Estimates: without bias, with the variance that is said, in intervals that hold.

False alarms: bounds of six standard deviations (2·10⁻⁹) for each of some fifty numbers; p-values as `tests.statistics`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet import local
from discreet.audit import batch, estimate
from discreet.local.heavy import fingerprints
from tests.local.cases import EACH_FREQUENCY, FREQUENCIES, HITTERS, MEANS, named
from tests.statistics import ALARM

SURVEYS, PEOPLE = 30_000, 10
"""Whose sample variance has a relative deviation of √(2/SURVEYS) = 0.8 %, so that 5 % are six of them."""


@EACH_FREQUENCY
def test_estimates_have_no_bias_and_the_variance_of_the_formula(mechanism: local.FrequencyMechanism) -> None:
    """Many small surveys of the same people: 3 of 10 have value 1."""
    people = np.array([1] * 3 + [0] * 7)
    payloads = mechanism.read(mechanism.encode(np.tile(people, SURVEYS))).payloads
    counts = mechanism.supports(payloads).reshape(SURVEYS, PEOPLE, mechanism.size).sum(axis=1)
    estimates = (counts / PEOPLE - float(mechanism.lie)) / float(mechanism.truth - mechanism.lie)
    truth = np.bincount(people, minlength=mechanism.size) / PEOPLE
    for value, share in enumerate(truth):
        variance = mechanism.variance(float(share), PEOPLE)
        assert abs(estimates[:, value].mean() - share) < 6 * math.sqrt(variance / SURVEYS)
        assert estimates[:, value].var() == pytest.approx(variance, rel=0.05)


@EACH_FREQUENCY
def test_two_ways_to_count_agree(mechanism: local.FrequencyMechanism) -> None:
    """The fast ones (transforms, hashes, bincount) and the matrix of who speaks for what."""
    reports = mechanism.encode(np.arange(500) % mechanism.size)
    tally = mechanism.tally(reports)
    assert tally.sums.tolist() == mechanism.supports(mechanism.read(reports).payloads).sum(axis=0).tolist()
    assert tally.count == 500


@pytest.mark.parametrize(
    ("kind", "deviation"),
    [
        (local.KaryResponse, 0.0252),
        (local.HadamardResponse, 0.0152),
        (local.SymmetricUnary, 0.0139),
        (local.LocalHashing, 0.0138),
        (local.OptimizedUnary, 0.0138),
        (local.SubsetSelection, 0.0132),
    ],
)
def test_deviations_are_those_that_were_measured_elsewhere(kind: Any, deviation: float) -> None:
    """20,000 people, 32 values, ε = 1, a share of a tenth: within 1 %."""
    assert math.sqrt(kind(32, 1).variance(0.1, 20_000)) == pytest.approx(deviation, rel=0.01)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_variances_are_the_formulas_of_the_literature(epsilon: float) -> None:
    """Of rare values among many, for one person."""
    grown, half = math.exp(epsilon), math.exp(epsilon / 2)
    size = 2**12
    formulas: dict[Any, float] = {
        local.KaryResponse: (grown + size - 2) / (grown - 1) ** 2,
        local.SymmetricUnary: half / (half - 1) ** 2,
        local.OptimizedUnary: 4 * grown / (grown - 1) ** 2,
        local.HadamardResponse: ((grown + 1) / (grown - 1)) ** 2,
    }
    for kind, formula in formulas.items():
        assert kind(size, epsilon).variance(0, 1) == pytest.approx(formula, rel=1e-9)
    hashing = local.LocalHashing(size, epsilon).variance(0, 1)
    assert 1 <= hashing / formulas[local.OptimizedUnary] <= 1.078
    assert local.SubsetSelection(size, epsilon).variance(0, 1) <= formulas[local.OptimizedUnary] * 1.001


@EACH_FREQUENCY
def test_intervals_hold_together_as_often_as_they_say(mechanism: local.FrequencyMechanism) -> None:
    """People drawn from a population, 120 surveys; too many failures have a probability below 10⁻¹⁰."""
    shares = np.zeros(mechanism.size)
    shares[:2] = 0.3, 0.7
    draws = np.random.default_rng().random((120, 100)) < 0.7
    payloads = mechanism.read(mechanism.encode(draws.ravel().astype(np.int64))).payloads
    sums = mechanism.supports(payloads).reshape(120, 100, mechanism.size).sum(axis=1)
    failures = 0
    for row in sums:
        estimates = mechanism.estimate(local.Tally(mechanism.header, row, 100), 0.9)
        failures += not ((estimates.low <= shares) & (shares <= estimates.high)).all()
    assert stats.binom.sf(failures - 1, 120, 0.1) > ALARM


def test_variances_of_an_estimate_are_those_of_the_population() -> None:
    mechanism = local.OptimizedUnary(8, 1)
    estimates = mechanism.estimate(mechanism.encode(np.arange(80_000) % 8))
    assert estimates.variances == pytest.approx(mechanism.population_variance(1 / 8, 80_000), rel=0.05)
    assert mechanism.error(count=80_000, share=1 / 8) == pytest.approx(
        (estimates.high - estimates.low).mean() / 2, rel=0.05
    )


@EACH_FREQUENCY
def test_shares_on_the_simplex_are_shares(mechanism: local.FrequencyMechanism) -> None:
    reports = mechanism.encode(np.zeros(300, dtype=np.int64))
    plain, projected = mechanism.estimate(reports), mechanism.estimate(reports, simplex=True)
    assert projected.values.min() >= 0
    assert projected.values.sum() == pytest.approx(1)
    assert (projected.low == plain.low).all()
    truth = np.eye(mechanism.size)[0]  # projections come nearer to everything in what they project on
    assert np.linalg.norm(projected.values - truth) <= np.linalg.norm(plain.values - truth) + 1e-9


# Tallies


@pytest.mark.parametrize("mechanism", [*FREQUENCIES, *MEANS], ids=named)
def test_tallies_add_up(mechanism: Any) -> None:
    reports = [row.tobytes() for row in mechanism.encode([0, 1, 1, 0, 1])]
    parts = mechanism.tally([*reports[:2], b"junk"]) + mechanism.tally([*reports[2:], b"more junk", b"junk"])
    assert parts.bad == {"length": 3}
    whole = mechanism.estimate(parts)
    assert whole.values.tolist() == mechanism.estimate(reports).values.tolist()
    assert (whole.count, whole.bad) == (5, {"length": 3})
    assert "5 reports, 3 bad" in str(whole)


def test_tallies_of_different_surveys_do_not() -> None:
    one, other = local.KaryResponse(3, 1), local.KaryResponse(3, 2)
    tally = one.tally(one.encode([0, 1]))
    with pytest.raises(ValueError, match="no sum"):
        tally + other.tally(other.encode([0]))
    with pytest.raises(ValueError, match="another mechanism"):
        other.estimate(tally)
    with pytest.raises(ValueError, match="at most"):
        local.Tally(one.header, tally.sums, 2**29)
    for sums in ([1, 1], [3, 0, 0], [-1, 1, 1]):
        with pytest.raises(ValueError, match="does not fit"):
            one.estimate(local.Tally(one.header, np.array(sums), 2))


def test_what_makes_no_sense_is_refused() -> None:
    survey = local.KaryResponse(3, 1)
    with pytest.raises(TypeError, match="simplex"):
        survey.estimate(survey.encode([1]), simplex="yes")  # type: ignore[arg-type]
    for share in (-0.1, 1.1, math.nan, None):
        with pytest.raises((TypeError, ValueError), match="share"):
            survey.variance(share, 10)  # type: ignore[arg-type]
        with pytest.raises((TypeError, ValueError), match="share"):
            survey.population_variance(share, 10)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="parameters"):
        local.from_parameters(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("mechanism", [*FREQUENCIES, *MEANS], ids=named)
def test_without_reports_there_is_no_estimate(mechanism: Any) -> None:
    with pytest.raises(ValueError, match="no well-formed reports"):
        mechanism.estimate([])
    with pytest.raises(ValueError, match="2 length"):
        mechanism.estimate([b"junk", b""])
    assert np.isfinite(mechanism.estimate([mechanism.encode(1)]).variances).all()
    for confidence in (0, 1, -1, math.nan, None, "0.9"):
        with pytest.raises((TypeError, ValueError), match="confidence"):
            mechanism.estimate([mechanism.encode(1)], confidence)


def test_long_estimates_are_shown_by_their_largest_values() -> None:
    mechanism = local.HadamardResponse(100, 4)
    shown = str(mechanism.estimate(mechanism.encode([42] * 5000)))
    assert shown.split()[0] == "42"
    assert len(shown.splitlines()) == 21


# Means


@pytest.mark.parametrize("mechanism", MEANS, ids=named)
@pytest.mark.parametrize("value", [0.0, 3.25, 10.0])
def test_means_have_no_bias_and_the_variance_of_the_formula(mechanism: local.MeanMechanism, value: float) -> None:
    count = 300_000
    estimates = mechanism.estimate(mechanism.encode(np.full(count, value)))
    variance = mechanism.variance(value, count)
    assert abs(float(estimates.values[0]) - value) < 6 * math.sqrt(variance)
    assert float(estimates.variances[0]) == pytest.approx(variance, rel=0.05)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize("x", [-1.0, 0.0, 0.5, 1.0])
def test_variances_of_means_are_the_formulas_of_the_literature(epsilon: float, x: float) -> None:
    grown, half = math.exp(epsilon), math.exp(epsilon / 2)
    one_bit = ((grown + 1) / (grown - 1)) ** 2 - x * x
    piecewise = x * x / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
    assert local.OneBitMean((-1, 1), epsilon).variance(x, 1) == pytest.approx(one_bit, rel=1e-6)
    assert local.PiecewiseMean((-1, 1), epsilon).variance(x, 1) == pytest.approx(piecewise, rel=1e-3)


def test_numbers_are_clamped_and_what_is_none_is_refused() -> None:
    mechanism = local.PiecewiseMean((0, 1), 20)
    estimates = mechanism.estimate(mechanism.encode([-5.0, 7.0, 0.5, 0.5] * 1000))
    assert abs(float(estimates.values[0]) - 0.5) < 0.05
    for bad in (math.nan, [1.0, math.inf], "1", None, [None], True, 1j):
        with pytest.raises((TypeError, ValueError), match="values"):
            mechanism.encode(bad)  # type: ignore[arg-type]
    for bounds in ((1, 0), (0, math.nan), (0,), None, (0, 0)):
        with pytest.raises((TypeError, ValueError), match="bounds"):
            local.OneBitMean(bounds, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [local.OneBitMean, local.PiecewiseMean])
@pytest.mark.parametrize("count", [30, 400])
def test_intervals_of_means_hold(kind: Any, count: int) -> None:
    """Too many failures of 400 have a probability below 10⁻¹⁰."""
    mechanism = kind((0, 1), 1)
    reports = mechanism.encode(np.full(400 * count, 0.3)).reshape(400, count, -1)
    failures = 0
    for some in reports:
        estimates = mechanism.estimate(some, 0.9)
        failures += not estimates.low[0] <= 0.3 <= estimates.high[0]
    assert stats.binom.sf(failures - 1, 400, 0.1) > ALARM


@pytest.mark.parametrize("mechanism", MEANS, ids=named)
def test_one_report_moves_a_mean_by_no_more_than_is_said(mechanism: local.MeanMechanism) -> None:
    honest = mechanism.encode([5.0] * 9)
    ends = [mechanism.header + number.to_bytes(4, "little") for number in (0, mechanism.most)]
    sent = [row.tobytes() for row in honest]
    low, high = (float(mechanism.estimate([*sent, end]).values[0]) for end in ends)
    assert high - low == pytest.approx(mechanism.influence(10))


# Choice


@pytest.mark.parametrize("size", [2, 3, 8, 32, 200, 1024, 2**14, 2**20])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3, 8])
def test_the_best_has_nearly_the_least_variance(size: int, epsilon: float) -> None:
    chosen = local.best(size, epsilon, max_bytes=2**20)
    kinds: list[Any] = [local.KaryResponse, local.SymmetricUnary, local.OptimizedUnary, local.LocalHashing]
    others = [kind(size, epsilon) for kind in (*kinds, local.HadamardResponse, local.SubsetSelection)]
    least = min(other.variance(1 / size, 1) for other in others)
    assert chosen.variance(1 / size, 1) <= 1.05 * least
    short = local.best(size, epsilon, max_bytes=40)
    assert short.report_bytes <= 40


@pytest.mark.parametrize(
    ("size", "epsilon", "name"),
    [
        (2, 1, "k-ary"),
        (9, 1, "subset-selection"),
        (9, 3, "k-ary"),
        (32, 1, "subset-selection"),
        (1024, 1, "local-hashing"),
        (2**20, 1, "hadamard"),
        (2**14, 8, "local-hashing"),
        (1024, 8, "k-ary"),
    ],
)
def test_which_is_best(size: int, epsilon: float, name: str) -> None:
    assert local.best(size, epsilon).name == name


def test_what_fits_no_report_is_refused() -> None:
    with pytest.raises(ValueError, match="max_bytes must be at least 14"):
        local.best(10**5, 1, max_bytes=9)


@pytest.mark.parametrize(("epsilon", "name"), [(0.5, "one-bit-mean"), (1.28, "one-bit-mean"), (1.30, "piecewise-mean")])
def test_which_mean_is_best(epsilon: float, name: str) -> None:
    assert local.best_mean((0, 1), epsilon).name == name


# Audits


@pytest.mark.parametrize("mechanism", [*FREQUENCIES, *MEANS, HITTERS], ids=named)
def test_audits_find_no_violation_and_most_of_epsilon(mechanism: Any) -> None:
    """Black box: payloads (of hashing: for which values they speak), with a false alarm once in 10⁷."""

    @batch
    def reports(value: Any, n: int) -> Any:
        payloads = mechanism.read(mechanism.encode([value] * n)).payloads
        if isinstance(mechanism, local.HeavyHitters):
            spoken = [mechanism.hashed.supports(payloads[:, 1:], fingerprints([text])) for text in ("aa", "bb")]
            return np.hstack([payloads[:, :1], *spoken]).astype(float)
        if isinstance(mechanism, local.LocalHashing):
            return mechanism.supports(payloads).astype(float)
        if mechanism.payload_bytes == 4:
            return payloads.copy().view("<u4").astype(float)
        return np.unpackbits(payloads, axis=1, bitorder="little").astype(float)

    ends: Any = (0, mechanism.size - 1) if isinstance(mechanism, local.FrequencyMechanism) else (0.0, 10.0)
    if isinstance(mechanism, local.HeavyHitters):
        ends = "aabb", "bbaa"
    found = estimate(reports, *ends, claim=float(mechanism.epsilon), samples=20_000, confidence=1 - 1e-7)
    assert not found.violated, found
    assert found.epsilon > 0.6 * float(mechanism.epsilon), found


def test_an_audit_finds_a_randomiser_that_forgets_its_coin() -> None:
    mechanism = local.KaryResponse(4, 1)

    @batch
    def broken(value: Any, n: int) -> Any:
        reports = mechanism.encode(np.full(n, value))[:, 10:].copy().view("<u4").ravel()
        return np.where(np.arange(n) % 4 == 0, value, reports).astype(float)

    assert estimate(broken, 0, 3, claim=1, samples=20_000, confidence=1 - 1e-7).violated


def test_shuffled_reports_have_the_numbers_of_the_literature() -> None:
    """Closed form .214, .501, .535: the numerical bound is three to four times tighter."""
    for epsilon, n, expected in ((1, 10**4, 0.053), (2, 10**4, 0.155), (4, 10**5, 0.170)):
        assert round(local.amplify(epsilon, n, 1e-6), 3) <= expected + 0.0005
