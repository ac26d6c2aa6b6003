"""Linkage: a table without names, a voter roll, and the one man who is in both."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.lab.blocks import Figure, Figures, Heading, Note, Picture, Table, Words
from discreet.lab.charts import INK, OPEN, PRIVATE, WIDTH, altair, chart_of, finished, heaps
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Laplace
from discreet.server.learn.fields import Choice, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, compared

Integers = NDArray[np.int64]

RESIDENTS, ZIPS = 54_000, 7
FIRST, LAST = date(1916, 1, 1), date(1995, 12, 31)
GOVERNOR: Final = 0
BORN: Final = date(1945, 5, 17)
SHARING: Final = ((0, 1, 3), (1, 1, 0), (2, 1, 5), (3, 0, 3), (4, 0, 1), (5, 0, 6))
"""Who shares the governor's birth date: resident, man, ZIP code. Three men, and nobody else of his ZIP code is one."""
NAMES: Final = ("The governor", "Edgar Bloom", "Ivo Castellan", "Mira Dunmore", "Tess Farrow", "Una Gale")
DIAGNOSES: Final = ("asthma", "back pain", "depression", "diabetes", "fracture", "hypertension", "migraine", "ulcer")
ILLNESS: Final = "depression"
BIRTHS: Final = {"day": "full date", "month": "month and year", "year": "year", "decade": "decade"}
PUBLISHED: Final = {"yes": "published", "no": "left out"}
LECTURE: Final = {"born like him": "6", "and a man": "3", "and his ZIP code": "1"}
SIZES: Final = {"1": 1, "2–4": 4, "5–9": 9, "10–99": 99, "100 or more": RESIDENTS}


@dataclass(frozen=True, slots=True)
class City:
    """Everybody in the hospital's table; the voter roll has the same people with their names."""

    born: Integers
    """Days since 1970."""
    man: Integers
    zip: Integers
    diagnosis: Integers


@cache
def city() -> City:
    """The invented city, the same every time: numbers are hashes of residents."""
    first, days = _day(FIRST), _day(LAST) - _day(FIRST) + 1
    born, man, zips, ill = (_hashed(salt) for salt in range(4))
    born, man, zips, ill = first + born % days, man % 2, zips % ZIPS, ill % len(DIAGNOSES)
    born[born == _day(BORN)] += 1
    for resident, is_man, zip_ in SHARING:
        born[resident], man[resident], zips[resident] = _day(BORN), is_man, zip_
    ill[GOVERNOR] = DIAGNOSES.index(ILLNESS)
    return City(born, man, zips, ill)


def _day(day: date) -> int:
    return day.toordinal() - date(1970, 1, 1).toordinal()


def _hashed(salt: int) -> Integers:
    """A number for each resident that looks random (the finaliser of SplitMix64; Steele, Lea & Flood 2014)."""
    x = np.arange(1, RESIDENTS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt << 40)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(2)).astype(np.int64)


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
        _, group, sizes = np.unique(key, return_inverse=True, return_counts=True)
        return group.astype(np.int64), sizes.astype(np.int64)


def _body(values: Values) -> Body:
    people = city()
    detail = Detail(values["birth"], values["sex"] == "yes", values["zip"] == "yes")
    steps = detail.narrowed(people)
    group, sizes = detail.groups(people)
    own = group == group[GOVERNOR]
    left = sorted({DIAGNOSES[code] for code in people.diagnosis[own].tolist()})
    unique = int((sizes == 1).sum())
    summary = ", ".join(f"{name}: {count(many)}" for name, many in steps)
    glance = (
        Picture(
            lambda: _funnel(steps),
            f"Bars on a logarithmic axis, ever shorter: {summary}.",
        ),
        Figures(
            (
                Figure(count(steps[-1][1]), "records that may be the governor's"),
                Figure(
                    ", ".join(left) if len(left) < 3 else f"{len(left)} of {len(DIAGNOSES)}", "diagnoses left for him"
                ),
                Figure(percent(unique / RESIDENTS), "of all residents stand alone"),
                Figure(count(int(sizes.min())), "k: the smallest group"),
            )
        ),
        _verdict(steps[-1][1], left),
    )
    by_step = dict(steps)
    figures = compared(
        "000",
        ("residents", "54,000", count(RESIDENTS)),
        ("ZIP codes", "7", str(ZIPS)),
        *(
            (name, lecture, count(by_step[name]) if name in by_step else "not published")
            for name, lecture in LECTURE.items()
        ),
        ("unique by ZIP code, birth date, sex (003)", "87 % of Americans", percent(unique / RESIDENTS)),
        ("diagnoses left (003: Rebecca, 55)", "2", str(len(left))),
    )
    more = (
        _linked(people, sizes[group]),
        Picture(
            lambda: _crowds(group, sizes),
            f"Share of residents by how many look like them in the published table. {percent(unique / RESIDENTS)} are "
            "alone.",
        ),
        Heading("What a private answer says instead"),
        *_private(values["epsilon"], people),
        Words(
            "Deleting names does not help while other columns single people out: another table has them too, with "
            "names. Coarser columns help until the next table turns up, and a group in which all have the same "
            "illness hides nobody."
        ),
        Words(
            "A noisy answer needs no guess at what attackers own: with or without the governor it comes out almost the "
            "same. Nobody here exists; governor, residents and illnesses are invented."
        ),
    )
    return Body(glance, figures, more)


