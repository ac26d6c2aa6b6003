"""Linkage: a table without names, a voter roll with names, and who is in both.

The city is invented, after what Sweeney found in Cambridge (lecture 000): 54,000 people in 7 ZIP codes, of whom 6 have
the governor's birth date; 3 of these are men, and he alone lives in his ZIP code. All else depends on a seed. Birth
dates are spread evenly over 80 years, so that 29,220 days × 2 sexes × 7 ZIP codes are 409,080 ways to look, and the
share of people who look like nobody else is about exp(−54,000/409,080) = 88 %. For the United States Sweeney (2000)
estimated 87 %, and Golle (2006), with other census figures, 63 %.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.curator.curator import Curator
from discreet.curator.state import passing_ledger
from discreet.engines.connection import connect
from discreet.errors import Refused
from discreet.lab.blocks import Figure, Figures, Picture, Table
from discreet.lab.classes import Classes
from discreet.lab.disclosure import Disclosure, disclosure
from discreet.lab.experiment import Outcome
from discreet.lab.invented import SEED, Floats, Integers, below, uniform
from discreet.lab.linkage_charts import crowds_beside, funnel
from discreet.lab.measures import Published, published
from discreet.lab.mondrian import Lost, Wanted, generalise
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Laplace
from discreet.policy.read import read
from discreet.quoting import literal

RESIDENTS, ZIPS = 54_000, 7
FIRST, LAST = date(1916, 1, 1), date(1995, 12, 31)
GOVERNOR: Final = 0
BORN: Final = date(1945, 5, 17)
SHARING: Final = ((0, 1, 3), (1, 1, 0), (2, 1, 5), (3, 0, 3), (4, 0, 1), (5, 0, 6))
"""Who shares the governor's birth date: resident, man, ZIP code. Three men, and nobody else of his ZIP code is one."""
DIAGNOSES: Final = ("asthma", "back pain", "depression", "diabetes", "fracture", "hypertension", "migraine", "ulcer")
FREQUENT: Final = (0.12, 0.25, 0.08, 0.12, 0.13, 0.20, 0.08, 0.02)
"""How frequent each is."""
ILLNESS: Final = "depression"
QUASI: Final = ("born", "sex", "zip")
SWEENEY, GOLLE = 0.87, 0.63
"""The share of Americans who are alone with their ZIP code, birth date and sex: two estimates."""
POLICY: Final = "city.toml"
TEXT: Final = """\
# A city's hospital: nobody in it exists.
name = "city"
[budget]
epsilon = @BUDGET@
[unit]
name = "resident"
[tables.patients]
source = "patients.parquet"
unit = "resident"
[tables.patients.columns]
born = { type = "date", min = 1916-01-01, max = 1995-12-31 }
sex = { values = ["F", "M"] }
zip = { values = [@ZIPS@] }
diagnosis = { values = [@DIAGNOSES@] }
"""


@dataclass(frozen=True, slots=True, eq=False)
class City:
    """Everybody in the hospital's table; the voter roll has the same people with their names."""

    born: Integers
    """Days since 1970."""
    man: Integers
    zip: Integers
    diagnosis: Integers

    def columns(self) -> dict[str, NDArray[Any]]:
        """The hospital's table: no names."""
        return {
            "born": self.born.astype("datetime64[D]"),
            "sex": np.array(["F", "M"])[self.man],
            "zip": np.array([zip_code(number) for number in range(ZIPS)])[self.zip],
            "diagnosis": np.array(DIAGNOSES)[self.diagnosis],
        }

    def published(self) -> Published:
        return published(self.columns(), quasi=QUASI, sensitive="diagnosis")


def zip_code(number: int) -> str:
    """
    >>> zip_code(3)
    '00104'
    """
    return f"0010{1 + number}"


