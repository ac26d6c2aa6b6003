"""Scoring a model on the tables of a curator, as a task: rows are bounded for each unit, and the ledger is charged
first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np

from discreet.accounting.record import Entry, Key
from discreet.answers import Preview, documents
from discreet.answers.call import Call, written
from discreet.answers.scores import Score, Scores, scores_of
from discreet.answers.values import UNREADABLE, VALUES
from discreet.composed import Sql
from discreet.curator.holdout import HELD_OUT, Holdout
from discreet.curator.rows import PreparedTask, bounded_rows, columns_of
from discreet.curator.task import Context, demand_choice
from discreet.errors import Refused
from discreet.exact import probability
from discreet.exit import Bill, Cost, Exit, Outcome, Reader
from discreet.exit.cost import Loss, cost_missing
from discreet.learn.codec import document_of
from discreet.learn.core import Estimator, name_of
from discreet.learn.fit import as_they_are, check_columns, encoding_of, interval_of
from discreet.learn.labels import Array
from discreet.learn.reading import Columns, arrays_of
from discreet.learn.readings import Measured, facts_of
from discreet.learn.scoring import demand_affordable, facts_about, measure, metrics_for
from discreet.learn.sent import own
from discreet.learn.statements import OF_CLASSES, STATEMENTS, Facts, statements_for
from discreet.ledger import LedgerDamaged
from discreet.ledger.entries import CHANGED
from discreet.sql.nodes import Field

TASK: Final = "score"
TASK_VERSION: Final = 1
"""Of what a fingerprint covers, and of what is stored."""
BLOCK: Final = 1024
"""Rows that a model is asked about at once: where it fails on one of them, the others of a block are asked alone."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTask:
    """Scoring a model on the rows of a SELECT, as a task: see `Curator.score`."""

    model: Any
    sql: Any
    target: Any = None
    metric: Any = None
    epsilon: Any = None
    rho: Any = None
    delta: Any = None
    holdout: str | None = None
    positive: Any = None
    y_bounds: Any = None
    confidence: Any = 0.95
    max_rows: int | None = None
    analyst: str | None = None
    fresh: bool = False
    key: Key | str | None = None
    blocks: Any = None
    """Of a stream: those that are read."""
    path: ClassVar[str] = TASK

    def prepared(self, context: Context) -> PreparedScore:
        """The scores with their bill, or a refusal.

        Theorem  They cost a unit, with all of its rows, what the caller says.
        Proof    As for a fit: a unit has k rows at most, and sensitivities of statements are those of one row, which
                 gets ε/k, or ρ/k². The model is public, and what it says of a row is said of that row alone, whatever
                 it is (`_total`); with a hold-out the units are those of one part (`Holdout`).
        """
        demand_choice(self.fresh, "cached scores")
        public, policy = context.public(), context.policy
        model = own(self.model)
        node = bounded_rows(policy, self.sql, self.max_rows, public=public)
        columns = _placed(Columns.of(node.fields, self.target), model)
        model.__dict__.pop("feature_names_in_", None)  # what it is shown are arrays in the order of its features
        check_columns(model, columns, encoding_of(model, columns)[1])
        rows = node.rows or 1
        metrics, facts, sure = self._asked(model, columns)
        if self.epsilon is None and self.rho is None:
            raise cost_missing(policy, "score")
        whole = Cost.read(policy, epsilon=self.epsilon, rho=self.rho, delta=self.delta)
        cost = whole.part(Fraction(1, rows if whole.pure else rows**2))
        demand_affordable(cost, metrics)
        holdout = Holdout.read(self.holdout, HELD_OUT, node)
        query = columns_of(node, columns.read, holdout=holdout)
        bill = Bill(
            loss=cost.loss.group(rows).per(policy.unit),
            cost=cost,
            rows=rows,
            limit=cost.loss,
            why=f"{type(model).__name__}.score: {self.sql}",
            plan=_fingerprint(context.digest, model, metrics, facts, query, rows),
            **context.about,
            analyst=self.analyst,
            call=self._written(model, metrics, rows),
            key=self.key,
            fresh=self.fresh,
            part=None if holdout is None else context.part_of(holdout),
        )
        single = self.metric is None or isinstance(self.metric, str)
        return PreparedScore(
            context, bill, model, columns, query, public.schemas, metrics, facts, sure, single=single, holdout=holdout
        )

    def _asked(self, model: Estimator, columns: Columns) -> tuple[list[str], Facts, Fraction]:
        """What is asked for, with the facts that it needs; those that the model leaves out are the policy's."""
        try:
            metrics = metrics_for(model, self.metric)
            bounds = getattr(model, "y_bounds", None) if self.y_bounds is None else self.y_bounds
            if bounds is None and metrics[0] not in OF_CLASSES and columns.target is not None:
                bounds = interval_of(columns.target)
            facts = facts_about(model, metrics, bounds, self.positive)
            return metrics, facts, probability(self.confidence, "confidence")
        except (TypeError, ValueError) as wrong:
            raise Refused("score-invalid", str(wrong), "change the arguments of the score") from None

    # by a server

    def request(self) -> dict[str, Any]:
        """What a server is asked, or a refusal: a model is sent as data."""
        if not isinstance(self.sql, str):
            raise Refused("syntax", "a question is a text", "write one SELECT")
        said = {name: getattr(self, name) for name in ("epsilon", "rho", "delta", "confidence", "blocks")}
        call = Call(sql=self.sql, **said)
        try:
            bounds = None if self.y_bounds is None else [float(end) for end in self.y_bounds]
            positive = None if self.positive is None else VALUES.written(self.positive)
        except (TypeError, ValueError) as wrong:
            raise Refused("score-invalid", str(wrong), "give y_bounds two numbers, and positive a class") from None
        options = {
            "target": self.target, "metric": self.metric, "holdout": self.holdout, "positive": positive,
            "y_bounds": bounds, "max_rows": self.max_rows, "analyst": self.analyst,
        }  # fmt: skip
        if isinstance(self.metric, tuple):
            options["metric"] = list(self.metric)
        return {
            "model": document_of(own(self.model)),
            "sql": self.sql,
            **written(call),
            **{name: value for name, value in options.items() if value is not None},
        }

    def received(self, document: documents.Scores) -> Score | Scores:
        """What a server scored."""
        scores = scores_of(document)
        return scores.scores[0] if self.metric is None or isinstance(self.metric, str) else scores

    def _written(self, model: Estimator, metrics: Sequence[str], rows: int) -> dict[str, Any]:
        """How it was asked, for the record."""
        single = self.metric is None or isinstance(self.metric, str)
        record: dict[str, Any] = {
            "task": TASK, "estimator": name_of(type(model)), "sql": str(self.sql), "max_rows": rows,
            "target": self.target, "metric": metrics[0] if single else list(metrics),
            "confidence": str(self.confidence),
        }  # fmt: skip
        return record if self.holdout is None else {**record, "holdout": self.holdout}


