"""Census tables of a small block are a puzzle, and its solution is the block: everybody's age, sex, race and ethnicity.

From exact tables all databases that have them are found (`puzzle`). Of tables with noise there is none as a rule, and
the attacker takes the database whose tables are nearest.

Theorem  Let somebody's record be drawn from a law π, whatever the others, and let tables be ε-DP. A reconstruction of k
         records has theirs with probability at most e^ε·m, where m is the mass of the k likeliest records; and given
         the tables and everybody else's records, with probability at most e^2ε·m. So of n people drawn independently
         no more have their record in it than a Binomial(n, e^2ε·m) number has heads.
Proof    Let S be the reconstruction. With and without the person, P(S = s) differs by a factor of e^ε at most; without
         them S is independent of their record, and has it with probability E π(S) ≤ m. Given tables t and the others,
         the law of the record is π(r)·P(t | r) over its sum, and both lie within e^ε of what they are without the
         person: at most e^2ε·π(r), hence e^2ε·m for all of S. The last as in `reconstruction`: one after the other.
Source   Garfinkel, Abowd & Martindale 2018 (Understanding database reconstruction attacks on public data); Steinke,
         Nasr & Jagielski 2023 (the comparison with a binomial).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Final

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import binom

from discreet.lab.blocks import Figure, Figures, Picture, Table
from discreet.lab.charts import NEUTRAL, OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.curators import curator_over
from discreet.lab.experiment import Outcome
from discreet.lab.invented import SEED
from discreet.lab.puzzle import (
    BANDS,
    ETHNICITIES,
    HISPANIC,
    OLDEST,
    RACES,
    SEVEN,
    SEXES,
    Person,
    Solutions,
    band_of,
    block,
    likeliest,
    published,
    solve,
)
from discreet.lab.writing import count, digits, percent

# the same tables from a curator

POLICY: Final = """\
name = "an invented block"
[budget]
epsilon = {budget}
[unit]
name = "person"
[tables.block]
source = "block.csv"
unit = "person"
[tables.block.columns]
age = {{ type = "integer", min = 0, max = 99 }}
band = {{ type = "integer", values = [{bands}] }}
sex = {{ values = ["female", "male"] }}
race = {{ values = ["white", "black", "asian"] }}
ethnicity = {{ values = ["other", "hispanic"] }}
"""
CELLS: Final = "SELECT sex, race, band, COUNT(*) AS n FROM block GROUP BY sex, race, band"
HISPANICS: Final = "SELECT sex, band, COUNT(*) AS n FROM block WHERE ethnicity = 'hispanic' GROUP BY sex, band"
YEARS: Final = "SELECT sex, SUM(age) AS years FROM block GROUP BY sex"
SHARES: Final = {CELLS: Fraction(1, 2), HISPANICS: Fraction(1, 4), YEARS: Fraction(1, 4)}
"""How ε is shared by the tables."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """Tables that a curator released for ε in all: each number by the values of its group, and its scale of noise."""

    epsilon: float
    tables: Mapping[str, Mapping[tuple[Any, ...], int]]

    def scale(self, query: str) -> float:
        return (OLDEST if query == YEARS else 1) / float(SHARES[query]) / self.epsilon


def released(people: Sequence[Person], epsilon: float) -> Noisy:
    """The numbers of people by sex, race and band, Hispanics among them, and sums of ages, from a real curator."""
    rows = [{"person": number, "band": band_of(one.age), **one._asdict()} for number, one in enumerate(people)]
    text = POLICY.format(budget=epsilon, bands=", ".join(map(str, range(len(BANDS)))))
    tables = {}
    with curator_over(text, {"block": rows}) as curator:
        for query, share in SHARES.items():
            answer = curator.query(query, epsilon=float(share) * epsilon)
            tables[query] = {tuple(row[:-1]): int(row[-1]) for row in answer.rows}
    return Noisy(epsilon, tables)


@dataclass(frozen=True, slots=True)
class Fit:
    """The database that fits noisy tables best: ages are the middle of a band."""

    people: tuple[Person, ...]
    misfit: float
    """The sum of deviations from the tables, in scales of their noise; 0 if some database has just these tables."""


def best_fit(tables: Noisy, people: int) -> Fit:
    """The nearest tables that a database of so many people has, within a hundredth, by integer programming."""
    middles = [band[len(band) // 2] for band in BANDS]
    records = [Person(age, sex, race, kind) for age, sex, race, kind in product(middles, SEXES, RACES, ETHNICITIES)]
    rows, goals, weights = [], [], []
    for query, table in tables.tables.items():
        for key, value in table.items():
            rows.append([_adds(query, key, one) for one in records])
            goals.append(value)
            weights.append(1 / tables.scale(query))
    many = len(records)
    deviations = sparse.hstack([np.array(rows), sparse.eye(len(rows)), -sparse.eye(len(rows))])
    total = np.concatenate([np.ones(many), np.zeros(2 * len(rows))])
    solved = milp(
        np.concatenate([np.zeros(many), weights, weights]),
        integrality=np.concatenate([np.ones(many), np.zeros(2 * len(rows))]),
        bounds=Bounds(0, np.inf),
        constraints=[LinearConstraint(deviations.tocsc(), goals, goals), LinearConstraint(total, people, people)],
        options={"mip_rel_gap": 0.01},
    )
    counts = np.rint(solved.x[:many]).astype(int).tolist()
    return Fit(tuple(one for one, times in zip(records, counts, strict=True) for _ in range(times)), float(solved.fun))


def _adds(query: str, key: tuple[Any, ...], one: Person) -> int:
    """What a person adds to a number of a table."""
    if query == CELLS:
        return int(key == (one.sex, one.race, band_of(one.age)))
    if query == HISPANICS:
        return int(key == (one.sex, band_of(one.age)) and one.ethnicity == HISPANIC)
    return one.age if key == (one.sex,) else 0


def found_in(people: Sequence[Person], reconstructed: Sequence[Person]) -> int:
    """How many of the people have a record that was reconstructed."""
    records = set(reconstructed)
    return sum(person in records for person in people)


def most_found(sizes: Sequence[int], epsilon: float, miss: float = 1e-6) -> int:
    """Of blocks of these sizes, more people are recovered with probability `miss` at most, by the theorem."""
    chance = min(math.exp(2 * epsilon) * likeliest(max(sizes)), 1.0)
    return int(binom.isf(miss, sum(sizes), chance))


# what the experiment shows

SIZES: Final = (5, 6, 7, 8, 9, 10, 11, 12)
BLOCKS: Final = 6
"""Of each size."""
NOISY_BLOCKS: Final = 2
"""Of each size, of which a curator publishes the tables as well."""
EPSILON: Final = 1.0


@dataclass(frozen=True, slots=True)
class Solved:
    """What the exact tables of blocks of one size give away."""

    people: int
    unique: int
    """Blocks with one solution."""
    databases: int
    """Solutions of the block in the middle."""
    unfinished: int
    agreed: float
    """People in all solutions. Of a block whose search did not end nobody counts."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What noisy tables of blocks give away."""

    sizes: tuple[int, ...]
    right: int
    misfit: float

    @property
    def share(self) -> float:
        return self.right / sum(self.sizes)

    @property
    def baseline(self) -> float:
        """The share of people among as many records as their block has people, the likeliest of the population."""
        return sum(size * likeliest(size) for size in self.sizes) / sum(self.sizes)

    @property
    def bound(self) -> float:
        """On average, for any attack."""
        return min(math.exp(EPSILON) * self.baseline, 1.0)


