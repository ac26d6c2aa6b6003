"""Linkage: a table without names, a voter roll, and the one man who is in both."""

from __future__ import annotations

from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Heading, Note, Picture, Table, Words
from discreet.lab.charts import INK, OPEN, PRIVATE, WIDTH, altair, chart_of, finished, heaps
from discreet.lab.invented import Integers
from discreet.lab.linkage import (
    BORN,
    DIAGNOSES,
    GOVERNOR,
    ILLNESS,
    RESIDENTS,
    SHARING,
    ZIPS,
    City,
    Detail,
    city,
    day_number,
    zip_code,
)
from discreet.lab.linkage_charts import crowds, funnel
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Laplace
from discreet.server.learn.fields import Choice, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

NAMES: Final = ("The governor", "Edgar Bloom", "Ivo Castellan", "Mira Dunmore", "Tess Farrow", "Una Gale")
BIRTHS: Final = {"day": "full date", "month": "month and year", "year": "year", "decade": "decade"}
PUBLISHED: Final = {"yes": "published", "no": "left out"}
LECTURE: Final = {"born like him": "6", "and a man": "3", "and his ZIP code": "1"}


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
            lambda: funnel(steps),
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
            lambda: crowds(sizes[group]),
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
        rows.append((name, BORN.isoformat(), "M" if is_man else "F", zip_code(zip_), count(fits), illness))
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
    him = (people.born == day_number(BORN)) & (people.man == 1) & (people.zip == people.zip[GOVERNOR]) & ill
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
    question=ask(
        "A hospital deletes names and social security numbers and keeps birth date, sex and ZIP code. Is that "
        "anonymous?",
        (
            "No: most people are the only ones with theirs",
            "Any list with names and the same three columns, such as a voter roll, puts the names back.",
        ),
        ("Yes, the identifiers are gone", "Birth date, sex and ZIP code together identify as well as a name does."),
        ("Yes, if voter rolls are kept secret", "Nobody can know which other tables exist, now or in twenty years."),
    ),
    invented="invented city: the true values are shown",
)
