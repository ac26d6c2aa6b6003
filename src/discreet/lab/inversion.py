"""Model inversion: who knows a model, a patient's dose and all findings but one, guesses that one.

Much of what such an attack gets right it would get right about anybody: the model says how doses and genes go together,
which is what it is for. Leakage is what it gets right about those it was trained on beyond that. So each model is
trained on those for whom a coin fell so, and the attack is tried on all: members minus others is what
`discreet.lab.bounds` bounds.

Source   Fredrikson, Lantz, Jha, Lin, Page & Ristenpart 2014; that a baseline without the model is needed: Jayaraman &
         Evans 2022.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from discreet.lab.blocks import Figure, Figures, Picture
from discreet.lab.bounds import Flags, Recovered
from discreet.lab.experiment import Outcome
from discreet.lab.gaps import gap_chart, gap_table, points
from discreet.lab.invented import SEED, Floats, Integers, chosen, uniform
from discreet.lab.writing import count, percent

GENES: Final = np.array([0.45, 0.35, 0.2])
"""How common each variant of the gene is."""
FINDINGS, LEVELS, DOSES = 8, 3, 5
"""What else is known of a patient: eight findings with three levels each. Doses are in five steps."""
PATIENTS, MODELS = 800, 16
EPSILON: Final = 1.0
TREES: Final = 20
LEAST: Final = 1e-9
"""No dose is less likely than that to a model."""


@dataclass(frozen=True, slots=True)
class Patients:
    """Findings, the variant of the gene, and the dose that was right."""

    findings: Integers
    gene: Integers
    dose: Integers

    def of(self, which: Flags) -> Patients:
        return Patients(self.findings[which], self.gene[which], self.dose[which])

    @property
    def rows(self) -> Integers:
        """What a model is trained on; the gene comes last."""
        return np.column_stack([self.findings, self.gene])


def patients(seed: int, who: str, size: int) -> Patients:
    """Invented ones: two findings go with the gene, two more with the dose, and the gene most of all."""
    purpose = f"discreet.lab.inversion {seed} {who}"
    gene = chosen(f"{purpose} gene", np.tile(GENES, (size, 1)))
    linked, alike = np.eye(LEVELS)[gene] * 0.6 + 0.25, np.ones((size, LEVELS))
    findings = np.column_stack(
        [chosen(f"{purpose} {number}", linked if number < 2 else alike) for number in range(FINDINGS)]
    )
    share = uniform(f"{purpose} dose", size)
    need = 1.2 * (gene - 1) + 0.8 * (findings[:, 2] - findings[:, 3]) + 0.8 * np.log(share / (1 - share))
    return Patients(findings, gene, np.clip(np.floor(need / 1.2 + DOSES / 2), 0, DOSES - 1).astype(np.int64))


Train = Callable[[Patients], Callable[[Integers], Floats]]
"""Patients to a model: from rows to the probability of each dose."""


def inverted(train: Train, people: Patients, coins: Flags) -> Recovered:
    """Train a model on each row of coins, and guess everybody's gene from their findings and their dose."""
    right = [guessed(train(people.of(members)), people) == people.gene for members in coins]
    return Recovered.counted(np.array(right), coins)


def guessed(model: Callable[[Integers], Floats], people: Patients) -> Integers:
    """The variant that is likeliest before, times how likely it makes the dose."""
    many = len(people.gene)
    tried = np.concatenate([np.column_stack([people.findings, np.full(many, gene)]) for gene in range(GENES.size)])
    doses = np.tile(people.dose, GENES.size)
    likely = model(tried)[np.arange(doses.size), doses].reshape(GENES.size, many)
    return np.asarray((np.log(GENES)[:, None] + np.log(np.maximum(likely, LEAST))).argmax(axis=0), dtype=np.int64)


def imputed(known: Patients, people: Patients) -> float:
    """How often a gene is guessed from findings and dose by whoever has other patients' records, and no model."""
    shares = np.log(np.bincount(known.gene, minlength=GENES.size) + 1.0)
    joint = np.tile(shares, (len(people.gene), 1))
    for theirs, ours in zip(_columns(known), _columns(people), strict=True):
        table = np.ones((GENES.size, max(LEVELS, DOSES)))
        np.add.at(table, (known.gene, theirs), 1)
        joint += np.log(table / table.sum(axis=1, keepdims=True)).T[ours]
    return float((joint.argmax(axis=1) == people.gene).mean())


def _columns(people: Patients) -> list[Integers]:
    return [*people.findings.T, people.dose]


def forest(people: Patients) -> Callable[[Integers], Floats]:
    """Trees that are grown until they know every patient by heart."""
    from discreet.lab.others import ExtraTreesClassifier

    return _all_doses(ExtraTreesClassifier(TREES, random_state=1).fit(people.rows, people.dose))


def plain_bayes(people: Patients) -> Callable[[Integers], Floats]:
    from discreet.lab.others import CategoricalNB

    return _all_doses(CategoricalNB(min_categories=LEVELS).fit(people.rows, people.dose))


def plain_logistic(people: Patients) -> Callable[[Integers], Floats]:
    from discreet.lab.others import LogisticRegression

    model = LogisticRegression(C=1e6, max_iter=1000).fit(_indicators(people.rows), people.dose)
    return lambda rows: _all_doses(model)(_indicators(rows))


