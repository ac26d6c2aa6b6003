"""Fitting on the tables of a curator, as a task: rows are bounded for each unit, and the ledger is charged first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags

from discreet.accounting.record import Entry, Key
from discreet.answers import Preview
from discreet.answers.call import Call, written
from discreet.answers.documents import Model
from discreet.composed import Sql
from discreet.curator.holdout import REST, Holdout
from discreet.curator.rows import PreparedTask, bounded_rows, columns_of
from discreet.curator.task import Context, demand_choice
from discreet.errors import Refused
from discreet.exit import Bill, Cost, Exit, Outcome, Reader
from discreet.exit.cost import Loss, cost_missing
from discreet.learn.box import is_named, named
from discreet.learn.codec import decode, encode, parameters_of
from discreet.learn.core import COST_PARAMETERS, Estimator, learned, name_of
from discreet.learn.missing import check as check_missing
from discreet.learn.reading import NUMERIC, Columns, arrays_of, complete_rows
from discreet.learn.sent import adopt
from discreet.policy import Kind, Policy
from discreet.sql.nodes import Field

TASK: Final = "fit"
TASK_VERSION: Final = 2
"""Of what a fingerprint covers: counts up when the same arguments start to mean something else."""
UNKNOWN_ERROR: Final = "how good the model is depends on the data: score says it, at a cost of its own"


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Fitting an estimator on the rows of a SELECT, as a task: see `Curator.fit`."""

    estimator: Estimator
    sql: Any
    epsilon: Any = None
    rho: Any = None
    delta: Any = None
    target: str | None = None
    max_rows: int | None = None
    analyst: str | None = None
    fresh: bool = False
    key: Key | str | None = None
    holdout: str | None = None
    """The name of a hold-out: its units are left out."""
    blocks: Any = None
    """Of a stream: those that are read."""
    path: ClassVar[str] = TASK

    def prepared(self, context: Context) -> PreparedFit:
        """The fit with its bill, or a refusal.

        Theorem  The fit costs a unit, with all of its rows, what the caller says.
        Proof    A unit adds or removes its own rows alone, k of them at most (the theorem of each node of the plan),
                 and the estimator's loss is for one row: group(loss, k) is kε, or k²ρ. So the estimator gets ε/k, or
                 ρ/k². What is dropped (NULL) is dropped row by row.
        """
        demand_choice(self.fresh, "a cached model")
        public, policy = context.public(), context.policy
        node = bounded_rows(policy, self.sql, self.max_rows, public=public)
        columns = Columns.of(node.fields, self.target)
        rows = node.rows or 1
        model = _declared(policy, self.estimator, columns, rows, epsilon=self.epsilon, rho=self.rho, delta=self.delta)
        by_unit = model.reads_units and node.owner.column is not None
        holdout = Holdout.read(self.holdout, REST, node)
        query = columns_of(node, columns.read, with_unit=by_unit, holdout=holdout)
        cost, loss = _cost(policy, model, columns, rows)
        bill = Bill(
            loss=loss,
            cost=cost,
            rows=rows,
            limit=cost.loss,
            why=f"{type(model).__name__}.fit: {self.sql}",
            plan=_fingerprint(context.digest, model, columns, query, rows),
            **context.about,
            analyst=self.analyst,
            call=self._written(model, rows),
            key=self.key,
            fresh=self.fresh,
            part=None if holdout is None or loss.is_zero else context.part_of(holdout),
        )
        return PreparedFit(context, bill, self.estimator, model, columns, query, public.schemas, by_unit, holdout)

    # by a server

    def request(self) -> dict[str, Any]:
        """What a server is asked, or a refusal: only what JSON can say is sent."""
        _demand_no_cost(self.estimator)
        if not isinstance(self.sql, str):
            raise Refused("syntax", "a question is a text", "write one SELECT")
        options: dict[str, Any] = {
            "target": self.target, "max_rows": self.max_rows, "analyst": self.analyst, "holdout": self.holdout
        }  # fmt: skip
        return {
            "estimator": name_of(type(self.estimator)),
            "params": _parameters(_copied(self.estimator)),
            "sql": self.sql,
            **written(Call(sql=self.sql, epsilon=self.epsilon, rho=self.rho, delta=self.delta, blocks=self.blocks)),
            **{name: value for name, value in options.items() if value is not None},
        }

    def received(self, document: Model) -> Estimator:
        """The caller's estimator with what a server says it learned."""
        return adopt(self.estimator, document)

    def _written(self, model: Estimator, rows: int) -> dict[str, Any]:
        """How it was asked, for the record."""
        record = {"task": TASK, "estimator": name_of(type(model)), "sql": str(self.sql), "max_rows": rows}
        if self.target is not None:
            record["target"] = self.target
        if self.holdout is not None:
            record["holdout"] = self.holdout
        return {**record, "parameters": _parameters(model)}


