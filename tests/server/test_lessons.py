"""The lessons: the lectures' figures beside the reader's, and the theorems' noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.lab import averaging, linkage
from discreet.lab.blocks import Table
from discreet.lab.examples import coins, complaints, losses, zipcode
from discreet.mechanisms import Gaussian
from tests.server.reader import body_of, figures_of

TWO_PERCENT = 0.02 * 0.75 / (0.02 * 0.75 + 0.98 * 0.25)
LECTURES = [
    ("blue-eyes", {}, "scale of the noise, Δf/ε", (f"{1 / 0.1:g}", f"{1 / 0.1:g}")),
    ("blue-eyes", {"epsilon": "0.25", "people": "100"}, "scale of the noise, Δf/ε", ("10", "4")),
    ("complaints", {"epsilon": "0.5"}, "noise if everybody counts once", ("Lap(1/ε)", f"Lap({1 / 0.5:g})")),
    ("complaints", {"epsilon": "0.5"}, "noise then", ("Lap(5/ε)", f"Lap({5 / 0.5:g})")),
    ("complaints", {"epsilon": "0.5", "limit": "7"}, "noise then", ("Lap(5/ε)", f"Lap({7 / 0.5:g})")),
    (
        "randomised-response",
        {},
        "probability of the true answer",
        ("3/4", f"{math.exp(0.5) / (1 + math.exp(0.5)):.3f}"),
    ),
    ("randomised-response", {}, "ε", ("ln 3 ≈ 1.099", "0.5")),
    (
        "randomised-response",
        {"epsilon": "1"},
        "prior 0.02 and a Yes: posterior",
        (f"{TWO_PERCENT:.3f}", f"{0.02 * math.e / (0.02 * math.e + 0.98):.3f}"),
    ),
    (
        "randomised-response",
        {"epsilon": "0.1"},
        "prior 0.4: posterior at least",
        ("0.4·e^−ε", f"{0.4 * math.exp(-0.1):.3f}"),
    ),
    (
        "randomised-response",
        {"epsilon": "0.1"},
        "prior 0.4: posterior at most",
        ("0.4·e^ε", f"{0.4 * math.exp(0.1):.3f}"),
    ),
    ("nationality", {"epsilon": "1"}, "Pr ∝", ("exp(ε·u/(2Δu))", "exp(0.5·u)")),
    ("nationality", {"epsilon": "1"}, "one person changes a probability at most", ("e^ε", "2.72-fold")),
    ("privacy-loss", {"delta": "0.001"}, "δ should be", ("below 1/n", "enough for fewer than 1,000 people")),
    ("privacy-loss", {"epsilon": "0.5"}, "Laplace: the loss is", ("always within ε", "at most 0.5, always")),
    ("averaging", {}, "asking K times costs", ("Kε", "1,000 · 0.1 = 100")),
    ("averaging", {}, "answers within the budget", ("costs sum to ε at most", "10 (budget 1)")),
    ("linkage", {}, "residents", ("54,000", "54,000")),
    ("linkage", {}, "ZIP codes", ("7", "7")),
    ("linkage", {}, "born like him", ("6", "6")),
    ("linkage", {}, "and a man", ("3", "3")),
    ("linkage", {}, "and his ZIP code", ("1", "1")),
    ("linkage", {"zip": "no"}, "and his ZIP code", ("1", "not published")),
    ("zip-82414", {}, "households in 82414", ("6,898", "6,898")),
    ("zip-82414", {}, "their mean income, dollars", ("79,083", "79,083")),
    ("hiv-histogram", {}, "HIV-positive by age, with everybody", ("1, 1, 2", "1, 1, 2")),
    ("hiv-histogram", {"times": "200"}, "HIV-positive by age, with everybody", ("1, 1, 2", "200, 200, 400")),
    ("definition", {}, "Pr[A(D₁) = O] / Pr[A(D₂) = O]", ("at most e^ε, for every O", "unbounded")),
    (
        "definition",
        {"method": "laplace", "epsilon": "0.5"},
        "Pr[A(D₁) = O] / Pr[A(D₂) = O]",
        ("at most e^ε, for every O", f"at most {math.exp(0.5):.4g}"),
    ),
    ("definition", {}, "two inputs, one record apart, two outputs", ("exist", "counts of 4 and 5")),
    ("sensitivity", {}, "a count (000: 1)", ("1", "1")),
    ("sensitivity", {}, "k disjoint buckets", ("1", "1")),
    ("sensitivity", {"people": "5"}, "a mean of n = 5 bits (000, 001)", ("1/n", "1/5")),
    ("sensitivity", {}, "five complaints of one person (004)", ("5", "5")),
    ("composition", {"questions": "7", "epsilon": "0.3"}, "k answers", ("kε, kδ", "7 · 0.3 = 2.1")),
    ("composition", {"questions": "7", "epsilon": "0.3"}, "on disjoint data (001)", ("max ε", "0.3")),
    ("composition", {"group": "3", "epsilon": "0.2"}, "group of k: ε", ("kε", "3 · 0.2 = 0.6")),
    (
        "composition",
        {"group": "3", "epsilon": "0.2", "delta": "0.00001"},
        "group of k: δ",
        ("k·e^(kε)·δ", f"{3 * math.exp(0.6) * 1e-5:.7f}"),
    ),
    (
        "composition",
        {"questions": "6", "epsilon": "0.1"},
        "D = 6 counts at once, or D times ε/D (003)",
        ("D/ε, both", "60, 60"),
    ),
    ("coin-bias", {}, "Δ of the log-likelihood", ("−ln 0.1 ≈ 2.3", "2.3")),
    ("coin-bias", {}, "each toss counts for ε/(2Δ)", ("0.022", "0.022")),
    (
        "coin-bias",
        {"tosses": "1000", "share": "60"},
        "drawn from a truncated",
        (
            "Beta(1 + 0.022·N_H, 1 + 0.022·N_T)",
            f"Beta({1 + 600 * 0.05 / math.log(10):.4g}, {1 + 400 * 0.05 / math.log(10):.4g})",
        ),
    ),
    ("coin-bias", {"low": "0"}, "Δ from 0 to 1", ("∞", "∞")),
    ("k-means", {"rounds": "10", "epsilon": "1"}, "noise on the counts", ("Lap(2T/ε)", f"Lap({2 * 10 / 1:g})")),
    (
        "k-means",
        {"rounds": "5", "epsilon": "2"},
        "noise on the sums",
        ("Lap(2T·|dom|/ε)", f"Lap({2 * 5 * 200 // 2})"),
    ),
    ("k-means", {"centred": "yes", "epsilon": "2"}, "noise on the sums", ("Lap(2T·|dom|/ε)", "Lap(1000)")),
    ("naive-bayes", {"features": "6"}, "scale of the noise at ε = 0.1", ("10·D", "60")),
    ("naive-bayes", {"features": "6", "epsilon": "0.3"}, "at your ε", ("D/ε", "20")),
    ("pinq", {}, "counts asked for", ("0.01, 0.10, 1.00", "0.01, 0.10, 1.00")),
    ("pinq", {}, "answered", ("2 of 3: 0.01 + 0.1 + 1 is more than 1", "2 of 3")),
    ("pinq", {"budget": "1.2"}, "answered", ("2 of 3: 0.01 + 0.1 + 1 is more than 1", "3 of 3")),
    (
        "small-database",
        {"size": "6"},
        "rows of the small database",
        ("log₂K/α²", f"6, so α = {math.sqrt(math.log2(26) / 6):.3f}"),
    ),
    ("small-database", {"people": "1000"}, "its sensitivity", ("1/N", "1/1,000")),
    ("search-log", {}, "pairs that one user alone has", ("suppressed", "pregnancy test nyc, diabetes medicine")),
    ("search-log", {"epsilon": "5", "delta": "0.995"}, "x for google", ("20", "8")),
    ("search-log", {"epsilon": "20", "delta": "0.999999"}, "x for book", ("3", "0")),
    ("search-log", {"delta": "0.000001"}, "x for google", ("20", "0")),
    ("search-log", {"delta": "0.000001"}, "largest loss of a user, computed", ("17.32", "0")),
    ("census", {"epsilon": "2"}, "noise on a count (003: blue eyes)", ("1/ε", "2, 2, 2, 2")),
    ("census", {"way": "leaves", "epsilon": "2"}, "noise on a count (003: blue eyes)", ("1/ε", "–, –, –, 0.5")),
    ("sage", {"budget": "2"}, "composition (Lecuyer et al. 2019)", ("per block, not per stream", "no block above 2")),
    ("k-anonymity", {}, "rows that may be hers", ("2", "2")),
    ("k-anonymity", {}, "diagnoses left", ("2", "2")),
    ("k-anonymity", {"known": "age"}, "diagnoses left", ("2", "4")),
    ("k-anonymity", {"age": "all", "gender": "no", "smoker": "no"}, "diagnoses left", ("2", "8")),
    ("model-inversion", {}, "and of those who are not in it", ("not shown", "44.7 %")),
    ("federated", {}, "is that private?", ("not automatically", "without noise: σ = 0.001, ε without limit")),
]


@pytest.mark.parametrize(("slug", "sent", "what", "expected"), LECTURES)
def test_figures_of_the_lectures(slug: str, sent: dict[str, str], what: str, expected: tuple[str, str]) -> None:
    assert figures_of(slug, **sent)[what] == expected


def test_the_posterior_of_the_lecture() -> None:
    assert round(TWO_PERCENT, 3) == 0.058
    assert coins.posterior(0.02, "yes", coins.COINS) == pytest.approx(TWO_PERCENT)


@pytest.mark.parametrize(
    ("truth", "first", "second", "said"),
    [
        ("yes", "heads", "heads", "yes"),
        ("yes", "heads", "tails", "yes"),
        ("no", "heads", "heads", "no"),
        ("no", "heads", "tails", "no"),
        ("yes", "tails", "heads", "yes"),
        ("yes", "tails", "tails", "no"),
        ("no", "tails", "heads", "yes"),
        ("no", "tails", "tails", "no"),
    ],
)
def test_the_protocol_of_the_two_coins(truth: str, first: str, second: str, said: str) -> None:
    told = repr(body_of("randomised-response", truth=truth, first=first, second=second)[0])
    assert f"You send “{said.title()}”" in told
    assert f"The truth was “{truth.title()}”" in told


def test_the_chance_of_each_nationality() -> None:
    counts, told = [9, 8, 5, 4, 3, 1], repr(body_of("nationality", epsilon="1"))
    weights = [math.exp(each / 2) for each in counts]
    for weight in weights:
        assert f"{100 * weight / sum(weights):#.3g}".rstrip("0").rstrip(".") + " %" in told


@pytest.mark.parametrize("room", [1, 10, 100])
def test_one_person_moves_no_probability_beyond_the_theorem(room: int) -> None:
    """The ratios from the weights alone, in logarithms: at the largest room some probabilities are below a float's."""
    scores = [room * each for each in (9, 8, 5, 4, 3, 1)]
    with_, without = (_log_sum([each / 2 for each in those]) for those in (scores, [scores[0] - 1, *scores[1:]]))
    expected = [math.exp(without - with_ + (0.5 if place == 0 else 0.0)) for place in range(len(scores))]
    blocks = body_of("nationality", epsilon="1", room=str(room))
    table = next(block for block in blocks if isinstance(block, Table) and block.columns[-1] == "ratio")
    assert [float(row[-1]) for row in table.rows] == pytest.approx(expected, rel=5e-3)
    assert all(math.exp(-1) <= ratio <= math.e for ratio in expected)


