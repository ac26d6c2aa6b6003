"""Membership inference: was this row in the training data? Asked of models with and without noise.

Each model is trained on those for whom a coin fell so: the theorem of `discreet.lab.bounds` says what an attack may do.

Source   Yeom, Giacomelli, Fredrikson & Jha 2018 (threshold); Watson, Guo, Cormode & Sablayrolles 2022 (calibrated by
         shadow models); Carlini, Chien, Nasr, Song, Terzis & Tramèr 2022 (LiRA, the likelihood ratio); canaries of one
         training: Steinke, Nasr & Jagielski 2023.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from discreet.lab.blocks import Figure, Figures, Picture, Table
from discreet.lab.bounds import ALPHA, PROVES, Flags, most_with, proven_words, proves
from discreet.lab.charts import INK, NEUTRAL, OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.experiment import Outcome
from discreet.lab.invented import SEED, Floats, Integers, uniform
from discreet.lab.writing import count, digits, percent

Train = Callable[[Floats, Integers], Any]
"""Rows and labels to a model with `predict_proba` and `predict`."""

FEATURES: Final = 6
WEIGHTS: Final = (1.0, -1.0, 0.8, -0.6, 0.0, 0.0)
"""What makes people ill; two features have nothing to do with it."""
WRONG_LABELS: Final = 0.15
SHADOWS, TARGETS, PEOPLE = 64, 32, 800
FRESH: Final = 500
"""People whom no model has seen, to say how useful it is."""
TREES: Final = 20
NEVER: Final = 1e-3
"""A model that is surer than that is taken to be no surer."""
SHARED: Final = 5.0
"""Shadow models that the variance over all rows counts for, beside those of a row."""
GUESSED: Final = 0.2
"""The share of rows, those with the highest scores, that are called members to bound ε."""


@dataclass(frozen=True, slots=True)
class Pool:
    """People, of whom each model is trained on those for whom its coin fell so."""

    rows: Floats
    labels: Integers
    coins: Flags
    """A row for each model: the shadow models first, which the attacker trains, then the models under attack."""
    shadows: int
    fresh: tuple[Floats, Integers]


def people(seed: int, *, size: int, shadows: int, targets: int) -> Pool:
    """Invented people: six findings between 0 and 1, and whether they are ill, which is noted wrongly now and then."""
    purpose = f"discreet.lab.membership {seed}"
    rows, fresh = (
        uniform(f"{purpose} {who}", n * FEATURES).reshape(n, -1) for who, n in (("in", size), ("new", FRESH))
    )
    wrong = uniform(f"{purpose} wrong", size) < WRONG_LABELS
    coins = uniform(f"{purpose} coins", (shadows + targets) * size).reshape(-1, size) < 0.5
    return Pool(rows, np.where(wrong, 1 - _ill(rows), _ill(rows)), coins, shadows, (fresh, _ill(fresh)))


def _ill(rows: Floats) -> Integers:
    return np.asarray((rows - 0.5) @ np.array(WEIGHTS) > 0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Attacked:
    """What an attack says of members, and of those who were left out: higher where it is surer of a member."""

    members: Floats
    others: Floats

    def caught(self, false_alarms: float) -> float:
        """The share of members that are called so, where at most this share of the others is."""
        least = np.sort(self.others)[::-1][int(false_alarms * self.others.size)]
        return float((self.members > least).mean())

    @cached_property
    def area(self) -> float:
        """The chance that a member has the higher score of two, ties by a coin: the area under the curve."""
        ordered = np.sort(self.others)
        below = np.searchsorted(ordered, self.members, side="left") + np.searchsorted(ordered, self.members, "right")
        return float(below.mean() / (2 * ordered.size))

    def guesses(self, share: float = GUESSED) -> tuple[int, int]:
        """Right and wrong ones, where this share of all, with the highest scores, is called members."""
        both = np.sort(np.concatenate([self.members, self.others]))
        least = both[-max(int(share * both.size), 1)]
        return int((self.members >= least).sum()), int((self.others >= least).sum())

    def epsilon(self, *, share: float = GUESSED, alpha: float = ALPHA) -> float:
        """What the training's ε is at least, wrong with probability α."""
        return proves(*self.guesses(share), alpha)


@dataclass(frozen=True, slots=True)
class Leak:
    """A kind of model: how often it is right about new people, and each attack on it."""

    accuracy: float
    attacks: Mapping[str, Attacked]


THRESHOLD, CALIBRATED, RATIO = "threshold", "calibrated", "likelihood ratio"