@dataclass(frozen=True, slots=True, eq=False)
class PreparedFit(PreparedTask):
    """A fit with its bill: nothing was read for it."""

    estimator: Estimator
    """The caller's."""
    model: Estimator
    """A copy, with the cost and the facts that the policy declares."""
    columns: Columns
    query: Sql
    schemas: Mapping[str, Mapping[str, str]]
    by_unit: bool
    """Whether the query has the unit of each row before its columns."""
    holdout: Holdout | None = None

    def check(self) -> None:
        self._demand_runnable(self.query, self.schemas)

    # the charge

    def run(self, rows: Reader, exit_: Exit) -> bytes:
        """What is free learns nothing from rows, so nobody can read them for nothing."""
        width = len(self.columns.read) + self.by_unit
        read = [np.empty(0)] * width if self.bill.loss.is_zero else rows.columns(self.query)
        units = None
        if self.by_unit:
            unit, *read = read
            units = unit[complete_rows(read, self.columns, self.model.missing)]
        exact, labels = arrays_of(read, self.columns, as_they_are=as_they_are(self.model), missing=self.model.missing)
        model: Estimator = clone(self.model)
        names = [field.name for field in self.columns.features]
        return encode(model.learn_from(exact, labels, names, exit_, units))

    def decode(self, stored: bytes) -> Estimator | None:
        return decode(stored)

    def is_met(self, value: Estimator, cost: Loss) -> bool:
        """Whether a cached model is of this estimator, and cost enough."""
        return type(value) is type(self.model) and cost.covers(self.bill.loss)

    # after it

    def show(self, outcome: Outcome[Estimator]) -> Any:
        """The caller's estimator with what was learned; its arguments stay as they are."""
        facts: dict[str, Any] = {"loss_": outcome.cost, "receipt_": outcome.receipt, "cached_": outcome.cached}
        held = self.model._taught.get_params(deep=False)
        facts["declared_"] = {name: held[name] for name in FACTS if held.get(name) is not None}
        facts["query_"] = _asked(self.bill.call)
        for name, value in {**learned(outcome.value), **facts}.items():
            setattr(self.estimator, name, value)
        return self.estimator

    def preview(self, *, cached: bool) -> Preview:
        """What it would cost. How good a model is depends on the data, and is not known in advance."""
        return self._previewed(
            columns=[field.name for field in self.columns.read],
            cached=cached,
            error={},
            noise={},
            notes=(
                self._rows_note(self.bill.rows),
                *self.model._notes(len(self.columns.features), self.bill.cost),
                *(() if self.holdout is None else (self.holdout.note(within_blocks=self.context.blocks is not None),)),
                UNKNOWN_ERROR,
            ),
        )


def _fingerprint(digest: str, model: Estimator, columns: Columns, query: Sql, rows: int) -> str:
    """Of what is learned, its cost aside. Those of queries are digests alone: none of them begins like this."""
    names = [field.name for field in columns.read]
    fitted = [TASK_VERSION, digest, name_of(type(model)), _parameters(model), query.text, names, rows]
    fitted.append(columns.target is not None)
    text = json.dumps(fitted, sort_keys=True)
    return f"{TASK}:{hashlib.sha256(text.encode()).hexdigest()}"


def _parameters(model: Estimator) -> dict[str, Any]:
    """All that changes what is learned, but for the cost."""
    try:
        parameters = parameters_of(model)
    except ValueError as wrong:
        raise Refused("fit-invalid", str(wrong), "give the estimator numbers, texts, lists and arrays") from None
    return {name: value for name, value in parameters.items() if name not in (*COST_PARAMETERS, "verbose")}


def recalled(stored: bytes, entry: Entry) -> Estimator:
    """The model that was fitted for a charge."""
    model = decode(stored)
    if model is None:
        raise Refused("answer-gone", "another version of discreet fitted this model", "fit it again")
    model.loss_ = entry.cost
    model.__dict__["query_"] = _asked(entry.call)
    return model


def _asked(call: Mapping[str, Any] | None) -> dict[str, Any]:
    """What was asked, for the card of the model."""
    return {name: call[name] for name in ("sql", "target", "max_rows") if call is not None and name in call}


def _cost(policy: Policy, model: Estimator, columns: Columns, rows: int) -> tuple[Cost, Loss]:
    """What one row costs, and what all rows of one unit cost together."""
    try:
        names = [field.name for field in columns.features]
        model.loss_for(names)
        check_missing(model.missing, model._placed(names)._middle(len(names)))
        cost = model._cost()
        loss = cost.loss.group(rows).per(policy.unit)
    except (TypeError, ValueError) as wrong:
        raise Refused("fit-invalid", str(wrong), "change the estimator's arguments") from None
    return cost, loss


