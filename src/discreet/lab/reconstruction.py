"""Database reconstruction: enough counts that are accurate enough give away nearly every secret bit.

Everybody has a secret bit. The attacker learns the noisy number of ones in random subsets (the rows of a 0/1 matrix A,
which they know) and looks for the bits that fit best: min Σ|Ax − y| over 0 ≤ x ≤ 1, rounded.

Theorem  (Dinur & Nissim) If all answers err by o(√n), order n random subsets give away all but o(n) of n bits.
         (The other side) Let bits be independent tosses of a coin, and all answers together be ε-DP. Then no attacker
         has more of them right than a Binomial(n, e^ε/(1 + e^ε)) number has heads, in the sense that P(right ≥ k) is
         at most P(heads ≥ k) for every k.
Proof    Of the other side. A zero counts as if its owner were not there, so that databases which differ in one bit are
         neighbours. Given the answers and all other bits, the odds of a bit are e^ε at most, either way; so they are
         given the answers and the bits before it, as a mean. Hence, bit after bit, each guess is right with
         probability at most e^ε/(1 + e^ε) whatever happened before: couple it with a toss that is heads whenever it is.
Dual     min Σ|Ax − y| over 0 ≤ x ≤ 1 is max yᵀw − Σu over |w| ≤ 1, u ≥ 0, Aᵀw ≤ u, and x are the multipliers of that
         last constraint: n rows instead of 2m, which HiGHS solves three to six times faster.
Source   Dinur & Nissim 2003; Dwork, McSherry & Talwar 2007 (the linear program); Steinke, Nasr & Jagielski 2023
         (the comparison with a binomial).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, lsq_linear
from scipy.stats import binom

from discreet import noise
from discreet.lab.averaging import until_refused
from discreet.lab.blocks import Figure, Figures, Picture, Table
from discreet.lab.charts import COLOURS, INK, WIDTH, altair, chart_of, finished, palette
from discreet.lab.curators import SMOKERS_POLICY, curator_over
from discreet.lab.experiment import Outcome
from discreet.lab.invented import SEED, Floats, Integers, below
from discreet.lab.posterior import one_in, told_right
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Laplace

PEOPLE: Final = 128
SUBSETS: Final = (256, 512)
TRIALS: Final = 4
"""Databases for each cell of the table."""
MISS: Final = 1e-6
_FINE: Final = 2**40
"""Steps of uniform noise."""


Attack = Callable[[Integers, Floats], Integers]


def best_fit(subsets: Integers, answers: Floats) -> Floats:
    """An x with the least Σ|Ax − y| over 0 ≤ x ≤ 1: the multipliers of the dual."""
    many, people = subsets.shape
    below_zero = sparse.hstack([sparse.csc_matrix(subsets.T.astype(np.float64)), -sparse.eye(people)]).tocsc()
    solved = linprog(
        np.concatenate([-np.asarray(answers, dtype=np.float64), np.ones(people)]),
        A_ub=below_zero,
        b_ub=np.zeros(people),
        bounds=np.concatenate([np.tile([-1.0, 1.0], (many, 1)), np.tile([0.0, np.inf], (people, 1))]),
        method="highs",
    )
    return np.asarray(-solved.ineqlin.marginals, dtype=np.float64)


def linear_program(subsets: Integers, answers: Floats) -> Integers:
    """The bits that fit best by the sum of deviations, rounded."""
    return np.asarray(best_fit(subsets, answers) > 0.5, dtype=np.int64)


def least_squares(subsets: Integers, answers: Floats) -> Integers:
    """The bits that fit best by the sum of squares, rounded: quicker, and as good."""
    fitted = lsq_linear(subsets.astype(np.float64), np.asarray(answers, dtype=np.float64), bounds=(0, 1), tol=1e-6)
    return np.asarray(fitted.x > 0.5, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Noise:
    """What is added to each of so many counts."""

    name: str
    draw: Callable[[int], Any]
    epsilon: Callable[[int], float]
    """Of all of them together; infinite where nothing is promised."""

    @classmethod
    def within(cls, size: float, name: str) -> Noise:
        """Uniform between −size and size: looks like noise, promises nothing."""
        return cls(name, lambda many: size * (2 * noise.below(_FINE, many) / _FINE - 1), lambda _: math.inf)

    @classmethod
    def each(cls, epsilon: float) -> Noise:
        """Laplace noise for ε on each count, whatever their number."""
        mechanism = Laplace(epsilon=epsilon, sensitivity=1)
        return cls(
            f"Laplace, ε = {digits(epsilon)} each",
            lambda many: mechanism.release(np.zeros(many, dtype=np.int64)),
            lambda many: many * epsilon,
        )

    @classmethod
    def together(cls, epsilon: int) -> Noise:
        """Laplace noise for ε on all counts together."""
        return cls(
            f"Laplace, ε = {epsilon} in all",
            lambda many: Laplace(epsilon=Fraction(epsilon, many), sensitivity=1).release(
                np.zeros(many, dtype=np.int64)
            ),
            lambda _: float(epsilon),
        )


def noises(people: int) -> tuple[Noise, ...]:
    """Those of the table."""
    root = math.sqrt(people)
    return (
        Noise.within(1, "within ± 1"),
        Noise.within(root / 3, "within ± √n/3"),
        Noise.within(root, "within ± √n"),
        Noise.within(people / 4, "within ± n/4"),
        Noise.each(1),
        Noise.together(10),
        Noise.together(1),
    )


@dataclass(frozen=True, slots=True)
class Recovered:
    """How many bits an attack has right, of how many."""

    right: int
    bits: int

    @property
    def share(self) -> float:
        return self.right / self.bits


def secrets(people: int, purpose: object) -> Integers:
    """Everybody's bit: tosses of a coin."""
    return below(f"discreet.lab.reconstruction {purpose} bits", 2, people)


