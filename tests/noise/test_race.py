from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from discreet.noise import SYSTEM, exponential_race, gumbel_race, integer, interval, race
from discreet.noise.interval import Exponentials, Uniform
from discreet.noise.race import Exponents
from tests.rigged import OutOfBitsError, Rigged, repeated
from tests.statistics import ALARM, law, misfit

TOP = 2**63
ONES = 2**64 - 1
RACES = 6000
MANY_RACES = 30_000
SCORES = (3, 0, 5, 5, 1)


def exponents(scores: Sequence[int], unit: Fraction, copies: Sequence[int] | None = None) -> Exponents:
    return Exponents(np.array(scores), unit, None if copies is None else np.array(copies))


def softmax(scores: Sequence[int], unit: Fraction, copies: Sequence[int] | None = None) -> list[float]:
    weights = [m * math.exp(unit * score) for score, m in zip(scores, copies or [1] * len(scores), strict=True)]
    return [weight / sum(weights) for weight in weights]


def ranked(weights: Sequence[float], winners: int) -> dict[tuple[int, ...], float]:
    """The probability of each order of the first `winners` (Plackett 1975, Luce 1959)."""
    orders = {}
    for order in itertools.permutations(range(len(weights)), winners):
        left, chance = sum(weights), 1.0
        for winner in order:
            chance *= weights[winner] / left
            left -= weights[winner]
        orders[order] = chance
    return orders


def permute_and_flip(scores: Sequence[int], unit: Fraction) -> list[float]:
    """Candidates come up in random order; each is taken with probability exp(a − max a) (McKenna & Sheldon 2020)."""
    accept = [math.exp(unit * (score - max(scores))) for score in scores]
    wins = [0.0] * len(scores)
    for order in itertools.permutations(range(len(scores))):
        reached = 1.0
        for candidate in order:
            wins[candidate] += reached * accept[candidate] / math.factorial(len(scores))
            reached *= 1 - accept[candidate]
    return wins


def winners_of(run: Callable[[Exponents], NDArray[np.int64]], candidates: Exponents, races: int) -> list[int]:
    return [int(run(candidates)[0]) for _ in range(races)]


@pytest.mark.parametrize("unit", [pytest.param(Fraction(0), marks=pytest.mark.long), Fraction(2, 7)])
def test_the_gumbel_race_is_won_with_softmax_probabilities(unit: Fraction) -> None:
    assert misfit(winners_of(gumbel_race, exponents(SCORES, unit), RACES), law(softmax(SCORES, unit))) > ALARM


@pytest.mark.parametrize("races", [RACES, pytest.param(MANY_RACES, marks=pytest.mark.slow)])
@pytest.mark.parametrize("copies", [None, (1, 20, 1, 2, 7)])
@pytest.mark.parametrize("unit", [Fraction(1, 10), Fraction(2, 7), Fraction(1)])
def test_the_gumbel_race_counts_copies(unit: Fraction, copies: tuple[int, ...] | None, races: int) -> None:
    won = winners_of(gumbel_race, exponents(SCORES, unit, copies), races)
    assert misfit(won, law(softmax(SCORES, unit, copies))) > ALARM


def test_a_candidate_with_copies_wins_like_all_of_them_together() -> None:
    scores, copies, unit = (0, 2, 3), (30, 5, 1), Fraction(1, 2)
    won = winners_of(gumbel_race, exponents(scores, unit, copies), RACES)
    apart = softmax([s for s, m in zip(scores, copies, strict=True) for _ in range(m)], unit)
    assert misfit(won, law([sum(apart[:30]), sum(apart[30:35]), apart[35]])) > ALARM