def attack(train: Train, pool: Pool) -> Leak:
    """Train shadow models and models under attack, and ask of each of the latter who was in its training data."""
    scores, right = [], 0.0
    each = np.arange(len(pool.labels))
    for chosen in pool.coins:
        model = train(pool.rows[chosen], pool.labels[chosen])
        scores.append(_logit(model.predict_proba(pool.rows)[each, pool.labels]))
        right += float((model.predict(pool.fresh[0]) == pool.fresh[1]).mean())
    shadows, targets = np.array(scores[: pool.shadows]), np.array(scores[pool.shadows :])
    known, secret = pool.coins[: pool.shadows], pool.coins[pool.shadows :]
    inside, outside = _fitted(shadows, known), _fitted(shadows, ~known)
    said = {
        THRESHOLD: targets,
        CALIBRATED: targets - outside[0],
        RATIO: _log_normal(targets, *inside) - _log_normal(targets, *outside),
    }
    attacks = {name: Attacked(score[secret], score[~secret]) for name, score in said.items()}
    return Leak(right / len(pool.coins), attacks)


def _logit(confidence: Floats) -> Floats:
    """How sure a model is of the label that was noted, on a scale on which it is about normal."""
    held = np.clip(confidence, NEVER, 1 - NEVER)
    return np.asarray(np.log(held / (1 - held)))


def _fitted(scores: Floats, chosen: Flags) -> tuple[Floats, Floats]:
    """For each row, mean and variance over the chosen models; variances lean towards those of other rows."""
    many = chosen.sum(axis=0)
    mean = (scores * chosen).sum(axis=0) / np.maximum(many, 1)
    squares = ((scores - mean) ** 2 * chosen).sum(axis=0)
    usual = squares.sum() / many.sum()
    return mean, (squares + SHARED * usual) / (many + SHARED) + NEVER


def _log_normal(scores: Floats, mean: Floats, variance: Floats) -> Floats:
    return np.asarray(-((scores - mean) ** 2) / (2 * variance) - np.log(variance) / 2)


def forest(rows: Floats, labels: Integers) -> Any:
    """Trees that are grown until they know every row by heart."""
    from discreet.lab.others import ExtraTreesClassifier

    return ExtraTreesClassifier(TREES, random_state=1).fit(rows, labels)


def plain(rows: Floats, labels: Integers) -> Any:
    """Logistic regression as everybody does it."""
    from discreet.lab.others import LogisticRegression

    return LogisticRegression(C=1e6, max_iter=500).fit(rows, labels)


def private(epsilon: float) -> Train:
    """Logistic regression of discreet."""
    from discreet.learn import LogisticRegression

    bounds = [0.0] * FEATURES, [1.0] * FEATURES
    return lambda rows, labels: LogisticRegression(bounds=bounds, classes=[0, 1], epsilon=epsilon).fit(rows, labels)


FOREST: Final = "forest, no noise"
UNSAFE: Final[Mapping[str, Train]] = {FOREST: forest, "logistic, no noise": plain}
EPSILON: Final = 1.0
RATES: Final = (0.01, 0.001)
FEWEST_ALARMS: Final = 10
"""Where a curve begins: to the left of that it is chance."""
CANARIES: Final = 4_000


@dataclass(frozen=True, slots=True)
class Canaries:
    """Guesses about rows that were made to be found, each with a value that nobody else has."""

    right: int
    wrong: int

    @property
    def share(self) -> float:
        return self.right / (self.right + self.wrong)

    def epsilon(self, alpha: float = ALPHA) -> float:
        """What one training proves about its ε, wrong with probability α."""
        return proves(self.right, self.wrong, alpha)


def canaries(seed: int, epsilon: float | None, *, size: int = CANARIES) -> Canaries:
    """Train naïve Bayes once, with noise or without, and call those canaries members whose value it says it has seen.

    About the others nothing is guessed: noise below zero is cut off, so that many of them look alike.
    """
    there = uniform(f"discreet.lab.membership canaries {seed}", size) < 0.5
    rows, labels = np.flatnonzero(there)[:, None], np.zeros(int(there.sum()), dtype=np.int64)
    if epsilon is None:
        counts = np.bincount(rows[:, 0], minlength=size).astype(np.float64)
    else:
        from discreet.learn import CategoricalNB

        model = CategoricalNB(classes=[0], categories=[size], epsilon=epsilon).fit(rows, labels)
        counts = model.category_count_[0][0]
    return Canaries(int(there[counts > 0].sum()), int((~there[counts > 0]).sum()))