@dataclass(frozen=True, slots=True, eq=False)
class PreparedScore(PreparedTask):
    """Scores with their bill: nothing was read for them."""

    model: Estimator
    """One of our own, made of what the caller gave."""
    columns: Columns
    query: Sql
    schemas: Mapping[str, Mapping[str, str]]
    metrics: Sequence[str]
    facts: Facts
    sure: Fraction
    single: bool
    holdout: Holdout | None

    def check(self) -> None:
        self._demand_runnable(self.query, self.schemas)

    # the charge

    def run(self, rows: Reader, exit_: Exit) -> bytes:
        exact, truth = arrays_of(
            rows.columns(self.query), self.columns, as_they_are=as_they_are(self.model), missing=self.model.missing
        )
        assert truth is not None
        return self.stored(measure(self.model, exact, truth, self.metrics, self.facts, exit_, _total))

    def stored(self, measured: Measured) -> bytes:
        """What `decode` reads."""
        return _stored(measured)

    def decode(self, stored: bytes) -> Measured | None:
        return _measured(stored)

    def is_met(self, value: Measured, cost: Loss) -> bool:  # noqa: ARG002
        """Whether cached statements cost enough: plans tell models and statements apart."""
        return cost.covers(self.bill.loss)

    # after it

    def show(self, outcome: Outcome[Measured]) -> Score | Scores:
        scores = outcome.value.scores(self.metrics, self.sure).charged(
            outcome.cost, outcome.receipt, cached=outcome.cached
        )
        return scores.scores[0] if self.single else scores

    def preview(self, *, cached: bool) -> Preview:
        """What it would cost, and how far counts may be off: that of a metric depends on how many rows there are."""
        names = sorted(set(statements_for(self.metrics).values()))
        nothing = Measured(self.bill.cost, {name: [0] for name in names}, self.facts)
        vectors = [nothing.noisy(name) for name in names]
        wide = max(float(vector.noise.width(self.sure)) / vector.steps for vector in vectors)
        notes = [
            self._rows_note(self.bill.rows),
            f"each count, or sum of parts of rows, is within ± {wide:.3g} rows at {float(self.sure):.0%}",
        ]
        return self._previewed(
            columns=list(self.metrics),
            cached=cached,
            error={},
            noise={},
            notes=(
                *notes,
                *(() if self.holdout is None else (self.holdout.note(within_blocks=self.context.blocks is not None),)),
            ),
            confidence=float(self.sure),
            shares={name: 1 / len(names) for name in names},
        )


# the columns of the model