def _declared(
    policy: Policy, estimator: Estimator, columns: Columns, rows: int, *, epsilon: Any, rho: Any, delta: Any
) -> Estimator:
    """A copy of the estimator with the cost of one row of so many, and with what the policy says about its columns."""
    model = _copied(estimator)
    held = model.get_params(deep=False)
    _demand_no_cost(model)
    model, numbers = encoding_of(model, columns)
    check_columns(model, columns, numbers)
    wanted: dict[str, Fraction] = {}
    if "epsilon" in held:
        if epsilon is None and rho is None:
            raise cost_missing(policy, "fit")
        cost = Cost.read(policy, epsilon=epsilon, rho=rho, delta=delta)
        wanted = cost.part(Fraction(1, rows if cost.pure else rows**2)).named
    model.set_params(**wanted)
    known = {name: partial(fact, numbers if name == "bounds" else columns) for name, fact in FACTS.items()}
    try:
        model._declare(known)
        bounds = getattr(model._taught, "bounds", None)
        if is_named(bounds):
            model._taught.set_params(bounds=_completed(named(bounds), numbers))
    except (TypeError, ValueError) as wrong:
        raise Refused("fit-invalid", str(wrong), "change the estimator's arguments") from None
    return model


def _copied(estimator: Estimator) -> Estimator:
    """A copy, if all that it holds is an estimator that may learn from private rows."""
    try:
        model: Estimator = clone(estimator)
        within = model._taught
    except TypeError:
        within = None
    if within is None:
        raise Refused(
            "not-private",
            "only classifiers and regressors of discreet.learn are searched over on private rows",
            "give the search one of them, as an object without a cost",
        )
    return model


def encoding_of(model: Estimator, columns: Columns) -> tuple[Estimator, Columns]:
    """The estimator with the values that the policy declares of columns which it encodes; and the other columns."""
    values = {field.name: partial(_values, field) for field in columns.features if not _is_number(field)}
    try:
        model = model._with_values(values)
        encoded = model._encoded([field.name for field in columns.features])
    except (TypeError, ValueError) as wrong:
        raise Refused("fit-invalid", str(wrong), "change the estimator's arguments") from None
    return model, replace(columns, features=tuple(field for field in columns.features if field.name not in encoded))


def _is_number(field: Field) -> bool:
    return field.expr.domain.kind in NUMERIC


def _demand_no_cost(model: Estimator) -> None:
    held = model.get_params(deep=False)
    if any(held.get(name) is not None for name in COST_PARAMETERS):
        raise Refused("cost-invalid", "the estimator has a cost or a ledger of its own", "give the cost to fit alone")


def check_columns(model: Estimator, columns: Columns, unencoded: Columns) -> None:
    supervised = bool(get_tags(model).target_tags.required)
    if supervised and columns.target is None:
        raise Refused("target-missing", "the estimator predicts a column", 'name it: target="…"')
    if columns.target is not None and not supervised:
        raise Refused("target-unused", "the estimator predicts nothing", "leave target out")
    if not columns.features:
        raise Refused("not-rows", "there are no features", "select the columns to learn from")
    numbers = () if _categorical(model) else unencoded.features
    if is_regressor(model) and columns.target is not None:
        numbers = (*numbers, columns.target)
    other = [field.name for field in numbers if not _is_number(field)]
    if other:
        raise Refused(
            "not-a-number", f"the estimator takes numbers, and {other[0]} holds none", "leave it out, or compute one"
        )


# what the policy declares


def _bounds(fields: Sequence[Field]) -> tuple[list[Fraction], list[Fraction]]:
    pairs = [interval_of(field) for field in fields]
    return [low for low, _ in pairs], [high for _, high in pairs]


def _completed(bounds: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """Bounds by the names of columns; those that are not named are the policy's."""
    return {each.name: bounds[each.name] if each.name in bounds else interval_of(each) for each in columns.features}


def interval_of(field: Field) -> tuple[Fraction, Fraction]:
    domain = field.expr.domain
    bounds = (Fraction(0), Fraction(1)) if domain.kind is Kind.BOOLEAN else domain.bounded
    if bounds is None or bounds[0] >= bounds[1]:
        raise Refused(
            "undeclared-bounds",
            f"{field.name} has no bounds that leave room for a number",
            f"add min and max to the policy, write CLAMP({field.name}, 0, 100), or pass bounds to the estimator",
        )
    return bounds


def _values(field: Field) -> list[Any]:
    domain = field.expr.domain
    values = [False, True] if domain.kind is Kind.BOOLEAN else domain.values
    if not values:
        raise Refused(
            "undeclared-values",
            f"the values of {field.name} are not declared",
            "list them in the policy, or pass classes or categories to the estimator",
        )
    return list(values)


FACTS: Final[dict[str, Callable[[Columns], Any]]] = {
    "bounds": lambda columns: _bounds(columns.features),
    "categories": lambda columns: [_values(field) for field in columns.features],
    "classes": lambda columns: _values(columns.target) if columns.target is not None else None,
    "y_bounds": lambda columns: None if columns.target is None else interval_of(columns.target),
}
"""Public facts that an estimator may leave to the policy, by the name of its argument."""


def _categorical(model: Estimator) -> bool:
    return _has(model, "categories")


def _has(model: Estimator, name: str) -> bool:
    return name in model._taught.get_params(deep=False)


def as_they_are(model: Estimator) -> tuple[bool, bool]:
    """Whether features, and whether labels, are categories that float64 might confuse."""
    return model._taught._dtype() is object, is_classifier(model)