def subsets_of(people: int, many: int, purpose: object) -> Integers:
    """Random subsets, as rows of zeros and ones."""
    return below(f"discreet.lab.reconstruction {purpose} subsets", 2, many * people).reshape(many, people)


def recovered(
    bits: Sequence[Integers], many: int, added: Noise, attacks: Sequence[Attack], seed: int
) -> list[Recovered]:
    """What each attack recovers of databases that answer the same number of subset counts each, with fresh noise."""
    right = [0] * len(attacks)
    for number, exact in enumerate(bits):
        subsets = subsets_of(exact.size, many, f"{seed} {number}")
        answers = subsets @ exact + added.draw(many)
        for which, attack in enumerate(attacks):
            right[which] += int((attack(subsets, answers) == exact).sum())
    return [Recovered(each, sum(exact.size for exact in bits)) for each in right]


def most_right(epsilon: float, bits: int, miss: float = MISS) -> int:
    """More bits than this are right with probability `miss` at most, where all answers are ε-DP, by the theorem."""
    return int(binom.isf(miss, bits, told_right(epsilon)))


# a real curator

ROOMS: Final = 64


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of random subset counts for a cost each, asked of a curator until its budget was gone."""

    budget: float
    cost: float
    answered: int
    refused: bool
    recovered: Recovered


def through_curator(exact: Integers, *, budget: float, cost: float, many: int, seed: int = SEED) -> Asked:
    """Ask for so many random subsets, and recover what the answers allow. Everybody's room is known, and their own."""
    rows = [
        {"person": number, "smokes": "yes" if bit else "no", "room": number + 1}
        for number, bit in enumerate(exact.tolist())
    ]
    subsets = subsets_of(exact.size, many, f"{seed} curator")
    with curator_over(SMOKERS_POLICY.format(rooms=ROOMS, budget=budget), {"people": rows}) as curator:
        answers, refusal = until_refused(curator, map(question, subsets), cost)
    guesses = linear_program(subsets[: len(answers)], np.array(answers, dtype=np.float64))
    right = Recovered(int((guesses == exact).sum()), exact.size)
    return Asked(budget, cost, len(answers), bool(refusal), right)


def question(subset: Integers) -> str:
    """How many smoke among those in these rooms."""
    rooms = ", ".join(map(str, np.flatnonzero(subset) + 1))
    return f"SELECT COUNT(*) AS n FROM people WHERE smokes = 'yes' AND room IN ({rooms})"


# what the experiment shows

