"""The worked examples: exact where they can be, and by Monte Carlo with stated error rates where not."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.lab.curators import curator_over
from discreet.lab.examples import (
    bayes,
    bias,
    composition,
    definition,
    genes,
    households,
    kmeans,
    phones,
    pinq,
    rebecca,
    sage,
    search_log,
    sensitivity,
    small_database,
)
from discreet.mechanisms import Laplace
from discreet.server.learn.pinq import BESIDE

# the definition


@pytest.mark.parametrize("method", definition.LAWS)
def test_every_way_to_answer_is_a_distribution_and_answers_are_drawn_from_it(method: str) -> None:
    law = definition.LAWS[method](17, 1.0)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert method == "laplace" or definition.drawn(method, 17, 1.0) in law


@pytest.mark.parametrize("method", sorted(definition.DETERMINISTIC))
def test_no_answer_without_noise_is_private(method: str) -> None:
    step = definition.first_step(method)
    assert step is not None
    assert math.isinf(definition.tested(method, step, 1.0).loss)
    assert definition.tested(method, step, 1.0).belief == 1


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
def test_laplace_noise_is_private_at_every_count(epsilon: float) -> None:
    losses = {definition.tested("laplace", count, epsilon).loss for count in range(1, definition.MOST_PEOPLE + 1)}
    assert max(losses) == pytest.approx(epsilon)


def test_bounded_noise_gives_somebody_away() -> None:
    assert math.isinf(definition.tested("uniform", 20, 1.0).loss)


# sensitivity


@pytest.mark.parametrize("people", [2, 3, 6])
def test_sensitivities_of_the_lectures_are_what_trying_finds(people: int) -> None:
    assert sensitivity.removed("count", people, 1).change == 1
    assert sensitivity.removed("histogram", people, 1).change == 1
    assert sensitivity.replaced("histogram", people, 1).change == 2
    assert sensitivity.replaced("binary-mean", people, 1).change == Fraction(1, people)
    assert sensitivity.removed("complaints", people, 1).change == 5
    for bound in (1, 7, 20):
        assert sensitivity.removed("sum", people, bound).change == bound
        assert sensitivity.replaced("mean", people, bound).change == Fraction(bound, people)


def test_the_databases_that_show_it_are_neighbours() -> None:
    for name in sensitivity.QUERIES:
        added, swapped = sensitivity.removed(name, 4, 9), sensitivity.replaced(name, 4, 9)
        assert len(added.after) == len(added.before) + 1
        assert added.after[:-1] == added.before
        assert swapped.after[:-1] == swapped.before[:-1]
        query = sensitivity.QUERIES[name].answer
        moved = sum(abs(Fraction(a) - b) for a, b in zip(query(added.before), query(added.after), strict=True))
        assert moved == added.change


# composition


def test_composition_is_the_accountants() -> None:
    assert composition.in_sequence(10, 0.1) == 1
    assert composition.in_parallel(10, 0.1) == 0.1
    assert composition.of_group(4, 0.5, 0.0) == (2, 0)
    grown = composition.of_group(3, 0.2, 1e-6)
    assert grown == pytest.approx((0.6, 3 * math.exp(0.6) * 1e-6))
    assert composition.with_delta(100, 0.1, 1e-6) < 100 * 0.1
    assert composition.repeated_loss(5, 0.3) == pytest.approx(1.5)


def test_nothing_that_is_done_afterwards_adds_to_a_loss() -> None:
    after = {"digit": lambda answer: answer % 10, "sign": lambda answer: int(answer > 0), "same": lambda answer: answer}
    for epsilon in (0.05, 0.5, 1.0):
        losses = {each.name: each.loss for each in composition.processed(12, epsilon, after)}
        assert max(losses.values()) <= epsilon * (1 + 1e-9)
        assert losses["same"] == pytest.approx(epsilon)
        assert losses["sign"] < losses["same"]


# a coin's bias


def test_the_choice_of_a_bias_is_the_lectures_beta() -> None:
    """Against the density of Beta(1 + w·N_H, 1 + w·N_T) on the range, by its closed form."""
    heads, tails, epsilon, low = 600, 400, 0.1, 0.1
    w = epsilon / (2 * math.log(10))
    assert w == pytest.approx(0.0217, abs=5e-5)
    law, places = bias.density(heads, tails, epsilon, low), bias.biases(low)
    beta = places ** (w * heads) * (1 - places) ** (w * tails)
    assert law == pytest.approx(beta / beta.sum())


@pytest.mark.parametrize("low", [0.01, 0.1, 0.2])
def test_one_toss_moves_no_bias_beyond_epsilon(low: float) -> None:
    one = bias.density(600, 400, 0.5, low)
    for other in (bias.density(601, 400, 0.5, low), bias.density(600, 399, 0.5, low)):
        assert np.abs(np.log(one / other)).max() <= 0.5
    each = bias.biases(low)
    moved = np.abs(np.rint(1000 * np.log(each)))
    assert moved.max() <= math.ceil(1000 * bias.sensitivity(low)) + 1


def test_counts_are_better_than_a_choice_and_ever_more_so() -> None:
    ratios = [
        bias.spread_by_choice(n, 0.6, 0.1, 0.1) / bias.spread_by_counts(n, 0.6, 0.1) for n in (10**3, 10**4, 10**5)
    ]
    assert ratios[0] > 1
    assert ratios[1] / ratios[0] > 2
    assert ratios[2] / ratios[1] == pytest.approx(math.sqrt(10), rel=0.2)


# models


def test_private_k_means_without_noise_is_k_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Laplace, "release", lambda _, exact: exact)
    rows = kmeans.points(300, "far")
    for centred in (False, True):
        found = kmeans.private(rows, 5, 1.0, centred=centred)
        assert found.centres == pytest.approx(kmeans.plain(rows, 5))


def test_one_point_moves_the_sums_of_k_means_by_the_domain_at_most() -> None:
    rows = np.array([(0, 0), (kmeans.SIDE, kmeans.SIDE), (kmeans.SIDE, 0)])
    assert np.abs(rows).sum(axis=1).max() == kmeans.domain(centred=False)
    assert np.abs(rows - kmeans.SIDE // 2).sum(axis=1).max() == kmeans.domain(centred=True)


def test_naive_bayes_counts_everybody_once_in_each_table() -> None:
    those = bayes.people(500, "data")
    assert (bayes.tables(those, 7).sum(axis=(1, 2)) == 500).all()
    fewer = bayes.People(those.symptoms[1:], those.ill[1:])
    assert np.abs(bayes.tables(those, 7) - bayes.tables(fewer, 7)).sum() == 7


def test_naive_bayes_learns_and_noise_spoils_it() -> None:
    others = bayes.people(bayes.TESTED, "test")
    exact = bayes.fitted(bayes.people(20_000, "data"), 12, 1.0).exact.accuracy(others)
    assert exact > 1 - bayes.SICK + 0.1
    counts = np.zeros((12, 2, 2))
    assert bayes.Model(counts).accuracy(others) < exact


def test_phones_without_noise_learn_what_decides() -> None:
    runs = phones.trained(20, 3, 1.0, ())
    assert list(runs) == ["none"]
    assert runs["none"].scores[-1] > 0.8
    plan = phones.planned(20, 3, 1.0)
    assert plan.guarantees()[0].epsilon <= 1.0 + 1e-9


def test_a_model_by_heart_gives_its_patients_away_and_counts_do_not() -> None:
    """Both have no noise, so that this is exact; the noise of the third has the scale of its sensitivity (below)."""
    for size in (200, 400, 800):
        made = genes.inverted(size, 0.5)
        assert made.heart.gap > 0.25 > abs(made.counts.gap)
        assert made.records > made.heart.outside


def test_one_patient_moves_one_count_of_each_table_of_the_gene_model() -> None:
    people, _, _ = genes.invented(200)
    counts: list[NDArray[np.int64]] = []

    def seen(exact: NDArray[np.int64]) -> NDArray[np.int64]:
        counts.append(exact)
        return exact

    for first in (0, 1):
        genes.from_counts(people.of(np.arange(200) >= first), SimpleNamespace(release=seen))  # type: ignore[arg-type]
    assert np.abs(counts[0] - counts[1]).sum() == genes.TABLES


def test_rebecca_is_the_lectures() -> None:
    table = rebecca.released(10, gender=True, smoker=True)
    assert (table.measured.k, table.measured.distinct_l) == (2, 2)
    assert table.fitting(frozenset({"Age", "Gender"})) == [5, 8]
    everything = rebecca.released(100, gender=False, smoker=False)
    assert everything.measured.k == 9
    assert everything.measured.t == pytest.approx(0, abs=1e-12)
    assert len(everything.fitting(frozenset({"Age", "Gender", "Smoker"}))) == 9


# releases


def test_the_search_log_is_the_slides() -> None:
    log = search_log.log()
    assert log.totals == {"pregnancy test nyc": 2, "book": 4, "google": 39, "car": 7, "diabetes medicine": 1}
    losses = search_log.described(search_log.SLIDE).losses
    assert [round(losses[user], 2) for user in ("081", "082", "083")] == [13.87, 5.30, 17.32]


@pytest.mark.parametrize(
    ("epsilon", "delta", "size"), [(0.5, 0.9, 0), (1.0, 0.9, 1), (2.0, 0.9, 3), (5.0, 0.995, 8), (20.0, 1 - 1e-9, 35)]
)
def test_counts_found_by_trying_are_as_long_as_those_of_integer_programming(
    epsilon: float, delta: float, size: int
) -> None:
    """The sizes that `SearchLog.optimal` has for the slide's log (tests/release/test_search_log.py)."""
    found = search_log.drawn(epsilon, delta)
    assert found.size == size
    assert max(found.losses.values(), default=0.0) <= search_log.limit(epsilon, delta)
    assert sum(n for _, _, n in found.output) == found.size