def _log_sum(exponents: list[float]) -> float:
    most = max(exponents)
    return most + math.log(sum(math.exp(each - most) for each in exponents))


def test_how_often_gaussian_noise_loses_more_than_epsilon() -> None:
    spread = float(
        Gaussian(epsilon=1, delta=0.01, sensitivity=losses.SENSITIVITY).noise(Fraction(losses.SENSITIVITY), 1).spread
    )
    z = np.arange(-2000, 2001)
    chances = np.exp(-(z**2) / (2 * spread))
    loss = (2 * z * losses.SENSITIVITY + losses.SENSITIVITY**2) / (2 * spread)
    bad = chances[loss > 1].sum() / chances.sum()
    delta = (chances * np.maximum(1 - np.exp(1 - loss), 0)).sum() / chances.sum()
    told = repr(body_of("privacy-loss", epsilon="1", delta="0.01")[1])
    assert f"'{bad:.3g}'" in told
    assert f"'{delta:.3g}'" in told
    assert delta <= 0.01 < bad


@pytest.mark.parametrize("limit", [1, 5, 20])
def test_complaints_beyond_the_limit_are_left_out(limit: int) -> None:
    people = [many for many, how_many in complaints.SENT.items() for _ in range(how_many)]
    assert complaints.counted(limit) == sum(min(many, limit) for many in people)