GRID: Final = (0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Noise in the picture, in units of √n."""
LINES: Final = (128, 256, 512, 1024)
"""Subsets in the picture."""
COUNTS: Final = (128, 1, 8, 64)
"""Asked of curators: of one for ε = 1 each, of the others for as much in all."""
TOGETHER: Final = (10, 1)
"""The ε of the private releases in it."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the picture: the standard deviation of the noise in units of √n, and what was recovered."""

    many: int
    size: float
    share: float
    private: bool


def points(seed: int, people: int = PEOPLE, lines: Sequence[int] = LINES) -> list[Point]:
    """Recovery by least squares against noise, for several numbers of subsets: uniform noise, and that of ε in all."""
    bits, root, shares = [secrets(people, f"{seed} {number}") for number in range(TRIALS)], math.sqrt(people), []
    for many in lines:
        for size in GRID:
            (got,) = recovered(bits, many, Noise.within(math.sqrt(3) * size * root, ""), [least_squares], seed)
            shares.append(Point(many, size, got.share, private=False))
        for epsilon in TOGETHER:
            (got,) = recovered(bits, many, Noise.together(epsilon), [least_squares], seed)
            shares.append(Point(many, math.sqrt(2) * many / epsilon / root, got.share, private=True))
    return shares


def run(seed: int = SEED) -> Outcome:
    """The table of Dinur and Nissim's attack, the picture of its threshold, and the same against real curators."""
    bits = [secrets(PEOPLE, f"{seed} {number}") for number in range(TRIALS)]
    table = {
        added: [recovered(bits, many, added, (linear_program, least_squares), seed) for many in SUBSETS]
        for added in noises(PEOPLE)
    }
    exact = secrets(ROOMS, f"{seed} curator")
    most, *fewer = COUNTS
    careless = through_curator(exact, budget=most, cost=1, many=most, seed=seed)
    curators = [through_curator(exact, budget=1, cost=1 / many, many=many + 1, seed=seed) for many in fewer]
    drawn = points(seed)
    safe = next(rows for added, rows in table.items() if added.epsilon(1) == 1 and added.epsilon(2) == 1)
    return Outcome(
        figures=Figures(
            (
                Figure(percent(careless.recovered.share), f"of bits from a curator with a budget of ε = {most}"),
                Figure(percent(curators[-1].recovered.share), f"with ε = 1, {count(curators[-1].answered)} questions"),
                Figure("50 %", "by tossing coins"),
                Figure(
                    percent(safe[-1][0].share), f"of {safe[-1][0].bits} bits, {SUBSETS[-1]} counts for ε = 1 in all"
                ),
                Figure(percent(told_right(1)), "on average at most, for any attack on ε = 1"),
            )
        ),
        tables=(_table(table), _asked([careless, *curators])),
        pictures=(
            Picture(
                lambda: _chart(drawn),
                "Bits recovered against noise in units of √n, for four numbers of subset counts. Lines fall from all "
                "towards half about √n, and more counts move them to the right. Releases for an ε in all lie further "
                "to the right, at half.",
            ),
        ),
        sentences=(
            "Counts that are too accurate and too many are equations: their solution is the database.",
            "Noise of about √n is the least that helps, and more counts need more of it: sharing an ε adds just that.",
            f"A curator with ε = 1 refuses what is beyond: {percent(curators[-1].recovered.share)} of bits are right.",
        ),
        guarantee=(
            f"From answers for ε = 1 in all no attack has more than {percent(told_right(1))} of coins' tosses right on "
            f"average, nor, but once in a million times, more than {most_right(1, PEOPLE)} of {PEOPLE}."
        ),
    )


def _table(table: dict[Noise, list[list[Recovered]]]) -> Table:
    rows = tuple(
        (added.name, *(percent(got.share) for each in shares for got in each), _bound(added))
        for added, shares in table.items()
    )
    names = (f"{many} counts, {how}" for many in SUBSETS for how in ("linear program", "least squares"))
    bits = PEOPLE * TRIALS
    return Table(
        f"Bits recovered, {PEOPLE} people, {TRIALS} databases; sampling error ± {digits(50 / math.sqrt(bits), 2)} %",
        ("noise on each count", *names, "at most"),
        rows,
        frozenset(number for number, added in enumerate(table) if added.epsilon(1) == added.epsilon(2) < math.inf),
    )


def _bound(added: Noise) -> str:
    first, last = (told_right(added.epsilon(many)) for many in SUBSETS)
    return one_in(first) if first == last < 1 else "nothing promised"


def _asked(curators: Sequence[Asked]) -> Table:
    rows = tuple(
        (
            f"ε = {digits(each.budget)}",
            f"ε = {digits(each.cost)}",
            f"{each.answered}{', then refused' if each.refused else ''}",
            f"{each.recovered.right} of {each.recovered.bits}",
            f"{min(most_right(each.budget, ROOMS), ROOMS)}",
        )
        for each in curators
    )
    columns = ("budget", "cost of a count", "answered", "bits right", "at most, but once in a million")
    return Table("Random subset counts asked of real curators", columns, rows)


def _chart(drawn: Sequence[Point]) -> Any:
    alt = altair()
    names = {each.many: f"{count(each.many)} counts" for each in drawn}
    colours = dict(zip(names.values(), COLOURS, strict=False))
    records = [
        {"size": each.size, "share": each.share, "kind": names[each.many], "private": each.private} for each in drawn
    ]
    x = alt.X(
        "size:Q",
        title="standard deviation of the noise, in units of √n",
        scale=alt.Scale(type="log", domain=[0.1, 200], nice=False),
        axis=alt.Axis(values=[0.1, 1, 10, 100], format="~g"),
    )
    y = alt.Y("share:Q", title="bits recovered", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0.4, 1]))
    base = chart_of(records).encode(x=x, y=y, color=palette("kind", colours))
    line = chart_of([{"size": 1.0}])
    half = chart_of([{"share": 0.5}])
    layers = alt.layer(
        half.mark_rule(color=INK, strokeDash=[2, 3]).encode(y=y),
        line.mark_rule(color=INK, strokeDash=[4, 3]).encode(x=x),
        line.mark_text(color=INK, fontSize=12, text="√n", dx=12).encode(x=x, y=alt.value(8)),
        base.transform_filter("!datum.private").mark_line(strokeWidth=2.5),
        base.transform_filter("datum.private").mark_point(filled=True, size=70, opacity=1),
    )
    return finished(
        layers.properties(width=WIDTH, height=250),
        "How much noise hides a database",
        f"{PEOPLE} bits; dots: ε = 10 and ε = 1 in all; dotted: coins",
    )