def test_a_census_adds_up_and_is_whole() -> None:
    assert int(households.exact()[3][0]) == 6_898
    for way in households.SHARES:
        made = households.census(0.5, way)
        for levels in (made.consistent, made.whole):
            for above, below, parent in zip(levels, levels[1:], households.places().parents, strict=False):
                assert np.bincount(parent, weights=below) == pytest.approx(above.astype(float))
        assert all((level >= 0).all() for level in made.whole)


def test_levels_of_a_census_share_epsilon() -> None:
    for way in households.SHARES:
        scales = households.census(0.8, way).scales
        assert sum(1 / scale for scale in scales if scale) == pytest.approx(0.8)


def test_small_databases_answer_as_the_release_does() -> None:
    names, rows = small_database.queries()
    assert len(names) == 26
    assert names[:2] == ("no smoker", "smoker")
    assert rows.sum(axis=1).tolist() == [4] * 6 + [2] * 12 + [1] * 8
    made = small_database.answered(1000, 4, 1e6)
    exact = small_database.patients(1000)
    assert made.exact[1] == pytest.approx((exact[:, 0] == 1).mean())
    assert made.worst[0] <= small_database.bound(1000, 26, 4, 1e6, 0.05)
    assert len(made.rows) == 4


def test_a_synthetic_table_of_nobody_is_no_failure() -> None:
    assert np.isfinite(small_database.answered(100, 1, 0.001).synthetic).all()


