"""A clinic's table, generalised more and more, and what attackers still learn: k-anonymity and its heirs side by side.

The clinic is invented: what people have depends on age, sex and ZIP code, as it does anywhere. So classes of people who
look alike tend to have the same, and a table may be k-anonymous and yet say what somebody has. A second release, by
other columns, gives away more again.

Whoever guesses what somebody has is often right without a row about them: that old people have high blood pressure is
no secret of anybody. So every guess is made twice, with the row of the person and without it. Differential privacy is
about the difference (`without` in `Release`, and `Private`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.lab.blocks import Figure, Figures, Picture, Table
from discreet.lab.charts import INK, OPEN, OTHER, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.disclosure import Disclosure, Intersection, disclosure, intersection
from discreet.lab.experiment import Outcome
from discreet.lab.invented import SEED, Integers, below, uniform
from discreet.lab.measures import Measures, Published, measures, published
from discreet.lab.mondrian import Lost, Wanted, generalise
from discreet.lab.rebecca import HOSPITAL, who_fits
from discreet.lab.rebecca import QUASI as HER_COLUMNS
from discreet.lab.rebecca import SENSITIVE as HER_SECRET
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Laplace

PATIENTS, ZIPS = 6_000, 7
YOUNGEST, OLDEST = 18, 90
YOUNGEST_BORN: Final = date(2007, 12, 31)
ILLNESSES: Final = ("asthma", "back pain", "depression", "diabetes", "fracture", "HIV", "hypertension", "lung cancer")
USUAL: Final = np.array(
    [  # at 18, 45 and 90
        [24, 8, 14, 1, 46, 3, 2, 2],
        [10, 30, 18, 12, 6, 2, 18, 4],
        [1, 5, 4, 18, 8, 1, 58, 5],
    ],
    dtype=np.float64,
)
"""How many of a hundred have each, by age."""
ORGANS: Final = {
    "asthma": ("lungs",),
    "back pain": ("bones",),
    "depression": ("mind",),
    "diabetes": ("blood",),
    "fracture": ("bones",),
    "HIV": ("blood",),
    "hypertension": ("blood",),
    "lung cancer": ("lungs",),
}
"""Which illnesses are near each other."""
QUASI: Final = ("born", "sex", "zip")
WANTED: Final = {
    "as it is": None,
    "k = 5": Wanted(k=5),
    "k = 5, l = 2": Wanted(k=5, l=2),
    "k = 5, l = 2, t = 0.4": Wanted(k=5, l=2, t=0.4),
}
"""What is released, from unprotected to most protected."""
TWICE: Final = Wanted(k=5, l=2)
"""What each of two releases has."""


@lru_cache(maxsize=4)
def clinic(seed: int = SEED) -> dict[str, NDArray[Any]]:
    """The invented patients, the same for a seed every time."""
    purpose = f"discreet.lab.anonymity {seed}"
    days = below(f"{purpose} born", 365 * (OLDEST - YOUNGEST), PATIENTS)
    age = YOUNGEST + days // 365
    man, zips = below(f"{purpose} sex", 2, PATIENTS), below(f"{purpose} zip", ZIPS, PATIENTS)
    likely = np.stack([np.interp(age, (18, 45, 90), usual) for usual in USUAL.T], axis=1)
    likely[:, ILLNESSES.index("lung cancer")] *= np.where(zips == 0, 6, 1)  # who lives beside the smelter
    likely[:, ILLNESSES.index("depression")] *= np.where(man == 0, 1.5, 1)
    shares = np.cumsum(likely, axis=1) / likely.sum(axis=1, keepdims=True)
    ill = (uniform(f"{purpose} illness", PATIENTS)[:, None] > shares[:, :-1]).sum(axis=1)
    return {
        "born": np.datetime64(YOUNGEST_BORN) - days,
        "sex": np.array(["F", "M"])[man],
        "zip": np.array([f"0010{1 + number}" for number in range(ZIPS)])[zips],
        "illness": np.array(ILLNESSES)[ill],
    }


@dataclass(frozen=True, slots=True)
class Release:
    """A table as it was released, and how it fares."""

    name: str
    measures: Measures
    hits: Disclosure
    lost: Lost | None
    guessed: float
    """How often the most frequent illness of somebody's class is theirs."""
    without: float
    """How often it would be if their row were not in the table."""