@pytest.mark.parametrize(
    ("winners", "races"),
    [
        (2, RACES),
        pytest.param(4, RACES, marks=pytest.mark.long),
        *(pytest.param(winners, MANY_RACES, marks=pytest.mark.slow) for winners in (2, 3, 4)),
    ],
)
def test_the_first_winners_come_in_the_order_of_plackett_and_luce(winners: int, races: int) -> None:
    scores, unit, copies = (3, 0, 5, 4), Fraction(1, 5), (1, 3, 1, 1)
    orders = ranked(softmax(scores, unit, copies), winners)
    index = {order: place for place, order in enumerate(orders)}
    candidates = exponents(scores, unit, copies)
    drawn = [index[tuple(gumbel_race(candidates, winners).tolist())] for _ in range(races)]
    assert misfit(drawn, law(list(orders.values()))) > ALARM


@pytest.mark.parametrize(
    ("scores", "unit"),
    [
        ((0, 1), Fraction(1)),
        (SCORES, Fraction(1, 3)),
        pytest.param((4, 4, 4), Fraction(1), marks=pytest.mark.long),
        pytest.param((0, -2, -1, -7), Fraction(2, 5), marks=pytest.mark.long),
    ],
)
def test_the_exponential_race_is_permute_and_flip(scores: Sequence[int], unit: Fraction) -> None:
    expected = permute_and_flip(scores, unit)
    assert sum(expected) == pytest.approx(1, abs=1e-12)
    assert misfit(winners_of(exponential_race, exponents(scores, unit), RACES), law(expected)) > ALARM


def flipped(scores: Sequence[int], unit: Fraction, races: int) -> NDArray[np.int64]:
    """Permute-and-flip itself, by exact trials and integers alone."""
    orders = np.argsort(SYSTEM.words(races * len(scores)).reshape(races, -1), axis=1)
    tops = (max(scores) - np.array(scores))[orders] * unit.numerator
    taken = integer.bernoulli_exp(SYSTEM, tops.ravel(), unit.denominator).reshape(orders.shape)
    winners: NDArray[np.int64] = orders[np.arange(races), np.argmax(taken, axis=1)]
    return winners


@pytest.mark.long
def test_the_exponential_race_and_direct_trials_agree() -> None:
    unit = Fraction(1, 3)
    direct = flipped(SCORES, unit, 10**5)
    assert misfit(direct, law(permute_and_flip(SCORES, unit))) > ALARM
    raced = winners_of(exponential_race, exponents(SCORES, unit), MANY_RACES)
    assert misfit(raced, law(permute_and_flip(SCORES, unit))) > ALARM
    table = [np.bincount(direct, minlength=5), np.bincount(raced, minlength=5)]
    assert stats.chi2_contingency(table).pvalue > ALARM


