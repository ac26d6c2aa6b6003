"""The course: all lessons by week, in the order in which they are read, with what to read and what to try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from discreet.lab.experiment import Experiment
from discreet.lab.experiments import EXPERIMENTS
from discreet.server.learn import (
    averaging,
    bayes,
    bias,
    blue_eyes,
    coins,
    complaints,
    composition,
    definition,
    federated,
    genes,
    hiv,
    households,
    kmeans,
    linkage,
    losses,
    nationality,
    pinq,
    rebecca,
    sage,
    search_log,
    sensitivity,
    small_database,
    zipcode,
)
from discreet.server.learn.lesson import Lesson


@dataclass(frozen=True, slots=True)
class Reading:
    """What to read in which lecture."""

    lecture: str
    part: str


@dataclass(frozen=True, slots=True)
class Week:
    """A week of the course."""

    title: str
    about: str
    readings: tuple[Reading, ...]
    lessons: tuple[Lesson, ...]
    exercise: str
    """The name of a notebook among the examples."""
    tasks: tuple[str, ...]
    """What its exercises ask for."""

    @property
    def notebook(self) -> str:
        return f"examples/{self.exercise}.ipynb"


WEEKS: Final = (
    Week(
        "Why anonymous data is not",
        "Names deleted, columns coarsened, and people found all the same.",
        (
            Reading("000", "Famous example: Governor Weld's privacy breach"),
            Reading("003", "Why is anonymization hard?"),
            Reading("001", "Recap: attacks on anonymisation"),
        ),
        (linkage.LESSON, rebecca.LESSON),
        "week-1-anonymous",
        ("Find the governor in the city.", "Coarsen until nobody stands alone, and see what is left to learn."),
    ),
    Week(
        "The definition",
        "Almost the same answer with you and without you, whatever else anybody knows.",
        (
            Reading("002", "Preliminaries, and randomized response"),
            Reading("001", "Differential privacy definition"),
            Reading("003", "An intuition pump: randomized response"),
        ),
        (definition.LESSON, coins.LESSON),
        "week-2-definition",
        ("Find the count at which rounding gives somebody away.", "Flip coins a thousand times and subtract them."),
    ),
    Week(
        "Noise that fits",
        "How far one person can move an answer, and the noise that hides exactly that.",
        (
            Reading("000", "Our first DP mechanism, and mean estimation"),
            Reading("002", "Laplace mechanism"),
            Reading("003", "Laplace mechanism: blue eyes"),
            Reading("004", "Example: counting queries"),
        ),
        (sensitivity.LESSON, blue_eyes.LESSON, complaints.LESSON, hiv.LESSON, zipcode.LESSON),
        "week-3-noise",
        ("Find the sensitivity of queries of your own by trying.", "Check the lecture's error bounds on the noise."),
    ),
    Week(
        "Choosing instead of counting",
        "Where noise on the answer makes no sense, the answer itself is drawn.",
        (Reading("001", "Exponential mechanism"), Reading("003", "Exponential mechanism: a coin's bias")),
        (nationality.LESSON, bias.LESSON),
        "week-4-choosing",
        ("Compute how likely each answer is, with everybody and without one.", "Choose a bias, and count it instead."),
    ),
    Week(
        "Many questions, one budget",
        "Losses add up, and somebody has to keep the books.",
        (
            Reading("002", "Properties of DP algorithms"),
            Reading("001", "Composition theorems; PINQ"),
            Reading("003", "Composition rules"),
            Reading("004", "Approximate DP"),
        ),
        (composition.LESSON, averaging.LESSON, pinq.LESSON, losses.LESSON),
        "week-5-budget",
        ("Average the noise away, then let a ledger stop you.", "Spend one budget in two ways, and compare."),
    ),
    Week(
        "Models",
        "Learning from people without learning about them.",
        (
            Reading("001", "Case study: k-means clustering"),
            Reading("003", "Naïve Bayes; federated learning; model inversion"),
        ),
        (kmeans.LESSON, bayes.LESSON, genes.LESSON, federated.LESSON),
        "week-6-models",
        ("Beat the lecture's k-means at the same ε.", "Find how many features a budget is worth."),
    ),
    Week(
        "Publishing once, for ever",
        "One release that answers everything, a census that adds up, and a log that should not have been published.",
        (
            Reading("003", "Small database mechanism; the 2020 US Census"),
            Reading("001", "An example of non-interactive DP"),
            Reading("000", "Demo: ZIP code 82414"),
        ),
        (small_database.LESSON, households.LESSON, search_log.LESSON),
        "week-7-publishing",
        ("Make a census add up, and see what that improves.", "Find the δ that the slide's search log needs."),
    ),
    Week(
        "Data that grows",
        "New people bring new budget: systems that train for ever.",
        (Reading("004", "Today: Sage"),),
        (sage.LESSON,),
        "week-8-growing",
        ("Plan a month of models within the budgets of blocks.", "Let bad models pass by a careless test."),
    ),
)
LESSONS: Final[Mapping[str, Lesson]] = {lesson.slug: lesson for week in WEEKS for lesson in week.lessons}


def after(slug: str) -> Lesson:
    """The next lesson; after the last one the first."""
    slugs = list(LESSONS)
    return LESSONS[slugs[(slugs.index(slug) + 1) % len(slugs)]]


def week_of(slug: str) -> int:
    """The number of the week in which a lesson is read."""
    return next(number for number, week in enumerate(WEEKS, start=1) if slug in {each.slug for each in week.lessons})


def of_lecture(number: str) -> tuple[Lesson, ...]:
    """The lessons that follow a lecture."""
    return tuple(lesson for lesson in LESSONS.values() if number in lesson.lectures)


def experiments_of(number: str) -> tuple[Experiment, ...]:
    """The experiments of the lab that do."""
    return tuple(experiment for experiment in EXPERIMENTS.values() if number in experiment.lectures)
