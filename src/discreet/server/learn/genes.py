"""Model inversion: what a model gives away of those it was trained on, beyond what it says of everybody."""

from __future__ import annotations

from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Note, Picture, Table, Words
from discreet.lab.bounds import Recovered
from discreet.lab.charts import OPEN, PRIVATE, finished, pairs
from discreet.lab.examples.genes import TABLES, Inverted, inverted, mechanism
from discreet.lab.inversion import FINDINGS
from discreet.lab.writing import count, digits, percent
from discreet.server.learn.fields import Choice, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

PATIENTS: Final = (200, 400, 800)
INSIDE, OUTSIDE = "in the training data", "not in it"


def _body(values: Values) -> Body:
    size, epsilon_ = int(values["patients"]), values["epsilon"]
    made = inverted(size, epsilon_)
    models = {"by heart": made.heart, "counts": made.counts, f"ε = {digits(epsilon_)}": made.private}
    glance = (
        Picture(
            lambda: _chart(models),
            "How often a gene is guessed rightly from each model, for those in its training data and for others: "
            + ", ".join(f"{name}: {percent(each.inside)} and {percent(each.outside)}" for name, each in models.items())
            + ".",
        ),
        Figures(
            (
                Figure(percent(made.heart.inside), "of genes, for those whom a model knows by heart"),
                Figure(percent(made.heart.outside), "for others, from the same model"),
                Figure(_points(made.private.gap), f"what being in the private one adds, at ε = {digits(epsilon_)}"),
                Figure(_points(made.private.most_gap(epsilon_)), "what it can add at most, on average"),
            )
        ),
        Note(f"Other people's records alone, without any model, give {percent(made.records)} of the genes."),
    )
    figures = compared(
        "003",
        ("from the weights of a model", "information about training data", "a gene, from findings and a dose"),
        ("best guess from public data", "column 4 of the slide", percent(made.records)),
        ("with the model", "column 5: the faces", f"{percent(made.heart.inside)} of those in it"),
        ("and of those who are not in it", "not shown", percent(made.heart.outside)),
        ("with a private model, members less others", "–", _points(made.private.gap)),
    )
    more = (
        _table(made, epsilon_),
        Words(
            f"Somebody knows {FINDINGS} findings of a patient and the dose of a medicine, tries every variant of the "
            "gene in the model, and takes the one that makes that dose likeliest."
        ),
        Words(
            "Much of what is guessed rightly would be guessed rightly of anybody: genes, findings and doses go "
            "together, and research is there to find that. What is leaked about a person is the difference between "
            "those in the training data and others. A model that knows its patients by heart leaks much of it."
        ),
        Words(
            f"The private model has noise of scale {digits(float(mechanism(epsilon_).scale))} on all of its counts, as "
            f"a patient is in one cell of each of {TABLES} tables. Whatever an attacker does with it, being in the "
            "data adds no more than the bound. It may still say much about people like you."
        ),
        Words("With more models and attacks: discreet lab inversion, and discreet lab membership."),
    )
    return Body(glance, figures, more)


def _points(gap: float) -> str:
    """A difference of shares."""
    return f"{digits(100 * gap, 2)} points"


def _table(made: Inverted, epsilon_: float) -> Table:
    def row(name: str, each: Recovered, most: str) -> tuple[str, ...]:
        return name, percent(each.inside), percent(each.outside), _points(each.gap), most

    return Table(
        "Genes recovered",
        ("from", "of those in the data", "of others", "leaked", "at most"),
        (
            row("a model that knows patients by heart", made.heart, "no bound"),
            row("naïve Bayes from exact counts", made.counts, "no bound"),
            row(f"the same with ε = {digits(epsilon_)}", made.private, _points(made.private.most_gap(epsilon_))),
            ("other people's records", "–", percent(made.records), "–", "–"),
            ("the commonest variant, for all", percent(made.commonest), percent(made.commonest), "0 points", "–"),
        ),
        frozenset({0}),
    )


def _chart(models: dict[str, Recovered]) -> Any:
    kinds = {INSIDE: OPEN, OUTSIDE: PRIVATE}
    records = [
        {"name": name, "kind": kind, "value": share}
        for name, each in models.items()
        for kind, share in zip(kinds, (each.inside, each.outside), strict=True)
    ]
    return finished(pairs(records, title="genes recovered", colours=kinds, form="%"), "Whose gene does a model tell?")


LESSON: Final = Lesson(
    slug="model-inversion",
    title="A gene from a dose",
    lectures=("003",),
    teaser="The data stays secret, the model is published, and gives its patients away.",
    shows="A published model can give away those it was trained on; noise bounds what being in it adds.",
    fields=(
        Choice("patients", "Patients, half of them in the data", {str(size): count(size) for size in PATIENTS}, "400"),
        epsilon("1", low="0.1", high="5", step="0.1"),
    ),
    body=_body,
    sketch=Sketch("A pair of bars that differ, and pairs that do not.", bars=((0.9, 0.46), (0.5, 0.54), (0.5, 0.48))),
    figure=Figure("members less others", "is what leaks; the rest is inference"),
    question=ask(
        "A model guesses the gene of 70 % of all patients, whether they were in the training data or not. Does it leak "
        "the genes of those it was trained on?",
        (
            "No: it says as much about people who were never in the data",
            "That is what research is for. A leak is what it says of those in the data beyond that.",
        ),
        ("Yes, 70 % is far too much", "It may be uncomfortable, but your own row added nothing to it."),
        (
            "Yes, unless ε is below 0.7",
            "ε bounds what being in the data adds: here that is nothing.",
        ),
        at=1,
    ),
    invented="invented patients: the true values are known",
)