@lru_cache(maxsize=4)
def city(seed: int = SEED) -> City:
    """The invented city, the same for a seed every time."""
    first, days = day_number(FIRST), day_number(LAST) - day_number(FIRST) + 1
    purpose = f"discreet.lab.linkage {seed}"
    born = first + below(f"{purpose} born", days, RESIDENTS)
    man, zips = below(f"{purpose} sex", 2, RESIDENTS), below(f"{purpose} zip", ZIPS, RESIDENTS)
    likely = np.cumsum(FREQUENT)[:-1]
    ill = np.searchsorted(likely, uniform(f"{purpose} diagnosis", RESIDENTS), side="right").astype(np.int64)
    born[born == day_number(BORN)] += 1
    for resident, is_man, zip_ in SHARING:
        born[resident], man[resident], zips[resident] = day_number(BORN), is_man, zip_
    ill[GOVERNOR] = DIAGNOSES.index(ILLNESS)
    for column in (born, man, zips, ill):
        column.setflags(write=False)  # whoever comes next gets the same
    return City(born, man, zips, ill)


def day_number(day: date) -> int:
    return day.toordinal() - date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Detail:
    """What the published table still says of a person."""

    birth: str
    sex: bool
    zip: bool

    def births(self, people: City) -> Integers:
        dates = people.born.astype("datetime64[D]")
        months = dates.astype("datetime64[M]").astype(np.int64)
        years = dates.astype("datetime64[Y]").astype(np.int64)
        return {"day": people.born, "month": months, "year": years, "decade": years // 10}[self.birth]

    def narrowed(self, people: City) -> list[tuple[str, int]]:
        """How many are left as whoever looks for the governor uses one published column after the other."""
        left = np.ones(RESIDENTS, dtype=bool)
        counts = [("in the city", RESIDENTS)]
        steps = (
            (True, "born like him", self.births(people)),
            (self.sex, "and a man", people.man),
            (self.zip, "and his ZIP code", people.zip),
        )
        for used, name, column in steps:
            if used:
                left &= column == column[GOVERNOR]
                counts.append((name, int(left.sum())))
        return counts

    def groups(self, people: City) -> tuple[Integers, Integers]:
        """For each resident the group of those who look the same; for each group its size."""
        key = self.births(people) * 100
        key = key + (people.man * 10 if self.sex else 0) + (people.zip if self.zip else 0)
        _, group = np.unique(key, return_inverse=True)
        classes = Classes.numbered(group.astype(np.int64))
        return classes.of, classes.sizes


EVERYTHING: Final = Detail("day", sex=True, zip=True)


@dataclass(frozen=True, slots=True)
class Joined:
    """What the voter roll, joined with a published table, says about its voters."""

    smallest: int
    """The fewest records that fit a voter."""
    alone: int
    """Voters with one record that fits."""
    known: int
    """Voters whose diagnosis follows: all records that fit say the same."""
    governor: tuple[str, ...]
    """What is left for the governor."""
    hits: Disclosure
    lost: Lost | None


def joined(people: City, wanted: Wanted | None = None) -> Joined:
    """The join with the voter roll of a table as it is, or made k-anonymous before.

    Every resident votes. The ranges of a generalised table do not overlap in all columns at once, so that the records
    that fit a voter are those of one class.
    """
    table, lost = people.published(), None
    if wanted is not None:
        made = generalise(table, wanted)
        table, lost = made.table, made.lost
    hits = disclosure(table)
    his = table.sensitive.codes[table.classes.of == table.classes.of[GOVERNOR]]
    left = tuple(table.sensitive.values[code] for code in np.unique(his).tolist())
    sizes = table.classes.sizes
    return Joined(int(sizes.min()), int((sizes == 1).sum()), hits.homogeneity.people, left, hits, lost)


def about_the_governor(people: City) -> Mapping[str, str]:
    """What an attacker would ask, as WHERE clauses: the one who looks like him, and whether he has that illness."""
    looks = f"born = DATE '{BORN}' AND sex = 'M' AND zip = '{zip_code(int(people.zip[GOVERNOR]))}'"
    return {"looks like him": looks, f"and has {ILLNESS}": f"{looks} AND diagnosis = '{ILLNESS}'"}


def build(folder: Path, seed: int = SEED, *, budget: float = 1.0, residents: int = RESIDENTS) -> Path:
    """The hospital's table (or its first rows) as a file, with a policy; where that is."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = {"resident": np.arange(RESIDENTS), **city(seed).columns()}
    columns = {name: column[:residents] for name, column in columns.items()}
    columns["born"] = columns["born"].astype("datetime64[us]")
    columns |= {name: column.astype(object) for name, column in columns.items() if column.dtype.kind == "U"}
    source = folder / "patients.parquet"
    with connect(threads=1) as connection:
        connection.register("made", columns)
        chosen = "SELECT * REPLACE (born::DATE AS born) FROM made"
        connection.execute(f"COPY ({chosen}) TO {literal(str(source))} (FORMAT parquet)")
    source.chmod(0o600)
    path = folder / POLICY
    path.write_text(text(budget), encoding="utf-8", newline="\n")
    path.chmod(0o600)
    return path


def text(budget: float) -> str:
    """The policy file."""
    zips = ", ".join(f'"{zip_code(number)}"' for number in range(ZIPS))
    named = ", ".join(f'"{name}"' for name in DIAGNOSES)
    return TEXT.replace("@BUDGET@", f"{budget:g}").replace("@ZIPS@", zips).replace("@DIAGNOSES@", named)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a curator answered about the governor and about everybody."""

    epsilon: float
    answers: tuple[tuple[str, int, int, float], ...]
    """What was counted, the truth (the city is invented), the answer, and the half of its interval."""
    refused: str
    """What a question for his row was told."""


def questioned(seed: int = SEED, *, epsilon: float = 1.0, residents: int = RESIDENTS) -> Asked:
    """The attacker's questions to a real curator, with ε for all of them together."""
    people = city(seed)
    questions = {**about_the_governor(people), f"everybody with {ILLNESS}": f"diagnosis = '{ILLNESS}'"}
    ill = people.diagnosis[:residents] == DIAGNOSES.index(ILLNESS)
    shown = []
    with tempfile.TemporaryDirectory(prefix="discreet-lab-") as folder:
        policy = read(build(Path(folder), seed, budget=epsilon, residents=residents))
        with closing(Curator(policy, passing_ledger(policy))) as curator:
            for (name, where), share, truth in zip(questions.items(), (4, 4, 2), (1, 1, int(ill.sum())), strict=True):
                answer = curator.query(f"SELECT COUNT(*) AS n FROM patients WHERE {where}", epsilon=epsilon / share)
                low, high = answer.intervals[0]["n"]
                shown.append((name, truth, int(answer.rows[0][0]), (high - low) / 2))
            try:
                curator.query(f"SELECT * FROM patients WHERE {questions['looks like him']}", epsilon=epsilon)
            except Refused as refused:
                return Asked(epsilon, tuple(shown), refused.reason)
    raise AssertionError("a curator showed a row")


def guessed(epsilon: float, tries: int) -> float:
    """How often an attacker is right who guesses from a noisy count whether the one record about the governor says
    depression, where it does in half of all cases.

    Theorem  No guess from a count at cost ε is right more often than e^ε/(1 + e^ε).
    Proof    For any set S of answers, P(S | 1) ≤ e^ε·P(S | 0) and P(not S | 0) ≤ e^ε·P(not S | 1). Half of P(S | 1)
             and half of P(not S | 0) add up to most where both are equalities. Discrete Laplace noise and the guess
             "answer ≥ 1" have them (Ghosh, Roughgarden & Sundararajan 2009).
    """
    mechanism = Laplace(epsilon=epsilon, sensitivity=1)
    truth = np.arange(tries, dtype=np.int64) % 2
    noisy: Integers = mechanism.release(truth)
    return float(((noisy >= 1) == (truth == 1)).mean())


def bound(epsilon: float) -> float:
    """How often a guess can be right at most, about one bit of somebody, as likely 0 as 1."""
    return 1 / (1 + math.exp(-epsilon))


def believed(epsilon: float, priors: Floats) -> tuple[Floats, Floats]:
    """Between which beliefs an attacker ends, whatever the answer: odds move by a factor e^ε at most."""
    odds = priors / (1 - priors)
    low, high = odds * math.exp(-epsilon), odds * math.exp(epsilon)
    return np.asarray(low / (1 + low)), np.asarray(high / (1 + high))


WANTED: Final = {
    "as it is": None,
    "k = 5": Wanted(k=5),
    "k = 5, l = 3": Wanted(k=5, l=3),
    "k = 50, l = 3, t = 0.15": Wanted(k=50, l=3, t=0.15),
}
"""What the hospital releases."""


def run(seed: int = SEED) -> Outcome:
    """The join before and after generalising, and the same questions through a curator."""
    people, epsilon = city(seed), 1.0
    steps = EVERYTHING.narrowed(people)
    joins = {name: joined(people, wanted) for name, wanted in WANTED.items()}
    raw, five = joins["as it is"], joins["k = 5"]
    answers = questioned(seed, epsilon=epsilon)
    own = people.published().classes.own
    share = percent(raw.alone / RESIDENTS)
    return Outcome(
        figures=Figures(
            (
                Figure(" → ".join(count(many) for _, many in steps), "residents, born like him, men, in his ZIP code"),
                Figure(share, "of the voters have one record that fits (Sweeney: 87 %, Golle: 63 % of Americans)"),
                Figure(count(raw.known), f"of {count(RESIDENTS)} diagnoses known for sure from the table as it is"),
                Figure(count(five.alone), "voters with one record that fits once k is 5"),
                Figure(digits(five.hits.skewness.ratio), "times as likely is a diagnosis made for somebody at k = 5"),
            )
        ),
        tables=(_joins(joins), _answers(answers)),
        pictures=(
            Picture(
                lambda: funnel(steps),
                "Bars on a logarithmic axis, ever shorter: " + ", ".join(f"{n}: {count(m)}" for n, m in steps) + ".",
            ),
            Picture(
                lambda: crowds_beside(own, {"here": raw.alone / RESIDENTS, "Sweeney": SWEENEY, "Golle": GOLLE}),
                f"Share of residents who are alone: {share} here, 87 % of Americans by Sweeney, 63 % by Golle.",
            ),
        ),
        sentences=(
            (
                f"Without a name in it, the table tells the diagnosis of {percent(raw.known / RESIDENTS)} of the "
                "voters to whoever has the voter roll: birth date, sex and ZIP code are as good as a name."
            ),
            (
                "With classes of five or more nobody is alone, but to rule out one diagnosis still tells that of "
                f"{count(five.hits.background[0].people)} people, and the next table may undo the classes."
            ),
            (
                "A curator shows no rows, so that there is nothing to join, and what it answers about people like the "
                "governor is about as likely if he is not among them."
            ),
        ),
        guarantee=(
            f"Whatever an attacker owns, all answers at ε = {digits(epsilon)} move the odds about anybody by a factor "
            f"of {digits(math.exp(epsilon))} at most: a guess about one bit that is as likely as not is right at most "
            f"{percent(bound(epsilon))} of the time."
        ),
    )


def _joins(joins: Mapping[str, Joined]) -> Table:
    rows = tuple(
        (
            name,
            count(made.smallest),
            count(made.alone),
            count(made.known),
            count(made.hits.background[0].people),
            f"{digits(made.hits.skewness.ratio)} ×",
            "nothing" if made.lost is None else percent(made.lost.certainty),
            ", ".join(made.governor) if len(made.governor) < 3 else f"{len(made.governor)} of {len(DIAGNOSES)}",
        )
        for name, made in joins.items()
    )
    columns = ("released", "fewest records that fit", "voters with one", "diagnoses known", "if one is ruled out")
    more = ("posterior / prior", "certainty lost", "left for the governor")
    return Table(f"The voter roll joined with the hospital's table, {count(RESIDENTS)} voters", (*columns, *more), rows)


def _answers(answers: Asked) -> Table:
    rows = [(name, count(truth), count(noisy), f"± {count(half)}") for name, truth, noisy, half in answers.answers]
    caption = f"The same questions to a curator, ε = {digits(answers.epsilon)} for all of them"
    refused = ("his row", "1", "refused", answers.refused)
    return Table(caption, ("question", "truth (invented)", "answer", "95 %"), (*rows, refused))