def test_the_made_up_city_is_the_lectures() -> None:
    people = linkage.city()
    rows = list(zip(people.born.tolist(), people.man.tolist(), people.zip.tolist(), strict=True))
    him = rows[linkage.GOVERNOR]
    assert len(rows) == 54_000
    assert len({row[2] for row in rows}) == 7
    assert sum(row[0] == him[0] for row in rows) == 6
    assert sum(row[:2] == him[:2] and row[1] == 1 for row in rows) == 3
    assert rows.count(him) == 1
    alone = sum(1 for count in _tallied(rows).values() if count == 1)
    assert figures_of("linkage")["unique by ZIP code, birth date, sex (003)"] == (
        "87 % of Americans",
        f"{100 * (alone / 54_000):.3g} %",
    )


@pytest.mark.parametrize(
    ("birth", "sex", "zip_"), [("month", "yes", "yes"), ("decade", "no", "yes"), ("year", "no", "no")]
)
def test_coarser_tables_hide_more(birth: str, sex: str, zip_: str) -> None:
    people = linkage.city()
    days = people.born.astype("datetime64[D]").astype(str).tolist()
    cut = {"month": 7, "year": 4, "decade": 3}[birth]
    rows = [
        (day[:cut], man if sex == "yes" else 0, place if zip_ == "yes" else 0)
        for day, man, place in zip(days, people.man.tolist(), people.zip.tolist(), strict=True)
    ]
    group, sizes = linkage.Detail(birth, sex == "yes", zip_ == "yes").groups(people)
    tallied = _tallied(rows)
    assert sorted(sizes.tolist()) == sorted(tallied.values())
    assert sizes[group[0]] == tallied[rows[0]]