def solved(people: int, blocks: Sequence[Sequence[Person]]) -> Solved:
    """All solutions of blocks of one size."""
    puzzles = [solve(published(each)) for each in blocks]
    return Solved(
        people,
        unique=sum(each.complete and each.databases == 1 for each in puzzles),
        databases=sorted(each.databases for each in puzzles)[len(puzzles) // 2],
        unfinished=sum(not each.complete for each in puzzles),
        agreed=sum(len(each.agreed) / people for each in puzzles if each.complete) / len(puzzles),
    )


def fitted(blocks: Sequence[Sequence[Person]], epsilon: float = EPSILON) -> Fitted:
    """The best fits to tables that a curator published."""
    fits = [(each, best_fit(released(each, epsilon), len(each))) for each in blocks]
    return Fitted(
        tuple(len(each) for each in blocks),
        right=sum(found_in(each, fit.people) for each, fit in fits),
        misfit=sum(fit.misfit for _, fit in fits) / len(fits),
    )


def run(seed: int = SEED) -> Outcome:
    """Blocks of five to twelve people from their tables: exact ones, and those of a curator."""
    blocks = {people: [block(people, f"{seed} {people} {nth}") for nth in range(BLOCKS)] for people in SIZES}
    rows, example = [solved(people, each) for people, each in blocks.items()], solve(SEVEN)
    noisy = fitted([one for each in blocks.values() for one in each[:NOISY_BLOCKS]])
    agreed = sum(each.agreed for each in rows) / len(rows)
    return Outcome(
        figures=Figures(
            (
                Figure(percent(agreed), "of people are in every solution of their block's tables"),
                Figure(f"{sum(each.unique for each in rows)} of {BLOCKS * len(rows)}", "blocks have one solution"),
                Figure(str(example.databases), "solution has the example of seven people in the literature"),
                Figure(percent(noisy.share), f"of people are in the best fit to tables for ε = {digits(EPSILON)}"),
                Figure(percent(noisy.baseline), "are among the likeliest records, without any table"),
            )
        ),
        tables=(_solved(rows), _fitted(noisy), _example(example)),
        pictures=(
            Picture(
                lambda: _chart(rows, noisy),
                "Share of people recovered against the size of the block: from exact tables mostly more than half; "
                f"from tables for ε = {digits(EPSILON)} next to nobody, below the bound.",
            ),
        ),
        sentences=(
            "Tables that each look harmless are a puzzle together; for a small block it has one solution or a few.",
            "Suppressing what is said of one or two people does not help: totals say it again.",
            "Tables with noise fit no database at all, and the nearest one has hardly anybody who lives there.",
        ),
        guarantee=(
            f"Whoever lives in the block: a reconstruction from tables for ε = {digits(EPSILON)} has their record at "
            f"most {digits(math.exp(EPSILON))} times as often as one that was made without them."
        ),
    )


def _solved(rows: Sequence[Solved]) -> Table:
    return Table(
        f"Exact tables of {BLOCKS} invented blocks of each size",
        ("people", "blocks with one solution", "solutions, in the middle", "people in all solutions"),
        tuple(
            (
                str(each.people),
                f"{each.unique} of {BLOCKS}{f', {each.unfinished} not finished' if each.unfinished else ''}",
                count(each.databases),
                percent(each.agreed),
            )
            for each in rows
        ),
    )


def _fitted(noisy: Fitted) -> Table:
    people = sum(noisy.sizes)
    return Table(
        f"Tables of a curator for ε = {digits(EPSILON)}, {len(noisy.sizes)} blocks with {people} people",
        ("", "people", "share"),
        (
            ("in the nearest database", str(noisy.right), percent(noisy.share)),
            ("among the likeliest records, without tables", digits(people * noisy.baseline), percent(noisy.baseline)),
            ("at most on average, for any attack", digits(people * noisy.bound), percent(noisy.bound)),
            ("at most, but once in a million", str(most_found(noisy.sizes, EPSILON)), ""),
            ("how far its tables are, in scales of noise", digits(noisy.misfit), ""),
        ),
    )


def _example(example: Solutions) -> Table:
    people = tuple((str(one.age), one.sex, one.race) for one in example.agreed)
    return Table("Seven people from eighteen published numbers", ("age", "sex", "race"), people)


def _chart(rows: Sequence[Solved], noisy: Fitted) -> Any:
    alt = altair()
    exact, private, bound = "from exact tables", "from noisy tables", "at most, from those"
    records = [{"people": each.people, "share": each.agreed, "kind": exact} for each in rows]
    for kind, share in ((private, noisy.share), (bound, noisy.bound)):
        records += [{"people": each.people, "share": share, "kind": kind} for each in rows]
    x = alt.X("people:Q", title="people in the block", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(zero=False))
    y = alt.Y("share:Q", title="people recovered", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    colours = palette("kind", {exact: OPEN, private: PRIVATE, bound: NEUTRAL})
    line = chart_of(records).encode(x=x, y=y, color=colours).mark_line(strokeWidth=2.5)
    return finished(
        line.properties(width=WIDTH, height=240),
        "A block from its tables",
        f"age, sex, race and ethnicity; noise for ε = {digits(EPSILON)}",
    )