# data that grows


def test_blocks_never_go_beyond_their_budget_and_training_goes_on() -> None:
    made = sage.trained(60, 5, 0.5, 2.0)
    assert max(made.spent) <= 2.0
    assert made.by_one[-1] == 4 < made.by_blocks[-1]
    assert made.by_blocks[-1] > made.by_blocks[29] > made.by_blocks[9]


def test_the_test_of_sage_lets_no_bad_model_pass() -> None:
    """The corrected test accepts the target's own loss with η = 0.05 at most, 200 times: more than 40 of them have a
    probability below 10⁻¹¹. The uncorrected one accepts every second: fewer than 50 of 200 have one below 10⁻¹²."""
    seen = sage.accepted(0.2, sage.Rule(10_000, 0.1, 0.05, 0.2))
    assert seen.corrected <= 40 / sage.TRIES
    assert seen.naive >= 50 / sage.TRIES


def test_the_distribution_of_draws_is_binomial() -> None:
    law = np.diff(sage._steps(7, 0.3), prepend=0.0)
    expected = [math.comb(7, k) * 0.3**k * 0.7 ** (7 - k) for k in range(8)]
    assert law == pytest.approx(expected)


# PINQ


def test_the_same_question_in_sql_and_python_runs() -> None:
    rows = [{"number": number, "parity": "odd" if number % 2 else "even", "x": number} for number in range(1, 101)]
    with curator_over(pinq.POLICY.format(budget=10.0), {"numbers": rows}) as curator:
        for _, sql, python in BESIDE[1:]:
            spelled = python.replace("….", 'curator.table("numbers").')
            answer = eval(spelled, {"curator": curator})
            assert answer.loss.epsilon == Fraction("0.1")
            assert len(curator.query(sql, epsilon=0.2).rows) == len(answer.rows)