def private_bayes(epsilon: float) -> Train:
    from discreet.learn import CategoricalNB

    model = CategoricalNB(classes=list(range(DOSES)), categories=[LEVELS] * (FINDINGS + 1), epsilon=epsilon)
    return lambda people: _fresh(model).fit(people.rows, people.dose).predict_proba


def private_logistic(epsilon: float) -> Train:
    from discreet.learn import LogisticRegression

    wide = FINDINGS + GENES.size
    model = LogisticRegression(bounds=([0] * wide, [1] * wide), classes=list(range(DOSES)), epsilon=epsilon)

    def train(people: Patients) -> Callable[[Integers], Floats]:
        fitted = _fresh(model).fit(_indicators(people.rows), people.dose)
        return lambda rows: np.asarray(fitted.predict_proba(_indicators(rows)))

    return train


def _fresh(model: Any) -> Any:
    from discreet.lab.others import clone

    return clone(model)


def _indicators(rows: Integers) -> Floats:
    """Findings between 0 and 1, and an indicator of each variant: a linear model has no other way to see a gene."""
    return np.column_stack([rows[:, :-1] / (LEVELS - 1), np.eye(GENES.size)[rows[:, -1]]])


def _all_doses(model: Any) -> Callable[[Any], Floats]:
    """The probability of every dose, also of those that nobody had in the training data."""

    def probabilities(rows: Any) -> Floats:
        likely = np.zeros((len(rows), DOSES))
        likely[:, model.classes_] = model.predict_proba(rows)
        return likely

    return probabilities


FOREST: Final = "forest, no noise"
UNSAFE: Final[Mapping[str, Train]] = {
    FOREST: forest,
    "naïve Bayes, no noise": plain_bayes,
    "logistic, no noise": plain_logistic,
}


def private(epsilon: float) -> dict[str, Train]:
    return {
        f"naïve Bayes, ε = {epsilon:g}": private_bayes(epsilon),
        f"logistic, ε = {epsilon:g}": private_logistic(epsilon),
    }


def coins_for(seed: int, size: int, models: int) -> Flags:
    return np.asarray(uniform(f"discreet.lab.inversion {seed} coins", models * size).reshape(models, size) < 0.5)


def run(seed: int = SEED) -> Outcome:
    """Invert a forest and two simple models without noise, and the simple ones with it."""
    people, coins = patients(seed, "trained", PATIENTS), coins_for(seed, PATIENTS, MODELS)
    ours = private(EPSILON)
    done = {name: inverted(train, people, coins) for name, train in {**UNSAFE, **ours}.items()}
    prior = float((people.gene == GENES.argmax()).mean())
    other = imputed(patients(seed, "others", PATIENTS // 2), people)
    worst = done[FOREST]
    private_ = max((done[name] for name in ours), key=lambda each: each.gap)
    return Outcome(
        Figures(
            (
                Figure(percent(worst.inside), "of genes recovered from a forest, for those in it"),
                Figure(percent(worst.outside), "for those who are not: inference, not leakage"),
                Figure(points(private_.gap), f"what being in ours adds; at most {points(private_.most_gap(EPSILON))}"),
                Figure(percent(other), "recovered without any model, from other people's records"),
            )
        ),
        (
            gap_table(
                f"Genes recovered from {count(MODELS)} models of each kind, each trained on half of {count(PATIENTS)}",
                {"the commonest variant, for all": prior, "other people's records": other},
                done,
                dict.fromkeys(ours, EPSILON),
            ),
        ),
        (
            Picture(
                lambda: gap_chart(done, title="Genes recovered from a model", baseline=other),
                f"For each model, how many genes are recovered of those in it and of others. The forest: "
                f"{percent(worst.inside)} against {percent(worst.outside)}. All other models have both about alike.",
            ),
        ),
        _sentences(worst, other, private_),
        _guarantee(private_),
    )


def _sentences(worst: Recovered, other: float, ours: Recovered) -> tuple[str, str, str]:
    first = (
        f"A model that knows its patients by heart gives their genes away: {percent(worst.inside)} of those it was "
        f"trained on, and {percent(worst.outside)} of others."
    )
    second = (
        f"A success is not yet a leak: other people's records alone recover {percent(other)}, because genes, findings "
        "and doses go together, and that is what research is for."
    )
    third = (
        "What is left to a person's own row is the difference between those in a model and others, and noise takes it "
        f"away: with ε = {EPSILON:g} it is {points(ours.gap)}."
    )
    return first, second, third


def _guarantee(ours: Recovered) -> str:
    return (
        "An ε-DP model says of you hardly more than it would without you: what is guessed rightly of a share p of "
        "those who are not in it is guessed of at most e^ε·p, and of at most 1 − e^−ε·(1 − p), of those who are. With "
        f"ε = {EPSILON:g} being in it adds {points(ours.most_gap(EPSILON))} at most here, and "
        f"{points(math.tanh(EPSILON / 2))} at most anywhere. It keeps nobody from learning which gene needs what, "
        "and from guessing yours by that."
    )
