"""Privacy-adaptive training: `discreet.stream.train(curator, estimator, sql, target=…, goal=…, epsilon=…, cap=…)`.

Theorem  A model whose expected metric is the goal or worse is returned as accepted with probability at most η, over the
         whole run, if units are independent draws. Proof: the corollary of `validation`; attempt k is tested at η/2ᵏ on
         units that its fit did not read.
Reject   With `reject`, a run ends as rejected with probability at most η if some function of the columns reaches the
         goal: the k-th test of that at η/2ᵏ, on the rows of the fit (`Pair.is_above`, `least_mistakes`).
Cost     What each attempt costs, and what no block exceeds, is known before anything is charged: `schedule`, `plan`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from sklearn.base import clone

from discreet.accounting.record import BlockNames
from discreet.errors import Refused
from discreet.exact import probability
from discreet.learn.codec import parameters_of
from discreet.learn.core import Estimator, name_of
from discreet.markup import Head, Side, around, line, note, table, words
from discreet.printing import counted
from discreet.stream.adaptive import Pursuit, Tested
from discreet.stream.attempts import Attempted, FitAndTest
from discreet.stream.goals import Goal
from discreet.stream.runs import Run
from discreet.stream.schedule import Attempt
from discreet.stream.validation import Decision, miss_of

FIX: Final = "see the guide's page on models on streams"
CHARGE: Final = "attempt"


def train(curator: Any, estimator: Any, sql: Any, **options: Any) -> Run:
    """Fit and test an estimator on the newest blocks of a stream, at more and more cost, until a test accepts it.

    Options are those of `plan`, which shows what it may cost without charging anything.
    """
    return plan(curator, estimator, sql, **options).run()


def plan(
    curator: Any,
    estimator: Any,
    sql: Any,
    *,
    target: str,
    goal: Any,
    metric: str | None = None,
    eta: Any = 0.05,
    epsilon: Any = None,
    rho: Any = None,
    cap: Any = None,
    blocks: int = 1,
    most_blocks: int | None = None,
    stream: str | None = None,
    holdout: str = "validation",
    max_rows: int | None = None,
    y_bounds: Any = None,
    reject: bool = False,
    analyst: str | None = None,
    key: str | None = None,
) -> Plan:
    """What training would cost, attempt by attempt. Free: nothing is read or charged before `run()`.

    `goal` is what `metric` must reach: at least, for accuracy; at most, for errors. `epsilon` (or `rho`) is what the
    first attempt costs a block, `cap` what any attempt may; `blocks` is how many the first attempt reads, `most_blocks`
    how many any may (else as many as there are). A quarter of the units, chosen by the name `holdout`, is for tests.
    With `reject`, a goal of accuracy that no function of the columns reaches ends the run: a quarter of the fit's cost.
    With a `key`, running it again goes on where it ended, and is charged for nothing twice.
    """
    arguments: dict[str, Any] = {
        "sql": str(sql),
        "target": target,
        "goal": str(goal),
        "metric": metric,
        "eta": str(eta),
    }
    arguments |= {"holdout": holdout, "max_rows": max_rows, "y_bounds": str(y_bounds), "estimator": _named(estimator)}
    arguments |= {"reject": _flag(reject)}
    pursuit = Pursuit.read(
        curator, stream, epsilon=epsilon, rho=rho, cap=cap, blocks=blocks, most_blocks=most_blocks, analyst=analyst,
        key=key, arguments=arguments,
    )  # fmt: skip
    task = FitAndTest(
        estimator, sql, target, metric, y_bounds, holdout, max_rows=max_rows, analyst=analyst, reject=reject
    )
    prepared: Any = curator._prepared(pursuit.first(task))
    try:
        chance = probability(eta, "eta")
        wanted = Goal.read(prepared.metric, goal, prepared.facts)
    except (TypeError, ValueError) as wrong:
        raise Refused("stream-invalid", str(wrong), FIX) from None
    return Plan(pursuit, task, wanted, chance, prepared.context.notes[:1])


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """All attempts that there can be with the blocks that there are, and what they cost at most."""

    pursuit: Pursuit
    task: FitAndTest
    goal: Goal
    eta: Fraction
    protected: tuple[str, ...]
    """In words."""

    def run(self) -> Run:
        """Charge the first attempt, and others as long as tests say RETRY."""
        return self.pursuit.run(self._act, CHARGE, str(self.goal), float(self.goal.value))

    def _act(self, attempt: Attempt, blocks: BlockNames) -> Tested:
        task = replace(
            self.task,
            estimator=clone(self.task.estimator),
            blocks=blocks,
            key=self.pursuit.name_of(attempt, CHARGE),
            **self.pursuit.cost(attempt),
        )
        tried: Attempted = self.pursuit.curator.perform(task)
        pair = self.goal.pair(tried.measured, tried.rows)
        miss = miss_of(self.eta, attempt.number)
        verdict = self.goal.verdict(pair, miss)
        decision = verdict.decision
        if tried.least is not None and decision is Decision.RETRY:
            hopeless = self.goal.pair(tried.least, tried.rows).is_above(self.goal.share, miss)
            decision = Decision.REJECT if hopeless else decision
        result = tried.model if decision is Decision.ACCEPT else None
        return Tested(decision, verdict.value, verdict.miss, result, tried.cached)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Those that there are blocks for."""
        schedule = self.pursuit.schedule
        return schedule.attempts[: schedule.within(self.pursuit.live)]

    @property
    def line_bound(self) -> Fraction:
        """What no block is charged in all of them together."""
        return self.pursuit.schedule.line_bound(len(self.attempts)) if self.attempts else Fraction(0)

    def __str__(self) -> str:
        rows = [COLUMNS, *self._rows]
        wide = [max(len(row[index]) for row in rows) for index in range(len(COLUMNS))]
        lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)).rstrip() for row in rows]
        return "\n".join([self._title, *lines, *self._notes])

    def _repr_html_(self) -> str:
        heads = [Head(words(name), Side.WORDS) for name in COLUMNS]
        rows = [tuple(words(cell) for cell in row) for row in self._rows]
        return around(line(words(self._title, "strong")), table(heads, rows), *map(note, self._notes))

    @property
    def _title(self) -> str:
        estimator = type(self.task.estimator).__name__
        return f"{estimator} with {self.goal}, wrong with probability {float(self.eta):g} at most"

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        schedule, currency = self.pursuit.schedule, self.pursuit.currency
        return [
            (
                f"{attempt.number}",
                f"{currency} {float(attempt.amount):.4g}",
                f"{attempt.blocks:,}",
                f"{currency} {float(schedule.line(attempt.number)):.4g}",
                f"{float(miss_of(self.eta, attempt.number)):.2g}",
            )
            for attempt in self.attempts
        ]

    @property
    def _notes(self) -> tuple[str, ...]:
        bound = f"{self.pursuit.currency} {float(self.line_bound):.4g}"
        return (
            *self.protected,
            f"no block is charged more than {bound} in all; attempts together cost less than three times the last one",
            f"the stream has {counted(self.pursuit.live, 'block')}; nothing is charged before run()",
        )


COLUMNS: Final = ("attempt", "cost of a block", "blocks", "a block of all attempts", "may miss")


def _flag(reject: object) -> bool:
    if not isinstance(reject, bool):
        raise Refused("stream-invalid", "reject is True or False", "leave it out, or write reject=True")
    return reject


def _named(estimator: object) -> list[Any]:
    """What tells estimators apart."""
    if not isinstance(estimator, Estimator):
        reason = "only estimators of discreet.learn learn from private rows"
        raise Refused("not-private", reason, "pass one of them, such as LogisticRegression()")
    try:
        return [name_of(type(estimator)), parameters_of(estimator)]
    except ValueError as wrong:
        raise Refused("fit-invalid", str(wrong), "give the estimator numbers, texts, lists and arrays") from None