def run(seed: int = SEED) -> Outcome:
    """Attack a forest, a logistic regression and a private one, all trained on the same invented people."""
    pool = people(seed, size=PEOPLE, shadows=SHADOWS, targets=TARGETS)
    ours = f"logistic, ε = {EPSILON:g}"
    leaks = {name: attack(train, pool) for name, train in {**UNSAFE, ours: private(EPSILON)}.items()}
    forest_, ours_ = (leaks[name].attacks[RATIO] for name in (FOREST, ours))
    exposed, hidden = canaries(seed, None), canaries(seed, EPSILON)
    return Outcome(
        Figures(
            (
                Figure(percent(forest_.caught(0.01)), "of members found in a forest, at 1 % false alarms"),
                Figure(percent(ours_.caught(0.01), 2), f"found in ours; at most {percent(most_with(0.01, EPSILON))}"),
                Figure(proven_words(exposed.epsilon()), f"proven by {count(CANARIES)} canaries without noise"),
                Figure(proven_words(hidden.epsilon()), f"proven by canaries in ours, which promises {EPSILON:g}"),
            )
        ),
        (_table(leaks), _canary_table(exposed, hidden)),
        (
            Picture(
                lambda: _chart({FOREST: forest_, ours: ours_}),
                "Members found against false alarms, both axes logarithmic. For the forest the curve lies near the "
                f"top: {percent(forest_.caught(0.01))} at 1 %. For ours it runs along the diagonal of guessing, below "
                f"the line e^ε times false alarms that no attack can cross.",
            ),
        ),
        _sentences(leaks, ours),
        f"Whoever attacks, with whatever else they know: of those who were in the data an attack finds at most e^ε "
        f"times the share that it wrongly suspects. With ε = {EPSILON:g}, {percent(most_with(0.01, EPSILON))} at 1 % "
        f"false alarms and {percent(most_with(0.001, EPSILON))} at 0.1 %; a guess with fair odds before is right "
        f"with at most {percent(1 / (1 + math.exp(-EPSILON)))}.",
    )


def _sentences(leaks: Mapping[str, Leak], ours: str) -> tuple[str, str, str]:
    caught, missed = (percent(leaks[name].attacks[RATIO].caught(0.01), 2) for name in (FOREST, ours))
    forest_, ours_ = (percent(leaks[name].accuracy) for name in (FOREST, ours))
    first = (
        f"A forest that knows its rows by heart tells who they were: the likelihood ratio finds {caught} of them with "
        "1 % false alarms, where guessing finds 1 %."
    )
    second = (
        f"The private model is right about {ours_} of new people, the forest about {forest_}; the same attack finds "
        f"{missed} of its members."
    )
    third = (
        "A plain logistic regression hardly leaks here, but nothing promises that: with rows made to be found, "
        "a naïve Bayes without noise gives away every single one."
    )
    return first, second, third


def _table(leaks: Mapping[str, Leak]) -> Table:
    rows = [
        (
            f"{name}: {kind}",
            digits(done.area),
            *(percent(done.caught(rate), 2) for rate in RATES),
            proven_words(done.epsilon()),
        )
        for name, leak in leaks.items()
        for kind, done in leak.attacks.items()
    ]
    limits = (percent(most_with(rate, EPSILON)) for rate in RATES)
    rows.append((f"no attack on ε = {EPSILON:g} can do better than", "", *limits, ""))
    columns = ("model and attack", "area under the curve", "found at 1 % false alarms", "at 0.1 %", PROVES)
    caption = f"{count(TARGETS)} models of each kind, each trained on half of {count(PEOPLE)} people"
    return Table(caption, columns, tuple(rows), frozenset({2, len(rows) - 1}))


def _canary_table(exposed: Canaries, hidden: Canaries) -> Table:
    rows = tuple(
        (name, count(done.right + done.wrong), percent(done.share), proven_words(done.epsilon()))
        for name, done in (("no noise", exposed), (f"ε = {EPSILON:g}", hidden))
    )
    caption = f"One naïve Bayes and {count(CANARIES)} canaries, each in it or not by a coin"
    return Table(caption, ("training", "called members", "right", PROVES), rows)


def _chart(curves: Mapping[str, Attacked]) -> Any:
    alt = altair()
    colours = dict(zip(curves, (OPEN, PRIVATE), strict=True))
    rates = np.geomspace(FEWEST_ALARMS / min(done.others.size for done in curves.values()), 1, 60, endpoint=False)
    records = [
        {"alarms": float(rate), "caught": max(done.caught(float(rate)), float(rates[0])), "kind": name}
        for name, done in curves.items()
        for rate in rates
    ]
    scale, axis = alt.Scale(type="log", nice=False), alt.Axis(format="~%", values=[0.001, 0.01, 0.1, 1])
    x = alt.X("alarms:Q", title="false alarms", scale=scale, axis=axis)
    y = alt.Y("caught:Q", title="members found", scale=scale, axis=axis)
    lines = chart_of(records).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=palette("kind", colours))
    limit = [{"alarms": float(rate), "caught": most_with(float(rate), EPSILON)} for rate in rates]
    chance = [{"alarms": float(rate), "caught": float(rate)} for rate in rates]
    drawn = alt.layer(
        chart_of(limit).mark_line(color=INK, strokeDash=[4, 3]).encode(x=x, y=y),
        chart_of(chance).mark_line(color=NEUTRAL, strokeDash=[1, 3]).encode(x=x, y=y),
        lines,
    )
    return finished(
        drawn.properties(width=WIDTH - 40, height=240),
        "Who was in the training data?",
        f"dashed: no attack on ε = {EPSILON:g} can be above; dotted: guessing",
    )
