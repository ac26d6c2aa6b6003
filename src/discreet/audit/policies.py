"""A policy audited by itself: its questions, replayed on neighbours that are made from it alone.

No source, no state and no ledger of the policy is opened, so what is found may be shown to whoever may see it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from discreet.audit.questions import Question, fits, questions, releases, scores
from discreet.audit.replay import Replay, Report, every_key
from discreet.audit.worlds import Pair, replacements, searched, small
from discreet.policy import Budget, Policy

QUESTIONS: Final = 50
SMALL_EACH: Final = 2
"""Small worlds that each question meets, unless it meets all; the next question meets the next ones."""
FIT_PAIRS: Final = 2
"""Pairs that each fit meets, unless it meets all: so they take seconds."""
QUERIES_PER_FIT: Final = 10
"""There is one fit for so many queries, unless all are wanted."""
COST: Final = Fraction(1)

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one question: its most telling replay, and the pair that it was on."""

    question: Question
    report: Report
    what: str
    """What is special about the unit that makes the difference."""
    pairs: int

    @property
    def state(self) -> str:
        if not self.report.same:
            return "difference"
        return "the same" if self.report.refusal is None else "refused"


@dataclass(frozen=True, slots=True)
class Audit:
    """All questions of one policy."""

    policy: str
    unit: str
    budget: Budget
    epsilon: Fraction
    """The cost of each question."""
    results: tuple[Result, ...]
    pairs: int

    def of(self, state: str) -> list[Result]:
        """The results that are `the same`, `refused` or a `difference`."""
        return [result for result in self.results if result.state == state]

    @property
    def comparisons(self) -> int:
        return sum(result.pairs for result in self.results)

    @property
    def share(self) -> Fraction:
        """The largest part of a declared sensitivity that one unit used; above 1 it is a difference."""
        return max((result.report.l1 for result in self.results), default=Fraction(0))

    @property
    def passed(self) -> bool:
        return not self.of("difference")


def audit_policy(
    policy: Policy,
    *,
    most: int | None = QUESTIONS,
    every_pair: bool = False,
    fit_pairs: int | None = FIT_PAIRS,
    progress: Progress | None = None,
) -> Audit:
    """Replay at most so many queries, and a few fits and releases, on the pairs of neighbours that concern them.

    Each query meets all searched pairs, some where a unit is replaced, and a few of the small ones in turn; with
    `every_pair` all of those too. Fits and releases take longer: there is one of each for ten queries, and each meets
    at most `fit_pairs` of them in turn. With None all of them meet all.
    """
    queries = questions(policy, most)
    tasks = [*queries, *_tasks(policy, None if fit_pairs is None else len(queries))]
    tell = progress or (lambda *_: None)
    tell("audit", 0.0)
    likely, tiny, other = list(searched(policy)), list(small(policy)), list(replacements(policy))
    cost = min(COST, policy.max_cost or COST)
    results = []
    with Replay(policy, selects=every_key) as auditor:
        for index, question in enumerate(tasks):
            each = len(tiny) if every_pair else SMALL_EACH
            concerned = _concerned(likely, question) + _in_turn(_concerned(tiny, question), index * each, each)
            replaced = _concerned(other, question)
            if question.task is not None and fit_pairs is not None:
                concerned, replaced = _in_turn(concerned, index * fit_pairs, fit_pairs), []
            results.append(_examined(auditor, question, concerned, replaced, cost))
            tell("audit", (index + 1) / len(tasks))
    return Audit(policy.name, policy.unit, policy.budget, cost, tuple(results), len(likely) + len(other) + len(tiny))


def _tasks(policy: Policy, queries: int | None) -> list[Question]:
    """As many fits, as many scores and as many releases as go with so many queries; with None, all."""
    count = None if queries is None else queries // QUERIES_PER_FIT
    return [] if count == 0 else [*fits(policy)[:count], *scores(policy)[:count], *releases(policy)[:count]]


def _concerned(pairs: Sequence[Pair], question: Question) -> list[Pair]:
    """Those that differ in a table which the question reads."""
    return [pair for pair in pairs if pair.tables & question.tables]


def _in_turn(pairs: Sequence[Pair], first: int, count: int) -> list[Pair]:
    """So many of them from a place on, round and round.

    >>> _in_turn("abc", 2, 2), _in_turn("abc", 0, 9), _in_turn("", 5, 2)
    (['c', 'a'], ['a', 'b', 'c'], [])
    """
    return [pairs[(first + step) % len(pairs)] for step in range(min(count, len(pairs)))]


def _examined(
    auditor: Replay, question: Question, pairs: Sequence[Pair], replaced: Sequence[Pair], epsilon: Fraction
) -> Result:
    """The first difference, or the pair that uses most of the sensitivity."""
    best: Result | None = None
    met = [*((pair, 1) for pair in pairs), *((pair, 2) for pair in replaced)]
    for count, (pair, units) in enumerate(met, start=1):
        if question.task is None:
            report = auditor.compare(question.text, pair.data, pair.neighbour, units=units, epsilon=epsilon)
        else:
            compared = auditor.compare(question.task(epsilon), pair.data, pair.neighbour, units=units)
            report = replace(compared, question=question.text)
        if best is None or not report.same or report.l1 > best.report.l1:
            best = Result(question, report, pair.what, len(met))
        if not report.same:
            return Result(question, report, pair.what, count)
    return best or Result(question, Report(question.text, None, 0), "there is no such unit", 0)