def release(name: str, table: Published, lost: Lost | None = None) -> Release:
    """How a table fares that is released."""
    return Release(name, measures(table), disclosure(table), lost, *guesses(table))


def releases(seed: int = SEED) -> tuple[Release, ...]:
    """The clinic's table as it is, and generalised more and more."""
    return tuple(released(name, wanted, seed) for name, wanted in WANTED.items())


def released(name: str, wanted: Wanted | None, seed: int = SEED) -> Release:
    """The clinic's table as it is, or with the wanted k, l and t: a lesson lets its reader choose them."""
    if wanted is None:
        return release(name, patients(seed))
    made = generalise(patients(seed), wanted)
    return release(name, made.table, made.lost)


def patients(seed: int = SEED, quasi: Sequence[str] = QUASI) -> Published:
    """The clinic's table with the columns that others may know."""
    return published(clinic(seed), quasi=quasi, sensitive="illness", tree=ORGANS)


def guesses(table: Published) -> tuple[float, float]:
    """How often the most frequent value of a class is a person's own: with their row, and without it.

    Ties are broken by chance, and a class that is empty without the person leaves the whole table to guess from.
    """
    usual = int(np.argmax(table.prior))
    rates = []
    for cells in with_and_without(table):
        most = cells.max(axis=1, keepdims=True)
        chance = (cells == most) / (cells == most).sum(axis=1, keepdims=True)
        chance[most[:, 0] == 0] = np.arange(cells.shape[1]) == usual
        rates.append(float(chance[np.arange(table.rows), table.sensitive.codes].mean()))
    return rates[0], rates[1]


def with_and_without(table: Published) -> tuple[Integers, Integers]:
    """For each person how often each sensitive value is in their class: with their row, and without it."""
    counts = np.zeros((table.classes.sizes.size, len(table.sensitive.values)), dtype=np.int64)
    np.add.at(counts, (table.classes.of, table.sensitive.codes), 1)
    cells = counts[table.classes.of]
    less = cells.copy()
    less[np.arange(table.rows), table.sensitive.codes] -= 1
    return cells, less


def two_releases(seed: int = SEED, wanted: Wanted = TWICE) -> Intersection:
    """The same patients in two releases: by birth date, sex and ZIP code, and without sex for another purpose."""
    first, second = (generalise(patients(seed, quasi), wanted).table for quasi in (QUASI, ("zip", "born")))
    return intersection(first, second)


@dataclass(frozen=True, slots=True)
class Private:
    """Noisy counts of the same people, and the same guesses from them."""

    epsilon: float
    guessed: float
    without: float
    error: float
    """In 95 of 100 cases a count is at most this far off."""

    @property
    def bound(self) -> float:
        """What `guessed` can be at most, for that `without`: e^ε times as much."""
        return min(1.0, math.exp(self.epsilon) * self.without)