words = st.one_of(
    st.integers(1, TOP - 1),
    st.integers(1, 100),
    st.integers(TOP - 100, TOP - 1),
    st.integers(TOP // 2, TOP // 2 + 100),
)


class Field(NamedTuple):
    """Candidates whose words are known."""

    words: list[int]
    scores: list[int]
    copies: list[int] | None
    unit: Fraction
    winners: int = 1

    def exponents(self) -> Exponents:
        return exponents(self.scores, self.unit, self.copies)

    def bits(self) -> Rigged:
        """The words, and zeros for ever after: U is the lower end of each word."""
        return Rigged([word << 1 for word in self.words], then=repeated(0))

    def order(self, noise: Callable[[Any], Any]) -> list[int]:
        """The candidates by their keys, which are computed to 60 digits."""
        with mpmath.workdps(60):
            exact = [
                score * mpmath.mpf(self.unit.numerator) / self.unit.denominator
                + mpmath.log(copies)
                + noise(-mpmath.log(mpmath.mpf(word) / TOP))
                for word, score, copies in zip(
                    self.words, self.scores, self.copies or [1] * len(self.words), strict=True
                )
            ]
        return sorted(range(len(self.words)), key=lambda i: exact[i], reverse=True)


@st.composite
def fields(draw: st.DrawFn) -> Field:
    start = draw(st.lists(words, min_size=1, max_size=6, unique=True))
    scores = draw(st.lists(st.integers(-40, 40), min_size=len(start), max_size=len(start)))
    copies = draw(st.none() | st.lists(st.integers(1, 10**6), min_size=len(start), max_size=len(start)))
    unit = draw(st.fractions(min_value=0, max_value=2, max_denominator=1000))
    return Field(start, scores, copies, unit, draw(st.integers(1, len(start))))


@given(fields())
@example(Field([TOP - 1, TOP - 2], [0, 0], None, Fraction(1)))
@example(Field([TOP - 1, TOP // 2, 1], [0, 0, 5], None, Fraction(1, 3), 2))
@example(Field([5], [0], [3], Fraction(1)))
@settings(deadline=None, max_examples=100)
def test_races_are_decided_as_by_exact_keys(field: Field) -> None:
    by_gumbel = field.order(lambda waiting: -mpmath.log(waiting))
    by_sum = field.order(lambda waiting: waiting)
    assert gumbel_race(field.exponents(), field.winners, bits=field.bits()).tolist() == by_gumbel[: field.winners]
    assert exponential_race(field.exponents(), bits=field.bits()).tolist() == by_sum[:1]


@st.composite
def near_ties(draw: st.DrawFn) -> tuple[Field, Field]:
    """Two candidates whose keys differ by less than floats can tell: for the Gumbel race, and for the other."""
    word = draw(st.integers(TOP // 100, TOP - TOP // 100))
    ahead, copies = draw(st.integers(-40, 40)), draw(st.integers(1, 50))
    unit = draw(st.fractions(min_value=0, max_value=Fraction(1, 40), max_denominator=1000))
    away = draw(st.integers(-3, 3))
    with mpmath.workdps(40):
        waiting = -mpmath.log(mpmath.mpf(word) / TOP)
        lead = ahead * mpmath.mpf(unit.numerator) / unit.denominator + mpmath.log(copies)
        later = waiting * mpmath.exp(-lead), waiting + lead - mpmath.log(copies)
        words = [int(mpmath.nint(TOP * mpmath.exp(-wait))) + away for wait in later]
    gumbel, exponential = (Field([word, min(max(tied, 1), TOP - 1)], [ahead, 0], None, unit) for tied in words)
    return gumbel._replace(copies=[copies, 1], winners=draw(st.integers(1, 2))), exponential


@given(near_ties())
@settings(deadline=None, max_examples=60)
def test_races_that_floats_cannot_tell_are_decided_as_by_exact_keys(ties: tuple[Field, Field]) -> None:
    by_gumbel, by_sum = ties
    assume(len({*by_gumbel.words}) == len({*by_sum.words}) == 2)
    winner = by_gumbel.order(lambda waiting: -mpmath.log(waiting))[: by_gumbel.winners]
    assert gumbel_race(by_gumbel.exponents(), by_gumbel.winners, bits=by_gumbel.bits()).tolist() == winner
    assert exponential_race(by_sum.exponents(), bits=by_sum.bits()).tolist() == by_sum.order(lambda wait: wait)[:1]


@given(fields())
@settings(deadline=None, max_examples=30)
def test_exact_arithmetic_alone_decides_alike(field: Field) -> None:
    fast = gumbel_race(field.exponents(), field.winners, bits=field.bits()).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interval, "MARGIN", 1e9)
        slow = gumbel_race(field.exponents(), field.winners, bits=field.bits()).tolist()
    assert fast == slow


def test_equal_words_are_lengthened_until_they_differ() -> None:
    level = exponents([7, 7], Fraction(1))
    for first, second in ((5, 9), (9, 5)):
        # the larger U rings first in the one race and makes the smaller summand in the other
        script = [TOP, TOP, 3, 3, 8, 8, first, second]
        later = int(second > first)
        bits = Rigged(script)
        assert gumbel_race(level, bits=bits).tolist() == [later]
        assert exponential_race(level, bits=Rigged(script)).tolist() == [1 - later]
        assert bits.taken == 8 * len(script)


def test_a_tie_in_the_words_is_broken_whatever_precision_the_caller_has_set() -> None:
    level = exponents([1, 1], Fraction(1, 3))
    with decimal.localcontext(prec=3):
        assert gumbel_race(level, bits=Rigged([TOP, TOP, 1, 1, 1, 1, 5, 9])).tolist() == [1]


def test_only_candidates_that_may_still_win_are_lengthened() -> None:
    bits = Rigged([TOP, TOP, TOP, 5, 9])
    assert gumbel_race(exponents([9, 9, 0], Fraction(1)), bits=bits).tolist() == [1]
    assert bits.taken == 8 * 5


@pytest.mark.parametrize("gap", [1, 30, 60, 80])
def test_the_worst_candidate_can_win_the_gumbel_race(gap: int) -> None:
    field = exponents([gap, 0, gap], Fraction(1))
    bits = Rigged([TOP, ONES, TOP - 2**40], then=repeated(255))
    assert gumbel_race(field, bits=bits).tolist() == [1]


@pytest.mark.parametrize("gap", [1, 30, 60, 80])
def test_the_worst_candidate_can_win_the_exponential_race(gap: int) -> None:
    field = exponents([gap, 0, gap], Fraction(1))
    bits = Rigged([ONES, 0, TOP], then=repeated(0))
    assert exponential_race(field, bits=bits).tolist() == [1]


def test_a_candidate_with_the_highest_word_does_not_upset_the_race() -> None:
    """E = 0 in float64: its key is unknown there, not undefined."""
    field = exponents([0] * 5, Fraction(1))
    bits = Rigged([TOP, ONES, TOP, ONES - 1, 3], then=Rigged([9, 7, 5, 3]))
    assert gumbel_race(field, 2, bits=bits).tolist() in ([1, 3], [3, 1])


def test_the_word_zero_leaves_a_candidate_s_key_without_bound() -> None:
    uniform = Uniform(SYSTEM, 0)
    assert race._gumbel_exact(uniform)[0] == Decimal("-Infinity")
    assert race._gumbel_exact(Uniform(SYSTEM, TOP - 1))[1] == Decimal("Infinity")
    assert gumbel_race(exponents([0, 0], Fraction(1)), bits=Rigged([0, TOP])).tolist() == [1]


def test_races_need_no_more_than_one_word_for_each_candidate() -> None:
    bits = Rigged([TOP, TOP // 2, 3])
    gumbel_race(exponents([1, 2, 3], Fraction(1)), bits=bits)
    assert bits.taken == 24
    with pytest.raises(OutOfBitsError):
        gumbel_race(exponents([1, 2, 3], Fraction(1)), bits=bits)


@given(st.integers(1, 260).flatmap(lambda width: st.tuples(st.integers(0, 2**width - 1), st.just(width))))
@settings(deadline=None)
def test_bounds_on_a_gumbel_variable_hold(word_and_width: tuple[int, int]) -> None:
    word, width = word_and_width
    bottom, top = race._gumbel_exact(Uniform(SYSTEM, word, width))
    with mpmath.workdps(2 * width + 100):
        if word:
            waiting = -mpmath.log(mpmath.mpf(word) / 2**width)
            least = -mpmath.log(waiting)
            assert least - mpmath.mpf(10) ** -width * (1 + 1 / waiting) < mpmath.mpf(str(bottom)) <= least
        if word + 1 < 2**width:
            most = -mpmath.log(-mpmath.log(mpmath.mpf(word + 1) / 2**width))
            assert most <= mpmath.mpf(str(top))


@given(st.integers(-(10**12), 10**12), st.fractions(0, 50), st.none() | st.integers(1, 10**12), st.integers(40, 200))
@settings(deadline=None)
def test_bounds_on_exponents_hold(score: int, unit: Fraction, copies: int | None, digits: int) -> None:
    one = exponents([score], unit, None if copies is None else [copies])
    values, margins = one.approximate()
    with mpmath.workdps(digits + 60):
        exact = score * mpmath.mpf(unit.numerator) / unit.denominator + mpmath.log(copies or 1)
        slack = mpmath.mpf(10) ** (-digits - 20) * max(abs(exact), 1)
        low, high = (mpmath.mpf(str(bound)) for bound in one.enclose(0, digits))
        assert low - slack <= exact <= high + slack
        assert high - low <= mpmath.mpf(10) ** (15 - digits) * max(abs(exact), 1)
        assert abs(mpmath.mpf(float(values[0])) - exact) <= margins[0]


def test_the_margins_of_float_keys_cover_both_ends_of_every_word() -> None:
    small, large = [2**power for power in range(64)], [ONES - 2**power for power in range(63)]
    raw = [*small, *large, *SYSTEM.words(500).tolist()]
    draw = Exponentials.draw(Rigged(raw), len(raw))
    for in_float, exactly in (
        (race._gumbel_float, race._gumbel_exact),
        (race._exponential_float, race._exponential_exact),
    ):
        for i, (key, margin) in enumerate(zip(*(found.tolist() for found in in_float(draw)), strict=True)):
            low, high = exactly(draw.uniform(i))
            assert math.isinf(margin) or Fraction(key) - Fraction(margin) <= Fraction(low)
            assert math.isinf(margin) or Fraction(high) <= Fraction(key) + Fraction(margin)


def test_the_margins_of_float_keys_cover_the_rounding_of_the_logarithm() -> None:
    """Alone: of times that are known exactly, where no margin of theirs covers it as well."""
    times = np.array([2.0**-1000, 1e-19, 0.1, 1 - 2**-53, 1 + 2**-52, 3.0, 44.0])
    draw: Any = SimpleNamespace(values=times, margins=np.zeros(times.size))
    with mpmath.workdps(50):
        for time, key, margin in zip(times, *race._gumbel_float(draw), strict=True):
            assert abs(mpmath.mpf(float(key)) + mpmath.log(mpmath.mpf(float(time)))) <= margin


def test_the_float_keys_of_extreme_words_are_finite_or_left_to_exact_arithmetic() -> None:
    raw = [0, 1, 2, 3, TOP, ONES - 2**12, ONES - 2, ONES]
    found, margins = race._gumbel_float(Exponentials.draw(Rigged(raw), len(raw)))
    assert np.isfinite(found).all()
    assert not np.isnan(margins).any()
    assert np.isinf(margins[[0, 1, -1]]).all()


@pytest.mark.parametrize("unit", [Fraction(1, 10**6), Fraction(1), Fraction(50)])
def test_of_a_million_candidates_exact_arithmetic_looks_at_few(unit: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    count, enclosed, enclose = 10**6, [], Exponents.enclose

    def counted(self: Exponents, index: int, digits: int) -> Any:
        enclosed.append(index)
        return enclose(self, index, digits)

    monkeypatch.setattr(Exponents, "enclose", counted)
    field = Exponents(np.arange(count) % 1000 * 1000, unit)
    first = gumbel_race(field, 100)
    best = exponential_race(field)
    assert len(enclosed) < 10_000  # none, unless two of the first are nearly alike or several have the largest word
    assert len(set(first.tolist())) == 100
    assert {0 <= winner < count for winner in [*first.tolist(), *best.tolist()]} == {True}


def test_all_candidates_may_be_ranked() -> None:
    field = exponents(SCORES, Fraction(1))
    assert sorted(gumbel_race(field, len(SCORES)).tolist()) == list(range(len(SCORES)))
    assert gumbel_race(exponents([3], Fraction(1))).tolist() == [0]


@pytest.mark.parametrize("seed", [1, np.random.default_rng()])
def test_races_take_no_seed(seed: Any) -> None:
    for run in (gumbel_race, exponential_race):
        with pytest.raises(TypeError, match="bits must be a Bits object"):
            run(exponents([1, 2], Fraction(1)), bits=seed)


@pytest.mark.long
def test_the_two_races_are_told_apart() -> None:
    """They differ by two percent of probability: a test that took one for the other would fail."""
    drawn = winners_of(gumbel_race, exponents(SCORES, Fraction(1, 3)), MANY_RACES)
    assert misfit(drawn, law(permute_and_flip(SCORES, Fraction(1, 3)))) < ALARM
    assert misfit(drawn, law(softmax(SCORES, Fraction(1, 3)))) > ALARM
