"""The small database and MWEM: exact probabilities, what they cost, and what they refuse."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.accounting import Concentrated, Pure
from discreet.errors import Refused
from discreet.exit import Cost, Exit, Sampler
from discreet.mechanisms import Exponential
from discreet.noise import SYSTEM
from discreet.release import MWEM, Domain, SmallDatabase, SmallRows, SyntheticTable
from discreet.release.rows import Rows
from discreet.release.synthetic.small import exact_scores, multisets
from tests.statistics import ALARM, Law, misfit

DOMAIN = Domain.of({"sex": ["F", "M"], "smoker": bool})
DATA: dict[str, list[Any]] = {
    "sex": ["F"] * 6 + ["M"] * 2,
    "smoker": [True, True, True, False, True, True, False, True],
}
QUERIES = np.array([[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 1]])


@pytest.mark.parametrize("cost", [Cost(Pure(1)), Cost(Concentrated(Fraction(1, 8)))], ids=["epsilon", "rho"])
def test_probabilities_are_those_of_all_sequences_one_by_one(cost: Cost) -> None:
    """By the definition: every sequence of 3 rows is a candidate, and 4³ of them are scored with fractions."""
    exact, rows, size = np.array([3, 0, 1, 4]), 3, 4
    counts, copies = multisets(size, rows)
    choices = cost.choice_among(copies, rows, Fraction(1))
    found = choices.mechanism.probabilities(exact_scores(exact, counts, QUERIES))
    assert choices.loss == cost.loss
    epsilon = 1.0  # and √(8ρ) = 1
    weights: dict[tuple[int, ...], float] = {}
    for sequence in product(range(size), repeat=rows):
        held = np.bincount(sequence, minlength=size)
        errors = [abs(float(query @ exact) - exact.sum() / rows * float(query @ held)) for query in QUERIES]
        key = tuple(held.tolist())
        weights[key] = weights.get(key, 0.0) + math.exp(-epsilon * max(errors) / 2)
    whole = sum(weights.values())
    expected = [weights[tuple(row)] / whole for row in counts.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_draws_follow_the_probabilities() -> None:
    """False-alarm rate: ALARM, 10⁻¹⁰."""
    mechanism = Exponential(2, sensitivity=1, copies=(1, 5, 20))
    scores = np.array([0, -1, -2])
    drawn = [mechanism.choose(scores) for _ in range(4000)]
    assert misfit(drawn, Law(0, mechanism.probabilities(scores))) > ALARM


def test_scores_move_by_at_most_the_rows_of_a_unit() -> None:
    """All databases of up to 3 rows, and all that one unit of up to 2 rows can add."""
    counts, _ = multisets(4, 2)
    vectors = [np.array(each) for each in product(range(3), repeat=4) if sum(each) <= 3]
    for exact in vectors:
        before = exact_scores(exact, counts, QUERIES)
        for more in (each for each in vectors if 0 < each.sum() <= 2):
            after = exact_scores(exact + more, counts, QUERIES)
            assert np.abs(after - before).max() <= 2 * int(more.sum())  # m = 2, in counts by r


def test_multisets_stand_for_all_sequences() -> None:
    counts, copies = multisets(4, 5)
    assert len(counts) == math.comb(8, 5)
    assert sum(copies) == 4**5
    assert (counts.sum(axis=1) == 5).all()


def test_it_costs_what_it_says_and_answers_fractions() -> None:
    small = SmallDatabase(domain=DOMAIN, size=4)
    losses: list[Any] = []

    def choose(choices: Any, scores: Any, bits: Any) -> list[int]:
        losses.append(choices.loss)
        assert choices.mechanism.sensitivity == 4
        assert not choices.mechanism.monotone
        return [choices.mechanism.choose(scores[0], bits)]

    def add(mechanism: Any, sensitivity: Any, exact: Any, bits: Any) -> Any:  # noqa: ARG001
        losses.append(mechanism.loss)
        return exact

    exit_ = Exit(Cost(Pure(1)), SYSTEM, sampler=Sampler(add_noise=add, choose=choose))
    made = small.declared(None).run(Rows.of(DATA, DOMAIN.names), exit_)
    assert sum(loss.amount for loss in losses) == 1
    assert len(made) == len(made.rows()) == 4
    assert made.total == 8
    assert made.fraction(np.ones(4)) == 1
    assert made.count(np.ones(4)) == 8


def test_with_much_budget_the_best_small_database_is_chosen() -> None:
    made = SmallDatabase(domain=DOMAIN, size=8).release(DATA, epsilon=10**4)
    assert isinstance(made, SmallRows)
    assert sorted(made.rows()) == sorted(zip(DATA["sex"], DATA["smoker"], strict=True))


def test_the_size_and_the_bound_are_the_lectures() -> None:
    small = SmallDatabase(domain=DOMAIN, alpha=Fraction(1, 2), queries=QUERIES).declared(None)
    assert small.rows == math.ceil(math.log2(3) * 4)
    share = 0.9
    expected = 2 / share * (small.rows * math.log(4) + math.log(20))
    assert small.bound(Cost(Pure(1))) == pytest.approx(expected)


@pytest.mark.parametrize(
    "options",
    [
        {"domain": Domain.of({"age": (0, 110), "sex": ["F", "M"]}), "size": 3},
        {"domain": Domain.of({"age": (0, 5000)}, bins={"age": 2000}), "size": 1},
        {"domain": DOMAIN, "size": 21},
        {"domain": DOMAIN, "size": 10**30},
        {"domain": DOMAIN, "alpha": 1e-9},
        {"domain": Domain.of({f"c{each}": bool for each in range(9)}), "size": 1},
    ],
    ids=["many", "cells", "rows", "huge", "fine", "marginals"],
)
def test_universes_that_are_too_large_are_refused_and_alternatives_named(options: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        SmallDatabase(**options).release({}, epsilon=1)
    assert refused.value.code == "release-invalid"
    assert "MWEM" in refused.value.fix


@pytest.mark.parametrize(
    "options", [{"alpha": 0}, {"alpha": 2}, {"size": 0}, {"queries": [[2, 0, 0, 0]]}, {"queries": [[1]]}]
)
def test_wrong_arguments_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"alpha|size|queries"):
        SmallDatabase(domain=DOMAIN, **options).release(DATA, epsilon=1)


# MWEM


def test_mwem_learns_what_it_measures() -> None:
    """ε is so large that noise is nothing; independent cells would have a quarter each."""
    dice = np.random.default_rng(0)
    one = dice.integers(2, size=3000)
    data = {"sex": np.where(one, "F", "M").tolist(), "smoker": (one == 1).tolist()}
    made = MWEM(domain=DOMAIN, rounds=4, passes=50).release(data, epsilon=1000)
    assert isinstance(made, SyntheticTable)
    alike = [(sex == "F") == smoker for sex, smoker in made.rows]
    assert np.mean(alike) > 0.95
    assert made.quality().compared


def test_mwem_refuses_domains_that_do_not_fit_memory() -> None:
    with pytest.raises(Refused, match="MarginalSynthesizer"):
        MWEM(domain=Domain.of({f"c{each}": (0, 99) for each in range(4)})).release({}, epsilon=1)
    with pytest.raises(Refused, match="columns"):
        MWEM(domain=Domain.of({f"c{each}": ["one"] for each in range(70)})).release({}, epsilon=1)
    with pytest.raises(ValueError, match="degree"):
        MWEM(domain=DOMAIN, degree=4).release(DATA, epsilon=1)
    with pytest.raises(ValueError, match="rounds"):
        MWEM(domain=DOMAIN, rounds=10**9).release(DATA, epsilon=1)


def test_copies_are_whole_numbers_one_for_each_score() -> None:
    for copies in ((0,), (-1,), (1.5,), (2**63,)):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            Exponential(1, sensitivity=1, copies=copies)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="copies of 2 scores"):
        Exponential(1, sensitivity=1, copies=(1, 2)).choose([1, 2, 3])