def _tallied(rows: list[Any]) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for row in rows:
        found[row] = found.get(row, 0) + 1
    return found


def test_one_house_moves_the_exact_mean_of_82414() -> None:
    assert int(zipcode.incomes("82414").sum()) == 6_898 * 79_083
    told = repr(body_of("zip-82414", income="150")[1])
    assert f"'{(6_898 * 79_083 + 150_000_000) / 6_899:,.0f}'" in told


# noise


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """What is asked of the samplers."""
    asked: dict[str, list[Any]] = {"laplace": [], "untruths": [], "exponents": []}
    laplace, untruths, race = noise.laplace, noise.untruths, noise.gumbel_race

    def recorded(scale: Any, *given: Any, **named: Any) -> Any:
        asked["laplace"].append(Fraction(scale))
        return laplace(scale, *given, **named)

    def lying(epsilon: Any, *given: Any, **named: Any) -> Any:
        asked["untruths"].append(float(epsilon))
        return untruths(epsilon, *given, **named)

    def racing(exponents: noise.Exponents, *given: Any, **named: Any) -> Any:
        asked["exponents"].append(exponents.unit)
        return race(exponents, *given, **named)

    monkeypatch.setattr(noise, "laplace", recorded)
    monkeypatch.setattr(noise, "untruths", lying)
    monkeypatch.setattr("discreet.mechanisms.exponential.gumbel_race", racing)
    return asked


