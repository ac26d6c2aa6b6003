"""An attempt as one task, for one charge: a model is fitted on most of the units, and tested on the others.

Theorem  An attempt costs a unit, with all of its rows, what the caller says: the fit and the test may both cost that.
Proof    A unit is on one side alone, by a keyed hash of its id (`curator.holdout`), or where every row is a unit of its
         own by a coin of its own. Adding a unit that is held out does not change the fit, and the test costs it no more
         than the whole (`ScoreTask`); adding one of the rest changes the fit, which costs it no more than the whole
         (`Fit`), and given what that released, the test reads the same rows. So of both losses the larger counts:
         parallel composition (`Exit.parallel`), where the second may depend on what the first released.
Reject   Whether *any* function of the columns reaches the goal is asked of the fit's rows, for a quarter of its cost:
         by the least number of mistakes on them (`least_mistakes`; `Pair.is_above` is what that proves).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.record import Key
from discreet.answers import Preview
from discreet.answers.values import UNREADABLE
from discreet.composed import Sql, literal, sql
from discreet.curator.holdout import HELD_OUT, REST, Holdout
from discreet.curator.rows import PreparedTask, bounded_rows, columns_of
from discreet.curator.task import Context
from discreet.errors import Refused
from discreet.exit import Exit, Outcome, Reader
from discreet.exit.cost import Loss
from discreet.learn.box import Box
from discreet.learn.codec import decode
from discreet.learn.core import Estimator, is_ours
from discreet.learn.fit import Fit, PreparedFit, as_they_are, interval_of
from discreet.learn.labels import Array, Labels
from discreet.learn.reading import arrays_of
from discreet.learn.readings import Measured
from discreet.learn.score import PreparedScore
from discreet.learn.scoring import demand_affordable, metric_for
from discreet.learn.statements import OF_CLASSES, STATEMENTS, Facts
from discreet.ledger import LedgerDamaged
from discreet.ledger.entries import CHANGED
from discreet.sql.nodes import Node

TASK: Final = "attempt"
TASK_VERSION: Final = 1
"""Of what a fingerprint covers."""
COIN: Final = 2**32
LEAST_SHARE: Final = Fraction(1, 4)
"""Of the fit's cost, for the least number of mistakes."""
Value = tuple[Estimator, Measured, Measured | None]


@dataclass(frozen=True, slots=True, eq=False)
class Attempted:
    """A fitted model, and the noisy sums of its losses on units that it was not fitted on."""

    model: Estimator
    measured: Measured
    least: Measured | None
    """The least number of mistakes that any function makes on the rows of the fit."""
    rows: int
    """Of a unit, at most."""
    cached: bool