def _linked(people: City, fitting: Integers) -> Table:
    """The join, for the voters who share the governor's birth date: which records carry the same public columns."""
    rows = []
    for (resident, is_man, zip_), name in zip(SHARING, NAMES, strict=True):
        fits = int(fitting[resident])
        illness = DIAGNOSES[int(people.diagnosis[resident])] if fits == 1 else "one of them"
        rows.append((name, BORN.isoformat(), "M" if is_man else "F", f"0010{1 + zip_}", count(fits), illness))
    columns = ("voter", "born", "sex", "ZIP", "hospital records that fit", "diagnosis")
    return Table(
        "The voter roll joined with the hospital's table, for six voters", columns, tuple(rows), frozenset({0})
    )


def _verdict(many: int, left: list[str]) -> Note:
    if many == 1:
        return Note(f"One record fits the governor in the voter roll. It says: {left[0]}.", "bad")
    if len(left) == 1:
        return Note(
            f"{count(many)} records fit, and all say: {left[0]}. A group hides nobody whose illness all share.", "bad"
        )
    return Note(f"{count(many)} records fit, with {len(left)} diagnoses: the voter roll alone does not tell which.")


def _private(epsilon_: float, people: City) -> tuple[Picture, Table]:
    """Two questions at half the cost each."""
    mechanism = Laplace(epsilon=epsilon_ / 2, sensitivity=1)
    ill = people.diagnosis == DIAGNOSES.index(ILLNESS)
    him = (people.born == _day(BORN)) & (people.man == 1) & (people.zip == people.zip[GOVERNOR]) & ill
    half = mechanism.error(0.95)
    questions = {f"born that day, man, his ZIP code, {ILLNESS}": him, f"everybody with {ILLNESS}": ill}
    rows = [(name, int(mask.sum()), mechanism.release(int(mask.sum()))) for name, mask in questions.items()]
    lone = rows[0][2]
    return (
        Picture(
            lambda: _two_worlds(mechanism, lone),
            "Two almost equal heaps of possible answers, with the governor and without him. The released answer "
            f"{count(lone)} could well come from either.",
        ),
        Table(
            f"Two questions, ε = {digits(epsilon_ / 2)} each",
            ("question", "truth (invented)", "released", "95 %"),
            tuple((name, count(true), count(noisy), f"± {count(half)}") for name, true, noisy in rows),
        ),
    )


def _funnel(steps: list[tuple[str, int]]) -> Any:
    alt = altair()
    records = [{"step": name, "people": many, "shown": count(many)} for name, many in steps]
    base = chart_of(records).encode(y=alt.Y("step:N", sort=[name for name, _ in steps], title=None))
    scale = alt.Scale(type="log", domain=[0.5, 400_000], nice=False)
    x = alt.X(
        "people:Q", scale=scale, title="people who fit (logarithmic)", axis=alt.Axis(values=[1, 10, 100, 1000, 10000])
    )
    bars = base.mark_bar(color=OPEN, height={"band": 0.65}).encode(x=x, x2=alt.datum(0.5))
    words = base.mark_text(align="left", dx=4, color=INK, fontSize=13, fontWeight="bold").encode(x=x, text="shown:N")
    return finished(
        alt.layer(bars, words).properties(width=WIDTH - 80, height=alt.Step(34)), "Looking for the governor"
    )


def _crowds(group: Integers, sizes: Integers) -> Any:
    alt = altair()
    own = sizes[group]
    edges = [0, *SIZES.values()]
    shares = [float(((own > low) & (own <= high)).mean()) for low, high in pairwise(edges)]
    records = [
        {"size": name, "share": share, "shown": percent(share)} for name, share in zip(SIZES, shares, strict=True)
    ]
    base = chart_of(records).encode(y=alt.Y("size:N", sort=list(SIZES), title="people who look alike"))
    x = alt.X("share:Q", title="share of the residents", scale=alt.Scale(domain=[0, 1.2]))
    x = x.axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    colour = alt.condition("datum.size == '1'", alt.value(OPEN), alt.value(PRIVATE))
    bars = base.mark_bar(height={"band": 0.65}).encode(x=x, color=colour)
    words = base.mark_text(align="left", dx=4, color=INK, fontSize=12).encode(x=x, text="shown:N")
    return finished(alt.layer(bars, words).properties(width=WIDTH - 70, height=alt.Step(28)), "Who is alone")


def _two_worlds(mechanism: Laplace, released: int) -> Any:
    alt = altair()
    worlds = {"with the governor": OPEN, "without him": PRIVATE}
    noises = {name: (exact, mechanism) for name, exact in zip(worlds, (1, 0), strict=True)}
    extent = max(6, int(4 * float(mechanism.scale)), abs(released) + 1)
    mark = chart_of([{"answer": released, "text": f"released: {count(released)}"}])
    drawn = alt.layer(
        heaps(noises, extent, worlds, title="answer"),
        mark.mark_rule(color=INK, strokeDash=[4, 3]).encode(x="answer:Q"),
        mark.mark_text(color=INK, fontSize=12).encode(x="answer:Q", y=alt.value(-6), text="text:N"),
    )
    return finished(drawn.properties(width=WIDTH - 30, height=160), "Is he in the table?")


LESSON: Final = Lesson(
    slug="linkage",
    title="The governor's illness",
    lectures=("000", "003"),
    teaser="Names deleted, and yet: birth date, sex and ZIP code lead to one man.",
    shows="A hospital table without names, joined with a voter roll, leads to one person in 54,000.",
    fields=(
        Choice("birth", "Date of birth", BIRTHS, "day"),
        Choice("sex", "Sex", PUBLISHED, "yes"),
        Choice("zip", "ZIP code", PUBLISHED, "yes"),
        epsilon("1"),
    ),
    body=_body,
    sketch=Sketch("Bars that shrink to one.", bars=((0.95, 0.0), (0.35, 0.0), (0.2, 0.0), (0.06, 0.0))),
    figure=Figure("54,000 → 6 → 3 → 1", "residents, same birth date, men, in his ZIP code"),
    invented="invented city: the true values are shown",
)