LAPLACE = [
    ("blue-eyes", {"epsilon": "0.25"}, {Fraction(1) / Fraction("0.25")}),
    ("complaints", {"epsilon": "0.5", "limit": "7"}, {Fraction(7) / Fraction("0.5")}),
    ("linkage", {"epsilon": "0.8"}, {1 / (Fraction("0.8") / 2)}),
    ("hiv-histogram", {"epsilon": "0.2"}, {1 / Fraction("0.2")}),
    # half of ε for the sum about the middle, which a household moves by half the bound, half for the count
    ("zip-82414", {"epsilon": "0.5", "bound": "200000"}, {Fraction(100_000) / Fraction("0.25"), 1 / Fraction("0.25")}),
    ("averaging", {"epsilon": "0.2", "budget": "1"}, {1 / Fraction("0.2")}),
    ("definition", {"method": "laplace", "epsilon": "0.2"}, {1 / Fraction("0.2")}),
    ("definition", {"method": "exact"}, set()),
    ("coin-bias", {"epsilon": "0.2"}, {1 / Fraction("0.2")}),
    # T rounds, two questions each: counts move by 1, sums by |dom|
    ("k-means", {"rounds": "4", "epsilon": "0.8"}, {8 / Fraction("0.8"), 8 * 200 / Fraction("0.8")}),
    ("k-means", {"rounds": "1", "epsilon": "0.8", "centred": "yes"}, {2 / Fraction("0.8"), 200 / Fraction("0.8")}),
    ("pinq", {"first": "0.2", "second": "0.5", "third": "0.25"}, {5, 2, 4}),
    ("census", {"way": "top", "epsilon": "0.8"}, {Fraction("2.5"), 5, 10}),
    ("sage", {}, {20}),
    ("k-anonymity", {"epsilon": "0.5"}, {2}),
    ("model-inversion", {"epsilon": "0.5"}, {20}),  # ten tables, in each of which a patient has one cell
]


@pytest.mark.parametrize(("slug", "sent", "scales"), LAPLACE)
def test_noise_has_the_scale_of_the_theorem(
    drawn: dict[str, list[Any]], slug: str, sent: dict[str, str], scales: set[Fraction]
) -> None:
    body_of(slug, **sent)
    assert set(drawn["laplace"]) == scales


def test_coins_lie_as_often_as_epsilon_says(drawn: dict[str, list[Any]]) -> None:
    body_of("randomised-response", epsilon="0.7")
    assert drawn["untruths"] == pytest.approx([math.log(3), 0.7])
    assert [float(scale) for scale in drawn["laplace"]] == pytest.approx([1 / math.log(3)])


@pytest.mark.parametrize(("method", "unit"), [("lecture", Fraction("0.3") / 2), ("counts", Fraction("0.3"))])
def test_names_are_drawn_with_the_exponent_of_the_theorem(
    drawn: dict[str, list[Any]], method: str, unit: Fraction
) -> None:
    body_of("nationality", epsilon="0.3", method=method)
    assert drawn["exponents"] == [unit]


def test_a_real_ledger_ends_the_averaging() -> None:
    told = averaging.experiment(0.3, 1.0)
    assert len(told.fresh) == 3
    assert told.refusal.startswith("budget-exhausted")
    assert told.cached == told.cached_again
    assert told.cached in told.fresh


def test_a_thousand_answers_average_to_the_truth() -> None:
    """The average of 2,000 answers has a standard error of 14.1/√2000 = 0.32; six of them: 10⁻⁸."""
    told = repr(body_of("averaging", times="2000")[1])
    mean = float(told.split("Figure(value='")[1].split("'")[0])
    assert abs(mean - averaging.SMOKERS) < 6 * math.sqrt(2 * 10**2 / 2000)