@dataclass(frozen=True, slots=True, eq=False)
class FitAndTest:
    """Fitting an estimator and testing it on other units, as a task."""

    estimator: Estimator
    sql: Any
    target: Any
    metric: str | None = None
    y_bounds: Any = None
    holdout: str = "validation"
    epsilon: Any = None
    rho: Any = None
    max_rows: int | None = None
    analyst: str | None = None
    key: Key | None = None
    blocks: Any = None
    reject: bool = False

    def prepared(self, context: Context) -> PreparedAttempt:
        """The attempt with its bill, or a refusal."""
        if not is_ours(self.estimator):
            reason = "only estimators of discreet.learn as they are can be tested on private rows"
            raise Refused("not-private", reason, "use one of them, not a class derived from one")
        node = bounded_rows(context.policy, self.sql, self.max_rows, public=context.public())
        fit = Fit(
            self.estimator, self.sql, epsilon=self.epsilon, rho=self.rho, target=self.target, max_rows=self.max_rows,
            analyst=self.analyst, key=self.key, blocks=self.blocks,
        ).prepared(context)  # fmt: skip
        if fit.bill.loss.is_zero:
            raise Refused("fit-invalid", "this estimator learns nothing from rows", "use one that does")
        metric, facts = self._asked(fit)
        demand_affordable(fit.bill.cost, [metric])
        if self.reject:
            if metric != "accuracy":
                raise Refused("stream-invalid", "only goals of accuracy can be rejected", "leave reject out")
            demand_affordable(fit.bill.cost.part(LEAST_SHARE), [metric])
        query, rest, by, divided = fit.query, None, None, node.owner.column is None
        if not divided:
            rest, held = (Holdout.read(self.holdout, side, node) for side in (REST, HELD_OUT))
            by = _who(context, node)
            fit = replace(fit, query=columns_of(node, fit.columns.read, with_unit=fit.by_unit, holdout=rest, by=by))
            query = columns_of(node, fit.columns.read, holdout=held, by=by)
        rest_query = columns_of(node, fit.columns.read, holdout=rest, by=by)
        said = [TASK_VERSION, fit.bill.plan, metric, _bounds(facts), fit.query.text, query.text, self.reject]
        bill = replace(
            fit.bill,
            why=f"{type(fit.model).__name__}.fit and its {metric}: {self.sql}",
            plan=f"{TASK}:{hashlib.sha256(json.dumps(said).encode()).hexdigest()}",
            call={**(fit.bill.call or {}), "metric": metric},
            part=None,
        )
        return PreparedAttempt(context, bill, fit, query, metric, facts, divided, rest_query if self.reject else None)

    def _asked(self, fit: PreparedFit) -> tuple[str, Facts]:
        """The metric, and what is public about what is predicted."""
        if fit.columns.target is None:
            raise Refused("score-invalid", "an estimator that predicts nothing has no goal", "use one that predicts")
        try:
            metric = metric_for(fit.model, self.metric)
            if metric in OF_CLASSES:
                return metric, Facts(None, None)
            own = getattr(fit.model._taught, "y_bounds", None) if self.y_bounds is None else self.y_bounds
            return metric, Facts(None, Box.read(interval_of(fit.columns.target) if own is None else own, 1, "y_bounds"))
        except (TypeError, ValueError) as wrong:
            raise Refused("score-invalid", str(wrong), "change the metric, or y_bounds") from None


@dataclass(frozen=True, slots=True, eq=False)
class PreparedAttempt(PreparedTask):
    """An attempt with its bill: nothing was read for it."""

    fit: PreparedFit
    query: Sql
    """Of the rows that are held out; of all rows where coins divide them."""
    metric: str
    facts: Facts
    divided: bool
    least: Sql | None
    """Of the rows of the fit, where the least number of mistakes on them is asked for."""

    def check(self) -> None:
        self.fit.check()
        for query in (self.query, self.least):
            if query is not None:
                self._demand_runnable(query, self.fit.schemas)

    def run(self, rows: Reader, exit_: Exit) -> bytes:
        beside = exit_.parallel()
        fitted, held = (rows, rows) if not self.divided else _by_coins(rows, self.query, exit_)
        least, whole = None, exit_
        if self.least is not None:
            least, whole = exit_.part(LEAST_SHARE), exit_.part(1 - LEAST_SHARE)
        stored = self.fit.run(fitted, whole)
        score = self._score(stored)
        parts = {"score": score.run(held, beside)}
        if self.least is not None and least is not None:
            read = fitted.columns(self.least)
            exact, truth = arrays_of(
                read, self.fit.columns, as_they_are=as_they_are(score.model), missing=score.model.missing
            )
            parts["least"] = score.stored(least_mistakes(exact, truth, score.facts, least))
        return _written(stored, parts)

    def _score(self, stored: bytes) -> PreparedScore:
        """The test of a model that was released."""
        model = decode(stored)
        assert model is not None
        model.__dict__.pop("feature_names_in_", None)  # what it is shown are arrays in the order of its features
        classes = None if self.facts.target is not None else Labels.read(model.classes_, "classes")
        facts = replace(self.facts, classes=classes)
        return PreparedScore(
            self.context, self.bill, model, self.fit.columns, self.query, self.fit.schemas, [self.metric], facts,
            Fraction(19, 20), single=True, holdout=None,
        )  # fmt: skip

    def decode(self, stored: bytes) -> Value | None:
        fitted, parts = _parts(stored)
        model = decode(fitted)
        if model is None or (self.least is not None) is not ("least" in parts):
            return None
        score = self._score(fitted)
        measured, least = (score.decode(parts[name]) if name in parts else None for name in ("score", "least"))
        return None if measured is None else (model, measured, least)

    def is_met(self, value: Value, cost: Loss) -> bool:
        """Whether a cached attempt is of this estimator, and cost enough."""
        return type(value[0]) is type(self.fit.model) and cost.covers(self.bill.loss)

    def show(self, outcome: Outcome[Value]) -> Attempted:
        fitted, measured, least = outcome.value
        model = self.fit.show(Outcome(fitted, outcome.loss, outcome.cost, outcome.receipt))
        return Attempted(model, measured, least, self.bill.rows, outcome.cached)

    def preview(self, *, cached: bool) -> Preview:
        shown = self.fit.preview(cached=cached)
        return replace(shown, notes=(*shown.notes, f"its {self.metric} on units that are held out costs no more"))