def private(seed: int = SEED, *, epsilon: float = 1.0) -> Private:
    """Counts by decade, sex, ZIP code and illness at cost ε for all of them; each person is guessed from fresh noise.

    Theorem  ε-DP for adding or removing a patient: one count changes, by 1. So for each person the chance that a guess
             is right is at most e^ε times what it is without their row.
    """
    people = clinic(seed)
    decades = {**people, "born": people["born"].astype("datetime64[Y]").astype(np.int64) // 10}
    table = published(decades, quasi=QUASI, sensitive="illness")
    mechanism = Laplace(epsilon=epsilon, sensitivity=1)
    rates = [_guessed(mechanism, cells, table.sensitive.codes) for cells in with_and_without(table)]
    return Private(epsilon, rates[0], rates[1], float(mechanism.error(0.95)))


def _guessed(mechanism: Laplace, cells: Integers, truth: Integers) -> float:
    noisy: Integers = mechanism.release(cells.ravel()).reshape(cells.shape)
    return float((np.argmax(noisy, axis=1) == truth).mean())


def most_frequent(seed: int = SEED) -> float:
    """How often a guess is right from nothing but which illness is most frequent."""
    _, counts = np.unique(clinic(seed)["illness"], return_counts=True)
    return float(counts.max() / PATIENTS)


ATTACKS: Final = ("one value in the class", "one is ruled out", "near each other")


def hit(shown: Release) -> dict[str, int]:
    """How many people each attack hits: homogeneity, background knowledge, similarity."""
    similar = shown.hits.similarity
    people = (shown.hits.homogeneity.people, shown.hits.background[0].people, similar.people if similar else 0)
    return dict(zip(ATTACKS, people, strict=True))


def run(seed: int = SEED) -> Outcome:
    """A clinic's table as it is and generalised, two releases of it, and noisy counts."""
    shown, twice, noisy = releases(seed), two_releases(seed), private(seed)
    raw, five, diverse = shown[:3]
    usual = most_frequent(seed)
    hers = who_fits(age=55, sex="Female")
    return Outcome(
        figures=Figures(
            (
                Figure(" or ".join(hers), "what Rebecca has, 55 and in the lecture's table: 1 of 2"),
                Figure(percent(raw.guessed), f"of {count(PATIENTS)} patients guessed rightly from the table as it is"),
                Figure(count(five.hits.homogeneity.people), "people whose class has one illness, although k is 5"),
                Figure(count(twice.together), "people known for sure from two releases, both with k = 5 and l = 2"),
                Figure(
                    f"{digits(diverse.hits.skewness.ratio)} ×",
                    "as likely is an illness made at k = 5, l = 2",
                ),
            )
        ),
        tables=(_hers(), _releases_table(shown), _guesses_table(shown, noisy, usual)),
        pictures=(
            Picture(
                lambda: _hits_chart(shown),
                "People hit by each attack: "
                + "; ".join(f"{r.name}: " + ", ".join(f"{n} {count(m)}" for n, m in hit(r).items()) for r in shown)
                + ".",
            ),
            Picture(
                lambda: _guesses_chart(shown, noisy),
                "How often a guess is right with somebody's row and without it: far apart for the tables, close for "
                f"noisy counts ({percent(noisy.guessed)} and {percent(noisy.without)}).",
            ),
        ),
        sentences=(
            (
                "A class hides who somebody is, not what they have: where all of a class have the same, or all but one "
                "illness can be ruled out, it is known."
            ),
            (
                "Each repair answers the last attack: l = 2 leaves nobody with one value, and yet two such releases "
                f"together tell what {count(twice.together)} people have."
            ),
            (
                f"With k = 5 a guess about somebody is right {percent(five.guessed)} of the time, and "
                f"{percent(five.without)} if their row is taken out; with noisy counts {percent(noisy.guessed)} and "
                f"{percent(noisy.without)}: they say more about everybody and less about anybody."
            ),
        ),
        guarantee=(
            f"Counts at ε = {digits(noisy.epsilon)} make any guess about a patient right at most e^ε = "
            f"{digits(math.exp(noisy.epsilon))} times as often as without that patient's row, whatever else is known; "
            "over several releases the ledger adds ε up."
        ),
    )


def _hers() -> Table:
    rows = zip(*(HOSPITAL[name] for name in (*HER_COLUMNS, HER_SECRET)), strict=True)
    listed = tuple(tuple(map(str, row)) for row in rows)
    marked = frozenset(number for number, row in enumerate(listed) if row[-1] in who_fits(age=55, sex="Female"))
    return Table(
        "The hospital table of lecture 003: k = 2, and Rebecca is 55", (*HER_COLUMNS, HER_SECRET), listed, marked
    )


def _releases_table(shown: Sequence[Release]) -> Table:
    rows = tuple(
        (
            r.name,
            count(r.measures.k),
            count(r.measures.distinct_l),
            digits(r.measures.t, 2),
            *(count(many) for many in hit(r).values()),
            f"{digits(r.hits.skewness.ratio)} ×",
            "nothing" if r.lost is None else percent(r.lost.certainty),
        )
        for r in shown
    )
    columns = ("released", "k", "l", "t", *ATTACKS, "posterior / prior", "certainty lost")
    return Table(f"People of {count(PATIENTS)} whom attacks hit", columns, rows)


def _guesses_table(shown: Sequence[Release], noisy: Private, usual: float) -> Table:
    rows = [("only which illness is most frequent", percent(usual), percent(usual), "")]
    rows += [(r.name, percent(r.guessed), percent(r.without), "nothing bounds it") for r in shown]
    name = f"noisy counts, ε = {digits(noisy.epsilon)}"
    rows.append((name, percent(noisy.guessed), percent(noisy.without), f"at most {percent(noisy.bound)}"))
    caption = "How often a guess of somebody's illness is right"
    return Table(caption, ("from", "with their row", "without it", "bound"), tuple(rows), frozenset({len(rows) - 1}))


def _hits_chart(shown: Sequence[Release]) -> Any:
    alt = altair()
    records = [
        {"release": r.name, "people": max(many, 0.5), "shown": count(many), "attack": name}
        for r in shown
        for name, many in hit(r).items()
    ]
    colours = dict(zip(ATTACKS, (OPEN, PRIVATE, OTHER), strict=True))
    base = chart_of(records).encode(
        y=alt.Y("release:N", sort=[r.name for r in shown], title=None),
        yOffset=alt.YOffset("attack:N", sort=list(ATTACKS)),
    )
    scale = alt.Scale(type="log", domain=[0.5, 40_000], nice=False)
    x = alt.X("people:Q", scale=scale, title="people (logarithmic)", axis=alt.Axis(values=[1, 10, 100, 1000]))
    bars = base.mark_bar().encode(x=x, x2=alt.datum(0.5), color=palette("attack", colours))
    words = base.mark_text(align="left", dx=4, color=INK, fontSize=11).encode(x=x, text="shown:N")
    return finished(alt.layer(bars, words).properties(width=WIDTH - 110, height=alt.Step(16)), "Whom attacks hit")


def _guesses_chart(shown: Sequence[Release], noisy: Private) -> Any:
    alt = altair()
    rates = {r.name: (r.guessed, r.without) for r in shown}
    rates[f"noisy counts, ε = {digits(noisy.epsilon)}"] = (noisy.guessed, noisy.without)
    lines = [{"release": name, "low": low, "high": high} for name, (high, low) in rates.items()]
    kinds = {"with their row": OPEN, "without it": PRIVATE}
    dots = [
        {"release": name, "rate": rate, "kind": kind}
        for name, both in rates.items()
        for kind, rate in zip(kinds, both, strict=True)
    ]
    y = alt.Y("release:N", sort=list(rates), title=None)
    x = alt.X("rate:Q", title="guesses that are right", scale=alt.Scale(domain=[0, 1]))
    x = x.axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    bars = chart_of(lines).mark_rule(strokeWidth=2, color=INK, opacity=0.5).encode(y=y, x="low:Q", x2="high:Q")
    marks = chart_of(dots).mark_point(filled=True, size=80, opacity=1).encode(y=y, x=x, color=palette("kind", kinds))
    return finished(
        alt.layer(bars, marks).properties(width=WIDTH - 110, height=alt.Step(30)), "What one's own row adds"
    )