def _placed(columns: Columns, model: Estimator) -> Columns:
    """The columns in the order of the model's features, which are known by name where it has names."""
    names = getattr(model, "feature_names_in_", None)
    width = model.n_features_in_
    if names is None:
        if len(columns.features) != width:
            reason = f"the model has {width} features, and there are {len(columns.features)} columns beside the target"
            raise Refused("score-invalid", reason, "select as many columns as it was fitted on, in their order")
        return columns
    by_name: dict[str, Field] = {field.name.lower(): field for field in columns.features}
    wanted = [str(each).lower() for each in names]
    if sorted(wanted) != sorted(by_name) or len(columns.features) != width:
        fix = f"select {', '.join(map(str, names))}, and the target"
        raise Refused("unknown-column", "the columns are not those that the model was fitted on", fix)
    return replace(columns, features=tuple(by_name[name] for name in wanted))


def _fingerprint(digest: str, model: Estimator, metrics: Sequence[str], facts: Facts, query: Sql, rows: int) -> str:
    """Of what is measured, its cost aside: other metrics of the same statements are read from them for nothing."""
    fitted = dict(document_of(model)["model"]["fitted"])
    for name in ("loss_", "receipt_", "cached_"):
        fitted.pop(name, None)
    names = sorted(set(statements_for(metrics).values()))
    measured = [TASK_VERSION, digest, name_of(type(model)), fitted, names, _facts_written(facts), query.text, rows]
    return f"{TASK}:{hashlib.sha256(json.dumps(measured, sort_keys=True).encode()).hexdigest()}"


# what the model says, whatever the rows are


def _total(model: Any, rows: Array, count: int, method: str = "predict") -> Array:
    """What the model says of each row, by that row alone, and without failing.

    Theorem  What is said of a row depends on that row and the model alone. Proof: estimators of this package say of a
             row the same whichever rows stand beside it (`rowwise`). Where one fails, as a model that somebody invented
             may do on some rows, or says what is no number, both halves of the block are asked again, and a row that is
             alone then has no prediction. So one such row costs few questions more: hardly any time.
    """
    blocks = [_block(model, rows[start : start + BLOCK], method) for start in range(0, count, BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros(0)


def _block(model: Any, rows: Array, method: str) -> Array:
    wanted = (len(rows), len(model.classes_)) if method == "predict_proba" else (len(rows),)
    is_number = method == "predict_proba" or not hasattr(model, "classes_")
    try:
        said = np.asarray(getattr(model, method)(rows))
        if said.shape == wanted:
            return said.astype(np.float64) if is_number else said
    except Exception:
        pass
    if len(rows) > 1:
        half = len(rows) // 2
        return np.concatenate([_block(model, part, method) for part in (rows[:half], rows[half:])])
    return np.full(wanted, np.nan) if is_number else _nothing()


def _nothing() -> Array:
    """None of the classes."""
    return np.array([None], dtype=object)


# on record


def _facts_written(facts: Facts) -> list[Any]:
    classes = None if facts.classes is None else [VALUES.written(value) for value in facts.classes.values.tolist()]
    bounds = None if facts.target is None else [float(facts.target.low[0]), float(facts.target.high[0])]
    return [classes, bounds, facts.positive]


def _stored(measured: Measured) -> bytes:
    cost = {name: str(amount) for name, amount in measured.cost.named.items()}
    document = {
        "version": TASK_VERSION, "cost": cost, "vectors": dict(measured.vectors),
        "facts": _facts_written(measured.facts),
    }  # fmt: skip
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def _measured(stored: bytes) -> Measured | None:
    """None if another version of discreet wrote it; `LedgerDamaged` if it is not what any of them wrote."""
    try:
        document = json.loads(stored)
        if document["version"] != TASK_VERSION:
            return None
        cost = Cost.alone(**{name: Fraction(amount) for name, amount in document["cost"].items()})
        vectors = {name: [int(cell) for cell in cells] for name, cells in document["vectors"].items()}
        classes, bounds, positive = document["facts"]
        facts = facts_of(VALUES.read(classes), bounds, positive)
        if vectors and set(vectors) <= set(STATEMENTS):
            return Measured(cost, vectors, facts)
    except (*UNREADABLE, Refused):
        pass
    raise LedgerDamaged("cached scores cannot be read", CHANGED)


def recalled(stored: bytes, entry: Entry) -> Score | Scores:
    """What was scored for a charge, as it was asked."""
    measured, metric = _measured(stored), entry.call.get("metric")
    if measured is None:
        raise Refused("answer-gone", "another version of discreet scored this model", "score it again")
    metrics = [metric] if isinstance(metric, str) else list(metric or ())
    sure = probability(Fraction(str(entry.call.get("confidence", "0.95"))), "confidence")
    scores = measured.scores(metrics, sure).charged(entry.cost, f"{entry.number}:", cached=True)
    return scores.scores[0] if isinstance(metric, str) else scores
