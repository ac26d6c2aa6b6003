"""k-anonymity and its heirs on the lecture's hospital table: what is left to learn about Rebecca, who is 55."""

from __future__ import annotations

from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Heading, Note, Picture, Table, Words
from discreet.lab.charts import bars, finished
from discreet.lab.examples.rebecca import AGES, ILLNESSES, Release, released
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Laplace
from discreet.server.learn.fields import Choice, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

SPANS: Final = {"ten": "in ten years, the lecture's", "twenty": "in twenty years", "all": "left out"}
PUBLISHED: Final = {"yes": "published", "no": "left out"}
KNOWN: Final = {
    "age": ("that she is 55", frozenset({"Age"})),
    "sex": ("that she is 55 and a woman", frozenset({"Age", "Gender"})),
    "all": ("that she is 55, a woman, and does not smoke", frozenset({"Age", "Gender", "Smoker"})),
}
ILLNESS: Final = "HIV"


def _body(values: Values) -> Body:
    table = released(AGES[values["age"]], gender=values["gender"] == "yes", smoker=values["smoker"] == "yes")
    known = KNOWN[values["known"]][1]
    fitting, beliefs = table.fitting(known), table.believed(known)
    noisy = Laplace(epsilon=values["epsilon"], sensitivity=1)
    exact = sum(row[3] == ILLNESS for row in table.rows)
    glance = (
        Picture(
            lambda: _chart(beliefs),
            f"What can be believed of Rebecca: {len(beliefs)} of {len(ILLNESSES)} diagnoses are left, "
            + ", ".join(f"{illness} with {percent(share)}" for illness, share in beliefs.items())
            + ".",
        ),
        Figures(
            (
                Figure(count(table.measured.k), "k: rows that look alike, at least"),
                Figure(count(table.measured.distinct_l), "l: diagnoses in every group, at least"),
                Figure(digits(table.measured.t), "t: the farthest that a group is from all"),
                Figure(count(len(beliefs)), "diagnoses left for Rebecca"),
            )
        ),
        _verdict(beliefs),
    )
    figures = compared(
        "003",
        ("who knows", "55, and in the table", KNOWN[values["known"]][0]),
        ("rows that may be hers", "2", count(len(fitting))),
        ("diagnoses left", "2", count(len(beliefs))),
        ("k-anonymity, l-diversity, t-closeness (000, 001)", "named", _measured(table)),
        ("background knowledge (001)", "an attack", f"{_hit(table)} of {len(table.rows)} rows fall to one more fact"),
    )
    more = (
        Table(
            "The table as it is published; marked: rows that may be Rebecca's",
            ("row", "age", "gender", "smoker", "diagnosis"),
            tuple((str(number + 1), *row) for number, row in enumerate(table.rows)),
            frozenset(fitting),
        ),
        Heading("Four attacks that k does not stop"),
        _attacks(table),
        Words(
            "k-anonymity asks that at least k rows look alike. If all of them have one illness it hides nobody: so "
            "l-diversity asks for several illnesses in each group, and t-closeness that a group looks like all. Each "
            "was an answer to an attack, and each names the attacks that it knows."
        ),
        Words(
            f"A noisy count of patients with {ILLNESS} says {count(noisy.release(exact))} at ε = "
            f"{digits(values['epsilon'])}, where {exact} is true. What anybody can believe of Rebecca moves by a "
            "factor of e^ε in odds at most, whatever they know, and whatever tables turn up later."
        ),
        Words("Your own table of this kind: discreet lab measure table.csv --quasi age,sex --sensitive diagnosis."),
    )
    return Body(glance, figures, more)


def _measured(table: Release) -> str:
    measured = table.measured
    return f"k = {measured.k}, l = {measured.distinct_l}, t = {digits(measured.t)}"


def _hit(table: Release) -> int:
    return table.attacks.background[0].people


def _verdict(beliefs: dict[str, float]) -> Note:
    if len(beliefs) == 1:
        return Note(f"One diagnosis is left: {next(iter(beliefs))}. The table gives it away.", "bad")
    if len(beliefs) <= 3:
        return Note(f"{len(beliefs)} diagnoses are left. One more fact about her decides it.", "bad")
    return Note(f"{len(beliefs)} diagnoses are left, and little of the table.")


def _attacks(table: Release) -> Table:
    attacks = table.attacks
    skew = attacks.skewness
    similar = 0 if attacks.similarity is None else attacks.similarity.people
    return Table(
        "People whom each attack hits, in the table as it is published",
        ("attack", "people", "how"),
        (
            ("homogeneity", count(attacks.homogeneity.people), "their whole group has one illness"),
            ("background knowledge", count(attacks.background[0].people), "known to whoever rules out one illness"),
            ("skewness", count(skew.people), f"their illness became {digits(skew.ratio)} times as likely, at most"),
            ("similarity", count(similar), "their group has one kind of illness"),
        ),
    )


def _chart(beliefs: dict[str, float]) -> Any:
    records = [
        {"name": illness, "value": beliefs.get(illness, 0.0), "shown": percent(beliefs.get(illness, 0.0))}
        for illness in ILLNESSES
    ]
    drawn = bars(records, title="what can be believed", most=1, form="%")
    return finished(drawn, "What Rebecca may have", "by whoever knows that she is in the table")


LESSON: Final = Lesson(
    slug="k-anonymity",
    title="Rebecca is 55",
    lectures=("003", "001", "000"),
    teaser="At least two rows look alike everywhere, and yet one of two illnesses is hers.",
    shows="A table in which groups look alike still gives away what a group has in common.",
    fields=(
        Choice("age", "Ages", SPANS, "ten"),
        Choice("gender", "Gender", PUBLISHED, "yes"),
        Choice("smoker", "Smoker", PUBLISHED, "yes"),
        Choice("known", "Somebody knows", {key: words for key, (words, _) in KNOWN.items()}, "sex"),
        epsilon("1"),
    ),
    body=_body,
    sketch=Sketch("Two of eight bars are left.", bars=((0.03, 0.0),) * 5 + ((0.8, 0.0), (0.03, 0.0), (0.8, 0.0))),
    figure=Figure("1 of 2", "diseases, for a woman of 55 who is in the table"),
    question=ask(
        "A table is 100-anonymous. Everybody in your group of 137 has the same illness. What does whoever knows that "
        "you are in the table learn?",
        ("Your illness, for certain", "The group hides which row is yours, not what all of its rows say."),
        ("Nothing: you hide among 137", "They need not find your row: all 137 say the same."),
        (
            "Your illness, with a chance of 1 in 137",
            "That is the chance to find your row. The illness is the same in all.",
        ),
    ),
)