def least_mistakes(exact: Array, truth: Array | None, facts: Facts, exit_: Exit) -> Measured:
    """How many rows the best function of the features is right about, of all functions that there are; and the others.

    It predicts for each row of features the class that most rows with the same features have. What is none of the
    classes is a mistake.

    Theorem  A row moves the pair by 1 in L1. Proof: adding one raises the count of one class in one cell of features;
             the sum of the largest counts rises by 1 or stays, and the number of rows rises by 1. So one of the two
             numbers rises by 1, and the other stays. Cells of other rows do not depend on it.
    """
    assert truth is not None
    assert facts.classes is not None
    cells = Counter(zip(map(tuple, exact.tolist()), facts.classes.places(truth).tolist(), strict=True))
    best: dict[tuple[Any, ...], int] = {}
    for (features, label), count in cells.items():
        best[features] = max(best.get(features, 0), count if label >= 0 else 0)
    right = sum(best.values())
    statement = STATEMENTS["right"]
    steps = exit_.cost.fineness(statement.moved)
    pair = np.array([right, len(exact) - right], dtype=np.int64) * steps
    noisy = exit_.release(pair, statement.sensitivity(steps)).tolist()
    return Measured(exit_.cost, {"right": noisy}, facts)


@dataclass(frozen=True, slots=True, eq=False)
class _Some:
    """Some of the rows of one query, which were read."""

    read: list[NDArray[Any]]
    which: NDArray[np.bool_]

    def rows(self, query: Sql) -> list[tuple[Any, ...]]:  # noqa: ARG002
        raise AssertionError("rows are read as columns")

    def columns(self, query: Sql) -> list[NDArray[Any]]:  # noqa: ARG002  (the one that was read)
        return [values[self.which] for values in self.read]


def _by_coins(rows: Reader, query: Sql, exit_: Exit) -> tuple[_Some, _Some]:
    """Rows to fit on and rows to test on: a coin for each row, with which no other has to do."""
    read = rows.columns(query)
    held = np.asarray(exit_.below(COIN, len(read[0])) < COIN // 4)
    return _Some(read, ~held), _Some(read, held)


def _who(context: Context, node: Node) -> Sql | None:
    """By what units are divided: themselves, but for pairs of a unit and a block, which are divided by the unit.

    So nobody is on both sides, on other days either; and each pair is on one side alone.
    """
    stream = None if context.chosen is None else context.chosen.table.stream
    column = node.owner.column
    if stream is None or stream.keeps_units or column is None:
        return column
    return sql("substr({}, strpos({}, {}) + 1)", column, column, literal(":"))


def _bounds(facts: Facts) -> list[float] | None:
    return None if facts.target is None else [float(facts.target.low[0]), float(facts.target.high[0])]


# on record: a model as fits store it, which is what it is recalled as, with the sums of its losses beside it


def _written(model: bytes, parts: Mapping[str, bytes]) -> bytes:
    document = {**json.loads(model), **{name: json.loads(part) for name, part in parts.items()}}
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def _parts(stored: bytes) -> tuple[bytes, dict[str, bytes]]:
    """The model and its sums as they were stored."""
    try:
        document = dict(json.loads(stored))
        parts = {name: document.pop(name, None) for name in ("score", "least") if name != "least" or name in document}
        return json.dumps(document).encode("ascii"), {
            name: json.dumps(part).encode("ascii") for name, part in parts.items()
        }
    except UNREADABLE:
        raise LedgerDamaged("a cached attempt cannot be read", CHANGED) from None
